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

/// The ranks that remain when each of the first `2 * folded` odd ranks has taken
/// in its even neighbour (rule G3).
#[derive(Clone, Copy)]
struct Folding {
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
unsafe fn join<T: Element, O: Operator<T>>(body: *const u8, own: &mut [T], left: bool, op: &O) {
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

/// One-to-all: interval halving, the messages of `BC-ANY` in the same order.
#[inline(always)]
pub(super) fn spread<T: Element>(port: &mut Port, buf: &mut [T], root: usize) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    let guard = Guard::new(port);
    let mut holder = root;
    let (mut low, mut high) = (0, p);
    let mut half = p.next_power_of_two() / 2;
    while half > 0 {
        if high - low > half {
            let middle = low + half;
            let holds_low = holder < middle;
            let other = if holds_low { (holder + half).min(high - 1) } else { holder - half };
            if rank == holder {
                guard.port.post_copy(other, buf.len(), size_of::<T>(), |body| {
                    // SAFETY: there is room for `buf`.
                    unsafe { put(buf, body) }
                })?;
            } else if rank == other {
                guard.port.take_copy(holder, buf.len(), size_of::<T>(), |body| {
                    // SAFETY: the peer wrote as many elements of the same type
                    // (fingerprint and length agree), and we have not consumed them.
                    unsafe { get(body, buf) }
                })?;
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
    guard.disarm();
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
        let folding = Folding::of(p);
        for (i, own) in buf.iter_mut().enumerate() {
            let value = |r: usize| {
                if r == rank {
                    return *own;
                }
                // SAFETY: as above; what peers show stays until we show
                // something again.
                unsafe { all[r].cast::<T>().add(i).read_unaligned() }
            };
            *own = folding.combine(&value, &|a, b| op.combine(a, b));
        }
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
