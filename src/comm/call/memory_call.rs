//! Calls on memory, for interfaces of other languages: the use of their elements is chosen
//! when the program runs. So one body serves all types.

use super::CheckedCalls;
use super::made::Made;
use super::startable::sealed::{SetUp, Start};
use crate::comm::arguments::Checks;
use crate::comm::requests::{Form, Kept, Lent};
use crate::comm::{Comm, OpenRequest, Persistent, ReductionMemory, Requests};
use crate::element::Element;
use crate::exec::{self, Kernel, Partition};
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::Signature;
use std::panic::Location;

/// How the elements of a started call are cut: it outlives the caller's list of counts.
///
/// # Examples
/// See [`PreparedCall`].
#[derive(Clone, Debug)]
pub enum MemoryCut {
    /// A vector of so many.
    Vector(usize),
    /// A block of so many for each rank.
    Equal(usize),
    /// As many for each rank as it says.
    Varied(Vec<usize>),
    /// Of an all-to-all: so many to each rank, and so many from each.
    Pairs(Vec<usize>, Vec<usize>),
}

/// A collective to be started, without its elements' type.
///
/// # Examples
/// See [`PreparedCall`].
#[derive(Clone, Debug)]
pub struct MemoryCall {
    /// What it is.
    pub operation: Operation,
    /// How its elements are cut.
    pub cut: MemoryCut,
    /// The root, or the distance of a shift; else 0.
    pub parameter: usize,
    /// Its memory; of what is in place the input is the output.
    pub memory: ReductionMemory,
}

