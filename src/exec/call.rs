//! A collective call: one type, from the public method to the executor.

use super::board::{self, OnBoards, direct_move, direct_reduce};
use super::kernel::{Kernel, Loops};
use crate::element::Element;
use crate::op::Operator;
use crate::schedule::{Algorithm, Builders, Operation, Share};
use crate::shared::{CallParams, CallTransport, Digest, Fingerprint, Port, Signature};
use crate::tuning::{Candidate, LevelModel};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::Location;

/// How the elements of a call are cut into blocks.
///
/// # Examples
/// See [`PreparedCall`](crate::engine::PreparedCall).
#[derive(Clone, Copy, Debug)]
pub enum Partition<'a> {
    /// A vector of so many elements, whole or cut evenly into the parts.
    Vector(usize),
    /// Blocks of so many elements each.
    Equal(usize),
    /// Block `j` has as many elements as entry `j` says.
    Varied(&'a [usize]),
    /// Of an all-to-all whose schedule does not forward.
    Pairs {
        /// This rank sends as many elements to rank `j` as entry `j` says,
        send: &'a [usize],
        /// and receives so many from it.
        recv: &'a [usize],
    },
}

impl Partition<'_> {
    /// Whether block lengths differ from rank to rank.
    #[inline(always)]
    pub(crate) fn is_varied(self) -> bool {
        matches!(self, Partition::Varied(_) | Partition::Pairs { .. })
    }
}

/// The user's slices, borrowed until the call has returned.
pub(crate) enum Buffers<'a, T> {
    /// One that is input and output.
    InPlace(&'a mut [T]),
    /// Two that cannot overlap.
    Apart(&'a [T], &'a mut [T]),
    /// An output, of which the elements in this range are the input, and stay where they are.
    Within(&'a mut [T], Range<usize>),
}

/// A collective call. `D` is the data: none, where a call is only told of; slices
/// of one element type, and its operator ([`Slices`]); or memory behind a kernel
/// ([`RawBuffers`]), for code that is not generic over either.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a, D = ()> {
    operation: Operation,
    code: &'static OperationCode,
    sig: &'static Signature,
    at: &'static Location<'static>,
    root: usize,
    shift: usize,
    cut: Partition<'a>,
    /// The length that goes into the fingerprint, in elements.
    len: usize,
    commutative: bool,
    /// The operator, if it is one of the library's on numbers.
    built_in: bool,
    data: D,
}

/// Typed data: see [`Call`].
pub(crate) struct Slices<'a, T, O> {
    pub(super) buffers: Buffers<'a, T>,
    pub(super) op: &'a O,
    /// The values that rank 0 gets in an exclusive scan.
    pub(super) identity: Option<&'a T>,
    pub(super) kernel: fn(&'a O) -> Kernel<'a>,
}

/// Data behind a kernel: see [`Call`]. A call with memory promises that the memory of its
/// operation and its cut is there, of elements of the kernel's type: initialised for reads,
/// exclusive for writes, until it is over. Input and output do not overlap, but a gather's input
/// may be where it belongs in the output. The input of an exclusive scan is the identity, or null;
/// of other operations in place it is the output, or not looked at.
pub(crate) struct RawBuffers<'a> {
    pub(crate) kernel: Kernel<'a>,
    pub(crate) input: *const u8,
    pub(crate) output: *mut u8,
    pub(super) _buffers: PhantomData<&'a mut [u8]>,
}

/// The memory of a call that moves elements of its signature's type: see [`Call`]. It promises the
/// same as [`RawBuffers`].
#[derive(Clone, Copy)]
pub(crate) struct Moved<'a> {
    pub(super) input: *const u8,
    pub(super) output: *mut u8,
    _buffers: PhantomData<&'a mut [u8]>,
}

impl RawBuffers<'_> {
    /// As [`Call::place`].
    ///
    /// # Safety
    /// The promise of [`RawBuffers`] holds of the new memory.
    #[inline(always)]
    pub(super) unsafe fn place(&mut self, input: Option<*const u8>, output: *mut u8) {
        self.input = input.unwrap_or(self.input);
        self.output = output;
    }
}

