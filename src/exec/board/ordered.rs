//! Reductions by direct access in the order of one tree.
//!
//! Rank `i` combines chunk `i` of all buffers, neighbours first (see
//! `order.rs`), in scratch memory, and stores the result where it belongs. The
//! order of an element's operands depends on nothing but their number: not on
//! the length, the chunks or the blocks.

use super::super::kernel::OperandTree;
use super::{BLOCK, Call, DirectParts, Kernel, Partition, RawBuffers, Workspace, blocks};
use crate::dist::chunk;
use crate::fabric::{Guard, Port, StartedCall, Stop};
use crate::mailbox::{BRIEF_ALIGN, BRIEF_ROOM};
use crate::order::by_levels;
use crate::schedule::Operation;
use std::mem::MaybeUninit;
use std::ops::Range;

/// A rank's own memory in a call: room for the peers' addresses, and [`scratch`] bytes
/// aligned for the kernel's elements.
struct Desk<'a> {
    all: &'a mut Vec<*mut u8>,
    slots: *mut u8,
}

/// Bytes between one partial result and the next, which is aligned like the
/// first: an element of no size may ask for more than a block.
fn slot(kernel: &Kernel<'_>) -> usize {
    BLOCK.max(kernel.size()).next_multiple_of(kernel.align())
}

/// Bytes of scratch memory that a reduction over `p` ranks needs: a block for
/// every level of the tree.
pub(crate) fn scratch(kernel: &Kernel<'_>, p: usize) -> usize {
    slot(kernel) * (p.ilog2() as usize + 2)
}

/// A reduction; `meanwhile` runs when this rank's part is shown, before it looks at
/// anybody.
#[inline]
pub(crate) fn run<R>(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    meanwhile: impl FnOnce() -> R,
) -> Result<R, Stop> {
    port.log_call(begun);
    let &RawBuffers { ref kernel, input, output, .. } = call.memory();
    let (rank, p) = (port.rank(), port.size());
    let slots = work.scratch.reserve(scratch(kernel, p), kernel.align());
    let own = Desk { all: &mut work.addresses, slots };
    let (parts, len) = match call.cut() {
        Partition::Vector(n) => (DirectParts::Equal(0), n),
        Partition::Equal(m) => (DirectParts::Equal(m), m * p),
        Partition::Varied(counts) => (DirectParts::Varied(counts), call.len()),
        Partition::Pairs { .. } => unreachable!("pairs are for the all-to-all"),
    };
    // SAFETY: the call's promise; the scratch memory is this communicator's own.
    unsafe {
        match call.operation() {
            Operation::AllReduce => all_reduce(port, output, len, kernel, own, meanwhile),
            Operation::Reduce => {
                let to = To::Root(call.root_rank());
                reduce(port, output, len, to, kernel, own, meanwhile)
            }
            _ => {
                let to = To::Own(parts.range(rank), output);
                reduce(port, input, len, to, kernel, own, meanwhile)
            }
        }
    }
}

/// All-reduce in place of `len` elements at `buf`; `meanwhile` runs when they are
/// shown, before this rank looks at anybody.
///
/// # Safety
/// `buf` is valid for reads and writes of `len` elements of the kernel's type,
/// and nobody but this call and the peers' same call accesses it.
#[inline]
unsafe fn all_reduce<R>(
    port: &mut Port,
    buf: *mut u8,
    len: usize,
    kernel: &Kernel<'_>,
    own: Desk<'_>,
    meanwhile: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let rank = port.rank();
    let Desk { all, slots } = own;
    port.show(buf, buf, len);
    let result = meanwhile();
    addresses(port, buf, len, all)?;
    // SAFETY: these are everybody's, who keep them until we finish.
    unsafe { all_reduce_part(kernel, all, rank, len, slots) };
    port.finish();
    port.close()?;
    guard.disarm();
    Ok(result)
}

