//! All at once: every rank shows a few bytes at its gate, and reads the gates of the others, in one
//! step. For barriers, and for vectors of up to [`EAGER`] bytes, which are copied to the peers.
//!
//! An all-reduce combines in the order of `eager.rs`, so that which of the two is taken cannot be
//! seen in the bits: ranks are first folded in pairs until a power of two remains, then neighbours
//! are joined, then pairs of neighbours .. A reduce-scatter combines in that order, too.

use super::Workspace;
use super::call::{Buffers, Call, Slices};
use crate::element::Element;
use crate::fabric::{Guard, Port, StartedCall, Stop};
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::op::Operator;
use crate::order::by_tree;
use crate::schedule::{Doubling, Operation};
use std::ops::Range;

// Unoptimised it would fill its callers' frames.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn run<'a, T: Element, O: Operator<T>>(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
) -> Result<(), Stop> {
    let all = &mut work.addresses;
    let operation = call.operation();
    let before = match operation {
        Operation::ReduceScatter => call.elements_before(port.rank()),
        _ => 0,
    };
    let Slices { buffers, op, identity, .. } = call.into_slices();
    match (operation, buffers) {
        (Operation::Barrier, _) => disseminate(port, begun),
        (Operation::AllGather, Buffers::Apart(mine, to)) => {
            exchange(port, begun, ExchangeInput::Other(mine), 0..mine.len(), to)
        }
        (Operation::AllGather, Buffers::Within(buf, own)) => {
            let n = own.len();
            exchange(port, begun, ExchangeInput::Within(own), 0..n, buf)
        }
        (Operation::AllToAll, Buffers::Apart(from, to)) => {
            let (rank, n) = (port.rank(), from.len() / port.size());
            exchange(port, begun, ExchangeInput::Other(from), rank * n..(rank + 1) * n, to)
        }
        (Operation::AllToAllInPlace, Buffers::InPlace(buf)) => {
            let (rank, p) = (port.rank(), port.size());
            let n = buf.len() / p;
            exchange(port, begun, ExchangeInput::Within(0..p * n), rank * n..(rank + 1) * n, buf)
        }
        (Operation::AllReduce, Buffers::InPlace(buf)) => all_reduce(port, begun, all, buf, op),
        (Operation::ReduceScatter, Buffers::Apart(from, mine)) => {
            reduce_scatter(port, begun, all, (from, mine), op, before)
        }
        (Operation::Scan, Buffers::InPlace(buf)) => scan(port, begun, all, buf, op, true, identity),
        (Operation::ExclusiveScan, Buffers::InPlace(buf)) => {
            scan(port, begun, all, buf, op, false, identity)
        }
        (operation, _) => unreachable!("no {operation} at the gates"),
    }
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

/// Everybody shows its vector to everybody, and combines all of them itself.
/// `all` is scratch space for addresses.
#[cfg_attr(not(debug_assertions), inline(always))]
fn all_reduce<T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: StartedCall,
    all: &mut Vec<*mut u8>,
    buf: &mut [T],
    op: &O,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    if p == 1 {
        port.log_call(begun);
        return Ok(());
    }
    // Nobody reaches our memory; but a panic in the operator ends the run.
    let guard = Guard::new(port);
    guard.port.show_all(buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `buf`.
        unsafe { put(buf, body) }
    });
    guard.port.log_call(begun);
    if p == 2 {
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
    } else {
        all.clear();
        all.resize(p, std::ptr::null_mut());
        for peer in (rank + 1..p).chain(0..rank) {
            all[peer] = guard.port.look(peer, buf.len(), size_of::<T>(), |body| body.cast_mut())?;
        }
        guard.port.looked_at_all();
        // SAFETY: as above.
        unsafe { combine_all(rank, all, buf, op, EagerTree::Doubling(Doubling::of(p))) };
    }
    guard.disarm();
    Ok(())
}

/// Everybody shows its blocks to everybody, and combines the own block of all of them itself, in
/// the order of an all-reduce. `before`: the elements before that block. `all` is scratch space for
/// addresses. Not inlined: two ranks take messages, and their way is to stay short.
#[inline(never)]
fn reduce_scatter<T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: StartedCall,
    all: &mut Vec<*mut u8>,
    (from, mine): (&[T], &mut [T]),
    op: &O,
    before: usize,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    // A panic in the operator ends the run.
    let guard = Guard::new(port);
    guard.port.show_all(from.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `from`.
        unsafe { put(from, body) }
    });
    guard.port.log_call(begun);
    copy(&from[before..before + mine.len()], mine);
    let skipped = before * size_of::<T>();
    all.clear();
    all.resize(p, std::ptr::null_mut());
    for peer in (rank + 1..p).chain(0..rank) {
        all[peer] = guard
            .port
            .look(peer, from.len(), size_of::<T>(), |body| body.cast_mut().wrapping_add(skipped))?;
    }
    guard.port.looked_at_all();
    // SAFETY: the peers show as many elements of the same type as we do (fingerprint and length
    // agree), among them our block, until we show something again.
    unsafe { combine_all(rank, all, mine, op, EagerTree::Doubling(Doubling::of(p))) };
    guard.disarm();
    Ok(())
}