/// See [`Port::varied`].
type NumberCounts = fn(&mut Port, &[usize], &[usize]) -> Digest;

/// The code of one operation. A call has its own, so that of a program that calls two operations
/// the linker leaves out that of the others.
pub(crate) struct OperationCode {
    /// The functions that make the schedules of those of its algorithms that need not be forced.
    pub(crate) builders: Builders,
    /// The algorithms that may be chosen by the levels of a machine, for so many bytes and an
    /// operator that is commutative, or not.
    pub(crate) candidates: fn(&LevelModel, usize, bool) -> Vec<Candidate>,
    /// How blocks of different lengths are numbered, if it has some.
    pub(crate) counts: Option<NumberCounts>,
    /// How it goes by the boards.
    pub(super) on_boards: OnBoards,
}

macro_rules! codes {
    ($($operation:ident $on_boards:path;)+) => {
        impl OperationCode {
            /// That of an operation, of which the compiler knows which it is.
            #[inline(always)]
            fn of(operation: Operation) -> &'static Self {
                match operation {
                    $(Operation::$operation => {
                        static CODE: OperationCode = OperationCode {
                            builders: Operation::$operation.unforced_builders(),
                            candidates: |model, bytes, commutative| {
                                model.candidates(Operation::$operation, bytes, commutative)
                            },
                            counts: match Operation::$operation.has_blocks() {
                                true => Some(Port::varied),
                                false => None,
                            },
                            on_boards: $on_boards,
                        };
                        &CODE
                    })+
                }
            }
        }
    };
}

codes! {
    Broadcast direct_move::broadcast;
    Reduce direct_reduce::reduce;
    AllGather direct_move::all_gather;
    ReduceScatter direct_reduce::reduce_scatter;
    AllReduce direct_reduce::all_reduce;
    Barrier board::barrier;
    Scan direct_reduce::scan;
    ExclusiveScan direct_reduce::exclusive_scan;
    Scatter direct_move::scatter;
    Gather direct_move::gather;
    AllToAll direct_move::all_to_all;
    AllToAllInPlace direct_move::all_to_all_in_place;
    Shift direct_move::shift;
}

/// The operator of a call that only moves.
pub(crate) struct Move;

impl<T: Element> Operator<T> for Move {
    const NAME: &'static str = "";
    const COMMUTATIVE: bool = true;

    fn combine(&self, left: T, _: T) -> T {
        left
    }
}

impl<'a> Call<'a> {
    /// A call without data.
    #[inline(always)]
    pub(crate) fn new(
        operation: Operation,
        sig: &'static Signature,
        at: &'static Location<'static>,
        cut: Partition<'a>,
    ) -> Self {
        let len = match cut {
            Partition::Vector(n) | Partition::Equal(n) => n,
            Partition::Varied(counts) => counts.iter().sum(),
            // Lengths differ from rank to rank; each message is checked.
            Partition::Pairs { .. } => 0,
        };
        Call {
            operation,
            code: OperationCode::of(operation),
            sig,
            at,
            root: 0,
            shift: 0,
            cut,
            len,
            commutative: true,
            built_in: false,
            data: (),
        }
    }

    /// A call without data, of blocks of `counts` elements, `total` together.
    #[inline(always)]
    pub(crate) fn of_counts(
        operation: Operation,
        sig: &'static Signature,
        at: &'static Location<'static>,
        counts: &'a [usize],
        total: usize,
    ) -> Self {
        Call {
            cut: Partition::Varied(counts),
            ..Call::new(operation, sig, at, Partition::Equal(total))
        }
    }

    /// That moves elements.
    #[inline(always)]
    pub(crate) fn moving<T: Element>(
        self,
        buffers: Buffers<'a, T>,
    ) -> Call<'a, Slices<'a, T, Move>> {
        let kernel = |_: &'a Move| Kernel::mover::<T>();
        self.with(Slices { buffers, op: &Move, identity: None, kernel })
    }

