//! Requests: calls that are started, and waited for later. A scope owns them, so that none is left
//! open, whatever becomes of the handles.

mod collective;
mod open;
mod start;
mod tagged_request;

use super::Comm;
use super::diagnose::disagree;
use crate::error::Error;
use crate::fabric::{Signature, Stop, Thread};
use crate::sync::{catch_unwind, panicking, resume_unwind};
use open::{Failure, Open, Progress};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location};

/// A type that no other has: lifetimes by which a request knows its scope.
type Brand<'scope> = PhantomData<fn(&'scope ()) -> &'scope ()>;

/// A scope in which collectives are started: see [`Comm::requests`].
pub struct Requests<'scope, 'env> {
    comm: &'scope mut Comm,
    open: &'scope Open<'env>,
    /// The communicator's: another one may be put in its place.
    id: u64,
    _brand: Brand<'scope>,
}

/// A call that was started in a scope, and gives a `B` when it is waited for.
///
/// To drop or to forget it changes nothing but that: the scope completes the call.
#[must_use = "the call is complete when it was waited for, or the scope has ended"]
pub struct Request<'scope, B> {
    slot: usize,
    _brand: Brand<'scope>,
    _gives: PhantomData<fn() -> B>,
}

impl<B> fmt::Debug for Request<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

impl fmt::Debug for Requests<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("comm", &self.comm).finish_non_exhaustive()
    }
}

impl Comm {
    /// Calls `f` with a scope in which calls can be started, and waited for later.
    ///
    /// # Examples
    /// ```
    /// use phalanx::op;
    /// let out = phalanx::run(3, |comm| {
    ///     let mut x = [comm.rank() as f64; 100];
    ///     comm.requests(|scope| {
    ///         let sum = scope.all_reduce(&mut x, op::Sum);
    ///         let work = 6 * 7;
    ///         (scope.wait(sum)[99], work)
    ///     })
    /// })?;
    /// assert_eq!(out, [(3.0, 42); 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn requests<'env, R>(
        &mut self,
        f: impl for<'scope> FnOnce(&mut Requests<'scope, 'env>) -> R,
    ) -> R {
        static SIG: Signature = Signature::of::<()>("requests", "");
        let at = Location::caller();
        if !self.check_usable(&SIG, at) {
            self.nothing_to_return();
        }
        if self.spans_nodes() {
            self.wrong(&SIG, at, 0, "no calls are started between nodes".to_string());
            self.nothing_to_return();
        }
        let open = Open::new();
        let (id, thread) = (self.port.id(), Thread::here());
        let within = || {
            let mut scope = Requests { comm: self, open: &open, id, _brand: PhantomData };
            let result = f(&mut scope);
            scope.complete();
            result
        };
        match thread.beside(&open, || catch_unwind(AssertUnwindSafe(within))) {
            Ok(result) => result,
            Err(payload) => {
                open.abandon();
                match open.take_failure() {
                    // It has ended the call that this payload comes from.
                    Some(Failure::Panicked(first)) => resume_unwind(first),
                    _ => resume_unwind(payload),
                }
            }
        }
    }
}

impl<'scope, 'env> Requests<'scope, 'env> {
    /// The communicator, for calls that wait.
    pub fn comm(&mut self) -> &mut Comm {
        self.comm
    }

    /// Waits until the call is complete, and returns what it gives.
    pub fn wait<B>(&mut self, request: Request<'scope, B>) -> B {
        if self.open.advance(request.slot) != Progress::Done {
            self.wait_more(request.slot, true);
        }
        self.take(request)
    }

    /// Goes on with the call as far as that is possible without waiting; whether it is complete.
    pub fn test<B>(&mut self, request: &mut Request<'scope, B>) -> bool {
        match self.open.advance(request.slot) {
            Progress::Done => true,
            Progress::Open => self.look_around(),
            Progress::Failed => self.fail(request.slot, Stop::Poisoned),
        }
    }

    /// A look at what would end a wait; false.
    fn look_around(&mut self) -> bool {
        static SIG: Signature = Signature::of::<()>("test", "");
        if !self.comm.check_usable(&SIG, Location::caller()) {
            self.comm.nothing_to_return();
        }
        false
    }

    fn take<B>(&mut self, request: Request<'scope, B>) -> B {
        let mut given = MaybeUninit::<B>::uninit();
        let pending = self.open.take(request.slot).expect("complete, and taken once");
        // SAFETY: complete; a slot's only request (of this scope, by its brand) is of the type that
        // what is in the slot gives (`start`).
        unsafe {
            pending.give(given.as_mut_ptr().cast());
            given.assume_init()
        }
    }

    /// Completes all.
    fn complete(&mut self) {
        while let Some(slot) = self.open.first_open() {
            self.wait_more(slot, true);
        }
    }

    /// Waits until the request of a slot is complete, for which alone if `alone`.
    #[cold]
    fn wait_more(&mut self, slot: usize, alone: bool) {
        loop {
            for _ in 0..self.comm.port.looks() {
                match self.open.advance(slot) {
                    Progress::Open => {}
                    Progress::Done => return,
                    Progress::Failed => self.fail(slot, Stop::Poisoned),
                }
            }
            let Some((place, owes)) = self.open.place(slot) else { return };
            let own = alone.then_some(usize::from(owes));
            let open = self.open;
            let result = place.wait(own, &mut || {
                open.advance(slot) != Progress::Open
                    || open.place(slot).is_none_or(|(now, _)| now.awaited() != place.awaited())
            });
            if let Err(stop) = result {
                self.fail(slot, stop);
            }
        }
    }

    /// Ends the run: the request of `slot` cannot be completed.
    #[cold]
    fn fail(&mut self, _slot: usize, stop: Stop) -> ! {
        let comm = &mut *self.comm;
        match self.open.take_failure() {
            Some(Failure::Panicked(payload)) => {
                if !panicking() {
                    resume_unwind(payload);
                }
            }
            Some(Failure::Disagrees(found)) => {
                let fabric = comm.port.fabric().clone();
                let me = fabric.member(comm.port.rank());
                let (rank, peer) = (me, fabric.member(found.peer));
                let there = Some(found.there);
                let error =
                    Error::Mismatch { rank, here: found.here, peer, there, what: found.what };
                let error = disagree(fabric.world(), fabric.id(), me).unwrap_or(error);
                comm.end_run(error, Some(fabric.id()));
            }
            Some(Failure::Over) => comm.stop(Stop::Poisoned),
            None => comm.stop(stop),
        }
        comm.nothing_to_return()
    }
}