/// What a rank shows in an [`exchange`].
enum ExchangeInput<'a, T> {
    /// A slice that is not the output.
    Other(&'a [T]),
    /// These elements of the output, where the own block already is.
    Within(Range<usize>),
}

/// Every rank shows a slice; elements `part` of each rank's go into `to`, in rank order. An
/// all-gather takes the whole slices, an all-to-all the own block of each.
#[cfg_attr(not(debug_assertions), inline(always))]
fn exchange<T: Element>(
    port: &mut Port,
    begun: StartedCall,
    from: ExchangeInput<'_, T>,
    part: Range<usize>,
    to: &mut [T],
) -> Result<(), Stop> {
    let (rank, p, n) = (port.rank(), port.size(), part.len());
    let guard = Guard::new(port);
    let shown = match &from {
        ExchangeInput::Other(from) => from,
        ExchangeInput::Within(range) => &to[range.clone()],
    };
    let len = shown.len();
    guard.port.show_all(len, size_of::<T>(), |body| {
        // SAFETY: there is room for `shown`.
        unsafe { put(shown, body) }
    });
    guard.port.log_call(begun);
    if p == 2 && n > 0 {
        let start = part.start * size_of::<T>();
        let (first, second) = to.split_at_mut(n);
        let (mine, other) = if rank == 0 { (first, second) } else { (second, first) };
        if let ExchangeInput::Other(from) = from {
            copy(&from[part], mine);
        }
        guard.port.look(1 - rank, len, size_of::<T>(), |body| {
            // SAFETY: as below.
            unsafe { get(body.add(start), other) }
        })?;
        guard.disarm();
        return Ok(());
    }
    for (peer, block) in to.chunks_exact_mut(n.max(1)).enumerate() {
        if peer == rank {
            if let ExchangeInput::Other(from) = from {
                copy(&from[part.clone()], block);
            }
            continue;
        }
        guard.port.look(peer, len, size_of::<T>(), |body| {
            // SAFETY: the peer shows as many elements of the same type as we do
            // (fingerprint and length agree) until we show something again.
            unsafe { get(body.add(part.start * size_of::<T>()), block) }
        })?;
    }
    if n == 0 {
        // There are no blocks, but episodes.
        for peer in (0..p).filter(|&peer| peer != rank) {
            guard.port.look(peer, 0, size_of::<T>(), |_| ())?;
        }
    }
    guard.port.looked_at_all();
    guard.disarm();
    Ok(())
}

/// The prefix of the vectors of ranks `0..rank`, the own one included if
/// `inclusive`, into `buf`; rank 0's of nothing is `identity`, if there is one.
/// `all` is scratch space for addresses.
///
/// They are combined as the hypercube's scan does it (`SCAN-HCUBE`): aligned blocks of
/// powers of two, from the right. That is the tree of [`by_tree`].
#[cfg_attr(not(debug_assertions), inline(always))]
fn scan<T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: StartedCall,
    all: &mut Vec<*mut u8>,
    buf: &mut [T],
    op: &O,
    inclusive: bool,
    identity: Option<&T>,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    // A panic in the operator ends the run.
    let guard = Guard::new(port);
    guard.port.show_all(buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `buf`.
        unsafe { put(buf, body) }
    });
    guard.port.log_call(begun);
    all.clear();
    all.resize(p, std::ptr::null_mut());
    for peer in (rank + 1..p).chain(0..rank) {
        all[peer] = guard.port.look(peer, buf.len(), size_of::<T>(), |body| body.cast_mut())?;
    }
    guard.port.looked_at_all();
    let operands = rank + usize::from(inclusive);
    match (rank, inclusive) {
        (0, true) => {}
        (0, false) => identity.into_iter().for_each(|identity| buf.fill(*identity)),
        // One operand.
        // SAFETY: as below.
        (1, true) => unsafe { join(all[0], buf, true, op) },
        // SAFETY: as below.
        (1, false) => unsafe { get(all[0], buf) },
        // SAFETY: the peers show as many elements of the same type (fingerprint
        // and length agree) until we show something again.
        _ => unsafe { combine_all(rank, all, buf, op, EagerTree::Prefix(operands)) },
    }
    guard.disarm();
    Ok(())
}

