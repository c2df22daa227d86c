//! The door for interfaces in other languages: what the typed methods of [`Comm`] cannot express.
//! Hidden, unsafe, and no part of the public interface: it may change at any time.
//!
//! - [`attempt`]: makes calls as parts of a call of another language, whose file and line appear in
//!   errors, and catches what they throw; [`first_cause`] then says why the run has ended.
//! - [`reduce`]: reductions on memory, by the library's operators on types that are chosen when the
//!   program runs; [`UserOperator`]: by a function pointer, on elements of any size.
//! - [`start`], [`set_up`]: calls on memory in a scope of requests, and [`send_tagged`] and its
//!   likes with a location of another language's call; [`wait_any`] for one of them;
//!   [`quiesce`] where the program goes on after a failed call in the scope.
//! - [`exchange`]: what ranks give each other where only the giver knows how much it is.
//! - [`external`], [`InterfaceRecord`]: records of calls that the interface carries out by itself.
//! - [`MemberSeats`]: a communicator that only its members make.
//! - [`MatchList`]: messages and receives that match by source and tag, of few and of many;
//!   [`MessageRing`]: short messages from one rank to another; [`EarlyReceives`] of them;
//!   [`KeptBytes`]: a message that a queue keeps.
//! - [`Lock`], for what an interface shares between threads: ThreadSanitizer sees it, and does not
//!   see std's `Mutex` where two threads want that at once.
//! - [`begin_steps`], [`wait_outside`], [`end_run`], [`cause`], [`deadline`]: for a layer that
//!   joins teams of several processes (package `phalanx-nodes`); and what its calls have in common
//!   with ours: [`Partial`] and [`left_half`] of the fixed order, [`with_parts`] of views,
//!   [`fitting_fields`] and [`whole_field`] of grids.
//! - [`barrier`], [`broadcast`], [`all_gather_into`], [`all_reduce`]: the methods, inlined, with a
//!   location of another language's call; [`attempt_located`] catches what they throw.
//!
//! Everything else is done by the typed methods on slices that the interface has made.

mod foreign_wait;
mod interface_record;
mod layer;
mod part_exchange;
mod user_operator;

pub use crate::comm::{FieldPart, fitting_fields, whole_field};
pub use crate::comm::{
    MemberSeats, MemoryCall, MemoryCut, PreparedCall, ReductionCut, ReductionMemory,
};
pub use crate::dist::partial::Partial;
pub use crate::error::ForeignCall;
pub use crate::fabric::{AwaitedMessage, EarlyReceives, KeptBytes, LongRoom, MessageMemory};
pub use crate::fabric::{MatchList, MatchPattern, MessageRing, RankWait};
pub use crate::order::left_half;
pub use crate::schedule::Operation;
pub use crate::wait::Lock;
pub use foreign_wait::{Waits, adopt, give_way, leave, take, take_turns, wait, wake};
pub use interface_record::{CallEvent, InterfaceRecord, RecordedCall, external};
pub use layer::{begin_steps, cause, deadline, deadline_of_team, end_run, end_steps};
pub use layer::{partial, partial_of_products, wait_outside, with_parts};
pub use part_exchange::{COPIED_PART, ExchangeCall, ExchangeStop, GivenPart, PARTS_AHEAD};
pub use part_exchange::{PartExchange, begin_exchange, exchange};
pub use user_operator::{UserElement, UserFunction, UserOperator};

use crate::error::Error;
use crate::op::Operator;
use crate::{Choice, Comm, OpenRequest, Order, Persistent, Requests, Source, Status, Tag};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;

