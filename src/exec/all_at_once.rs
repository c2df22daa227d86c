//! All at once: every rank shows a few bytes at its gate, and reads the gates of the others, in one
//! step. For barriers, and for vectors of up to [`EAGER`] bytes, which are copied to the peers.
//!
//! An all-reduce combines in the order of `eager.rs`, so that which of the two is taken cannot be
//! seen in the bits: ranks are first folded in pairs until a power of two remains, then neighbours
//! are joined, then pairs of neighbours .. A reduce-scatter combines in that order, too.

use super::Workspace;
use super::call::{Buffers, Call, Moved, Partition, RawBuffers, Slices};
use super::kernel::{Kernel, OperandTree};
use crate::element::Element;
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::op::{Operator, is_disturbed};
use crate::schedule::Operation;
use crate::shared::{Guard, Port, StartedCall, Stop, copy_few};

// Unoptimised it would fill its callers' frames.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn run<'a, T: Element, O: Operator<T>>(
    port: &mut Port,
    _: &mut Workspace,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
) -> Result<(), Stop> {
    let operation = call.operation();
    let Slices { buffers, op, .. } = call.into_slices();
    match (operation, buffers) {
        (Operation::Barrier, _) => disseminate(port, begun),
        (Operation::AllReduce, Buffers::InPlace(_)) if port.size() == 1 => {
            port.log_call(begun);
            Ok(())
        }
        (Operation::AllReduce, Buffers::InPlace(buf)) => all_reduce_pair(port, begun, buf, op),
        (operation, _) => unreachable!("no {operation} at the gates"),
    }
}

/// The calls that move.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn run_moving(
    port: &mut Port,
    begun: StartedCall,
    call: &Call<'_, Moved<'_>>,
) -> Result<(), Stop> {
    let Moved { input, output, .. } = call.moved();
    let (rank, p, n, size) = (port.rank(), port.size(), call.unit(), call.element_bytes());
    match call.operation() {
        Operation::AllGather => exchange(port, begun, (input, n), 0, (output, n), size),
        Operation::AllToAll | Operation::AllToAllInPlace => {
            exchange(port, begun, (input, p * n), rank * n, (output, n), size)
        }
        operation => unreachable!("no {operation} at the gates"),
    }
}

/// The calls that combine, among more than two ranks: everybody shows its vector, or its blocks, to
/// everybody, and combines all of them itself, those of a reduce-scatter without the blocks that
/// are not its own. A scan's are those of the ranks before it, and its own if it is inclusive.
///
/// A scan combines as the hypercube's does (`SCAN-HCUBE`): aligned blocks of powers of two, from
/// the right. That is the tree of [`by_levels`](crate::order::by_levels).
pub(crate) fn run_among(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
) -> Result<(), Stop> {
    use Operation::*;
    let &RawBuffers { ref kernel, input, output, .. } = call.memory();
    let (operation, rank, p, n) = (call.operation(), port.rank(), port.size(), call.unit());
    // The elements that are shown; those before the own ones, and the own ones.
    let (from, all, before, own) = match operation {
        AllReduce | Scan | ExclusiveScan => (output.cast_const(), n, 0, n),
        ReduceScatter => {
            let own = match call.cut() {
                Partition::Varied(counts) => counts[rank],
                _ => n,
            };
            (input, call.elements_before(p), call.elements_before(rank), own)
        }
        operation => unreachable!("{operation} combines nothing"),
    };
    assert!(before + own <= all, "the own block is one of all");
    let tree = match operation {
        Scan => OperandTree::levels(rank + 1),
        ExclusiveScan => OperandTree::levels(rank),
        _ => OperandTree::doubling(p),
    };
    // A panic in the operator ends the run.
    let guard = Guard::new(port);
    let (shown, size) = ((from, all), kernel.size());
    show(guard.port, begun, shown, size);
    look(guard.port, &mut work.addresses, shown, size, before * size)?;
    // SAFETY: `output` is the call's, and fits what is its own, which is within what it shows. The
    // peers show as many elements of the same type as we do (fingerprint and length agree), until
    // we show something again. The identity is the call's.
    unsafe {
        if operation == ExclusiveScan && rank == 0 {
            if !input.is_null() {
                kernel.fill(output, input, n);
            }
        } else {
            combine_all(work, kernel, (output, own), (tree, p));
        }
    }
    guard.disarm();
    Ok(())
}

