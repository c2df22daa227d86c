//! Calls on memory, for interfaces of other languages: the use of their elements is chosen
//! when the program runs. So one body serves all types.

use super::kinds::{self, CallWay};
use super::made::Made;
use super::startable::sealed::{SetUp, Start};
use crate::comm::arguments::Checks;
use crate::comm::requests::{Form, Gives, Kept, Lent, OwnWork};
use crate::comm::{Comm, OpenRequest, Persistent, Requests};
use crate::element::Element;
use crate::error::At;
use crate::exec::{Call, Kernel, Partition, RawBuffers};
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::Signature;
use std::panic::Location;

/// The memory of a call: the rank's input, and the place of the result.
///
/// # Examples
/// See [`PreparedCall`].
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
/// See [`PreparedCall`].
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
    /// The call with lists of its own.
    pub(crate) fn kept(self) -> (MemoryCall<'static>, Keep<'static>) {
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
    /// The values that rank 0 gets in an exclusive scan; null: it keeps its own.
    pub(crate) identity: *const u8,
}

impl<'a> ElementUse<'a> {
    pub(crate) fn moves<T: Element>() -> Self {
        let (kernel, identity) = (Kernel::mover::<T>(), std::ptr::null());
        ElementUse { kernel, commutative: true, built_in: false, identity }
    }

    /// The use by a kernel of `O`.
    #[inline(always)]
    pub(crate) fn by<T: Element, O: Operator<T>>(
        kernel: Kernel<'a>,
        identity: Option<&'a T>,
    ) -> Self {
        let built_in = const { O::ORIGIN.is_library() };
        let identity = identity.map_or(std::ptr::null(), std::ptr::from_ref).cast();
        ElementUse { kernel, commutative: O::COMMUTATIVE, built_in, identity }
    }
}

/// What a call uses, until it is dropped.
#[derive(Default)]
pub(crate) struct Keep<'a>(Vec<Kept<'a>>);

impl<'a> Keep<'a> {
    /// # Safety
    /// It is not used when this is dropped.
    pub(crate) unsafe fn keep<V: 'a>(&mut self, value: V) -> &'a V {
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
/// One that moves is started, and one that combines is set up:
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
///     let moving = unsafe { PreparedCall::moving::<u64>(call) };
///     let call = MemoryCall { operation: Operation::AllReduce, ..call };
///     // SAFETY: as above, when the other is over.
///     let sum = unsafe { PreparedCall::combining::<u64, u64, _>(call, &phalanx::op::Sum) };
///     comm.requests(|scope| {
///         let open = scope.start(engine::made_at(moving, at));
///         scope.wait(open);
///         let sum = scope.set_up(sum);
///         drop(scope.start(sum)); // It is over when the scope is.
///     });
///     x
/// })?;
/// assert_eq!(out, [[2], [2]]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct PreparedCall<'a> {
    pub(crate) call: MemoryCall<'a>,
    pub(crate) sig: &'static Signature,
    pub(crate) at: At,
    pub(crate) by: ElementUse<'a>,
    pub(crate) keep: Keep<'a>,
    pub(crate) around: Option<&'a dyn OwnWork>,
}

impl std::fmt::Debug for PreparedCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedCall").field("call", &self.call).finish_non_exhaustive()
    }
}

impl PreparedCall<'static> {
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
        let (at, by) = (Location::caller(), ElementUse::moves::<T>());
        PreparedCall { call, sig, at, by, keep, around: None }
    }

    /// A call that combines elements `T`, by the loops of `U`, as
    /// [`reduce`](crate::engine::reduce) does.
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
    pub unsafe fn combining<T, U, O>(call: MemoryCall<'_>, op: &'static O) -> Self
    where
        T: Element,
        U: Element,
        O: Operator<T> + Operator<U> + 'static,
    {
        let sig = kinds::combining_as::<T, O, { CallWay::STARTED }>(call.operation, call.cut);
        let (call, mut keep) = call.kept();
        let is_exclusive = call.operation == Operation::ExclusiveScan;
        let identity = if is_exclusive { Operator::<U>::identity(op) } else { None };
        // SAFETY: the call's.
        let identity = identity.map(|identity| unsafe { keep.keep(identity) });
        let (at, by) =
            (Location::caller(), ElementUse::by::<U, O>(Kernel::combiner::<U, O>(op), identity));
        PreparedCall { call, sig, at, by, keep, around: None }
    }
}

impl Made for PreparedCall<'_> {
    fn made_at(self, at: At) -> Self {
        PreparedCall { at, ..self }
    }
}

impl<'scope, 'env> Start<'scope, 'env> for PreparedCall<'env> {
    type Gives = ();

    fn start(self, scope: &mut Requests<'scope, 'env>, _: At) -> OpenRequest<'scope, ()> {
        let slot = self.start_giving(scope, Gives::nothing());
        slot.map_or(OpenRequest::over(()), OpenRequest::open)
    }
}

impl<'scope, 'env> SetUp<'scope, 'env> for PreparedCall<'env> {
    type Element = ();

    fn set_up(self, scope: &mut Requests<'scope, 'env>) -> Persistent<'scope, 'env, ()> {
        self.set_up_giving(scope, Lent::new(&mut []).0)
    }
}

impl<'env> PreparedCall<'env> {
    /// Carries out the call, which is one that waits.
    ///
    /// # Errors
    /// As the method of its name, where they end the run.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{engine::PreparedCall, op};
    /// let out = phalanx::run(2, |comm| {
    ///     let (mut x, flags) = ([1, 2], vec![false, comm.rank() == 1]);
    ///     let (values, scan) = ((&raw mut x[..], flags), PreparedCall::segmented::<i32, i32, _>);
    ///     // SAFETY: two values, which nobody else uses.
    ///     unsafe { scan(values, op::Sum, false, true) }.run(comm);
    ///     x
    /// })?;
    /// assert_eq!(out, [[1, 3], [4, 2]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn run(self, comm: &mut Comm) {
        let PreparedCall { call, sig, at, by, around, keep: _keep } = self;
        // SAFETY: by the contract of its maker.
        unsafe {
            let Some(work) = around else { return comm.carry_out_on_memory(&call, sig, by) };
            work.before();
            let Some(call) = comm.on_memory(&call, sig, at, by) else { return };
            comm.moving_by_route(call);
            work.after();
        }
    }

    /// Starts it; its slot, if it is not over, where its request gives that.
    pub(super) fn start_giving(
        self,
        scope: &mut Requests<'_, 'env>,
        gives: Gives<'env>,
    ) -> Option<usize> {
        let (at, around) = (self.at, self.around);
        let (call, mut kept) = self.looked_at(scope.comm());
        match around {
            Some(work) => scope.start_around((call, kept, work), gives, at),
            None => scope.start_call(&call, &mut kept, &gives),
        }
    }

    /// Sets it up, with this buffer.
    pub(super) fn set_up_giving<'scope, T: 'env>(
        self,
        scope: &mut Requests<'scope, 'env>,
        result: Lent<'env, T>,
    ) -> Persistent<'scope, 'env, T> {
        let around = self.around;
        let (call, kept) = self.looked_at(scope.comm());
        scope.set_up_form(Form { call, kept, result }, None, around)
    }

    /// The call, with arguments that are checked, and the values that it uses.
    fn looked_at(self, comm: &mut Comm) -> (Call<'env, RawBuffers<'env>>, Kept<'env>) {
        let PreparedCall { call, sig, at, by, keep, .. } = self;
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
        (call, if keep.0.is_empty() { Kept::NOTHING } else { Kept::new(keep).0 })
    }
}