/// The call of `function` in `line` of `file`, which is kept for ever: error messages name it.
pub fn foreign_call(function: &'static str, file: &str, line: u32) -> &'static ForeignCall {
    static FILES: Lock<BTreeSet<&'static str>> = Lock::new(BTreeSet::new());
    type Calls = BTreeMap<(&'static str, &'static str, u32), &'static ForeignCall>;
    static CALLS: Lock<Calls> = Lock::new(Calls::new());
    let _inside = crate::fork::inside();
    let file = FILES.with(|files| match files.get(file) {
        Some(known) => *known,
        None => {
            let kept: &'static str = Box::leak(file.into());
            files.insert(kept);
            kept
        }
    });
    CALLS.with(|calls| {
        *calls
            .entry((function, file, line))
            .or_insert_with(|| Box::leak(Box::new(ForeignCall { function, file, line })))
    })
}

/// A location that stands for `call`, in records and errors, for the functions that take one. It is
/// kept for ever: to be asked for once a call.
pub fn location_of(call: &'static ForeignCall) -> &'static Location<'static> {
    call.locate()
}

/// A number of the calling thread, which no other live one has.
#[inline(always)]
pub fn this_thread() -> usize {
    crate::sync::this_thread()
}

/// Makes `f`'s calls on `comm` as parts of `call`, and catches what they throw. No other rank
/// reaches the memory of this one then.
///
/// # Safety
/// `f` leaves the communicator in its place.
#[inline(always)]
pub unsafe fn attempt<R>(
    comm: &mut Comm,
    call: &'static ForeignCall,
    f: impl FnOnce(&mut Comm) -> R,
) -> Result<R, Box<dyn Any + Send>> {
    // SAFETY: passed on.
    unsafe { comm.as_foreign(call, f) }
}

/// [`attempt`] for calls that have the location of a call of another language.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn attempt_located<R>(
    comm: &mut Comm,
    f: impl FnOnce(&mut Comm) -> R,
) -> Result<R, Box<dyn Any + Send>> {
    // SAFETY: passed on.
    unsafe { comm.caught_calls(f) }
}

/// Notes `call` for the records that `comm`'s rank makes until the note is dropped: for calls in a
/// scope, where the communicator is lent.
pub fn note(comm: &Comm, call: &'static ForeignCall) -> impl Drop + use<> {
    comm.note_foreign(call)
}

/// Why the run has ended, after [`attempt`] has caught `payload`: what `kind` makes of the first
/// cause, if that is known on this rank, and its text. Ends the run, unless it has ended.
pub fn first_cause<K>(
    comm: &mut Comm,
    payload: Box<dyn Any + Send>,
    kind: impl Fn(&Error) -> K,
) -> (Option<K>, String) {
    comm.first_cause(payload, kind)
}

/// Ends the run with [`Error::Argument`]: an argument of the call that is under way is wrong.
pub fn refuse(comm: &mut Comm, what: String) -> ! {
    comm.refuse_argument(what)
}

/// Chooses the algorithms of `comm`'s later calls; none: as before any choice. Extents multiply to
/// the number of ranks.
pub fn choose(comm: &mut Comm, choice: Option<Choice>) {
    comm.choose(choice);
}

/// Chooses the order of `comm`'s later reductions.
pub fn set_order(comm: &mut Comm, order: Order) {
    comm.set_order(order);
}

/// Where a call is made.
type At = &'static Location<'static>;

/// [`Comm::barrier`], as a part of the caller's code.
#[inline(always)]
pub fn barrier(comm: &mut Comm, at: At) {
    comm.barrier_at(at);
}

/// [`Comm::broadcast`], as a part of the caller's code.
#[inline(always)]
pub fn broadcast<T: crate::Element>(comm: &mut Comm, buf: &mut [T], root: usize, at: At) {
    comm.broadcast_at(buf, root, at);
}

/// [`Comm::all_gather_into`], as a part of the caller's code.
#[inline(always)]
pub fn all_gather_into<T: crate::Element>(comm: &mut Comm, mine: &[T], all: &mut [T], at: At) {
    comm.all_gather_into_at(mine, all, at);
}

/// [`Comm::all_reduce`], as a part of the caller's code.
#[inline(always)]
pub fn all_reduce<T: crate::Element, O: Operator<T>>(
    comm: &mut Comm,
    buf: &mut [T],
    op: O,
    at: At,
) {
    comm.all_reduce_at(buf, op, at);
}

