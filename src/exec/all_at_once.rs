//! All at once: every rank shows a few bytes at its gate, and reads the gates of the others, in one
//! step. For barriers, and for vectors of up to [`EAGER`] bytes, which are copied to the peers.
//!
//! An all-reduce combines in the order of `eager.rs`, so that which of the two is taken cannot be
//! seen in the bits: ranks are first folded in pairs until a power of two remains, then neighbours
//! are joined, then pairs of neighbours .. A reduce-scatter combines in that order, too.
//!
//! [`Executed`] tells calls on slices, known to the compiler, from those on memory.

use super::call::{Buffers, Call, RawBuffers, Slices};
use super::kernel::{Kernel, OperandTree};
use super::{Workspace, alone, eager};
use crate::element::Element;
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::op::{Operator, is_disturbed};
use crate::schedule::Operation;
use crate::shared::{Guard, Port, StartedCall, Stop, copy_few};

/// A call as the executors take it: of a few bytes, on slices; or on memory.
pub(crate) trait Executed<'a>: Sized {
    /// The call without its data.
    fn facts(&self) -> Call<'a>;

    /// The call on memory, as all long ones are.
    fn on_memory(&self) -> &Call<'a, RawBuffers<'a>>;

    fn run_alone(self, port: &mut Port, begun: StartedCall);

    fn run_at_the_gates<R>(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
        between: impl FnOnce() -> R,
    ) -> Result<R, Stop>;

    fn run_eagerly(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop>;
}

impl<'a, T: Element, O: Operator<T>> Executed<'a> for Call<'a, Slices<'a, T, O>> {
    #[inline(always)]
    fn facts(&self) -> Call<'a> {
        self.bare()
    }

    fn on_memory(&self) -> &Call<'a, RawBuffers<'a>> {
        unreachable!("a call on slices has a short route")
    }

    #[inline(always)]
    fn run_alone(self, port: &mut Port, begun: StartedCall) {
        alone::run_on_slices(port, begun, self);
    }

    #[inline(always)]
    fn run_at_the_gates<R>(
        self,
        port: &mut Port,
        _: &mut Workspace,
        begun: StartedCall,
        between: impl FnOnce() -> R,
    ) -> Result<R, Stop> {
        run(port, begun, self, between)
    }

    #[inline(always)]
    fn run_eagerly(
        self,
        port: &mut Port,
        _: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        eager::run(port, begun, self)
    }
}

impl<'a> Executed<'a> for &Call<'a, RawBuffers<'a>> {
    #[inline(always)]
    fn facts(&self) -> Call<'a> {
        self.bare()
    }

    #[inline(always)]
    fn on_memory(&self) -> &Call<'a, RawBuffers<'a>> {
        self
    }

    #[inline(always)]
    fn run_alone(self, port: &mut Port, begun: StartedCall) {
        alone::run(port, begun, self);
    }

    #[inline(always)]
    fn run_at_the_gates<R>(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
        between: impl FnOnce() -> R,
    ) -> Result<R, Stop> {
        run_on_memory(port, work, begun, self, between)
    }

    #[inline(always)]
    fn run_eagerly(
        self,
        port: &mut Port,
        work: &mut Workspace,
        begun: StartedCall,
    ) -> Result<(), Stop> {
        eager::run_among(port, work, begun, self)
    }
}

/// A barrier, or an all-reduce of two ranks at most. `between` runs when the rank's data are shown,
/// before it looks at anybody.
// Unoptimised it would fill its callers' frames.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn run<'a, T: Element, O: Operator<T>, R>(
    port: &mut Port,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let operation = call.operation();
    let Slices { buffers, op, .. } = call.into_slices();
    match (operation, buffers) {
        (Operation::Barrier, _) => disseminate(port, begun, between),
        (Operation::AllReduce, Buffers::InPlace(_)) if port.size() == 1 => {
            port.log_call(begun);
            Ok(between())
        }
        (Operation::AllReduce, Buffers::InPlace(buf)) => {
            all_reduce_pair(port, begun, buf, op, between)
        }
        (operation, _) => unreachable!("no {operation} at the gates"),
    }
}

/// [`run`] of a call on memory: one that moves, or combines among more than two ranks.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn run_on_memory<R>(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    match call.operation() {
        Operation::AllGather | Operation::AllToAll | Operation::AllToAllInPlace => {
            exchange(port, begun, call, between)
        }
        _ => combine_shown(port, work, begun, call, between),
    }
}

