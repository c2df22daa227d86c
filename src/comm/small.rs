//! All-reduce of vectors that are copied to the peers (up to [`EAGER`] bytes).
//!
//! Two ways, which combine in the same order, so that which of them is taken
//! cannot be seen in the bits: ranks are first folded in pairs until a power
//! of two remains, then neighbours are joined, then pairs of neighbours ..

use crate::element::Element;
use crate::engine::Guard;
use crate::fabric::{Begun, Port, Stop};
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::op::Operator;
use crate::order::by_tree;

/// The ranks that remain when each of the first `2 * folded` odd ranks has taken
/// in its even neighbour (rule G3).
#[derive(Clone, Copy)]
pub(super) struct Folding {
    active: usize,
    folded: usize,
}

impl Folding {
    #[inline(always)]
    fn of(p: usize) -> Folding {
        let active = 1 << p.ilog2();
        Folding { active, folded: p - active }
    }

    /// The rank that is number `id` of those that remain.
    #[inline(always)]
    fn rank(self, id: usize) -> usize {
        if id < self.folded { 2 * id + 1 } else { id + self.folded }
    }

    /// What recursive doubling makes of `value(rank)` of all ranks.
    fn combine<T>(self, value: &impl Fn(usize) -> T, op: &impl Fn(T, T) -> T) -> T {
        fn of<T>(
            folding: Folding,
            from: usize,
            ids: usize,
            value: &impl Fn(usize) -> T,
            op: &impl Fn(T, T) -> T,
        ) -> T {
            if ids > 1 {
                let left = of(folding, from, ids / 2, value, op);
                return op(left, of(folding, from + ids / 2, ids / 2, value, op));
            }
            let rank = folding.rank(from);
            if from < folding.folded { op(value(rank - 1), value(rank)) } else { value(rank) }
        }
        of(self, 0, self.active, value, op)
    }
}

/// In which order the ranks' values are combined.
#[derive(Clone, Copy)]
pub(super) enum Tree {
    Folding(Folding),
    /// The tree of [`by_tree`] over so many ranks, the first ones.
    Prefix(usize),
}

/// Makes of `buf`, for each of its elements, what `tree` makes of the ranks' at that
/// place; rank `r`'s begin at `all[r]`, the own ones are in `buf`.
///
/// # Safety
/// Of the ranks that `tree` names, but for the own one, `all` has the addresses of as
/// many elements of `T` as in `buf`, in any alignment, and nobody writes them now.
#[inline(always)]
pub(super) unsafe fn combine_all<T: Element, O: Operator<T>>(
    rank: usize,
    all: &[*mut u8],
    buf: &mut [T],
    op: &O,
    tree: Tree,
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
#[inline(always)]
unsafe fn combine_some<const N: usize, T: Element, O: Operator<T>>(
    rank: usize,
    all: &[*mut u8],
    from: usize,
    own: &mut [T],
    op: &O,
    tree: Tree,
) {
    let value = |r: usize| -> [T; N] {
        let at = if r == rank { own.as_ptr() } else { all[r].cast::<T>().wrapping_add(from) };
        // SAFETY: by the contract.
        unsafe { at.cast::<[T; N]>().read_unaligned() }
    };
    let join = |a: [T; N], b: [T; N]| std::array::from_fn(|i| op.combine(a[i], b[i]));
    let result: [T; N] = match tree {
        Tree::Folding(folding) => folding.combine(&value, &join),
        Tree::Prefix(n) => by_tree(0, n, &mut |r| value(r), &mut |a, b| join(a, b)),
    };
    own.copy_from_slice(&result);
}

/// Copies `data` to a body. One element, the usual case, without a loop.
///
/// # Safety
/// There is room for `data` at `body`, which is no memory of ours.
#[inline(always)]
pub(super) unsafe fn put<T: Element>(data: &[T], body: *mut u8) {
    // SAFETY: by the contract; the body's alignment may be less than theirs.
    unsafe {
        match data {
            [x] => body.cast::<T>().write_unaligned(*x),
            _ => std::ptr::copy_nonoverlapping(data.as_ptr().cast(), body, size_of_val(data)),
        }
    }
}

/// Copies a body to `data`.
///
/// # Safety
/// There are as many elements of `T` at `body` as in `data`.
#[inline(always)]
pub(super) unsafe fn get<T: Element>(body: *const u8, data: &mut [T]) {
    // SAFETY: by the contract; the body's alignment may be less than theirs.
    unsafe {
        match data {
            [x] => *x = body.cast::<T>().read_unaligned(),
            _ => std::ptr::copy_nonoverlapping(
                body,
                data.as_mut_ptr().cast::<u8>(),
                size_of_val(data),
            ),
        }
    }
}

/// Copies elements. One, the usual case, without a loop.
#[inline(always)]
pub(super) fn copy<T: Element>(from: &[T], to: &mut [T]) {
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
#[inline(always)]
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

/// One-to-all: interval halving, the messages of `BC-ANY` in the same order. No user
/// code runs, and nothing is handed over by address: who fails owes nobody anything.
#[inline(always)]
pub(super) fn spread<T: Element>(
    port: &mut Port,
    begun: Begun,
    buf: &mut [T],
    root: usize,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    if p > 2 {
        port.note(begun);
        return halve(port, buf, root);
    }
    let peer = 1 - rank;
    if rank != root {
        port.note(begun);
        return get_from(port, buf, peer);
    }
    // On record before it waits, else when the message is gone.
    if port.has_room(peer) {
        let result = put_to(port, buf, peer);
        port.note(begun);
        return result;
    }
    port.note(begun);
    put_to(port, buf, peer)
}

#[inline(always)]
fn put_to<T: Element>(port: &mut Port, buf: &[T], peer: usize) -> Result<(), Stop> {
    port.post_copy(peer, buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `buf`.
        unsafe { put(buf, body) }
    })
}

#[inline(always)]
fn get_from<T: Element>(port: &mut Port, buf: &mut [T], peer: usize) -> Result<(), Stop> {
    port.take_copy(peer, buf.len(), size_of::<T>(), |body| {
        // SAFETY: the peer wrote as many elements of the same type (fingerprint
        // and length agree), and we have not consumed them.
        unsafe { get(body, buf) }
    })
}

#[inline(never)]
fn halve<T: Element>(port: &mut Port, buf: &mut [T], root: usize) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    let mut holder = root;
    let (mut low, mut high) = (0, p);
    let mut half = p.next_power_of_two() / 2;
    while half > 0 {
        if high - low > half {
            let middle = low + half;
            let holds_low = holder < middle;
            let other = if holds_low { (holder + half).min(high - 1) } else { holder - half };
            if rank == holder {
                put_to(port, buf, other)?;
            } else if rank == other {
                get_from(port, buf, holder)?;
            }
            if (rank < middle) != holds_low {
                holder = other;
            }
            if rank < middle {
                high = middle;
            } else {
                low = middle;
            }
        }
        half /= 2;
    }
    Ok(())
}

