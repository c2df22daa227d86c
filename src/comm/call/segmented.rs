//! Segmented scans of a sequence of which each rank has a block. Between the ranks goes an
//! exclusive scan of one element, a block's last segment; all else is each rank's own work, before
//! and after.

use super::CollectiveCall;
use super::data::sealed;
use super::head::CallHead;
use super::kinds::{self, CallKind, CallWay, ExclusiveSegmentedScan, SegmentedScan};
use super::memory_call::{ElementUse, Keep, MemoryCall, PreparedCall, ReductionMemory};
use super::runs::{LayerCall, Runs};
use super::startable::SetUpData;
use crate::comm::arguments::{CallAt, Checks};
use crate::comm::requests::{Lent, OwnWork};
use crate::comm::{Comm, OpenRequest, Persistent, Requests};
use crate::element::Element;
use crate::exec::{Kernel, Partition};
use crate::op::float_control::FloatControl;
use crate::op::{Accumulating, Accumulation, Operator, OperatorOrigin, is_disturbed};
use crate::schedule::Operation::ExclusiveScan;
use crate::shared::Signature;
use std::borrow::Cow;
use std::cell::Cell;
use std::panic::Location;

/// A rank's block of a sequence, a flag for each of its values, and their operator.
///
/// # Examples
/// See [`segmented_scan`].
#[derive(Debug)]
pub struct ReducedSegments<'a, T, O> {
    values: &'a mut [T],
    flags: Cow<'a, [bool]>,
    op: O,
    is_exclusive: bool,
}

/// A [`segmented_scan`](crate::Comm::segmented_scan): the ranks' `values`, one block after the
/// other, are one sequence; each gets the combination of the values from the last flagged one up to
/// itself.
///
/// **Must agree on all ranks:** the element type, the operator's type. The lengths need not.
///
/// # Examples
/// A block is set up once, and filled again and again:
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let (mut x, flags) = ([0; 2], [comm.rank() == 1, false]);
///     comm.requests(|scope| {
///         let mut scan = scope.set_up(call::segmented_scan(&mut x, &flags, op::Sum));
///         for step in 1..=2 {
///             scan.buf_mut().fill(step);
///             let request = scope.start(scan);
///             scan = scope.wait(request);
///         }
///         [scan.buf()[0], scan.buf()[1]]
///     })
/// })?;
/// assert_eq!(out, [[2, 4], [2, 4], [6, 8]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline]
#[track_caller]
pub fn segmented_scan<'a, T: Element, O: Operator<T>>(
    values: &'a mut [T],
    flags: impl Into<Cow<'a, [bool]>>,
    op: O,
) -> CollectiveCall<'a, SegmentedScan, ReducedSegments<'a, T, O>> {
    let flags = flags.into();
    CollectiveCall::new(ReducedSegments { values, flags, op, is_exclusive: false })
}

/// An [`exclusive_segmented_scan`](crate::Comm::exclusive_segmented_scan): as [`segmented_scan`],
/// without the value itself. The first of a segment gets the operator's identity, or stays as it is
/// if that has none.
///
/// **Must agree on all ranks:** the element type, the operator's type. The lengths need not.
///
/// # Examples
/// ```
/// use phalanx::{call, op};
/// let out = phalanx::run(3, |comm| {
///     let (mut x, flags) = ([1, 2], [false, comm.rank() == 2]);
///     comm.requests(|scope| {
///         let request = scope.start(call::exclusive_segmented_scan(&mut x, &flags, op::Sum));
///         let x = scope.wait(request);
///         [x[0], x[1]]
///     })
/// })?;
/// assert_eq!(out, [[0, 1], [3, 4], [6, 0]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[inline]
#[track_caller]
pub fn exclusive_segmented_scan<'a, T: Element, O: Operator<T>>(
    values: &'a mut [T],
    flags: impl Into<Cow<'a, [bool]>>,
    op: O,
) -> CollectiveCall<'a, ExclusiveSegmentedScan, ReducedSegments<'a, T, O>> {
    let flags = flags.into();
    CollectiveCall::new(ReducedSegments { values, flags, op, is_exclusive: true })
}

/// The part of a block that goes on in the next one: the combination of its values since the last
/// flag, and whether there is one. An empty block has nothing.
type Carried<T> = Option<(T, bool)>;

/// `O` on these parts: it starts anew at a flag.
struct Segmented<O>(O);

impl<T: Element, O: Operator<T>> Operator<Carried<T>> for Segmented<O> {
    const NAME: &'static str = O::NAME;
    const COMMUTATIVE: bool = false;
    const ORIGIN: OperatorOrigin<Self, Carried<T>> = OperatorOrigin::of_inner(O::ORIGIN);