/// The calls that combine: everybody shows its vector, or its blocks, to everybody, and combines
/// all of them itself, those of a reduce-scatter without the blocks that are not its own. A scan's
/// are those of the ranks before it, and its own if it is inclusive.
///
/// A scan combines as the hypercube's does (`SCAN-HCUBE`): aligned blocks of powers of two, from
/// the right. That is the tree of [`by_levels`](crate::order::by_levels), and that of fixed order.
#[inline]
fn combine_shown<R>(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    use Operation::*;
    let &RawBuffers { ref kernel, input, output, .. } = call.memory();
    let (operation, rank, p, n) = (call.operation(), port.rank(), port.size(), call.unit());
    // The elements that are shown, and of them the own ones.
    let (from, all, own) = match operation {
        AllReduce | Scan | ExclusiveScan => (output.cast_const(), n, 0..n),
        ReduceScatter => (input, call.cut().total(p), call.cut().block(rank)),
        operation => unreachable!("{operation} combines nothing"),
    };
    assert!(own.end <= all, "the own block is one of all");
    let tree = match operation {
        Scan => OperandTree::levels(rank + 1),
        ExclusiveScan => OperandTree::levels(rank),
        _ if call.is_in_order() => OperandTree::levels(p),
        _ => OperandTree::doubling(p),
    };
    // A panic in the operator, or in between, ends the run.
    let guard = match call.is_in_order() {
        true => Guard::around_user_code(port),
        false => Guard::new(port),
    };
    let (shown, size) = ((from, all), kernel.size());
    show(guard.port, begun, shown, size);
    let result = between();
    look(guard.port, &mut work.addresses, shown, size, own.start * size)?;
    // SAFETY: `output` is the call's, and fits what is its own, which is within what it shows. The
    // peers show as many elements of the same type as we do (fingerprint and length agree), until
    // we show something again. The identity is the call's. A foreign operator's elements are
    // aligned to 8 at most (the route).
    unsafe {
        if operation == ExclusiveScan && rank == 0 {
            if !input.is_null() {
                kernel.fill(output, input, n);
            }
        } else {
            combine_all(work, kernel, (output, own.len()), (tree, p));
        }
    }
    guard.disarm();
    Ok(result)
}

/// Every rank shows that it has come, and looks for all others.
#[cfg_attr(not(debug_assertions), inline(always))]
fn disseminate<R>(
    port: &mut Port,
    begun: StartedCall,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let (rank, p) = (port.rank(), port.size());
    port.show_all(0, 1, |_| ());
    port.log_call(begun);
    let result = between();
    if p == 2 {
        port.look(1 - rank, 0, 1, |_| ())?;
        return Ok(result);
    }
    for distance in 1..p {
        let peer = rank + distance;
        port.look(if peer < p { peer } else { peer - p }, 0, 1, |_| ())?;
    }
    port.looked_at_all();
    Ok(result)
}

/// Two ranks show their vectors to each other, and each combines both: [`combine_shown`], but known
/// to the compiler. (By it 8 bytes take 559 instructions instead of 156, 64 bytes 685 instead of
/// 192, `tools/instructions all-reduce-8 all-reduce-64`, and 79 ns instead of 63 near.)
#[cfg_attr(not(debug_assertions), inline(always))]
fn all_reduce_pair<T: Element, O: Operator<T>, R>(
    port: &mut Port,
    begun: StartedCall,
    buf: &mut [T],
    op: &O,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let rank = port.rank();
    // Nobody reaches our memory; but a panic in the operator ends the run.
    let guard = Guard::new(port);
    guard.port.show_all(buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `buf`.
        unsafe { put(buf, body) }
    });
    guard.port.log_call(begun);
    let result = between();
    guard.port.look(
        1 - rank,
        buf.len(),
        size_of::<T>(),
        #[cfg_attr(not(debug_assertions), inline(always))]
        |body| {
            // SAFETY: the peer shows as many elements of the same type
            // (fingerprint and length agree) until we show something again.
            unsafe { join(body, buf, rank == 1, op) }
        },
    )?;
    guard.disarm();
    Ok(result)
}

/// [`copy_few`], in one body for all lengths of a payload.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn copy_out(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: by the contract.
    unsafe { copy_few(to, from, bytes) }
}

/// Shows `len` elements at `buf`, of so many bytes each, to everybody.
#[cfg_attr(not(debug_assertions), inline(always))]
fn show(port: &mut Port, begun: StartedCall, (buf, len): (*const u8, usize), size: usize) {
    port.show_all(len, size, |body| {
        // SAFETY: there is room for so many bytes, which are no memory of ours.
        unsafe { copy_out(body, buf, len * size) }
    });
    port.log_call(begun);
}

