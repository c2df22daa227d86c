//! Holders of a rank: the thread that may use its communicators. Calls compare one word; the code
//! here runs when another thread calls. See "Holders of a rank" in `src/shared/README.md`.

use super::Comm;
use super::arguments::CallAt;
use crate::shared::{Signature, Thread, ThreadMark};
use crate::sync::{Instant, yield_now};
use std::panic::Location;
use std::time::Duration;

/// The answer to a thread that does not hold a rank.
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
/// is over when their closures have ended, which may be a little before the threads have. Long,
/// since it decides whether a right program goes on: a thread that ends on a crowded machine may
/// get no core for a while. Only a program that is wrong waits for all of it.
const THREAD_ENDS: Duration = Duration::from_secs(10);

const HELD: &str = "another thread, which has not ended, has used the rank's communicators (a rank \
                    that has several goes to another thread when the last one has ended)";
const NOT_LENT: &str = "it belongs to its rank's thread (a run's communicator can be lent to \
                        another thread, as long as the rank has split off no others)";
const SCOPED: &str = "another thread has a scope of requests open on the rank, and goes on with \
                      what it has started there (a communicator goes to another thread, or is \
                      lent to one, when the scope has ended)";

/// See [`Comm::open_scope`].
pub(super) struct OpenScope {
    /// Where the rank's words are: compared only. 0 if the rank does not know of the scope; the
    /// calls are refused.
    line: usize,
    before: u64,
}

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
    /// call of the rank, for this one is borrowed here; but one that has a scope of requests open
    /// goes on with the calls that were started there in any call of its own, of other ranks, too.
    /// Where there are more communicators, only a thread that has ended is known to be in no call.
    fn claim_own(&mut self) -> Claim {
        let (line, run) = (self.port.line(), self.port.run());
        let (start, here) = (Instant::now(), Thread::here().mark());
        loop {
            let before = line.holder();
            let is_alone = self.in_turn || line.has_one_comm(run);
            let is_scoped = line.has_scope_elsewhere(here);
            if line.is_free() || is_alone && !is_scoped {
                if line.hold_after(before, here) {
                    self.settle_here();
                    return Claim::Holds;
                }
            } else if is_alone {
                return Claim::Refused(SCOPED);
            } else if start.elapsed() >= THREAD_ENDS {
                return Claim::Refused(HELD);
            }
            yield_now();
        }
    }

    /// In a team's run. The closure's communicator may be lent to another thread. It then is
    /// borrowed from the rank's own thread, in the place where `join_run` found it: so the closure
    /// has not ended, and if the rank has no more communicators, no other thread is in a call of
    /// the rank, nor goes on with one, unless it has a scope of requests open. Each call of such a
    /// thread comes here, since a communicator that is moved away from its place is not lent any
    /// more.
    fn claim_in_run(&mut self) -> Claim {
        let shared = self.port.shared();
        let (world, run, here) = (shared.world_arc(), self.port.run(), Thread::here());
        let (member, line) = (shared.member(self.port.rank()), self.port.line());
        let Some(own) = self.thread else { return Claim::Refused(NOT_LENT) };
        let is_own = own.mark().is_here();
        if is_own && !here.is_in(world, run) {
            return Claim::Over;
        }
        if line.has_scope_elsewhere(here.mark()) {
            return Claim::Refused(SCOPED);
        }
        if is_own {
            line.hold(here.mark());
            world.come_home(member, here);
            return Claim::Holds;
        }
        let is_at_home = self.home == std::ptr::from_ref(self).addr();
        // (Another rank's thread cannot borrow it but in a program in C.)
        if !is_at_home || !line.has_one_comm(run) || here.is_in(world, run) {
            return Claim::Refused(NOT_LENT);
        }
        line.hold(ThreadMark::lent());
        world.lend(member, own);
        here.put_on(world, member, run);
        Claim::Borrows
    }

    /// Whether another thread has a scope of requests open on the rank.
    pub(super) fn has_scope_elsewhere(&self) -> bool {
        self.port.line().has_scope_elsewhere(Thread::here().mark())
    }

    /// The calling thread is about to open a scope of requests: until that is over the rank goes
    /// to no other. So the thread must hold it, or borrow the communicator. Returns the mark that
    /// [`close_scope`](Comm::close_scope) needs.
    #[inline(always)]
    pub(super) fn open_scope(&mut self, here: &'static Thread, (sig, at): CallAt) -> OpenScope {
        let may_open = self.is_held_here() || self.claim_for_scope(sig, at);
        let line = self.port.line();
        match may_open {
            true => {
                let at = std::ptr::from_ref(line).addr();
                OpenScope { line: at, before: line.open_scope(here.mark()) }
            }
            false => OpenScope { line: 0, before: 0 },
        }
    }

    /// The scope is over. If a communicator of another rank stands in its place, that of the scope
    /// is somewhere else, or dropped, and its rank stays with the thread.
    #[inline(always)]
    pub(super) fn close_scope(&self, here: &'static Thread, scope: OpenScope) {
        let line = self.port.line();
        if std::ptr::from_ref(line).addr() == scope.line {
            line.close_scope(here.mark(), scope.before);
        }
    }

    /// Whether the thread, which did not hold the rank, may have a scope there. Not if the run is
    /// over: then the scope's calls say so.
    #[cold]
    #[inline(never)]
    fn claim_for_scope(&mut self, sig: &'static Signature, at: &'static Location<'static>) -> bool {
        let (world, run) = (self.port.shared().world(), self.port.run());
        if world.is_of_parent() || run != world.run() {
            return false;
        }
        match self.claim() {
            Claim::Holds | Claim::Borrows => true,
            Claim::Over => false,
            Claim::Refused(what) => {
                self.throw(what, (sig, at));
                self.nothing_to_return();
            }
        }
    }

    /// The calling thread holds the rank from now on, whichever did before.
    #[cold]
    pub(super) fn settle_here(&mut self) {
        self.port.line().hold(Thread::here().mark());
        let shared = self.port.shared();
        let member = shared.member(self.port.rank());
        Thread::here().put_on(shared.world_arc(), member, self.port.run());
        if self.roster.is_none() {
            self.port.bring_home();
        }
    }
}