    #[inline(always)]
    fn combine(&self, left: Carried<T>, right: Carried<T>) -> Carried<T> {
        match (left, right) {
            (Some((left, flag)), Some((right, false))) => Some((self.0.combine(left, right), flag)),
            (left, None) => left,
            (_, right) => right,
        }
    }

    fn identity(&self) -> Option<Carried<T>> {
        Some(None)
    }
}

/// The work of a rank on its own block, with partial results as `S` has them, so that each result
/// is rounded once.
struct SegmentWork<'a, T: Element, O: Operator<T>, S: Accumulation<T, O>> {
    values: *mut [T],
    flags: Cow<'a, [bool]>,
    op: Segmented<Accumulating<T, O, S>>,
    is_exclusive: bool,
    /// Of this block; when the call is over, of all before it.
    carried: Cell<Carried<S::Wide>>,
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> OwnWork for SegmentWork<'_, T, O, S> {
    unsafe fn before(&self) {
        if is_disturbed::<T, O>() {
            // SAFETY: passed on.
            return FloatControl::STANDARD.lend(|| unsafe { self.before() });
        }
        // SAFETY: by the contract.
        let values = unsafe { &*self.values };
        let last = self.flags.iter().rposition(|flag| *flag);
        let carried = values[last.unwrap_or(0)..].split_first().map(|(first, rest)| {
            let add = |sum, &value: &T| self.op.0.combine(sum, S::widen(value));
            let sum = rest.iter().fold(S::widen(*first), add);
            (sum, last.is_some())
        });
        self.carried.set(carried);
    }

    unsafe fn after(&self) {
        if is_disturbed::<T, O>() {
            // SAFETY: passed on.
            return FloatControl::STANDARD.lend(|| unsafe { self.after() });
        }
        // SAFETY: by the contract.
        let values = unsafe { &mut *self.values };
        let identity = self.op.0.identity();
        let mut before = self.carried.get().map(|(sum, _)| sum);
        for (value, is_first) in values.iter_mut().zip(self.flags.iter()) {
            before = before.filter(|_| !is_first);
            let own = S::widen(*value);
            let sum = before.map_or(own, |sum| self.op.0.combine(sum, own));
            // A value that is combined with nothing is not changed.
            let result = match self.is_exclusive {
                true => before.or(identity),
                false => before.map(|_| sum),
            };
            *value = result.map_or(*value, S::round);
            before = Some(sum);
        }
    }
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> SegmentWork<'_, T, O, S> {
    /// The call between the ranks, an exclusive scan of one part, with the work around it.
    fn prepared(&self, (sig, at): CallAt) -> PreparedCall<'_> {
        let (operation, cut) = (ExclusiveScan, Partition::Vector(1));
        let carried = self.carried.as_ptr().cast();
        let memory = ReductionMemory { input: carried, output: carried };
        let call = MemoryCall { operation, cut, parameter: 0, memory };
        let kernel = Kernel::of_few(&self.op);
        let by =
            ElementUse::by::<_, Segmented<Accumulating<T, O, S>>>(kernel, Some(const { &None }));
        PreparedCall { call, sig, at, by, keep: Keep::default(), around: Some(self) }
    }

    /// The call, which has the work.
    fn kept<'a>(self, at: CallAt) -> PreparedCall<'a>
    where
        Self: 'a,
    {
        let mut keep = Keep::default();
        // SAFETY: the call's.
        let work: &'a Self = unsafe { keep.keep(self) };
        PreparedCall { keep, ..work.prepared(at) }
    }
}

/// The signature of the call between the ranks: for people on `T` and `O`, of the size that their
/// partial results have. (These follow from the two types, which ranks compare.)
#[inline(always)]
fn sig<K: CallKind, T: Element, O: Operator<T>, S: Accumulation<T, O>, const WAY: u8>(
    _: &S,
) -> &'static Signature {
    const {
        &Signature {
            element_name: std::any::type_name::<T>,
            element_size: size_of::<Carried<S::Wide>>(),
            ..kinds::combination::<K, Carried<T>, Segmented<O>, WAY>()
        }
    }
}

impl<'a, T: Element, O: Operator<T>> ReducedSegments<'a, T, O> {
    /// The values, and the work on them with such partial results.
    fn parts<S: Accumulation<T, O>>(
        self,
        accumulation: &S,
    ) -> (Lent<'a, T>, SegmentWork<'a, T, O, S>) {
        let ReducedSegments { values, flags, op, is_exclusive } = self;
        let (op, carried) = (Segmented(Accumulating::new(op, accumulation)), Cell::new(None));
        let (lent, values) = Lent::new(values);
        (lent, SegmentWork { values, flags, op, is_exclusive, carried })
    }

