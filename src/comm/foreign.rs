//! The part of a communicator that the interfaces of other languages need: calls that are noted
//! with their line there, and caught before they leave Rust; calls on memory; refused arguments.

use super::call::CheckedCalls;
use super::call::memory_call::{ElementUse, MemoryCall};
use super::fixed_order::in_order;
use super::holder::Claim;
use super::{Choice, Comm};
use crate::error::{Error, ForeignCall};
use crate::exec::{Call, Partition, RawBuffers};
use crate::order::Order;
use crate::schedule::Operation;
use crate::shared::{CatchScope, CommState, Entered, Signature, Thread};
use crate::sync::{Arc, Instant, catch_unwind};
use crate::wait::Question;
use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location};
use std::time::Duration;

/// So long a rank waits for the reason of a failure that another has met: see `RECORD_COMES` in
/// `diagnose.rs`.
const REASON_COMES: Duration = Duration::from_millis(100);

/// A note on the calls of a rank: they are parts of a call of another language.
pub(crate) struct ForeignNote {
    shared: Arc<CommState>,
    member: usize,
    from: u64,
}

impl Drop for ForeignNote {
    fn drop(&mut self) {
        let records = self.shared.world().records(self.member);
        records.foreign().end(self.from, records.next());
    }
}

impl Comm {
    /// Notes `call` for all records until the note is dropped.
    pub(crate) fn note_foreign(&self, call: &'static ForeignCall) -> ForeignNote {
        let shared = self.port.shared().clone();
        let member = shared.member(self.port.rank());
        let from = shared.world().records(member).next();
        shared.world().records(member).foreign().begin(from, call);
        ForeignNote { shared, member, from }
    }

    /// Makes `f`'s calls as parts of `call`, and catches their panics. The rank's memory is safe
    /// then: no other rank reaches it any more.
    ///
    /// # Safety
    /// `f` leaves the communicator in its place.
    #[inline(always)]
    pub(crate) unsafe fn as_foreign<R>(
        &mut self,
        call: &'static ForeignCall,
        f: impl FnOnce(&mut Comm) -> R,
    ) -> Result<R, Box<dyn Any + Send>> {
        // SAFETY: the team's, which the communicator keeps, and this keeps the communicator.
        let records = unsafe { self.port.records().as_ref() };
        let (notes, from) = (records.foreign(), records.next());
        notes.begin(from, call);
        // SAFETY: passed on.
        let result = unsafe { self.caught_calls(f) };
        notes.end(from, records.next());
        result
    }

    /// Catches the panics of `f`'s calls: as [`as_foreign`](Comm::as_foreign) without a note.
    ///
    /// # Safety
    /// As for [`as_foreign`](Comm::as_foreign).
    #[inline(always)]
    pub(crate) unsafe fn caught_calls<R>(
        &mut self,
        f: impl FnOnce(&mut Comm) -> R,
    ) -> Result<R, Box<dyn Any + Send>> {
        let mut place = MaybeUninit::uninit();
        // The end of a team's rank's closure catches, too: a panic is silent there.
        let mut entered = MaybeUninit::uninit();
        if self.roster.is_none() {
            // SAFETY: the place stays, here, and the world is the state's, which the communicator
            // keeps.
            entered.write(unsafe { self.enter_own_thread(&mut place) });
        }
        // (In one place, so that it is inlined there.)
        let result = catch_unwind(AssertUnwindSafe(|| f(self)));
        // (One by one, and by the roster, as it was: no register is left to keep the answer.)
        match result {
            Ok(it) => {
                if self.roster.is_none() {
                    // SAFETY: written above, and dropped once: nothing unwinds in between.
                    unsafe { entered.assume_init_drop() };
                }
                Ok(it)
            }
            Err(payload) => {
                if self.roster.is_none() {
                    // SAFETY: as above.
                    unsafe { entered.assume_init_drop() };
                }
                Err(payload)
            }
        }
    }

