//! Communicators on threads of the program's own, of which one fails or is dropped.

use super::{one_panic, panic_if, panicked};
use crate::harness::Fault::{Both, Twin};
use crate::harness::model;
use crate::{many, protected};
use checker::panic::catch_unwind;
use checker::threads::spawn;
use checker::{Memory, reached};
use phalanx::{Comm, Team};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

#[test]
fn protect() {
    model("protect: a panic between calls, memory given away by message", 3, 1000)
        .reaches(&["went well", "failed"])
        .catches(&[
            Twin("protect: passes no panic on"),
            Twin("quiesce: does not wait for who reads"),
            Both("Word"),
        ])
        .check(|| {
            let said = protected(Team::external(3).unwrap(), |comm| {
                let (p, me) = (comm.size(), comm.rank());
                let send = Memory::new(vec![me as u64; 200]);
                let mut recv = Memory::new(vec![9; 200]);
                if me == 1 {
                    comm.send(&send, 2);
                    panic!("on purpose");
                }
                if me == 2 {
                    comm.recv(&mut recv, 1);
                    assert_eq!(recv[0], 1);
                }
                comm.exchange(&send, (me + 1) % p, &mut recv, (me + 2) % p);
            });
            one_panic(&said, 1);
            let well = said.iter().any(Result::is_ok);
            reached(if well { "went well" } else { "failed" });
            reached("went well");
        });
}

/// Threads that nobody protects.
#[test]
fn dropped_by_a_thread() {
    model("drop: a thread of the user's own panics, unprotected", 3, 1000)
        .catches(&[Twin("drop: a thread's panic is not told")])
        .check(|| {
            let run = |mut comm: Comm| {
                spawn(move || {
                    panic_if(comm.rank() == 1);
                    comm.barrier();
                })
            };
            let threads: Vec<_> = Team::external(3).unwrap().into_iter().map(run).collect();
            for (rank, thread) in threads.into_iter().enumerate() {
                let payload = thread.join().expect_err("a barrier that lacks one");
                let text = payload.downcast_ref::<String>().map_or("on purpose", |s| s);
                let others = ["failed before", "rank 1 panicked"];
                let told = match rank {
                    1 => text.contains("on purpose"),
                    _ => others.iter().any(|what| text.contains(what)),
                };
                assert!(told, "rank {rank}: {text}");
            }
        });
}

#[test]
fn dropped_by_a_panic() {
    model("drop: a panic drops a child first; team, twice", 3, 600)
        .catches(&[Twin("drop: a panic leaves in good order")])
        .team(|team| {
            for _ in 0..2 {
                let memory = Arc::new(many(Memory::new(vec![0])));
                let said = team.run(|comm| {
                    let mut child = comm.split(0, comm.rank());
                    if comm.rank() == 1 {
                        memory.write(|m| m[0] = 1);
                        panic!("on purpose");
                    }
                    if comm.rank() == 2 {
                        // Who hears that a rank has gone knows what it did.
                        let end = catch_unwind(AssertUnwindSafe(|| child.barrier()));
                        memory.read(|m| assert_eq!(m[0], 1));
                        checker::panic::resume_unwind(end.expect_err("one lacks"));
                    }
                    child.barrier();
                });
                panicked(said, 1);
            }
        });
}