    /// That combines elements by `op`.
    #[inline(always)]
    pub(crate) fn combining<T: Element, O: Operator<T>>(
        mut self,
        buffers: Buffers<'a, T>,
        op: &'a O,
    ) -> Call<'a, Slices<'a, T, O>> {
        self.commutative = O::COMMUTATIVE;
        self.built_in = O::ORIGIN.is_library();
        self.with(Slices { buffers, op, identity: None, kernel: Kernel::combiner::<T, O> })
    }

    /// That combines, on memory.
    pub(crate) fn combining_memory(self, commutative: bool, built_in: bool) -> Self {
        Call { commutative, built_in, ..self }
    }

    /// That moves elements of the signature's type.
    ///
    /// # Safety
    /// The promise of [`RawBuffers`].
    #[inline(always)]
    pub(crate) unsafe fn moving_memory(
        self,
        input: *const u8,
        output: *mut u8,
    ) -> Call<'a, Moved<'a>> {
        self.with(Moved { input, output, _buffers: PhantomData })
    }

    /// The call with elements that a kernel combines or moves, in memory that only has addresses.
    ///
    /// # Safety
    /// The promise of [`RawBuffers`].
    #[inline(always)]
    pub(crate) unsafe fn on_memory(
        self,
        kernel: Kernel<'a>,
        input: *const u8,
        output: *mut u8,
    ) -> Call<'a, RawBuffers<'a>> {
        self.with(RawBuffers { kernel, input, output, _buffers: PhantomData })
    }
}

/// The longest of several blocks. (In one body: compilers make much of such loops.)
#[inline(never)]
fn longest(counts: &[usize]) -> usize {
    counts.iter().copied().max().unwrap_or(0)
}

impl<'a, D> Call<'a, D> {
    /// Under the name that it has in fixed order.
    #[inline(always)]
    pub(crate) fn in_order(self) -> Self {
        Call { sig: self.sig.in_order.unwrap_or(self.sig), ..self }
    }