/// Everybody shows its vector to everybody, and combines all of them itself.
/// `all` is scratch space for addresses.
#[inline(always)]
pub(super) fn all_at_once<T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: Begun,
    all: &mut Vec<*mut u8>,
    buf: &mut [T],
    op: &O,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    if p == 1 {
        port.note(begun);
        return Ok(());
    }
    // Nobody reaches our memory; but a panic in the operator ends the run.
    let guard = Guard::new(port);
    guard.port.show_all(buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `buf`.
        unsafe { put(buf, body) }
    });
    guard.port.note(begun);
    if p == 2 {
        guard.port.look(
            1 - rank,
            buf.len(),
            size_of::<T>(),
            #[inline(always)]
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
        unsafe { combine_all(rank, all, buf, op, Tree::Folding(Folding::of(p))) };
    }
    guard.disarm();
    Ok(())
}

/// Recursive doubling (Figure 4.11 reread) between the ranks that remain.
/// Neighbours are folded and the lower operand stands on the left, so operands
/// are combined in rank order.
#[inline(always)]
pub(super) fn fold_and_double<T: Element, O: Operator<T>>(
    port: &mut Port,
    buf: &mut [T],
    op: &O,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    if p == 1 {
        return Ok(());
    }
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let send = |port: &mut Port, peer: usize, buf: &[T]| {
        port.post_copy(peer, buf.len(), size_of::<T>(), |body| {
            // SAFETY: there is room for `buf`.
            unsafe { put(buf, body) }
        })
    };
    let join_with = |port: &mut Port, peer: usize, buf: &mut [T]| {
        port.take_copy(peer, buf.len(), size_of::<T>(), |body| {
            // SAFETY: the peer wrote as many elements of the same type
            // (fingerprint and length agree), and we have not consumed them.
            unsafe { join(body, buf, peer < rank, op) }
        })
    };
    let folding @ Folding { active, folded } = Folding::of(p);
    if rank < 2 * folded && rank % 2 == 0 {
        send(port, rank + 1, buf)?;
        port.take_copy(rank + 1, buf.len(), size_of::<T>(), |body| {
            // SAFETY: as in `join_with`.
            unsafe { get(body, buf) }
        })?;
    } else {
        if rank < 2 * folded {
            join_with(port, rank - 1, buf)?;
        }
        let id = if rank < 2 * folded { rank / 2 } else { rank - folded };
        let mut bit = 1;
        while bit < active {
            let peer = folding.rank(id ^ bit);
            send(port, peer, buf)?;
            join_with(port, peer, buf)?;
            bit *= 2;
        }
        if rank < 2 * folded {
            send(port, rank - 1, buf)?;
        }
    }
    guard.disarm();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which recursive doubling combines, message by message.
    fn doubled(p: usize) -> String {
        let folding = Folding::of(p);
        let mut at: Vec<String> = (0..p).map(|r| r.to_string()).collect();
        for id in 0..folding.folded {
            at[2 * id + 1] = format!("({} {})", at[2 * id], at[2 * id + 1]);
        }
        let mut bit = 1;
        while bit < folding.active {
            let before = at.clone();
            for id in 0..folding.active {
                let (low, high) = (folding.rank(id & !bit), folding.rank(id | bit));
                at[folding.rank(id)] = format!("({} {})", before[low], before[high]);
            }
            bit *= 2;
        }
        at.swap_remove(folding.rank(0))
    }

    #[test]
    fn both_ways_combine_in_one_order() {
        for p in 1..=33 {
            let once = Folding::of(p).combine(&|r| r.to_string(), &|a, b| format!("({a} {b})"));
            assert_eq!(once, doubled(p), "p = {p}");
        }
    }
}
