//! The only door to atomics: the standard library's, and loom's where the models compile the files
//! of words (`gate.rs`, `pieces.rs`, `ring.rs`, `bell.rs`).
//!
//! Every word lies in memory that other processes map and may write at any time. A reference to an
//! atomic is all that Rust may have of such memory.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