    #[inline(always)]
    fn with<E>(self, data: E) -> Call<'a, E> {
        let Call { operation, code, sig, at, root, shift, cut, len, commutative, built_in, .. } =
            self;
        Call { operation, code, sig, at, root, shift, cut, len, commutative, built_in, data }
    }

    /// The call without its data.
    #[inline(always)]
    pub(crate) fn bare(&self) -> Call<'a> {
        let &Call {
            operation, code, sig, at, root, shift, cut, len, commutative, built_in, ..
        } = self;
        Call { operation, code, sig, at, root, shift, cut, len, commutative, built_in, data: () }
    }

    #[inline(always)]
    pub(crate) fn root(self, root: usize) -> Self {
        Call { root, ..self }
    }

    /// By so many ranks, less than there are.
    #[inline(always)]
    pub(crate) fn shifted(self, shift: usize) -> Self {
        Call { shift, ..self }
    }

    /// With another length in the fingerprint than the cut's.
    #[inline(always)]
    pub(crate) fn of_length(self, len: usize) -> Self {
        Call { len, ..self }
    }

    #[inline(always)]
    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    /// The code that only calls of its operation need.
    #[inline(always)]
    pub(crate) fn code(&self) -> &'static OperationCode {
        self.code
    }

    #[inline(always)]
    pub(crate) fn sig(&self) -> &'static Signature {
        self.sig
    }

    #[inline(always)]
    pub(crate) fn at(&self) -> &'static Location<'static> {
        self.at
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn cut(&self) -> Partition<'a> {
        self.cut
    }

    #[inline(always)]
    pub(crate) fn root_rank(&self) -> usize {
        self.root
    }

    #[inline(always)]
    pub(crate) fn distance(&self) -> usize {
        self.shift
    }

    #[inline(always)]
    pub(crate) fn is_commutative(&self) -> bool {
        self.commutative
    }

    #[inline(always)]
    pub(crate) fn is_built_in(&self) -> bool {
        self.built_in
    }

    /// Whether block lengths differ from rank to rank.
    #[inline(always)]
    pub(crate) fn is_varied(&self) -> bool {
        self.cut.is_varied()
    }

    /// Whether nothing is to be done: a shift by 0.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.operation == Operation::Shift && self.shift == 0
    }

    /// Elements of the vector or of a block; of varied blocks, of the longest, if all ranks know
    /// it.
    #[inline(always)]
    pub(crate) fn unit(&self) -> usize {
        match self.cut {
            Partition::Vector(n) | Partition::Equal(n) => n,
            Partition::Varied(counts) => longest(counts),
            Partition::Pairs { .. } => 0,
        }
    }

    /// Elements of rank 0's block.
    #[inline(always)]
    pub(super) fn first_block(&self) -> usize {
        match self.cut {
            Partition::Varied(counts) => counts.first().copied().unwrap_or(0),
            _ => self.unit(),
        }
    }

    /// Elements before rank `rank`'s block.
    #[inline(always)]
    pub(super) fn elements_before(&self, rank: usize) -> usize {
        match self.cut {
            Partition::Varied(counts) => counts.iter().take(rank).sum(),
            _ => rank * self.unit(),
        }
    }

    /// The root or the distance, as the fingerprint has it.
    #[inline(always)]
    pub(crate) fn parameter(&self) -> usize {
        match self.operation {
            operation if operation.is_rooted() => self.root,
            Operation::Shift => self.shift,
            _ => Fingerprint::NO_PARAMETER,
        }
    }

    /// The facts that go into the fingerprint beside the signature.
    #[inline(always)]
    pub(crate) fn params(
        &self,
        algorithm: Algorithm,
        transport: CallTransport,
        digest: Digest,
    ) -> CallParams {
        let own_len = match self.cut {
            Partition::Pairs { send, .. } => Some(send.iter().sum()),
            _ => None,
        };
        let (algorithm, parameter) = (algorithm.index(), self.parameter());
        CallParams { len: self.len, own_len, parameter, algorithm, transport, digest }
    }

    /// The facts that go into the fingerprint of a rank alone, which meets nobody's.
    #[inline(always)]
    pub(crate) fn params_alone(&self) -> CallParams {
        CallParams { parameter: self.parameter(), ..CallParams::of(self.len) }
    }

    /// Elements of a buffer that holds `share`; none if that is more than can be.
    #[inline(always)]
    fn elements(&self, share: Share, is_input: bool, rank: usize, p: usize) -> Option<usize> {
        match (share, self.cut) {
            (Share::Nothing, _) => Some(0),
            (Share::Vector, Partition::Vector(n)) | (Share::Block, Partition::Equal(n)) => Some(n),
            (Share::Blocks, Partition::Equal(n)) => n.checked_mul(p),
            (_, Partition::Varied(counts)) if counts.len() != p => None,
            (Share::Block, Partition::Varied(counts)) => Some(counts[rank]),
            (Share::Blocks, Partition::Varied(counts)) => sum(counts),
            (_, Partition::Pairs { send, recv }) if send.len() != p || recv.len() != p => None,
            (Share::Blocks, Partition::Pairs { send, recv }) => {
                sum(if is_input { send } else { recv })
            }
            _ => None,
        }
    }
}

fn sum(counts: &[usize]) -> Option<usize> {
    counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n))
}

impl<'a> Call<'a, RawBuffers<'a>> {
    #[inline(always)]
    pub(crate) fn memory(&self) -> &RawBuffers<'a> {
        &self.data
    }

    /// Bytes of an element.
    #[inline(always)]
    pub(crate) fn element_size(&self) -> usize {
        self.data.kernel.size()
    }

    /// Bytes of an element of the messages from rank to rank: of a partial result, if that is
    /// wider.
    #[inline(always)]
    pub(crate) fn message_element_size(&self) -> usize {
        let kernel = &self.data.kernel;
        kernel.partial_results().as_ref().unwrap_or(kernel).size()
    }

    /// Puts the call on other memory: another output, and another input if there is one.
    ///
    /// # Safety
    /// The promise of [`RawBuffers`].
    #[inline(always)]
    pub(crate) unsafe fn place(&mut self, input: Option<*const u8>, output: *mut u8) {
        // SAFETY: passed on.
        unsafe { self.data.place(input, output) };
    }
}

