//! The part of a communicator that the interfaces of other languages need: calls that are noted
//! with their line there, and caught before they leave Rust; calls on memory; refused arguments.

use super::call::CheckedCalls;
use super::fixed_order::in_order;
use super::holder::Claim;
use super::{Choice, Comm};
use crate::element::Element;
use crate::error::{Error, ForeignCall};
use crate::exec::{Call, ForeignOperator, Kernel, Partition};
use crate::op::Operator;
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

/// The memory of a call: the rank's input, and the place of the result.
///
/// # Examples
/// See [`reduce`](crate::engine::reduce) and [`movement`](crate::engine::movement).
#[derive(Clone, Copy, Debug)]
pub struct ReductionMemory {
    /// The elements that this rank gives.
    pub input: *const u8,
    /// Where the result goes; the input, for a call in place.
    pub output: *mut u8,
}

/// How the elements of a call on memory are cut into the ranks' parts.
///
/// # Examples
/// Sums of blocks of which rank 1's has two elements:
/// ```
/// use phalanx::engine::{self, Operation, ReductionCut, ReductionMemory};
/// let out = phalanx::run(2, |comm| {
///     let (x, counts) = ([1_u64, 2, 3], [1, 2]);
///     let mut own = vec![0_u64; counts[comm.rank()]];
///     let (input, output) = (x.as_ptr().cast(), own.as_mut_ptr().cast());
///     let memory = ReductionMemory { input, output };
///     let (operation, cut) = (Operation::ReduceScatter, ReductionCut::Varied(&counts));
///     // SAFETY: all elements, and room for the rank's own, which nobody else uses.
///     unsafe { engine::reduce::<u64, _>(comm, operation, cut, 0, memory, &phalanx::op::Sum) };
///     own
/// })?;
/// assert_eq!(out, [vec![2], vec![4, 6]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum ReductionCut<'a> {
    /// A vector of so many.
    Vector(usize),
    /// A block of so many for each rank.
    Equal(usize),
    /// As many for each rank as it says.
    Varied(&'a [usize]),
}

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
        let is_own_thread = self.roster.is_none();
        let mut entered = MaybeUninit::uninit();
        if is_own_thread {
            // SAFETY: the place stays, here, and the world is the state's, which the communicator
            // keeps.
            entered.write(unsafe { self.enter_own_thread(&mut place) });
        }
        // (In one place, so that it is inlined there.)
        let result = catch_unwind(AssertUnwindSafe(|| f(self)));
        // (One by one: a call that has gone well is not asked again whether it has.)
        match result {
            Ok(it) => {
                if is_own_thread {
                    // SAFETY: written above, and dropped once: nothing unwinds in between.
                    unsafe { entered.assume_init_drop() };
                }
                Ok(it)
            }
            Err(payload) => {
                if is_own_thread {
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

    /// A reduction, as the method `operation` of this communicator, on memory: it needs no slice.
    ///
    /// # Safety
    /// `memory` is as long as the operation and `cut` say, of type `T`: initialised for reads,
    /// exclusive for writes until this returns.
    pub(crate) unsafe fn reduction<T: Element, O: Operator<T>>(
        &mut self,
        operation: Operation,
        cut: ReductionCut<'_>,
        root: usize,
        memory: ReductionMemory,
        op: &O,
    ) {
        let sig = const {
            &[
                Signature::combining::<T, O>("reduce", O::NAME, "to root"),
                Signature::combining::<T, O>("all_reduce", O::NAME, ""),
                Signature::combining::<T, O>("reduce_scatter_into", O::NAME, ""),
                Signature::combining::<T, O>("reduce_scatter_varied_into", O::NAME, ""),
                Signature::combining::<T, O>("scan", O::NAME, ""),
                Signature::combining::<T, O>("exclusive_scan", O::NAME, ""),
            ]
        };
        let sig = &sig[match operation {
            Operation::Reduce => 0,
            Operation::AllReduce => 1,
            Operation::ReduceScatter if !matches!(cut, ReductionCut::Varied(_)) => 2,
            Operation::ReduceScatter => 3,
            Operation::Scan => 4,
            Operation::ExclusiveScan => 5,
            other => unreachable!("{other} combines nothing"),
        }];
        let identity = op.identity();
        let memory = match operation {
            Operation::ExclusiveScan => {
                let input = identity.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
                ReductionMemory { input: input.cast(), ..memory }
            }
            _ => memory,
        };
        let combined = (Kernel::combiner::<T, O>(op), O::COMMUTATIVE, O::ORIGIN.is_library());
        // SAFETY: passed on.
        unsafe { self.reduction_by(operation, sig, cut, root, memory, combined) }
    }

    /// A call that moves elements, as the method `operation` of this communicator, on memory.
    /// `parameter` is the root, or the distance of a shift, not negative; `within`: the given block
    /// lies in the output, where it belongs.
    ///
    /// # Safety
    /// As [`reduction`](Comm::reduction).
    pub(crate) unsafe fn movement<T: Element>(
        &mut self,
        operation: Operation,
        cut: ReductionCut<'_>,
        parameter: usize,
        memory: ReductionMemory,
        within: bool,
    ) {
        let sig = const {
            &[
                Signature::of::<T>("broadcast", "from root"),
                Signature::of::<T>("gather_into", "to root"),
                Signature::of::<T>("gather_in_place", "to root"),
                Signature::of::<T>("gather_varied_into", "to root"),
                Signature::of::<T>("scatter_into", "from root"),
                Signature::of::<T>("scatter_varied_into", "from root"),
                Signature::of::<T>("all_gather_into", ""),
                Signature::of::<T>("all_gather_in_place", ""),
                Signature::of::<T>("all_to_all_into", ""),
                Signature::of::<T>("all_to_all_in_place", ""),
                Signature::of::<T>("shift", "by"),
            ]
        };
        let varied = matches!(cut, ReductionCut::Varied(_));
        let sig = &sig[match operation {
            Operation::Broadcast => 0,
            Operation::Gather if varied => 3,
            Operation::Gather => 1 + usize::from(within),
            Operation::Scatter => 4 + usize::from(varied),
            Operation::AllGather if !varied => 6 + usize::from(within),
            Operation::AllToAll => 8,
            Operation::AllToAllInPlace => 9,
            Operation::Shift => 10,
            other => unreachable!("{other} has a way of its own"),
        }];
        let combined = (Kernel::mover::<T>(), true, false);
        // SAFETY: passed on.
        unsafe { self.reduction_by(operation, sig, cut, parameter, memory, combined) }
    }

    /// A reduction on memory by an operator of another language.
    ///
    /// # Safety
    /// As for `reduction_by`; elements have the operator's size and alignment, as `sig` says.
    pub(crate) unsafe fn reduction_by_foreign(
        &mut self,
        operation: Operation,
        sig: &'static Signature,
        cut: ReductionCut<'_>,
        root: usize,
        memory: ReductionMemory,
        op: &ForeignOperator<'_>,
    ) {
        let memory = match operation {
            Operation::ExclusiveScan => ReductionMemory { input: std::ptr::null(), ..memory },
            _ => memory,
        };
        let combined = (Kernel::foreign(op), op.commutative, false);
        // SAFETY: passed on.
        unsafe { self.reduction_by(operation, sig, cut, root, memory, combined) }
    }

    /// A call by a kernel; `root` is the distance of a shift.
    ///
    /// # Safety
    /// As [`reduction`](Comm::reduction); the kernel is for the elements of `sig`.
    unsafe fn reduction_by(
        &mut self,
        operation: Operation,
        sig: &'static Signature,
        cut: ReductionCut<'_>,
        root: usize,
        ReductionMemory { input, output }: ReductionMemory,
        (kernel, commutative, built_in): (Kernel<'_>, bool, bool),
    ) {
        let at = Location::caller();
        let partition = match cut {
            ReductionCut::Varied(counts) => {
                let own = counts.get(self.rank()).copied().unwrap_or(0);
                let Some(facts) = self.check_common_counts::<u8>(counts, own, (sig, at)) else {
                    return;
                };
                let call = Call::of_counts(operation, sig, at, counts, facts.total);
                let call = match self.with_parameter(call, root as isize) {
                    Some(call) => call,
                    None => return,
                };
                let call = call.combining_memory(commutative, built_in);
                // SAFETY: passed on.
                return self
                    .carry_on_varied(facts, &unsafe { call.on_memory(kernel, input, output) });
            }
            ReductionCut::Vector(n) => Partition::Vector(n),
            ReductionCut::Equal(n) => Partition::Equal(n),
        };
        let call = Call::new(operation, sig, at, partition);
        let Some(call) = self.with_parameter(call, root as isize) else { return };
        let call = call.combining_memory(commutative, built_in);
        // SAFETY: passed on.
        self.carry_on(&unsafe { call.on_memory(kernel, input, output) });
        if operation == Operation::Shift && root == 0 && self.size() > 1 {
            self.port.count_silent_call();
        }
    }
}
