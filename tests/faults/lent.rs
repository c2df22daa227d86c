//! Communicators lent to the user's own threads: the end of such a thread is reported even if it
//! makes no further call.

use super::common::{bomb, watched};
use phalanx::{Error, Team};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Rank 0's thread ends, by a panic or not, after `calls` barriers; what rank 1's next
/// one says.
fn ends(calls: usize, panics: bool, protected: bool) -> Result<(), Error> {
    let mut comms = Team::external(2).unwrap();
    let [a, b] = &mut comms[..] else { unreachable!() };
    let mut result = Ok(());
    let whole = catch_unwind(AssertUnwindSafe(|| {
        std::thread::scope(|s| {
            let first = s.spawn(move || {
                let work = |a: &mut phalanx::Comm| {
                    (0..calls).for_each(|_| a.barrier());
                    if panics {
                        bomb();
                    }
                };
                if protected { drop(a.protect(work)) } else { work(a) }
            });
            let second = s.spawn(move || b.protect(|b| (0..=calls).for_each(|_| b.barrier())));
            // Joined one by one: ThreadSanitizer does not know what the end of a scope orders.
            result = second.join().unwrap();
            if let Err(payload) = first.join() {
                resume_unwind(payload);
            }
        });
    }));
    assert_eq!(whole.is_err(), panics && !protected);
    result
}

#[test]
fn a_thread_that_ends_has_left() {
    watched(|| {
        for (calls, panics) in [(1, false), (1, true), (3, false)] {
            let error = ends(calls, panics, false).unwrap_err();
            assert!(matches!(error, Error::Left { rank: 1, peer: 0, .. }), "{error}");
        }
    });
}

#[test]
fn a_protected_thread_that_ends_has_left() {
    watched(|| {
        for calls in [0, 2] {
            let error = ends(calls, false, true).unwrap_err();
            assert!(matches!(error, Error::Left { rank: 1, peer: 0, .. }), "{error}");
            let error = ends(calls, true, true).unwrap_err();
            let is_told = matches!(error, Error::Dead | Error::Panicked { rank: 0, .. });
            assert!(is_told, "{error}");
        }
    });
}

/// It belongs to the thread that used it first, and that is no more: refused, whatever
/// thread asks.
#[test]
fn the_communicator_of_a_thread_that_has_ended_is_refused() {
    watched(|| {
        let mut comms = Team::external(1).unwrap();
        let comm = &mut comms[0];
        let one = |comm: &mut phalanx::Comm| {
            std::thread::scope(|s| s.spawn(|| comm.protect(|comm| comm.barrier())).join().unwrap())
        };
        one(comm).unwrap();
        let error = one(comm).unwrap_err();
        assert!(matches!(error, Error::Stale { .. }), "{error}");
        for _ in 0..5 {
            let error = one(comm).unwrap_err();
            assert!(matches!(error, Error::Stale { .. } | Error::Dead), "{error}");
        }
    });
}

/// A failure is said with the first cause, by every thread that is not protected.
#[test]
fn threads_that_are_not_protected_die_of_the_cause() {
    watched(|| {
        let texts = |f: fn(&mut phalanx::Comm)| -> Vec<String> {
            let threads: Vec<_> = Team::external(3)
                .unwrap()
                .into_iter()
                .map(|mut comm| std::thread::spawn(move || f(&mut comm)))
                .collect();
            let text = |payload: Box<dyn std::any::Any + Send>| {
                let text = payload.downcast_ref::<String>().cloned();
                text.unwrap_or_else(|| payload.downcast_ref::<&str>().unwrap().to_string())
            };
            threads.into_iter().map(|t| text(t.join().unwrap_err())).collect()
        };
        let said = texts(|comm| {
            comm.barrier();
            if comm.rank() == 0 {
                bomb();
            }
            comm.barrier();
            comm.barrier();
        });
        assert_eq!(said[0], "bomb");
        said[1..].iter().for_each(|text| {
            assert!(text.contains("rank 0 panicked: its thread has panicked"), "{text}");
        });
        let said = texts(|comm| {
            comm.all_reduce(&mut [0u8; 4][comm.rank() / 2..], phalanx::op::Sum);
        });
        said.iter().for_each(|text| assert!(text.contains("disagree"), "{text}"));
    });
}
