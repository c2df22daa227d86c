//! Calls on memory, for interfaces of other languages: the use of their elements is chosen
//! when the program runs. So one body serves all types.

use super::kinds::{self, CallWay};
use super::made::Made;
use super::startable::sealed::{SetUp, Start};
use crate::comm::arguments::Checks;
use crate::comm::requests::{Form, Kept, Lent};
use crate::comm::{Comm, OpenRequest, Persistent, Requests};
use crate::element::Element;
use crate::exec::{Kernel, Partition};
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::Signature;
use std::panic::Location;

/// The memory of a call: the rank's input, and the place of the result.
///
/// # Examples
/// See [`MemoryCall`].
#[derive(Clone, Copy, Debug)]
pub struct ReductionMemory {
    /// The elements that this rank gives.
    pub input: *const u8,
    /// Where the result goes; the input, for a call in place.
    pub output: *mut u8,
}

/// A collective on memory, without its elements' type.
///
/// # Examples
/// Sums of blocks of which rank 1's has two elements:
/// ```
/// use phalanx::engine::{self, MemoryCall, Operation, Partition, ReductionMemory};
/// let out = phalanx::run(2, |comm| {
///     let (x, counts) = ([1_u64, 2, 3], [1, 2]);
///     let mut own = vec![0_u64; counts[comm.rank()]];
///     let (input, output) = (x.as_ptr().cast(), own.as_mut_ptr().cast());
///     let memory = ReductionMemory { input, output };
///     let (operation, cut) = (Operation::ReduceScatter, Partition::Varied(&counts));
///     let call = MemoryCall { operation, cut, parameter: 0, memory };
///     // SAFETY: all elements, and room for the rank's own, which nobody else uses.
///     unsafe { engine::reduce::<u64, _>(comm, &call, &phalanx::op::Sum) };
///     own
/// })?;
/// assert_eq!(out, [vec![2], vec![4, 6]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MemoryCall<'a> {
    /// What it is.
    pub operation: Operation,
    /// How its elements are cut.
    pub cut: Partition<'a>,
    /// The root, or the distance of a shift, not negative; else 0.
    pub parameter: usize,
    /// Its memory; of what is in place the input is the output.
    pub memory: ReductionMemory,
}

impl<'a> MemoryCall<'a> {
    /// The call, whose input is `identity` if it is an exclusive scan.
    pub(crate) fn or<T>(mut self, identity: Option<&T>) -> Self {
        if self.operation == Operation::ExclusiveScan {
            self.memory.input = identity.map_or(std::ptr::null(), std::ptr::from_ref).cast();
        }
        self
    }

    /// The call with lists of its own.
    pub(crate) fn kept(self) -> (MemoryCall<'static>, Keep) {
        let mut keep = Keep::default();
        // SAFETY: the call's.
        let mut list = |counts: &[usize]| unsafe { keep.keep(counts.to_vec()) }.as_slice();
        let cut = match self.cut {
            Partition::Vector(n) => Partition::Vector(n),
            Partition::Equal(n) => Partition::Equal(n),
            Partition::Varied(counts) => Partition::Varied(list(counts)),
            Partition::Pairs { send, recv } => {
                Partition::Pairs { send: list(send), recv: list(recv) }
            }
        };
        (MemoryCall { cut, ..self }, keep)
    }
}

/// The use of a call's elements on memory.
#[derive(Clone, Copy)]
pub(crate) struct ElementUse<'a> {
    pub(crate) kernel: Kernel<'a>,
    pub(crate) commutative: bool,
    pub(crate) built_in: bool,
}

impl<'a> ElementUse<'a> {
    pub(crate) fn moves<T: Element>() -> Self {
        ElementUse { kernel: Kernel::mover::<T>(), commutative: true, built_in: false }
    }

    pub(crate) fn combines<T: Element, O: Operator<T>>(op: &'a O) -> Self {
        let kernel = Kernel::combiner::<T, O>(op);
        let built_in = const { O::ORIGIN.is_library() };
        ElementUse { kernel, commutative: O::COMMUTATIVE, built_in }
    }
}