/// What recursive doubling makes of `value(rank)` of all ranks.
fn doubled<T>(doubling: Doubling, value: &impl Fn(usize) -> T, op: &impl Fn(T, T) -> T) -> T {
    fn of<T>(
        doubling: Doubling,
        from: usize,
        ids: usize,
        value: &impl Fn(usize) -> T,
        op: &impl Fn(T, T) -> T,
    ) -> T {
        if ids > 1 {
            let left = of(doubling, from, ids / 2, value, op);
            return op(left, of(doubling, from + ids / 2, ids / 2, value, op));
        }
        match doubling.folded(from) {
            (Some(neighbour), rank) => op(value(neighbour), value(rank)),
            (None, rank) => value(rank),
        }
    }
    of(doubling, 0, doubling.active(), value, op)
}

/// In which order the ranks' values are combined.
#[derive(Clone, Copy)]
enum EagerTree {
    Doubling(Doubling),
    /// The tree of [`by_tree`] over so many ranks, the first ones.
    Prefix(usize),
}

/// Makes of `buf`, for each of its elements, what `tree` makes of the ranks' at that
/// place; rank `r`'s begin at `all[r]`, the own ones are in `buf`.
///
/// # Safety
/// Of the ranks that `tree` names, but for the own one, `all` has the addresses of as
/// many elements of `T` as in `buf`, in any alignment, and nobody writes them now.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn combine_all<T: Element, O: Operator<T>>(
    rank: usize,
    all: &[*mut u8],
    buf: &mut [T],
    op: &O,
    tree: EagerTree,
) {
    /// Elements that go through the tree together: walking it costs as much as ten
    /// additions.
    const MANY: usize = 8;
    let (many, rest) = buf.split_at_mut(buf.len() / MANY * MANY);
    let from = many.len();
    for (i, own) in many.chunks_exact_mut(MANY).enumerate() {
        // SAFETY: passed on.
        unsafe { combine_some::<MANY, T, O>(rank, all, i * MANY, own, op, tree) };
    }
    for (i, own) in rest.chunks_exact_mut(1).enumerate() {
        // SAFETY: passed on.
        unsafe { combine_some::<1, T, O>(rank, all, from + i, own, op, tree) };
    }
}

/// [`combine_all`] of `N` elements, from element `from` on.
///
/// # Safety
/// As there; `own` has `N` elements.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn combine_some<const N: usize, T: Element, O: Operator<T>>(
    rank: usize,
    all: &[*mut u8],
    from: usize,
    own: &mut [T],
    op: &O,
    tree: EagerTree,
) {
    let value = |r: usize| -> [T; N] {
        let at = if r == rank { own.as_ptr() } else { all[r].cast::<T>().wrapping_add(from) };
        // SAFETY: by the contract.
        unsafe { at.cast::<[T; N]>().read_unaligned() }
    };
    let join = |a: [T; N], b: [T; N]| std::array::from_fn(|i| op.combine(a[i], b[i]));
    let result: [T; N] = match tree {
        EagerTree::Doubling(doubling) => doubled(doubling, &value, &join),
        EagerTree::Prefix(n) => by_tree(0, n, &mut |r| value(r), &mut |a, b| join(a, b)),
    };
    own.copy_from_slice(&result);
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
            // What other interfaces move are bytes, most often as many as a number has.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which recursive doubling combines, message by message.
    fn by_messages(p: usize) -> String {
        let doubling = Doubling::of(p);
        let mut at: Vec<String> = (0..p).map(|r| r.to_string()).collect();
        for step in 0..doubling.steps() {
            let before = at.clone();
            for (rank, own) in at.iter_mut().enumerate() {
                match doubling.step(step, rank).recv {
                    None => {}
                    Some((from, true)) => own.clone_from(&before[from]),
                    Some((from, false)) => {
                        let (low, high) = (from.min(rank), from.max(rank));
                        *own = format!("({} {})", before[low], before[high]);
                    }
                }
            }
        }
        assert!(at.iter().all(|x| *x == at[0]), "{at:?}");
        at.swap_remove(0)
    }

    #[test]
    fn both_ways_combine_in_one_order() {
        for p in 1..=33 {
            let join = |a, b| format!("({a} {b})");
            let once = doubled(Doubling::of(p), &|r| r.to_string(), &join);
            assert_eq!(once, by_messages(p), "p = {p}");
        }
    }
}