impl<'a> Call<'a, Moved<'a>> {
    #[inline(always)]
    pub(super) fn moved(&self) -> Moved<'a> {
        self.data
    }

    /// Bytes of an element.
    #[inline(always)]
    pub(crate) fn element_bytes(&self) -> usize {
        self.sig.element_size
    }

    /// Bytes that one of `p` ranks gives.
    #[inline(always)]
    pub(crate) fn given_bytes(&self, p: usize) -> usize {
        let blocks = match self.operation {
            Operation::AllToAll | Operation::AllToAllInPlace => p,
            _ => 1,
        };
        self.unit() * blocks * self.element_bytes()
    }

    /// Loops for [`on_loops`](Call::on_loops).
    #[inline(always)]
    pub(crate) fn loops(&self) -> Loops {
        Loops::none(self.sig.element_size, self.sig.element_align)
    }

    /// This call of moved elements, with a kernel of its [`loops`](Call::loops).
    #[inline(always)]
    pub(crate) fn on_loops(self, loops: &'a Loops) -> Call<'a, RawBuffers<'a>> {
        // SAFETY: as was promised.
        unsafe { self.bare().on_memory(Kernel::moving(loops), self.data.input, self.data.output) }
    }
}

impl<'a, T: Element, O> Call<'a, Slices<'a, T, O>> {
    /// With the value that rank 0 gets of an exclusive scan; else it keeps its own.
    #[inline(always)]
    pub(crate) fn or(mut self, identity: Option<&'a T>) -> Self {
        self.data.identity = identity;
        self
    }

    /// Bytes that this rank gives.
    #[inline(always)]
    pub(crate) fn given_bytes(&self) -> usize {
        match &self.data.buffers {
            // The input of a scatter's root no other rank knows.
            _ if matches!(self.operation, Operation::Scatter | Operation::ReduceScatter) => {
                self.unit() * size_of::<T>()
            }
            Buffers::InPlace(buf) => size_of_val(*buf),
            Buffers::Apart(from, _) => size_of_val(*from),
            Buffers::Within(_, own) => own.len() * size_of::<T>(),
        }
    }

    /// The buffers, and the operator.
    #[inline(always)]
    pub(crate) fn into_buffers(self) -> (Buffers<'a, T>, &'a O) {
        (self.data.buffers, self.data.op)
    }

    #[inline(always)]
    pub(super) fn into_slices(self) -> Slices<'a, T, O> {
        self.data
    }

    /// This call of rank `rank` of `p` with addresses instead of slices, for code that is not
    /// generic.
    ///
    /// # Panics
    /// If the slices are shorter than operation and cut say: the public methods
    /// have looked.
    #[inline(always)]
    pub(crate) fn on_bytes(self, rank: usize, p: usize) -> Call<'a, RawBuffers<'a>> {
        let is_root = self.root == rank;
        let input = self.elements(self.operation.input(is_root), true, rank, p);
        let output = self.elements(self.operation.output(is_root), false, rank, p);
        let call = self.bare();
        let Slices { buffers, op, identity, kernel } = self.data;
        let (from, to, has) = match buffers {
            Buffers::InPlace(buf) => {
                let (to, len) = (buf.as_mut_ptr(), buf.len());
                let from = match (call.operation, identity) {
                    (Operation::ExclusiveScan, Some(identity)) => std::ptr::from_ref(identity),
                    (Operation::ExclusiveScan, None) => std::ptr::null(),
                    _ => to.cast_const(),
                };
                (from, to, (len, len))
            }
            Buffers::Apart(from, to) => (from.as_ptr(), to.as_mut_ptr(), (from.len(), to.len())),
            Buffers::Within(buf, own) => {
                assert!(own.start <= own.end && own.end <= buf.len(), "the own block is within");
                let (len, to) = (buf.len(), buf.as_mut_ptr());
                (to.wrapping_add(own.start).cast_const(), to, (own.len(), len))
            }
        };
        let fits = |needs: Option<usize>, has| needs.is_some_and(|needs| needs <= has);
        assert!(fits(input, has.0) && fits(output, has.1), "{}: short slices", call.operation);
        // SAFETY: the slices have the elements that operation and cut say, of the
        // kernel's type, and are borrowed for 'a, the output exclusively.
        unsafe { call.on_memory(kernel(op), from.cast(), to.cast()) }
    }
}