    /// Looks at the number of flags.
    fn check(&self, comm: &mut Comm, at: CallAt) -> bool {
        let (flags, n) = (self.flags.len(), self.values.len());
        comm.check_len("the list of flags", flags, Some(n), at, n)
    }
}

impl PreparedCall<'static> {
    /// A segmented scan of `values`, exclusive or not: to be run, if it `waits`, else to be
    /// started, or set up. They are elements `T`; `U` is as [`reduce`](crate::engine::reduce) says.
    ///
    /// # Safety
    /// As [`combining`](PreparedCall::combining), of the values; there is a flag for each.
    ///
    /// # Examples
    /// See [`run`](PreparedCall::run).
    #[track_caller]
    pub unsafe fn segmented<T: Element, U: Element, O: Operator<T> + Operator<U> + 'static>(
        (values, flags): (*mut [U], Vec<bool>),
        op: O,
        is_exclusive: bool,
        waits: bool,
    ) -> Self {
        let accumulation = <O as Operator<U>>::accumulation();
        let of_t = <O as Operator<T>>::accumulation();
        let sigs = [
            sig::<SegmentedScan, T, O, _, { CallWay::WAITS }>(&of_t),
            sig::<SegmentedScan, T, O, _, { CallWay::STARTED }>(&of_t),
            sig::<ExclusiveSegmentedScan, T, O, _, { CallWay::WAITS }>(&of_t),
            sig::<ExclusiveSegmentedScan, T, O, _, { CallWay::STARTED }>(&of_t),
        ];
        let (op, carried) = (Segmented(Accumulating::new(op, &accumulation)), Cell::new(None));
        let work: SegmentWork<'_, U, O, _> =
            SegmentWork { values, flags: Cow::Owned(flags), op, is_exclusive, carried };
        work.kept((sigs[2 * usize::from(is_exclusive) + usize::from(!waits)], Location::caller()))
    }
}

impl<'a, T: Element, O: Operator<T> + 'a> sealed::CallData<'a> for ReducedSegments<'a, T, O> {
    type Gives = &'a mut [T];

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> &'a mut [T] {
        let accumulation = O::accumulation();
        let sig = sig::<K, T, O, _, { CallWay::WAITS }>(&accumulation);
        let is_right = self.check(comm, (sig, said.at));
        let (lent, work) = self.parts(&accumulation);
        // SAFETY: the values are lent to the work alone, and its again when the call is over.
        unsafe {
            if is_right {
                work.prepared((sig, said.at)).run(comm);
            }
            lent.back()
        }
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) -> &'a mut [T] {
        let sig = kinds::combining::<K, T, O, { CallWay::WAITS }>();
        let facts = LayerCall::checked::<K>(said, sig, (0, 1), by);
        let (flags, n) = (self.flags.len(), self.values.len());
        if flags != n {
            by.refuse(facts, format!("the list of flags has {flags} elements, must have {n}"));
        }
        let (lent, work) = self.parts(&O::accumulation());
        // SAFETY: as above.
        unsafe {
            work.before();
            let mut carried = [work.carried.get()];
            by.combines(ExclusiveScan, facts, (&[], &mut carried), &work.op);
            work.carried.set(carried[0]);
            work.after();
            lent.back()
        }
    }

    fn start<'scope, K: CallKind>(
        self,
        said: &CallHead<'a>,
        scope: &mut Requests<'scope, 'a>,
    ) -> OpenRequest<'scope, &'a mut [T]> {
        let accumulation = O::accumulation();
        let sig = sig::<K, T, O, _, { CallWay::STARTED }>(&accumulation);
        if !self.check(scope.comm(), (sig, said.at)) {
            scope.comm().nothing_to_return();
        }
        let (lent, work) = self.parts(&accumulation);
        match work.kept((sig, said.at)).start_giving(scope, lent.gives()) {
            Some(slot) => OpenRequest::open(slot),
            // SAFETY: it is over.
            None => OpenRequest::over(unsafe { lent.back() }),
        }
    }
}

impl<'env, T: Element, O: Operator<T> + 'env> SetUpData<'env> for ReducedSegments<'env, T, O> {
    type Element = T;

    fn set_up<'scope, K: CallKind>(
        self,
        said: &CallHead<'env>,
        scope: &mut Requests<'scope, 'env>,
    ) -> Persistent<'scope, 'env, T> {
        let accumulation = O::accumulation();
        let sig = sig::<K, T, O, _, { CallWay::PERSISTENT }>(&accumulation);
        if !self.check(scope.comm(), (sig, said.at)) {
            scope.comm().nothing_to_return();
        }
        let (lent, work) = self.parts(&accumulation);
        work.kept((sig, said.at)).set_up_giving(scope, lent)
    }
}