/// An all-reduce in the order of [`by_levels`](crate::order::by_levels)'s tree, of elements aligned
/// to 8 at most. `between` runs when the rank's vector is shown, before it looks at anybody: peers
/// need nothing else from it.
#[inline]
pub(crate) fn run_around<R>(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    between: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let &RawBuffers { ref kernel, output, .. } = call.memory();
    let (p, n, size) = (port.size(), call.unit(), kernel.size());
    let guard = Guard::around_user_code(port);
    show(guard.port, begun, (output, n), size);
    let result = between();
    look(guard.port, &mut work.addresses, (output, n), size, 0)?;
    // SAFETY: as in `run_among`; the caller has looked at the alignment.
    unsafe { combine_all(work, kernel, (output, n), (OperandTree::levels(p), p)) };
    guard.disarm();
    Ok(result)
}

/// Every rank shows that it has come, and looks for all others.
#[cfg_attr(not(debug_assertions), inline(always))]
fn disseminate(port: &mut Port, begun: StartedCall) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    port.show_all(0, 1, |_| ());
    port.log_call(begun);
    if p == 2 {
        return port.look(1 - rank, 0, 1, |_| ());
    }
    for distance in 1..p {
        let peer = rank + distance;
        port.look(if peer < p { peer } else { peer - p }, 0, 1, |_| ())?;
    }
    port.looked_at_all();
    Ok(())
}

/// Two ranks show their vectors to each other, and each combines both: what [`run_among`] does, but
/// known to the compiler. (By it 8 bytes take 559 instructions instead of 156, 64 bytes 685 instead
/// of 192, `tools/instructions all-reduce-8 all-reduce-64`, and 79 ns instead of 63 near.)
#[cfg_attr(not(debug_assertions), inline(always))]
fn all_reduce_pair<T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: StartedCall,
    buf: &mut [T],
    op: &O,
) -> Result<(), Stop> {
    let rank = port.rank();
    // Nobody reaches our memory; but a panic in the operator ends the run.
    let guard = Guard::new(port);
    guard.port.show_all(buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `buf`.
        unsafe { put(buf, body) }
    });
    guard.port.log_call(begun);
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
    Ok(())
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

/// Every rank shows `len` elements of `size` bytes at `from`; the `n` from element `first` on of
/// each rank's go to `to`, in rank order. An all-gather takes all, an all-to-all the own block of
/// each. They are the call's; the own ones may be where they belong.
#[cfg_attr(not(debug_assertions), inline(always))]
fn exchange(
    port: &mut Port,
    begun: StartedCall,
    (from, len): (*const u8, usize),
    first: usize,
    (to, n): (*mut u8, usize),
    size: usize,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    let (skipped, bytes) = (first * size, n * size);
    let guard = Guard::new(port);
    guard.port.show_all(
        len,
        size,
        #[cfg_attr(not(debug_assertions), inline(always))]
        |body| {
            // SAFETY: there is room for so many bytes, which are no memory of ours.
            unsafe { copy_few(body, from, len * size) }
        },
    );
    guard.port.log_call(begun);
    let (own, mine) = (from.wrapping_add(skipped), to.wrapping_add(rank * bytes));
    if !std::ptr::eq(own, mine) {
        // SAFETY: the call's, of which input and output do not overlap elsewhere.
        unsafe { copy_few(mine, own, bytes) };
    }
    let shown = ShownElements { len, size, skipped };
    if p == 2 {
        shown.get(guard.port, 1 - rank, (to, bytes))?;
    } else {
        for peer in (0..p).filter(|&peer| peer != rank) {
            shown.get(guard.port, peer, (to, bytes))?;
        }
        guard.port.looked_at_all();
    }
    guard.disarm();
    Ok(())
}

/// The elements that everybody shows in an [`exchange`]: so many elements, of so many bytes; not of
/// those that are skipped.
#[derive(Clone, Copy)]
struct ShownElements {
    len: usize,
    size: usize,
    skipped: usize,
}

impl ShownElements {
    /// Copies a block of so many bytes that `peer` shows to its place in `to`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn get(self, port: &mut Port, peer: usize, (to, bytes): (*mut u8, usize)) -> Result<(), Stop> {
        let ShownElements { len, size, skipped } = self;
        port.look(
            peer,
            len,
            size,
            #[cfg_attr(not(debug_assertions), inline(always))]
            |body| {
                let block = body.wrapping_add(skipped);
                // SAFETY: the peer shows as many elements of the same type as we do
                // (fingerprint and length agree) until we show something again.
                unsafe { copy_few(to.wrapping_add(peer * bytes), block, bytes) }
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