impl MemoryCall {
    pub(crate) fn is_varied(&self) -> bool {
        matches!(self.cut, MemoryCut::Varied(_) | MemoryCut::Pairs(..))
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
/// use phalanx::engine::{self, ForeignCall, MemoryCall, MemoryCut};
/// use phalanx::engine::{Operation, PreparedCall, ReductionMemory};
/// let at = ForeignCall::kept("lib_start_broadcast", "heat.f90", 16).location();
/// let out = phalanx::run(2, |comm| {
///     let mut x = [comm.rank() as u64];
///     let here = x.as_mut_ptr().cast::<u8>();
///     let memory = ReductionMemory { input: here, output: here };
///     let (operation, cut) = (Operation::Broadcast, MemoryCut::Vector(1));
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
/// use phalanx::engine::{MemoryCall, MemoryCut, Operation, PreparedCall, ReductionMemory};
/// static SUM: phalanx::op::Sum = phalanx::op::Sum;
/// let out = phalanx::run(2, |comm| {
///     let mut x = [1_u64];
///     let here = x.as_mut_ptr().cast::<u8>();
///     let memory = ReductionMemory { input: here, output: here };
///     let (operation, cut) = (Operation::AllReduce, MemoryCut::Vector(1));
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
    pub(crate) call: MemoryCall,
    pub(crate) sig: &'static Signature,
    pub(crate) at: &'static Location<'static>,
    pub(crate) kernel: Kernel<'static>,
    pub(crate) commutative: bool,
    pub(crate) built_in: bool,
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
    pub unsafe fn moving<T: Element>(call: MemoryCall) -> Self {
        let sig = const {
            &[
                Signature::of::<T>("started broadcast", "from root"),
                Signature::of::<T>("started all_gather_into", ""),
                Signature::of::<T>("started all_gather_varied_into", ""),
                Signature::of::<T>("started all_to_all_into", ""),
                Signature::of::<T>("started all_to_all_varied_into", ""),
                Signature::of::<T>("started gather_into", "to root"),
                Signature::of::<T>("started gather_varied_into", "to root"),
                Signature::of::<T>("started scatter_into", "from root"),
                Signature::of::<T>("started scatter_varied_into", "from root"),
                Signature::of::<T>("started shift", "by"),
            ]
        };
        let varied = usize::from(call.is_varied());
        let sig = &sig[match call.operation {
            Operation::Broadcast => 0,
            Operation::AllGather => 1 + varied,
            Operation::AllToAll => 3 + varied,
            Operation::Gather => 5 + varied,
            Operation::Scatter => 7 + varied,
            Operation::Shift => 9,
            other => unreachable!("{other} moves nothing, or is not started"),
        }];
        let (kernel, keep) = (Kernel::mover::<T>(), Keep::default());
        let at = Location::caller();
        PreparedCall { call, sig, at, kernel, commutative: true, built_in: false, keep }
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
        mut call: MemoryCall,
        op: &'static O,
    ) -> Self {
        let sig = const {
            &[
                Signature::combining::<T, O>("started reduce", O::NAME, "to root"),
                Signature::combining::<T, O>("started all_reduce", O::NAME, ""),
                Signature::combining::<T, O>("started reduce_scatter_into", O::NAME, ""),
                Signature::combining::<T, O>("started reduce_scatter_varied_into", O::NAME, ""),
                Signature::combining::<T, O>("started scan", O::NAME, ""),
                Signature::combining::<T, O>("started exclusive_scan", O::NAME, ""),
            ]
        };
        let sig = &sig[place_of_combining(&call)];
        let mut keep = Keep::default();
        if call.operation == Operation::ExclusiveScan {
            // SAFETY: the call's.
            let identity = op.identity().map(|identity| unsafe { keep.keep(identity) });
            call.memory.input = identity.map_or(std::ptr::null(), std::ptr::from_ref).cast();
        }
        let (kernel, commutative) = (Kernel::combiner::<T, O>(op), O::COMMUTATIVE);
        PreparedCall {
            call,
            sig,
            at: Location::caller(),
            kernel,
            commutative,
            built_in: const { O::ORIGIN.is_library() },
            keep,
        }
    }
}

/// Which of the signatures of calls that combine.
fn place_of_combining(call: &MemoryCall) -> usize {
    match call.operation {
        Operation::Reduce => 0,
        Operation::AllReduce => 1,
        Operation::ReduceScatter => 2 + usize::from(call.is_varied()),
        Operation::Scan => 4,
        Operation::ExclusiveScan => 5,
        other => unreachable!("{other} combines nothing"),
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
        let PreparedCall { call, sig, at, kernel, commutative, built_in, mut keep } = self;
        let MemoryCall { operation, cut, parameter, memory } = call;
        let made = match cut {
            MemoryCut::Vector(n) => exec::Call::new(operation, sig, at, Partition::Vector(n)),
            MemoryCut::Equal(n) => exec::Call::new(operation, sig, at, Partition::Equal(n)),
            MemoryCut::Varied(counts) => {
                // SAFETY: the call's.
                let counts: &[usize] = unsafe { keep.keep(counts) };
                let own = counts.get(comm.rank()).copied().unwrap_or(0);
                match comm.check_counts(counts, own, 1, (sig, at)) {
                    Some(total) => exec::Call::of_counts(operation, sig, at, counts, total),
                    None => comm.nothing_to_return(),
                }
            }
            MemoryCut::Pairs(send, recv) => {
                // SAFETY: the call's.
                let (send, recv): (&[usize], &[usize]) =
                    unsafe { (keep.keep(send), keep.keep(recv)) };
                let units =
                    |counts: &[usize]| counts.iter().fold(0usize, |sum, &n| sum.saturating_add(n));
                let (sent, received) = (units(send), units(recv));
                if !comm.check_pairs((sig, at), (sent, send), (received, recv)) {
                    comm.nothing_to_return();
                }
                exec::Call::new(operation, sig, at, Partition::Pairs { send, recv })
            }
        };
        let Some(made) = comm.with_parameter(made, parameter as isize) else {
            comm.nothing_to_return();
        };
        let made = made.combining_memory(commutative, built_in);
        // SAFETY: by the contract of its maker; the kernel's references are kept.
        let call = unsafe { made.on_memory(kernel, memory.input, memory.output) };
        let (result, _) = Lent::new(&mut []);
        let kept = if keep.0.is_empty() { Kept::NOTHING } else { Kept::new(keep).0 };
        Form { call, kept, result }
    }
}