/// Rank `rank`'s part of an all-reduce of `len` elements at each of the addresses in `all`.
///
/// # Safety
/// - They are valid for reads and writes of `len` elements of the kernel's type, and accessed by
///   nobody but the ranks' parts of this very call.
/// - `slots` are [`scratch`] bytes of this rank's own.
pub(super) unsafe fn all_reduce_part(
    kernel: &Kernel<'_>,
    all: &[*mut u8],
    rank: usize,
    len: usize,
    slots: *mut u8,
) {
    let (p, size) = (all.len(), kernel.size());
    let mine = chunk(len, rank, p);
    if let [a, b] = all[..] {
        let at = mine.start * size;
        // SAFETY: chunks of different ranks are disjoint, the two buffers are
        // (two live `&mut`).
        unsafe { kernel.both(a.wrapping_add(at), b.wrapping_add(at), mine.len()) };
    } else if p > 1 {
        for block in blocks(mine, size) {
            // SAFETY: as above: this range of every buffer is ours alone, and
            // the scratch memory is.
            unsafe {
                let at = block.start * size;
                let sum = tree(kernel, all, at, block.len(), (slots, slot(kernel)));
                for x in all.iter() {
                    kernel.copy(x.wrapping_add(at), sum, block.len());
                }
            }
        }
    }
}

/// Where the result of [`reduce`] goes.
enum To {
    /// These elements of it to this rank's own memory at the address.
    Own(Range<usize>, *mut u8),
    /// All of it to the input of this rank, in its place.
    Root(usize),
}

/// Reduce of `len` elements at `input` on every rank.
///
/// # Safety
/// - `input` is valid for reads of `len` elements of the kernel's type, on a root
///   also for writes, and nobody writes it during the call but this call.
/// - All ranks name one root, or none does; an own output is valid for writes of
///   its elements and overlaps no input.
#[inline]
unsafe fn reduce<R>(
    port: &mut Port,
    input: *const u8,
    len: usize,
    to: To,
    kernel: &Kernel<'_>,
    own: Desk<'_>,
    meanwhile: impl FnOnce() -> R,
) -> Result<R, Stop> {
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let Desk { all, slots } = own;
    let input = input.cast_mut();
    port.show(input, input, len);
    let result = meanwhile();
    addresses(port, input, len, all)?;
    // Where element 0 of the result would be.
    let (part, base) = match to {
        To::Own(part, output) => (part.clone(), output.wrapping_sub(part.start * kernel.size())),
        To::Root(root) => (chunk(len, port.rank(), port.size()), all[root]),
    };
    // SAFETY: everybody's inputs, which they keep until we finish.
    unsafe { reduce_part(kernel, all, part, base, slots) };
    port.finish();
    port.close()?;
    guard.disarm();
    Ok(result)
}

/// Combines the elements `part` of the vectors at the addresses in `all`, and stores them at their
/// places in a vector at `base`.
///
/// # Safety
/// - The vectors are valid for reads of these elements of the kernel's type, and nobody writes
///   them; but `base` may be one of them, if only this rank accesses these elements of it.
/// - `base` is valid for writes of these elements, and overlaps no other input.
/// - `slots` are [`scratch`] bytes of this rank's own.
pub(crate) unsafe fn reduce_part(
    kernel: &Kernel<'_>,
    all: &[*mut u8],
    part: Range<usize>,
    base: *mut u8,
    slots: *mut u8,
) {
    let size = kernel.size();
    for block in blocks(part, size) {
        let at = block.start * size;
        // SAFETY: the inputs are only read, except that this range of the
        // root's is written by us alone, when we have read it; output and
        // scratch memory are ours. A tree of one operand is that operand,
        // perhaps the output itself.
        unsafe {
            let sum = tree(kernel, all, at, block.len(), (slots, slot(kernel)));
            let to = base.wrapping_add(at);
            if !std::ptr::eq(sum, to) {
                kernel.copy(to, sum, block.len());
            }
        }
    }
}

