//! Whatever a rank does (panics, returns early, misuses a communicator): does the
//! run end with the cause, without a hang, without reading freed memory, and
//! does the team work afterwards?
//!
//! Buffers are canaries: overwritten before they are freed, and operators end the
//! process if they ever see such a value.

mod circles;
#[path = "../common/mod.rs"]
mod common;
mod communicators;
mod destructors;
mod idle;
mod lent;
mod nested;
mod panics;
mod places;
mod random;
mod short;
mod teams;

use phalanx::Error;

fn is_bomb_of(error: &Error, who: usize) {
    match error {
        Error::Panicked { rank, message, .. } if *rank == who && message == "bomb" => {}
        other => panic!("not the bomb of rank {who}: {other}"),
    }
}
