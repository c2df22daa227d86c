//! Loom models of the words that processes share and threads do not: the words of pieces, gates,
//! rings, bells, circles of waits and the course of a team. (The order of a reduction, and the
//! loops that combine, are the library's.)
#![cfg(test)]
#![allow(dead_code)]

mod calls;
mod models;

/// What models of both packages take from the checker.
mod by {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::Arc;
    pub(crate) use loom::thread::{spawn, yield_now};

    pub(crate) fn join(thread: loom::thread::JoinHandle<()>) {
        thread.join().unwrap();
    }
}

#[path = "../../src/sync.rs"]
mod sync;

#[path = "../../src/bell.rs"]
mod bell;
#[path = "../../src/circle.rs"]
mod circle;
#[path = "../../src/course.rs"]
mod course;
#[path = "../../src/gate.rs"]
mod gate;
#[path = "../../src/pieces.rs"]
mod pieces;
#[path = "../../src/ring.rs"]
mod ring;

// The copies with a mistake.
include!(concat!(env!("OUT_DIR"), "/mutants.rs"));
