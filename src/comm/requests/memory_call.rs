//! Started calls on memory, for interfaces of other languages: what they do with their elements is
//! chosen when the program runs. So one body serves all types.

use super::forms::Form;
use super::open::Progress;
use super::pending::{Kept, Lent};
use super::persistent::Repeated;
use super::{OpenRequest, Persistent, RequestState, Requests};
use crate::comm::ReductionMemory;
use crate::element::Element;
use crate::exec::{Call, Kernel, Partition};
use crate::fabric::{Signature, Stop};
use crate::op::Operator;
use crate::schedule::Operation;
use std::panic::Location;

/// How the elements of a started call are cut: it outlives the caller's list of counts.
///
/// # Examples
/// See [`start`](crate::engine::start).
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
/// See [`start`](crate::engine::start).
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

/// A call that knows what it does with its elements: moves them, or combines them by an operator of
/// the library's; by one that is a function: [`UserOperator`](crate::engine::UserOperator).
///
/// # Examples
/// See [`start`](crate::engine::start), which moves, and [`set_up`](crate::engine::set_up), which
/// combines.
pub struct PreparedCall {
    pub(crate) call: MemoryCall,
    pub(crate) sig: &'static Signature,
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
    /// # Examples
    /// See [`start`](crate::engine::start).
    pub fn moving<T: Element>(call: MemoryCall) -> Self {
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
        PreparedCall { call, sig, kernel, commutative: true, built_in: false, keep }
    }

    /// A call that combines elements `T`.
    ///
    /// # Panics
    /// If its operation moves.
    ///
    /// # Examples
    /// See [`set_up`](crate::engine::set_up).
    pub fn combining<T: Element, O: Operator<T> + 'static>(
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

impl<'scope, 'env> Requests<'scope, 'env> {
    /// Starts a call.
    ///
    /// # Safety
    /// The memory has the elements that the call says, initialised for reads and exclusive for
    /// writes until it was waited for, or the scope has ended; input and output do not overlap, but
    /// for what is in place. So for the operator.
    pub(crate) unsafe fn start_on_memory(
        &mut self,
        call: PreparedCall,
        at: &'static Location<'static>,
    ) -> OpenRequest<'scope, &'env mut [()]> {
        // SAFETY: passed on.
        let form = unsafe { self.memory_form(call, at) };
        self.start_form(form)
    }

    /// Sets a call up to be started many times.
    ///
    /// # Safety
    /// As [`start_on_memory`](Requests::start_on_memory), whenever it is under way.
    pub(crate) unsafe fn set_up_on_memory(
        &mut self,
        call: PreparedCall,
        at: &'static Location<'static>,
    ) -> Persistent<'scope, 'env, ()> {
        self.check_place();
        // SAFETY: passed on.
        let Form { call, kept, result } = unsafe { self.memory_form(call, at) };
        let (call, none) = (self.collective(call), result.at());
        Persistent::of(Box::new(Repeated::new(call, kept, none, none)))
    }

    /// # Safety
    /// As [`start_on_memory`](Requests::start_on_memory).
    unsafe fn memory_form(
        &mut self,
        prepared: PreparedCall,
        at: &'static Location<'static>,
    ) -> Form<'env, ()> {
        let PreparedCall { call, sig, kernel, commutative, built_in, mut keep } = prepared;
        let MemoryCall { operation, cut, parameter, memory } = call;
        let made = match cut {
            MemoryCut::Vector(n) => Call::new(operation, sig, at, Partition::Vector(n)),
            MemoryCut::Equal(n) => Call::new(operation, sig, at, Partition::Equal(n)),
            MemoryCut::Varied(counts) => {
                // SAFETY: the call's.
                let counts: &[usize] = unsafe { keep.keep(counts) };
                let own = counts.get(self.comm.port.rank()).copied().unwrap_or(0);
                self.counted::<u8>(operation, sig, at, (counts, own))
            }
            MemoryCut::Pairs(send, recv) => {
                // SAFETY: the call's.
                let (send, recv): (&[usize], &[usize]) =
                    unsafe { (keep.keep(send), keep.keep(recv)) };
                let units =
                    |counts: &[usize]| counts.iter().fold(0usize, |sum, &n| sum.saturating_add(n));
                let (sent, received) = (units(send), units(recv));
                if !self.comm.check_pairs(sig, at, (sent, send), (received, recv)) {
                    self.comm.nothing_to_return();
                }
                Call::new(operation, sig, at, Partition::Pairs { send, recv })
            }
        };
        let made = match operation {
            Operation::Shift => made.shifted(parameter),
            Operation::Broadcast | Operation::Reduce | Operation::Gather | Operation::Scatter => {
                self.rooted(made, parameter)
            }
            _ => made,
        };
        let made = made.combining_memory(commutative, built_in);
        // SAFETY: passed on; what the kernel refers to is kept.
        let call = unsafe { made.on_memory(kernel, memory.input, memory.output) };
        let (result, _) = Lent::new(&mut []);
        let kept = if keep.0.is_empty() { Kept::NOTHING } else { Kept::new(keep).0 };
        Form { call, kept, result }
    }

    /// [`wait_any`](Requests::wait_any) for requests by their slots; none for one that is over.
    #[track_caller]
    pub(crate) fn wait_any_of(&mut self, requests: impl Iterator<Item = Option<usize>>) -> usize {
        self.open.go_on_with_all();
        let mut slots = Vec::new();
        for (i, slot) in requests.enumerate() {
            let Some(slot) = slot else { return i };
            match self.open.advance(slot) {
                Progress::Done => return i,
                Progress::Failed => self.fail(Some(slot), Stop::Poisoned),
                Progress::Open => slots.push(slot),
            }
        }
        assert!(!slots.is_empty(), "wait_any: there is no request to wait for");
        self.wait_for(&slots, Location::caller())
    }

    /// After a failed call, where the program goes on: no other rank reaches the memory of what was
    /// started when this returns. `is_over`: only if the run is over.
    #[cold]
    pub(crate) fn quiesce(&self, is_over: bool) {
        // One of its calls that is at work further out fails there, and comes here again.
        let goes_on = is_over && self.comm.is_admitted();
        if !self.open.is_at_work() && !goes_on {
            self.open.abandon();
        }
    }
}

impl<B> OpenRequest<'_, B> {
    /// For [`Requests::wait_any_of`].
    pub(crate) fn slot(&self) -> Option<usize> {
        match self.state {
            RequestState::Open(slot) => Some(slot),
            RequestState::Over(_) => None,
        }
    }
}