/// Combines the elements `part` of the vectors at the addresses in `all`, and stores them at `to`.
///
/// # Safety
/// - The vectors are valid for reads of these elements of the kernel's type, which has
///   [`BRIEF_ROOM`] bytes and the alignment [`BRIEF_ALIGN`] at most, and nobody writes them.
/// - `to` is valid for writes of these elements, and overlaps no input.
#[inline(always)]
pub(in crate::exec) unsafe fn reduce_brief(
    kernel: Kernel<'_>,
    all: &[*mut u8],
    part: Range<usize>,
    to: *mut u8,
) {
    let (at, n) = (part.start.wrapping_mul(kernel.size()), part.len());
    // SAFETY: by the contract.
    unsafe {
        match *all {
            [a, b] => kernel.combine(to, a.wrapping_add(at), b.wrapping_add(at), n),
            _ => tree_of_brief(kernel, all, at, n, to),
        }
    }
}

/// # Safety
/// As [`reduce_brief`]; the elements begin `at` bytes behind the addresses.
#[inline(never)]
unsafe fn tree_of_brief(kernel: Kernel<'_>, all: &[*mut u8], at: usize, n: usize, to: *mut u8) {
    /// As many as a tree of any number of ranks needs.
    const SLOTS: usize = usize::BITS as usize + 2;
    const _: () = assert!(BRIEF_ALIGN <= 64 && BRIEF_ROOM == 64);
    #[repr(align(64))]
    struct Slots([MaybeUninit<[u8; BRIEF_ROOM]>; SLOTS]);
    let mut slots = Slots([MaybeUninit::uninit(); SLOTS]);
    // So many elements fit a slot: most often all, which needs no division.
    let each = match n.saturating_mul(kernel.size()) <= BRIEF_ROOM {
        true => n,
        false => (BRIEF_ROOM / kernel.size()).max(1),
    };
    let mut done = 0;
    while done < n {
        let (some, behind) = (each.min(n - done), done.wrapping_mul(kernel.size()));
        // SAFETY: by the contract; the slots are aligned as the room beside a notice, and nobody
        // else's.
        unsafe {
            let slots = (slots.0.as_mut_ptr().cast(), BRIEF_ROOM);
            let sum = tree(&kernel, all, at.wrapping_add(behind), some, slots);
            kernel.copy(to.wrapping_add(behind), sum, some);
        }
        done += some;
    }
}

/// Collects everybody's buffer, in rank order.
fn addresses(
    port: &mut Port,
    own: *mut u8,
    len: usize,
    all: &mut Vec<*mut u8>,
) -> Result<(), Stop> {
    let p = port.size();
    all.clear();
    all.resize(p, own);
    // Each begins with its successor, so that not all look at one board.
    for d in 1..p {
        let peer = (port.rank() + d) % p;
        all[peer] = port.notice(peer, Some(len))?.a;
    }
    port.noticed_all();
    Ok(())
}

/// Combines `len` elements, `at` bytes behind each of the addresses in `all`, in
/// the order of the tree, and returns where the result is: in the first of the
/// slots, or where the only operand is.
///
/// # Safety
/// - The elements are of the kernel's type, nobody writes them, and `len` of
///   them fit a slot.
/// - There is a slot for every level of the tree and one more, of so many bytes each.
unsafe fn tree(
    kernel: &Kernel<'_>,
    all: &[*mut u8],
    at: usize,
    len: usize,
    (slots, pitch): (*mut u8, usize),
) -> *const u8 {
    let leaf = &mut |rank: usize| all[rank].wrapping_add(at).cast_const();
    if kernel.is_wide() && all.len() > 1 {
        // SAFETY: by the contract.
        unsafe { kernel.by_tree(slots, all, at, len, OperandTree::Levels(all.len())) };
        return slots;
    }
    let join = &mut |level: usize, left, right| {
        // The left result may be in this very slot, the right one is in a later one.
        let to = slots.wrapping_add(level * pitch);
        // SAFETY: by the contract.
        unsafe { kernel.combine(to, left, right, len) };
        to.cast_const()
    };
    by_levels(0, all.len(), 0, leaf, join)
}