    /// On a thread of the user's own: a panic is silent until the result is dropped.
    ///
    /// # Safety
    /// `place` and the communicator stay until then.
    #[inline(always)]
    unsafe fn enter_own_thread(&mut self, place: &mut MaybeUninit<CatchScope>) -> Entered<'static> {
        if self.is_free() {
            self.claim();
        }
        let world = std::ptr::from_ref(self.port.shared().world());
        // SAFETY: by the contract.
        unsafe { Thread::here().enter(world, self.port.run(), false, place) }
    }

    /// The first cause of the end of the rank's run, after [`as_foreign`](Comm::as_foreign) has
    /// caught `payload`: the result of `kind` for it, if it is known on this rank, and its text.
    #[cold]
    pub(crate) fn first_cause<K>(
        &mut self,
        payload: Box<dyn Any + Send>,
        kind: impl Fn(&Error) -> K,
    ) -> (Option<K>, String) {
        let (shared, run) = (self.port.shared().clone(), self.port.run());
        let member = shared.member(self.port.rank());
        let error = self.caught((&shared, run, member), payload);
        if matches!(error, Error::Forked) {
            return (Some(kind(&error)), error.to_string());
        }
        let of_run = || {
            let known = shared.world().with_cause(run, |e| (Some(kind(e)), e.to_string()));
            known.or_else(|| Some((None, shared.world().cause(run)?)))
        };
        if !matches!(error, Error::Dead) {
            // A late one is not the run's.
            let own = (Some(kind(&error)), error.to_string());
            return of_run().filter(|(kind, _)| kind.is_some()).unwrap_or(own);
        }
        let start = Instant::now();
        loop {
            let known = of_run();
            if known.is_some() || start.elapsed() >= REASON_COMES {
                return known.unwrap_or((None, error.to_string()));
            }
            crate::sync::yield_now();
        }
    }

    /// Waits until `ready`: see [`wait`](crate::engine::wait).
    pub(crate) fn wait_foreign(&mut self, peer: Option<usize>, ready: &mut dyn Question) {
        if let Err(stop) = self.port.wait_foreign(peer, ready) {
            self.stop(stop);
        }
    }

    /// See [`give_way`](crate::engine::give_way).
    pub(crate) fn give_way(&self) -> bool {
        self.port.give_way()
    }

    /// See [`wake`](crate::engine::wake).
    #[inline(always)]
    pub(crate) fn wake_foreign(&self, peer: usize) {
        self.port.wake_foreign(peer);
    }

    /// See [`adopt`](crate::engine::adopt).
    ///
    /// # Safety
    /// As for [`adopt`](crate::engine::adopt).
    #[inline(always)]
    pub(crate) unsafe fn adopt(&mut self) {
        if !self.is_held_here() {
            self.settle_here();
        }
    }

    /// See [`take_turns`](crate::engine::take_turns).
    ///
    /// # Safety
    /// As for [`take_turns`](crate::engine::take_turns).
    pub(crate) unsafe fn take_turns(&mut self) {
        self.in_turn = true;
    }

    /// See [`take`](crate::engine::take).
    #[cold]
    pub(crate) fn take_foreign(&mut self) -> bool {
        if self.is_held_here() {
            return true;
        }
        if self.roster.is_some() {
            return matches!(self.claim(), Claim::Holds | Claim::Borrows);
        }
        if self.has_scope_elsewhere() {
            return false;
        }
        self.settle_here();
        true
    }

    /// See [`leave`](crate::engine::leave).
    pub(crate) fn leave_run(self) {
        let (shared, run) = (self.port.shared().clone(), self.port.run());
        let (member, crowded) = (shared.member(self.port.rank()), self.port.is_crowded());
        drop(self);
        shared.world().leave(member, run);
        shared.wake_everybody(crowded);
    }

    /// Chooses the algorithms of later calls, for callers that keep no view; none: as before.
    pub(crate) fn choose(&mut self, choice: Option<Choice>) {
        self.open_catalogue();
        let choice = choice.unwrap_or_else(|| self.default_choice.clone());
        self.replace_choice(choice);
    }

    /// Chooses the order of later reductions.
    pub(crate) fn set_order(&mut self, order: Order) {
        self.in_order = in_order(order);
    }

    /// Ends the run: an argument is wrong.
    #[cold]
    pub(crate) fn refuse_argument(&mut self, what: String) -> ! {
        static SIG: Signature = Signature::of::<()>("a call", "");
        self.wrong((&SIG, Location::caller()), 0, what);
        self.nothing_to_return()
    }

    /// Carries out a call on memory, of elements of `sig`.
    ///
    /// # Safety
    /// As for [`reduce`](crate::engine::reduce).
    pub(crate) unsafe fn carry_out_on_memory(
        &mut self,
        call: &MemoryCall<'_>,
        sig: &'static Signature,
        by: ElementUse<'_>,
    ) {
        let at = Location::caller();
        let facts = match call.cut {
            Partition::Varied(counts) => {
                let own = counts.get(self.rank()).copied().unwrap_or(0);
                let facts = self.check_common_counts(counts, own, 1, (sig, at));
                let Some(facts) = facts else { return };
                Some(facts)
            }
            _ => None,
        };
        // SAFETY: passed on.
        let Some(made) = (unsafe { self.on_memory(call, sig, at, by) }) else { return };
        let made = match facts {
            Some(facts) => made.counted(facts),
            None => made,
        };
        if let Some(carry_out) = self.in_order
            && made.operation().has_order()
        {
            return carry_out(self, &made.in_order());
        }
        self.by_long_route(&made);
        if made.is_idle() && self.size() > 1 {
            self.port.count_silent_call();
        }
    }

    /// The call of `sig` on memory, with good counts; none if its root is no rank.
    ///
    /// # Safety
    /// As for [`reduce`](crate::engine::reduce), until the call is over.
    #[inline(always)]
    pub(super) unsafe fn on_memory<'a>(
        &mut self,
        call: &MemoryCall<'a>,
        sig: &'static Signature,
        at: &'static Location<'static>,
        ElementUse { kernel, commutative, built_in, identity }: ElementUse<'a>,
    ) -> Option<Call<'a, RawBuffers<'a>>> {
        let made = Call::new(call.operation, sig, at, call.cut);
        let made = self.with_parameter(made, call.parameter as isize)?;
        let made = made.combining_memory(commutative, built_in);
        let input = match call.operation {
            Operation::ExclusiveScan => identity,
            _ => call.memory.input,
        };
        // SAFETY: passed on.
        Some(unsafe { made.on_memory(kernel, input, call.memory.output) })
    }
}
