//! A collective call: one type, from the public method to the executor.

use super::board::{self, ShareOf, direct_move, direct_reduce};
use super::kernel::Kernel;
use crate::element::Element;
use crate::op::Operator;
use crate::schedule::{Algorithm, Builders, Operation, Share};
use crate::shared::{CallParams, CallTransport, CountFacts, Digest, Fingerprint, Port, Signature};
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

impl<'a> Partition<'a> {
    /// Whether block lengths differ from rank to rank.
    #[inline(always)]
    pub(crate) fn is_varied(self) -> bool {
        matches!(self, Partition::Varied(_) | Partition::Pairs { .. })
    }

    /// Elements of rank `rank`'s block.
    #[inline(always)]
    pub(super) fn len_of(self, rank: usize) -> usize {
        match self {
            Partition::Vector(n) | Partition::Equal(n) => n,
            Partition::Varied(counts) | Partition::Pairs { send: counts, .. } => counts[rank],
        }
    }

    /// Where rank `rank`'s block is in a buffer that has a block for every rank.
    #[inline(always)]
    pub(super) fn block(self, rank: usize) -> Range<usize> {
        let start = self.total(rank);
        start..start.wrapping_add(self.len_of(rank))
    }

    /// Elements of the first `p` blocks.
    #[inline(always)]
    pub(super) fn total(self, p: usize) -> usize {
        match self {
            // Wrapping: lengths are checked by the functions that have the buffer, and elements of
            // no size may be as many as can be counted.
            Partition::Vector(n) | Partition::Equal(n) => n.wrapping_mul(p),
            Partition::Varied(counts) | Partition::Pairs { send: counts, .. } => {
                match (p, counts) {
                    // The most frequent cases, without a loop.
                    (0, _) => 0,
                    (1, &[first, ..]) => first,
                    _ => counts[..p].iter().sum(),
                }
            }
        }
    }

    /// The address of the counts, to be shown to peers; null for equal blocks.
    pub(super) fn shown(self) -> *mut u8 {
        match self {
            Partition::Vector(_) | Partition::Equal(_) => std::ptr::null_mut(),
            Partition::Varied(counts) | Partition::Pairs { send: counts, .. } => {
                counts.as_ptr().cast_mut().cast()
            }
        }
    }

    /// The cut of a peer that shows its counts at `at`. Ranks compare only a digest of counts, so
    /// addresses come from the counts of the rank that has the memory.
    ///
    /// # Safety
    /// If the blocks vary, a rank of as many peers has [shown](Partition::shown) `at`, and it is
    /// valid for reads for as long as the result is used.
    pub(super) unsafe fn of_peer(self, at: *mut u8, p: usize) -> Partition<'a> {
        match self {
            Partition::Vector(_) | Partition::Equal(_) => self,
            Partition::Varied(_) | Partition::Pairs { .. } => {
                // SAFETY: by the contract.
                Partition::Varied(unsafe { std::slice::from_raw_parts(at.cast(), p) })
            }
        }
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

/// A collective call. `D` is the data: none, where a call is only told of; slices of one element
/// type, and its operator ([`Slices`]); or memory behind a kernel ([`RawBuffers`]), for code that
/// is not generic over either.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a, D = ()> {
    facts: CallShape<'a>,
    data: D,
}

/// The facts of a call beside its data.
#[derive(Clone, Copy)]
struct CallShape<'a> {
    operation: Operation,
    code: &'static OperationCode,
    sig: &'static Signature,
    at: &'static Location<'static>,
    root: usize,
    shift: usize,
    cut: Partition<'a>,
    /// Elements of the vector or of a block; of blocks of different lengths, of the longest.
    unit: usize,
    /// Elements of the block that this rank gives, if that is known where the call is made.
    own: Option<usize>,
    /// The length that goes into the fingerprint, in elements.
    len: usize,
    /// The digest of counts that all ranks know, if they go by their number.
    digest: Digest,
    commutative: bool,
    /// Whether operands are combined in the order of `Order::Fixed`.
    fixed_order: bool,
    /// Whether the operator is one of the library's on numbers.
    built_in: bool,
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
#[derive(Clone, Copy)]
pub(crate) struct RawBuffers<'a> {
    pub(crate) kernel: Kernel<'a>,
    pub(crate) input: *const u8,
    pub(crate) output: *mut u8,
    pub(super) _buffers: PhantomData<&'a mut [u8]>,
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
    /// A rank's share of it by direct access.
    pub(super) share: ShareOf,
}