/// A reduction on memory. `root` is looked at by [`Operation::Reduce`] only.
///
/// # Safety
/// `memory` has the elements of type `T` that the operation and `cut` say, initialised for reads
/// and exclusive for writes until this has returned; input and output are one, for what is in
/// place, or do not overlap.
pub unsafe fn reduce<T: crate::Element, O: Operator<T>>(
    comm: &mut Comm,
    operation: Operation,
    cut: ReductionCut<'_>,
    root: usize,
    memory: ReductionMemory,
    op: &O,
) {
    // SAFETY: passed on.
    unsafe { comm.reduction(operation, cut, root, memory, op) }
}

/// A call that moves elements, on memory: of those that have no ways of few bytes, so that what is
/// compiled for a type is small. `parameter` is the root, or the distance of a shift, not negative;
/// `within`: what is given lies in the output, where it belongs.
///
/// # Safety
/// As [`reduce`].
pub unsafe fn movement<T: crate::Element>(
    comm: &mut Comm,
    operation: Operation,
    cut: ReductionCut<'_>,
    parameter: usize,
    memory: ReductionMemory,
    within: bool,
) {
    // SAFETY: passed on.
    unsafe { comm.movement::<T>(operation, cut, parameter, memory, within) }
}

/// Starts a call on memory.
///
/// # Safety
/// The memory has the elements that the call says, initialised for reads and exclusive for writes
/// until it was waited for, or the scope has ended; input and output are one, for what is in place,
/// or do not overlap.
pub unsafe fn start<'scope, 'env>(
    scope: &mut Requests<'scope, 'env>,
    call: PreparedCall,
    at: At,
) -> OpenRequest<'scope, &'env mut [()]> {
    // SAFETY: passed on.
    unsafe { scope.start_on_memory(call, at) }
}

/// Sets a call on memory up, to be started many times.
///
/// # Safety
/// As [`start`], whenever it is under way.
pub unsafe fn set_up<'scope, 'env>(
    scope: &mut Requests<'scope, 'env>,
    call: PreparedCall,
    at: At,
) -> Persistent<'scope, 'env, ()> {
    // SAFETY: passed on.
    unsafe { scope.set_up_on_memory(call, at) }
}

/// [`Requests::send_tagged`].
pub fn send_tagged<'scope, 'env, T: crate::Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env [T],
    (to, tag): (usize, u32),
    at: At,
) -> OpenRequest<'scope, ()> {
    scope.send_tagged_at(data, to, tag, at)
}

/// [`Requests::recv_tagged`].
pub fn recv_tagged<'scope, 'env, T: crate::Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env mut [T],
    (from, tag): (Source, Tag),
    at: At,
) -> OpenRequest<'scope, (&'env mut [T], Status)> {
    scope.recv_tagged_at(data, from, tag, at)
}

/// [`Requests::persistent_send_tagged`].
pub fn persistent_send_tagged<'scope, 'env, T: crate::Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env mut [T],
    (to, tag): (usize, u32),
    at: At,
) -> Persistent<'scope, 'env, T> {
    scope.persistent_send_tagged_at(data, to, tag, at)
}

/// [`Requests::persistent_recv_tagged`].
pub fn persistent_recv_tagged<'scope, 'env, T: crate::Element>(
    scope: &mut Requests<'scope, 'env>,
    data: &'env mut [T],
    (from, tag): (Source, Tag),
    at: At,
) -> Persistent<'scope, 'env, T> {
    scope.persistent_recv_tagged_at(data, from, tag, at)
}

/// A request, for [`wait_any`]; none if it is over.
pub fn place_of<B>(request: &OpenRequest<'_, B>) -> Option<usize> {
    request.slot()
}

/// Waits until one of the scope's requests is complete; returns which.
#[track_caller]
pub fn wait_any(
    scope: &mut Requests<'_, '_>,
    requests: impl Iterator<Item = Option<usize>>,
) -> usize {
    scope.wait_any_of(requests)
}

/// Makes the memory of what the scope has started the rank's own again, where the program goes on
/// after a call has failed (`is_over`: if the run is over).
pub fn quiesce(scope: &Requests<'_, '_>, is_over: bool) {
    scope.quiesce(is_over);
}
