//! Segmented scans of a sequence of which each rank has a block. Between the ranks goes an
//! exclusive scan of one element, a block's last segment; all else is each rank's own work, before
//! and after.

use super::CollectiveCall;
use super::data::sealed;
use super::head::CallHead;
use super::kinds::{self, CallKind, CallWay, ExclusiveSegmentedScan, SegmentedScan};
use super::runs::{LayerCall, Runs};
use super::startable::SetUpData;
use crate::comm::arguments::Checks;
use crate::comm::requests::{Kept, OwnWork};
use crate::comm::{Comm, OpenRequest, Persistent, Requests};
use crate::element::Element;
use crate::exec::{self, Buffers, Partition, RawBuffers};
use crate::op::float_control::FloatControl;
use crate::op::{Accumulating, Accumulation, Operator, OperatorOrigin, is_disturbed};
use crate::schedule::Operation::ExclusiveScan;
use crate::shared::Signature;
use std::borrow::Cow;
use std::cell::Cell;

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
    flags: Cow<'a, [bool]>,
    op: Segmented<Accumulating<T, O, S>>,
    is_exclusive: bool,
    /// Of this block; when the call is over, of all before it.
    carried: Cell<[Carried<S::Wide>; 1]>,
}

impl<T: Element, O: Operator<T>, S: Accumulation<T, O>> OwnWork<T> for SegmentWork<'_, T, O, S> {
    fn before(&self, values: &[T]) {
        if is_disturbed::<T, O>() {
            return FloatControl::STANDARD.lend(|| self.before(values));
        }
        let last = self.flags.iter().rposition(|flag| *flag);
        let carried = values[last.unwrap_or(0)..].split_first().map(|(first, rest)| {
            let add = |sum, &value: &T| self.op.0.combine(sum, S::widen(value));
            let sum = rest.iter().fold(S::widen(*first), add);
            (sum, last.is_some())
        });
        self.carried.set([carried]);
    }

    fn after(&self, values: &mut [T]) {
        if is_disturbed::<T, O>() {
            return FloatControl::STANDARD.lend(|| self.after(values));
        }
        let identity = self.op.0.identity();
        let [carried] = self.carried.get();
        let mut before = carried.map(|(sum, _)| sum);
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

/// With the signature of the call between the ranks: for people on `T` and `O`, of the size that
/// their partial results have. (These follow from the two types, which ranks compare.)
#[inline(always)]
fn signed<K: CallKind, T: Element, O: Operator<T>, S: Accumulation<T, O>, const WAY: u8>(
    accumulation: S,
) -> (S, &'static Signature) {
    let sig = const {
        &Signature {
            element_name: std::any::type_name::<T>,
            element_size: size_of::<Carried<S::Wide>>(),
            ..kinds::combination::<K, Carried<T>, Segmented<O>, WAY>()
        }
    };
    (accumulation, sig)
}

type CallOnBytes<'a> = exec::Call<'a, RawBuffers<'a>>;

impl<'a, T: Element, O: Operator<T>> ReducedSegments<'a, T, O> {
    /// The values, and the work on them with such partial results.
    fn parts<S: Accumulation<T, O>>(
        self,
        accumulation: S,
    ) -> (&'a mut [T], SegmentWork<'a, T, O, S>) {
        let ReducedSegments { values, flags, op, is_exclusive } = self;
        let op = Segmented(Accumulating::new(op, &accumulation));
        let carried = Cell::new([None]);
        (values, SegmentWork { flags, op, is_exclusive, carried })
    }

    /// Looks at the number of flags. (No kind of call is known here, as in all that is long: then
    /// there is one of it for both.)
    fn check(&self, said: &CallHead<'a>, sig: &'static Signature, comm: &mut Comm) -> bool {
        let (flags, n) = (self.flags.len(), self.values.len());
        comm.check_len("the list of flags", flags, Some(n), (sig, said.at), n)
    }

    fn run_as<S: Accumulation<T, O>>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
        (accumulation, sig): (S, &'static Signature),
    ) -> &'a mut [T] {
        let is_right = self.check(said, sig, comm);
        let (values, work) = self.parts(accumulation);
        if is_right {
            work.before(values);
            let mut carried = work.carried.get();
            let call = exec::Call::new(ExclusiveScan, sig, said.at, Partition::Vector(1));
            let call = call.combining(Buffers::InPlace(&mut carried), &work.op);
            comm.carry_out(call.or(Some(&None)));
            work.carried.set(carried);
            work.after(values);
        }
        values
    }

    /// The call that is started, the work around it, and the values.
    fn form<S: Accumulation<T, O> + 'a>(
        self,
        said: &CallHead<'a>,
        comm: &mut Comm,
        (accumulation, sig): (S, &'static Signature),
    ) -> (CallOnBytes<'a>, Kept<'a>, &'a SegmentWork<'a, T, O, S>, &'a mut [T])
    where
        O: 'a,
    {
        if !self.check(said, sig, comm) {
            comm.nothing_to_return();
        }
        let (values, work) = self.parts(accumulation);
        let (kept, at) = Kept::new(work);
        // SAFETY: kept until the call is dropped.
        let work: &'a SegmentWork<'a, T, O, S> = unsafe { &*at.as_ptr() };
        let carried = work.carried.as_ptr();
        let call = exec::Call::new(ExclusiveScan, sig, said.at, Partition::Vector(1));
        // SAFETY: nobody else uses it before the call is started.
        let buffers = Buffers::InPlace(unsafe { &mut *carried });
        let call = call.combining(buffers, &work.op).or(Some(&None));
        let mut call = call.on_bytes(comm.rank(), comm.size());
        // SAFETY: the same memory, by the address that the cell's own use of it begins with.
        unsafe { call.place(None, carried.cast()) };
        (call, kept, work, values)
    }
}

impl<'a, T: Element, O: Operator<T> + 'a> sealed::CallData<'a> for ReducedSegments<'a, T, O> {
    type Gives = &'a mut [T];

    #[inline(always)]
    fn run<K: CallKind>(self, said: &CallHead<'a>, comm: &mut Comm) -> &'a mut [T] {
        self.run_as(said, comm, signed::<K, T, O, _, { CallWay::WAITS }>(O::accumulation()))
    }

    #[track_caller]
    fn run_by<K: CallKind, R: Runs>(self, said: &CallHead<'a>, by: &mut R) -> &'a mut [T] {
        let sig = kinds::combining::<K, T, O, { CallWay::WAITS }>();
        let facts = LayerCall::checked::<K>(said, sig, (0, 1), by);
        let (flags, n) = (self.flags.len(), self.values.len());
        if flags != n {
            by.refuse(facts, format!("the list of flags has {flags} elements, must have {n}"));
        }
        let (values, work) = self.parts(O::accumulation());
        work.before(values);
        let mut carried = work.carried.get();
        by.combines(ExclusiveScan, facts, (&[], &mut carried), &work.op);
        work.carried.set(carried);
        work.after(values);
        values
    }

    fn start<'scope, K: CallKind>(
        self,
        said: &CallHead<'a>,
        scope: &mut Requests<'scope, 'a>,
    ) -> OpenRequest<'scope, &'a mut [T]> {
        let signed = signed::<K, T, O, _, { CallWay::STARTED }>(O::accumulation());
        let form = self.form(said, scope.comm(), signed);
        scope.start_with_work(form, said.at)
    }
}

impl<'env, T: Element, O: Operator<T> + 'env> SetUpData<'env> for ReducedSegments<'env, T, O> {
    type Element = T;

    fn set_up<'scope, K: CallKind>(
        self,
        said: &CallHead<'env>,
        scope: &mut Requests<'scope, 'env>,
    ) -> Persistent<'scope, 'env, T> {
        let signed = signed::<K, T, O, _, { CallWay::PERSISTENT }>(O::accumulation());
        let form = self.form(said, scope.comm(), signed);
        scope.set_up_with_work(form)
    }
}
