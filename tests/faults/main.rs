//! Checks that a run with a faulty rank (panic, early return, misuse of a communicator) ends with
//! the cause, without a hang and without reads of freed memory, and that the team works afterwards.
//!
//! Buffers are canaries: overwritten before they are freed, and operators end the
//! process if they ever see such a value.

mod circles;
#[path = "../common/mod.rs"]
mod common;
mod communicators;
mod destructors;
mod every;
mod idle;
#[path = "../common/kit/mod.rs"]
mod kit;
mod lent;
mod nested;
mod panics;
mod places;
mod random;
mod short;
mod soundness;
mod teams;

use common::{dice, one_call};
use phalanx::Error;

fn is_bomb_of(error: &Error, who: usize) {
    match error {
        Error::Panicked { rank, message, .. } if *rank == who && message == "bomb" => {}
        other => panic!("not the bomb of rank {who}: {other}"),
    }
}
