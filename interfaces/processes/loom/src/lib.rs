//! Loom models of the words that processes share and threads do not: the words of pieces, gates,
//! rings, bells, circles of waits and the course of a team. (The order of a reduction, and the
//! loops that combine, are the library's.)
#![cfg(test)]
#![allow(dead_code)]

mod models;

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

/// The copies with a mistake.
macro_rules! mutants {
    ($($name:ident)*) => {$(
        #[allow(unused, clippy::all, reason = "with a mistake")]
        mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    )*};
}

mutants! {
    weak_shown weak_folded weak_done weak_shown_load weak_folded_load weak_done_load
    no_wait_to_give no_wait_before_the_gate weak_gate weak_chunk weak_taken no_room
    no_fence_before_the_look no_fence_before_the_sleep
    weak_wait weak_wait_load weak_link no_look one_wait
    weak_complete weak_complete_load weak_over weak_over_load
}