macro_rules! codes {
    ($($operation:ident $share:path;)+) => {
        impl OperationCode {
            /// The code of an operation that is known at compile time.
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
                            share: $share,
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
        let (unit, len) = match cut {
            Partition::Vector(n) | Partition::Equal(n) => (n, n),
            Partition::Varied(counts) => (longest(counts), counts.iter().sum()),
            // Lengths differ from rank to rank; each message is checked.
            Partition::Pairs { .. } => (0, 0),
        };
        let facts = CallShape {
            operation,
            code: OperationCode::of(operation),
            sig,
            at,
            root: 0,
            shift: 0,
            cut,
            unit,
            own: None,
            len,
            digest: Digest::NONE,
            commutative: true,
            fixed_order: false,
            built_in: false,
        };
        Call { facts, data: () }
    }

    /// A call without data, of blocks of `counts` elements, of which the facts are known.
    #[inline(always)]
    pub(crate) fn of_counts(
        operation: Operation,
        sig: &'static Signature,
        at: &'static Location<'static>,
        (counts, facts): (&'a [usize], CountFacts),
    ) -> Self {
        let mut call = Call::new(operation, sig, at, Partition::Equal(facts.longest));
        call.facts.cut = Partition::Varied(counts);
        call.counted(facts)
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
        self,
        buffers: Buffers<'a, T>,
        op: &'a O,
    ) -> Call<'a, Slices<'a, T, O>> {
        let this = self.combining_memory(O::COMMUTATIVE, O::ORIGIN.is_library());
        this.with(Slices { buffers, op, identity: None, kernel: Kernel::combiner::<T, O> })
    }

    /// That combines, on memory.
    #[inline(always)]
    pub(crate) fn combining_memory(mut self, commutative: bool, built_in: bool) -> Self {
        (self.facts.commutative, self.facts.built_in) = (commutative, built_in);
        self
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
    /// In fixed order, under the name that it has there.
    #[inline(always)]
    pub(crate) fn in_order(mut self) -> Self {
        self.facts.sig = self.facts.sig.in_order.unwrap_or(self.facts.sig);
        self.facts.fixed_order = true;
        self
    }

    /// With the facts of its counts.
    #[inline(always)]
    pub(crate) fn counted(mut self, facts: CountFacts) -> Self {
        self.facts.unit = facts.longest;
        (self.facts.len, self.facts.digest) = (facts.total, facts.digest);
        self
    }

    #[inline(always)]
    fn with<E>(self, data: E) -> Call<'a, E> {
        Call { facts: self.facts, data }
    }

    /// The call without its data.
    #[inline(always)]
    pub(crate) fn bare(&self) -> Call<'a> {
        Call { facts: self.facts, data: () }
    }

    #[inline(always)]
    pub(crate) fn root(mut self, root: usize) -> Self {
        self.facts.root = root;
        self
    }

    /// Of blocks of different lengths, of which this rank gives so many elements: what the compiler
    /// knows of a slice.
    #[inline(always)]
    pub(crate) fn giving(mut self, own: usize) -> Self {
        self.facts.own = Some(own);
        self
    }

    /// Elements of the block of this rank, `rank`.
    #[inline(always)]
    pub(super) fn own_len(&self, rank: usize) -> usize {
        self.facts.own.unwrap_or_else(|| self.facts.cut.len_of(rank))
    }

    /// By so many ranks, less than there are.
    #[inline(always)]
    pub(crate) fn shifted(mut self, shift: usize) -> Self {
        self.facts.shift = shift;
        self
    }

    /// With another length in the fingerprint than the cut's.
    #[inline(always)]
    pub(crate) fn of_length(mut self, len: usize) -> Self {
        self.facts.len = len;
        self
    }

    #[inline(always)]
    pub(crate) fn operation(&self) -> Operation {
        self.facts.operation
    }

    /// The code that only calls of its operation need.
    #[inline(always)]
    pub(crate) fn code(&self) -> &'static OperationCode {
        self.facts.code
    }

    #[inline(always)]
    pub(crate) fn sig(&self) -> &'static Signature {
        self.facts.sig
    }

    #[inline(always)]
    pub(crate) fn at(&self) -> &'static Location<'static> {
        self.facts.at
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.facts.len
    }

    #[inline(always)]
    pub(crate) fn cut(&self) -> Partition<'a> {
        self.facts.cut
    }

    #[inline(always)]
    pub(crate) fn root_rank(&self) -> usize {
        self.facts.root
    }

    #[inline(always)]
    pub(crate) fn distance(&self) -> usize {
        self.facts.shift
    }

    #[inline(always)]
    pub(crate) fn is_commutative(&self) -> bool {
        self.facts.commutative
    }

    #[inline(always)]
    pub(crate) fn is_built_in(&self) -> bool {
        self.facts.built_in
    }

    /// Whether operands are combined in fixed order.
    #[inline(always)]
    pub(crate) fn is_in_order(&self) -> bool {
        self.facts.fixed_order
    }

    /// Whether block lengths differ from rank to rank.
    #[inline(always)]
    pub(crate) fn is_varied(&self) -> bool {
        self.facts.cut.is_varied()
    }

    /// Whether nothing is to be done: a shift by 0.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.facts.operation == Operation::Shift && self.facts.shift == 0
    }

    /// Elements of the vector or of a block; of varied blocks, of the longest, if all ranks know
    /// it.
    #[inline(always)]
    pub(crate) fn unit(&self) -> usize {
        self.facts.unit
    }

    /// The digest of its counts, if these go by their number.
    #[inline(always)]
    pub(crate) fn digest(&self) -> Digest {
        self.facts.digest
    }

    /// Elements that one of `p` ranks gives at most; 0 if not all ranks know.
    #[inline(always)]
    pub(crate) fn given(&self, p: usize) -> usize {
        match self.facts.operation {
            Operation::AllToAll | Operation::AllToAllInPlace => self.facts.unit * p,
            _ => self.facts.unit,
        }
    }

    /// The root or the distance, as the fingerprint has it.
    #[inline(always)]
    pub(crate) fn parameter(&self) -> usize {
        match self.facts.operation {
            operation if operation.is_rooted() => self.facts.root,
            Operation::Shift => self.facts.shift,
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
        let own_len = match self.facts.cut {
            Partition::Pairs { send, .. } => Some(total(send)),
            _ => None,
        };
        let (algorithm, parameter) = (algorithm.index(), self.parameter());
        CallParams { len: self.facts.len, own_len, parameter, algorithm, transport, digest }
    }

    /// The facts that go into the fingerprint of a rank alone, which meets nobody's.
    #[inline(always)]
    pub(crate) fn params_alone(&self) -> CallParams {
        CallParams { parameter: self.parameter(), ..CallParams::of(self.len()) }
    }

    /// Elements of a buffer that holds `share`; none if that is more than can be.
    #[inline(always)]
    fn elements(&self, share: Share, is_input: bool, rank: usize, p: usize) -> Option<usize> {
        match (share, self.facts.cut) {
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

/// The elements of all blocks, which are checked.
#[inline(always)]
pub(super) fn total(counts: &[usize]) -> usize {
    match *counts {
        [a, b] => a + b,
        _ => counts.iter().sum(),
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

impl<'a, T: Element, O> Call<'a, Slices<'a, T, O>> {
    /// With the value that rank 0 gets of an exclusive scan; else it keeps its own.
    #[inline(always)]
    pub(crate) fn or(mut self, identity: Option<&'a T>) -> Self {
        self.data.identity = identity;
        self
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
        let is_root = self.facts.root == rank;
        let input = self.elements(self.operation().input(is_root), true, rank, p);
        let output = self.elements(self.operation().output(is_root), false, rank, p);
        let call = self.bare();
        let Slices { buffers, op, identity, kernel } = self.data;
        let (from, to, has) = match buffers {
            Buffers::InPlace(buf) => {
                let (to, len) = (buf.as_mut_ptr(), buf.len());
                let from = match (call.operation(), identity) {
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
        assert!(fits(input, has.0) && fits(output, has.1), "{}: short slices", call.operation());
        // SAFETY: the slices have the elements that operation and cut say, of the
        // kernel's type, and are borrowed for 'a, the output exclusively.
        unsafe { call.on_memory(kernel(op), from.cast(), to.cast()) }
    }
}