/// What a call uses, until it is dropped.
#[derive(Default)]
pub(crate) struct Keep(Vec<Kept<'static>>);

impl Keep {
    /// # Safety
    /// It is not used when this is dropped.
    pub(crate) unsafe fn keep<V: 'static>(&mut self, value: V) -> &'static V {
        let (kept, at) = Kept::new(value);
        self.0.push(kept);
        // SAFETY: in its place until it is dropped, and not used then.
        unsafe { &*at.as_ptr() }
    }
}

/// A call on memory that knows the use of its elements: moves them, or combines them by an
/// operator of the library's; by one that is a function:
/// [`UserOperator`](crate::engine::UserOperator). It is started, or set up, as any
/// [`call`](crate::call).
///
/// # Examples
/// One that moves, and is started:
/// ```
/// use phalanx::engine::{self, ForeignCall, MemoryCall};
/// use phalanx::engine::{Operation, Partition, PreparedCall, ReductionMemory};
/// let at = ForeignCall::kept("lib_start_broadcast", "heat.f90", 16).location();
/// let out = phalanx::run(2, |comm| {
///     let mut x = [comm.rank() as u64];
///     let here = x.as_mut_ptr().cast::<u8>();
///     let memory = ReductionMemory { input: here, output: here };
///     let (operation, cut) = (Operation::Broadcast, Partition::Vector(1));
///     let call = MemoryCall { operation, cut, parameter: 1, memory };
///     // SAFETY: one number, which nobody else uses before the scope has ended.
///     let call = unsafe { PreparedCall::moving::<u64>(call) };
///     comm.requests(|scope| {
///         let open = scope.start(engine::made_at(call, at));
///         scope.wait(open);
///     });
///     x
/// })?;
/// assert_eq!(out, [[1], [1]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
/// One that combines, and is set up:
/// ```
/// use phalanx::engine::{MemoryCall, Operation, Partition, PreparedCall, ReductionMemory};
/// static SUM: phalanx::op::Sum = phalanx::op::Sum;
/// let out = phalanx::run(2, |comm| {
///     let mut x = [1_u64];
///     let here = x.as_mut_ptr().cast::<u8>();
///     let memory = ReductionMemory { input: here, output: here };
///     let (operation, cut) = (Operation::AllReduce, Partition::Vector(1));
///     let call = MemoryCall { operation, cut, parameter: 0, memory };
///     // SAFETY: one number, which nobody else uses before the scope has ended.
///     let call = unsafe { PreparedCall::combining::<u64, _>(call, &SUM) };
///     comm.requests(|scope| {
///         let mut idle = scope.set_up(call);
///         for _ in 0..3 {
///             let open = scope.start(idle);
///             idle = scope.wait(open);
///         }
///     });
///     x
/// })?;
/// assert_eq!(out, [[8], [8]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct PreparedCall {
    pub(crate) call: MemoryCall<'static>,
    pub(crate) sig: &'static Signature,
    pub(crate) at: &'static Location<'static>,
    pub(crate) by: ElementUse<'static>,
    pub(crate) keep: Keep,
}

impl std::fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedCall").field("call", &self.call).finish_non_exhaustive()
    }
}

impl PreparedCall {
    /// A call that moves elements `T`.
    ///
    /// # Panics
    /// If its operation combines, or cannot be started.
    ///
    /// # Safety
    /// The memory has the elements that the call says, initialised for reads and exclusive for
    /// writes whenever it is under way: from a start until it was waited for, or the scope has
    /// ended. Input and output are one, for a call in place, or do not overlap.
    ///
    /// # Examples
    /// See [`PreparedCall`].
    #[track_caller]
    pub unsafe fn moving<T: Element>(call: MemoryCall<'_>) -> Self {
        let sig = kinds::moving_as::<T, { CallWay::STARTED }>(call.operation, call.cut);
        let (call, keep) = call.kept();
        PreparedCall { call, sig, at: Location::caller(), by: ElementUse::moves::<T>(), keep }
    }

    /// A call that combines elements `T`.
    ///
    /// # Panics
    /// If its operation moves.
    ///
    /// # Safety
    /// The memory has the elements that the call says, initialised for reads and exclusive for
    /// writes whenever it is under way: from a start until it was waited for, or the scope has
    /// ended. Input and output are one, for a call in place, or do not overlap.
    ///
    /// # Examples
    /// See [`PreparedCall`].
    #[track_caller]
    pub unsafe fn combining<T: Element, O: Operator<T> + 'static>(
        call: MemoryCall<'_>,
        op: &'static O,
    ) -> Self {
        let sig = kinds::combining_as::<T, O, { CallWay::STARTED }>(call.operation, call.cut);
        let (mut call, mut keep) = call.kept();
        if call.operation == Operation::ExclusiveScan {
            // SAFETY: the call's.
            call = call.or(op.identity().map(|identity| unsafe { keep.keep(identity) }));
        }
        PreparedCall { call, sig, at: Location::caller(), by: ElementUse::combines(op), keep }
    }
}

impl Made for PreparedCall {
    fn made_at(self, at: &'static Location<'static>) -> Self {
        PreparedCall { at, ..self }
    }
}

impl<'scope, 'env> Start<'scope, 'env> for PreparedCall {
    type Gives = ();

    fn start(
        self,
        scope: &mut Requests<'scope, 'env>,
        _: &'static Location<'static>,
    ) -> OpenRequest<'scope, ()> {
        let Form { call, mut kept, .. } = self.form(scope.comm());
        scope.start_of_nothing(&call, &mut kept)
    }
}

impl<'scope, 'env> SetUp<'scope, 'env> for PreparedCall {
    type Element = ();

    fn set_up(self, scope: &mut Requests<'scope, 'env>) -> Persistent<'scope, 'env, ()> {
        let form = self.form(scope.comm());
        scope.set_up_as_it_is(form)
    }
}

impl PreparedCall {
    fn form<'env>(self, comm: &mut Comm) -> Form<'env, ()> {
        let PreparedCall { call, sig, at, by, keep } = self;
        let is_right = match call.cut {
            Partition::Varied(counts) => {
                let own = counts.get(comm.rank()).copied().unwrap_or(0);
                comm.check_counts(counts, own, 1, (sig, at)).is_some()
            }
            Partition::Pairs { send, recv } => {
                let units =
                    |counts: &[usize]| counts.iter().fold(0usize, |sum, &n| sum.saturating_add(n));
                comm.check_pairs((sig, at), (units(send), send), (units(recv), recv))
            }
            _ => true,
        };
        if !is_right {
            comm.nothing_to_return()
        }
        // SAFETY: by the contract of its maker; the kernel's references are kept.
        let made = unsafe { comm.on_memory(&call, sig, at, by) };
        let Some(call) = made else { comm.nothing_to_return() };
        let (result, _) = Lent::new(&mut []);
        let kept = if keep.0.is_empty() { Kept::NOTHING } else { Kept::new(keep).0 };
        Form { call, kept, result }
    }
}
