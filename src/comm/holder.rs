//! Who holds a rank: the thread that may use its communicators. Calls compare one word; what is
//! here is asked when another thread calls. See "Who holds a rank" in `src/fabric/README.md`.

use super::Comm;
use crate::fabric::{Thread, ThreadMark};
use crate::sync::{Instant, this_thread, yield_now};
use std::time::Duration;

/// What a thread gets that does not hold a rank.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim {
    /// The rank, until it ends or another thread takes it.
    Holds,
    /// This call: the closure's communicator is lent to it.
    Borrows,
    /// Nothing: the run that the communicator belongs to is over.
    Over,
    /// Nothing, and why.
    Refused(&'static str),
}

/// So long a call waits for the end of the thread that has used the rank before: a scope of threads
/// is over when their closures have ended, which may be a little before the threads have.
const THREAD_ENDS: Duration = Duration::from_millis(200);

const HELD: &str = "another thread, which has not ended, has used the rank's communicators (a rank \
                    that has several goes to another thread when the last one has ended)";
const NOT_LENT: &str = "it belongs to its rank's thread (a run's communicator can be lent to \
                        another thread, as long as the rank has split off no others)";

impl Comm {
    /// Whether the calling thread holds the rank.
    #[inline(always)]
    pub(super) fn is_held_here(&self) -> bool {
        self.port.line().mark().is_here()
    }

    /// Whether no thread does.
    pub(super) fn is_free(&self) -> bool {
        self.port.line().is_free()
    }

    /// The calling thread, which does not hold the rank, is about to use the communicator.
    #[cold]
    #[inline(never)]
    pub(super) fn claim(&mut self) -> Claim {
        if self.roster.is_some() { self.claim_in_run() } else { self.claim_own() }
    }

    /// Of threads of the user's own. If the rank has no other communicator, then no thread is in a
    /// call of the rank, for this one is borrowed here. Else only a thread that has ended is known
    /// to be in none.
    fn claim_own(&mut self) -> Claim {
        let (line, run) = (self.port.line(), self.port.run());
        let start = Instant::now();
        loop {
            let before = line.holder();
            if line.is_free() || self.in_turn || line.has_one_comm(run) {
                if line.hold_after(before, Thread::here().mark()) {
                    self.settle_here();
                    return Claim::Holds;
                }
            } else if start.elapsed() >= THREAD_ENDS {
                return Claim::Refused(HELD);
            }
            yield_now();
        }
    }

    /// In a team's run. The closure's communicator may be lent to another thread. It then is
    /// borrowed from the rank's own thread, in the place where `join_run` found it: so the closure
    /// has not ended, and if the rank has no more communicators, no other thread is in a call of
    /// the rank. Each call of such a thread comes here, since a communicator that is moved away
    /// from its place is not lent any more.
    fn claim_in_run(&mut self) -> Claim {
        let fabric = self.port.fabric();
        let (world, run, here) = (fabric.world_arc(), self.port.run(), Thread::here());
        let (member, line) = (fabric.member(self.port.rank()), self.port.line());
        if self.thread == this_thread() {
            if !here.is_in(world, run) {
                return Claim::Over;
            }
            line.hold(here.mark());
            world.sit(member, here);
            return Claim::Holds;
        }
        let is_at_home = self.home == std::ptr::from_ref(self).addr();
        // (Another rank's thread cannot borrow it but in a program in C.)
        if !is_at_home || !line.has_one_comm(run) || here.is_in(world, run) {
            return Claim::Refused(NOT_LENT);
        }
        line.hold(ThreadMark::lent());
        here.put_on(world, member, run);
        Claim::Borrows
    }

    /// The calling thread holds the rank from now on, whichever did before.
    #[cold]
    pub(super) fn settle_here(&mut self) {
        self.port.line().hold(Thread::here().mark());
        let fabric = self.port.fabric();
        let member = fabric.member(self.port.rank());
        Thread::here().put_on(fabric.world_arc(), member, self.port.run());
        if self.roster.is_none() {
            self.port.bring_home();
        }
    }
}