/// Collects in `all` where everybody's elements are that [`show`] has shown, the own ones in their
/// place, without the first `skipped` bytes.
#[cfg_attr(not(debug_assertions), inline(always))]
fn look(
    port: &mut Port,
    all: &mut Vec<*mut u8>,
    (buf, len): (*const u8, usize),
    size: usize,
    skipped: usize,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    if all.len() < p {
        all.resize(p, std::ptr::null_mut());
    }
    all[rank] = buf.cast_mut().wrapping_add(skipped);
    let mut peer = rank;
    for _ in 1..p {
        peer = if peer + 1 == p { 0 } else { peer + 1 };
        all[peer] = port.look(peer, len, size, |body| body.cast_mut().wrapping_add(skipped))?;
    }
    port.looked_at_all();
    Ok(())
}

/// The calls that move: every rank shows its input, and takes from each rank's the block that is
/// for it, in rank order: of an all-gather all, of an all-to-all the own one. The own block may be
/// where it belongs.
#[cfg_attr(not(debug_assertions), inline(always))]
fn exchange<R>(
    port: &mut Port,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let &RawBuffers { ref kernel, input, output, .. } = call.memory();
    let (rank, p, size, cut) = (port.rank(), port.size(), kernel.size(), call.cut());
    // The blocks that each rank shows, and which of them is taken.
    let (blocks, taken) = match call.operation() {
        Operation::AllGather => (1, 0),
        _ => (p, rank),
    };
    let guard = Guard::new(port);
    let n = call.own_len(rank);
    let len = blocks * n;
    guard.port.show_all(
        len,
        size,
        #[cfg_attr(not(debug_assertions), inline(always))]
        |body| {
            // SAFETY: there is room for so many bytes, which are no memory of ours.
            unsafe { copy_few(body, input, len * size) }
        },
    );
    guard.port.log_call(begun);
    let result = between();
    let shown = ShownPayload { blocks, taken, size };
    let own = input.wrapping_add(taken * n * size);
    let place = |begin: usize| output.wrapping_add(begin * size);
    // (Before the own block of two there is the other one, or nothing.)
    let (before, other) = match p {
        2 => (rank * cut.len_of(1 - rank), cut.len_of(1 - rank)),
        _ => (cut.total(rank), 0),
    };
    let mine = place(before);
    if !std::ptr::eq(own, mine) {
        // SAFETY: the call's, of which input and output do not overlap elsewhere.
        unsafe { copy_few(mine, own, n * size) };
    }
    if p == 2 {
        let peer = 1 - rank;
        shown.get(guard.port, peer, place(peer * n), other)?;
    } else {
        let mut begin = 0;
        for peer in 0..p {
            if peer != rank {
                shown.get(guard.port, peer, place(begin), cut.len_of(peer))?;
            }
            begin += cut.len_of(peer);
        }
        guard.port.looked_at_all();
    }
    guard.disarm();
    Ok(result)
}

/// The blocks that each rank shows in an [`exchange`]: so many, of which one is taken, of elements
/// of so many bytes.
#[derive(Clone, Copy)]
struct ShownPayload {
    blocks: usize,
    taken: usize,
    size: usize,
}

impl ShownPayload {
    /// Copies the block that is taken from `peer`, of `n` elements, to `to`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn get(self, port: &mut Port, peer: usize, to: *mut u8, n: usize) -> Result<(), Stop> {
        let ShownPayload { blocks, taken, size } = self;
        port.look(
            peer,
            blocks * n,
            size,
            #[cfg_attr(not(debug_assertions), inline(always))]
            |body| {
                // SAFETY: the peer shows as many elements of the same type as we expect
                // (fingerprint and length agree) until we show something again.
                unsafe { copy_few(to, body.wrapping_add(taken * n * size), n * size) }
            },
        )
    }
}

