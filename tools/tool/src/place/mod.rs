//! Placing ranks: which topology (`topology.rs`), what came out of it and how it is shown
//! (`outcome.rs`).

pub mod outcome;
pub mod topology;
