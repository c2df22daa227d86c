//! Shuttle models of the words of pieces and gates: three and four members in calls of all sorts,
//! one after the other, of which loom's exploration does not end. Random schedules; clocks that
//! follow the orderings find what is read without an order.
#![cfg(test)]
#![allow(dead_code, reason = "the sources have what only the package needs")]

mod sync {
    pub(crate) use checker::AtomicU64;
    pub(crate) use std::sync::atomic::Ordering;
}

#[path = "../../src/gate.rs"]
mod gate;
#[path = "../../src/pieces.rs"]
mod pieces;

#[path = "../../loom/src/calls.rs"]
mod calls;

/// What the models take from the checker.
mod by {
    pub(crate) use checker::UnsafeCell;
    pub(crate) use checker::threads::{spawn, yield_now};
    pub(crate) use std::sync::Arc;

    pub(crate) fn join(thread: checker::threads::JoinHandle<()>) {
        if let Err(payload) = thread.join() {
            checker::panic::resume_unwind(payload);
        }
    }
}

// The copies with a mistake.
include!(concat!(env!("OUT_DIR"), "/mutants.rs"));

/// The first failure in so many schedules of `$members` members: an all-reduce, broadcasts, a
/// gather, a reduction, an all-gather.
macro_rules! failure {
    ($pieces:ident, $gate:ident, $members:expr, $schedules:expr) => {{
        use crate::$pieces::{Members, Parts};

        const ALL: Members = Members::All;
        const fn sort(givers: Members, folds: bool, takers: Members) -> Parts {
            Parts { givers, folds, takers }
        }
        let body = calls::calls!(
            $pieces,
            $gate,
            $members,
            &[
                (sort(ALL, true, ALL), 3),
                (sort(Members::One(1), false, ALL), 3),
                (sort(ALL, false, Members::One(0)), 2),
                (sort(Members::One(0), false, ALL), 1),
                (sort(ALL, true, Members::One(2)), 1),
                (sort(ALL, false, ALL), 2),
                (sort(ALL, true, ALL), 1),
            ]
        );
        checker::explore(body, checker::Plan::Sound, 20_261_126, $schedules, None).failure
    }};
}

#[test]
fn pieces_of_three_members_in_calls_of_all_sorts() {
    assert_eq!(failure!(pieces, gate, 3, 40_000), None);
}

#[test]
fn pieces_of_four_members_in_calls_of_all_sorts() {
    assert_eq!(failure!(pieces, gate, 4, 20_000), None);
}

#[test]
fn mistakes_are_found() {
    assert!(failure!(weak_shown, gate, 3, 3_000).is_some(), "shown");
    assert!(failure!(weak_folded, gate, 3, 3_000).is_some(), "folded");
    assert!(failure!(weak_done, gate, 3, 3_000).is_some(), "done");
    assert!(failure!(weak_shown_load, gate, 3, 3_000).is_some(), "the load of shown");
    assert!(failure!(weak_folded_load, gate, 3, 3_000).is_some(), "the load of folded");
    assert!(failure!(weak_done_load, gate, 3, 3_000).is_some(), "the load of done");
    assert!(failure!(no_wait_to_give, gate, 3, 3_000).is_some(), "a slot that is still read");
    assert!(failure!(no_wait_before_the_gate, gate, 3, 3_000).is_some(), "the call before");
    assert!(failure!(pieces, weak_gate, 3, 3_000).is_some(), "the gate");
}