/// Stores at `to` the result of `tree` of the vectors of `p` ranks, of `len` elements each; rank
/// `r`'s is at the `r`-th of the addresses in `work`.
///
/// # Safety
/// - `to` is valid for writes of `len` elements of the kernel's type, aligned for it; it may be one
///   of the vectors.
/// - Of the ranks that `tree` names, `work` has the addresses of as
///   many elements, in any alignment, and nobody writes them now.
/// - The kernel is no foreign operator's, or of elements aligned to 8 at most.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn combine_all(
    work: &mut Workspace,
    kernel: &Kernel<'_>,
    (to, len): (*mut u8, usize),
    (tree, p): (OperandTree, usize),
) {
    let Workspace { addresses: all, joins, scratch, .. } = work;
    if kernel.is_wide() {
        // SAFETY: by the contract.
        return unsafe { kernel.by_tree(to, all, 0, len, tree) };
    }
    joins.become_of(tree, p);
    // A slot for each result that waits, aligned: a size is a multiple of the alignment.
    let bytes = len * kernel.size();
    let slots = scratch.reserve(bytes * joins.slots, kernel.align());
    if all.len() < p + joins.slots {
        all.resize(p + joins.slots, std::ptr::null_mut());
    }
    for (i, slot) in all[p..][..joins.slots].iter_mut().enumerate() {
        *slot = slots.wrapping_add(i * bytes);
    }
    let Some(last) = joins.joins.len().checked_sub(1) else {
        if !std::ptr::eq(all[0], to) {
            // SAFETY: the only operand, which is another rank's.
            unsafe { kernel.copy(to, all[0], len) };
        }
        return;
    };
    for (i, join) in joins.joins.iter().enumerate() {
        let to = if i == last { to } else { all[join.to] };
        // SAFETY: by the contract: each join combines vectors, or results of joins before, to a
        // slot that is that of the left one, or of none of them; the last one to where all go.
        unsafe { kernel.combine(to, all[join.left], all[join.right], len) };
    }
}

/// Copies `data` to a body. One element, the usual case, without a loop.
///
/// # Safety
/// There is room for `data` at `body`, which is no memory of ours.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) unsafe fn put<T: Element>(data: &[T], body: *mut u8) {
    // SAFETY: by the contract; the body's alignment may be less than theirs.
    unsafe {
        match data {
            [x] => body.cast::<T>().write_unaligned(*x),
            // Other interfaces move bytes, most often as many as a number has.
            _ if size_of::<T>() == 1 && data.len() == 8 => {
                body.cast::<u64>().write_unaligned(data.as_ptr().cast::<u64>().read_unaligned());
            }
            _ => std::ptr::copy_nonoverlapping(data.as_ptr().cast(), body, size_of_val(data)),
        }
    }
}

/// Copies a body to `data`.
///
/// # Safety
/// There are as many elements of `T` at `body` as in `data`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) unsafe fn get<T: Element>(body: *const u8, data: &mut [T]) {
    // SAFETY: by the contract; the body's alignment may be less than theirs.
    unsafe {
        match data {
            [x] => *x = body.cast::<T>().read_unaligned(),
            // As in `put`.
            _ if size_of::<T>() == 1 && data.len() == 8 => {
                let value = body.cast::<u64>().read_unaligned();
                data.as_mut_ptr().cast::<u64>().write_unaligned(value);
            }
            _ => std::ptr::copy_nonoverlapping(
                body,
                data.as_mut_ptr().cast::<u8>(),
                size_of_val(data),
            ),
        }
    }
}

/// Copies elements. One, the usual case, without a loop.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn copy<T: Element>(from: &[T], to: &mut [T]) {
    match (from, &mut *to) {
        ([x], [to]) => *to = *x,
        _ => to.copy_from_slice(from),
    }
}

/// Combines a body with `own`: from its left or from its right.
///
/// # Safety
/// There are as many elements of `T` at `body` as in `own`, and nobody writes
/// them now.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) unsafe fn join<T: Element, O: Operator<T>>(
    body: *const u8,
    own: &mut [T],
    left: bool,
    op: &O,
) {
    if is_disturbed::<T, O>() {
        let (kernel, n, own) =
            (Kernel::combiner::<T, O>(op), own.len(), own.as_mut_ptr().cast::<u8>());
        let (left, right) = if left { (body, own.cast_const()) } else { (own.cast_const(), body) };
        // SAFETY: by the contract; the kernel may read a body in any alignment.
        return unsafe { kernel.combine(own, left, right, n) };
    }
    let got = body.cast::<T>();
    let combine = |own: &mut T, got| {
        *own = if left { op.combine(got, *own) } else { op.combine(*own, got) };
    };
    match own {
        // SAFETY: by the contract; the body's alignment may be less than theirs.
        [own] => combine(own, unsafe { got.read_unaligned() }),
        // As a slice, so that the compiler can make vectors of it.
        _ if got.is_aligned() => {
            // SAFETY: by the contract, and aligned.
            let got = unsafe { std::slice::from_raw_parts(got, own.len()) };
            if left {
                own.iter_mut().zip(got).for_each(|(own, got)| *own = op.combine(*got, *own));
            } else {
                own.iter_mut().zip(got).for_each(|(own, got)| *own = op.combine(*own, *got));
            }
        }
        _ => {
            for (i, own) in own.iter_mut().enumerate() {
                // SAFETY: by the contract.
                combine(own, unsafe { got.add(i).read_unaligned() });
            }
        }
    }
}
