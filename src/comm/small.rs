//! All-reduce of vectors that are copied to the peers (up to [`EAGER`] bytes).
//!
//! Two ways, which combine in the same order, so that which of them is taken
//! cannot be seen in the bits: ranks are first folded in pairs until a power
//! of two remains, then neighbours are joined, then pairs of neighbours ..

use crate::element::Element;
use crate::engine::Guard;
use crate::fabric::{Port, Stop};
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
            if from < folding.folded {
                op(value(rank - 1), value(rank))
            } else {
                value(rank)
            }
        }
        of(self, 0, self.active, value, op)
    }
}

/// Everybody shows its vector to everybody, and combines all of them itself.
/// `all` is scratch space for addresses.
#[inline(always)]
pub(super) fn all_at_once<T: Element, O: Operator<T>>(
    port: &mut Port,
    all: &mut Vec<*mut u8>,
    buf: &mut [T],
    op: &O,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    if p == 1 {
        return Ok(());
    }
    let bytes = size_of_val(buf);
    // Nobody reaches our memory; but a panic in the operator ends the run.
    let guard = Guard::new(port);
    guard.port.show_all(buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `bytes` bytes, which are not ours.
        unsafe { std::ptr::copy_nonoverlapping(buf.as_ptr().cast(), body, bytes) }
    });
    if p == 2 {
        guard.port.look(1 - rank, buf.len(), size_of::<T>(), |body| {
            for (i, own) in buf.iter_mut().enumerate() {
                // SAFETY: the peer wrote as many elements of the same type
                // (the fingerprint agrees); their alignment may be less.
                let got = unsafe { body.cast::<T>().add(i).read_unaligned() };
                *own = if rank == 1 { op.combine(got, *own) } else { op.combine(*own, got) };
            }
        })?;
    } else {
        all.clear();
        all.resize(p, std::ptr::null_mut());
        for peer in (rank + 1..p).chain(0..rank) {
            all[peer] = guard.port.look(peer, buf.len(), size_of::<T>(), |body| body.cast_mut())?;
        }
        let folding = Folding::of(p);
        for (i, own) in buf.iter_mut().enumerate() {
            let value = |r: usize| {
                // SAFETY: as above; what peers show stays until we show
                // something again.
                if r == rank { *own } else { unsafe { all[r].cast::<T>().add(i).read_unaligned() } }
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
    let bytes = size_of_val(buf);
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let send = |port: &mut Port, peer: usize, buf: &[T]| {
        port.post_copy(peer, buf.len(), size_of::<T>(), |body| {
            // SAFETY: there is room for `bytes` bytes, which are not ours.
            unsafe { std::ptr::copy_nonoverlapping(buf.as_ptr().cast(), body, bytes) }
        })
    };
    let join = |port: &mut Port, peer: usize, buf: &mut [T]| {
        port.take_copy(peer, buf.len(), size_of::<T>(), |body| {
            for (i, own) in buf.iter_mut().enumerate() {
                // SAFETY: the peer wrote as many elements of the same type
                // (the fingerprint agrees); their alignment may be less.
                let got = unsafe { body.cast::<T>().add(i).read_unaligned() };
                *own = if peer < rank { op.combine(got, *own) } else { op.combine(*own, got) };
            }
        })
    };
    let folding @ Folding { active, folded } = Folding::of(p);
    if rank < 2 * folded && rank % 2 == 0 {
        send(port, rank + 1, buf)?;
        port.take_copy(rank + 1, buf.len(), size_of::<T>(), |body| {
            // SAFETY: as in `join`; the slice has `bytes` bytes.
            unsafe { std::ptr::copy_nonoverlapping(body, buf.as_mut_ptr().cast(), bytes) }
        })?;
    } else {
        if rank < 2 * folded {
            join(port, rank - 1, buf)?;
        }
        let id = if rank < 2 * folded { rank / 2 } else { rank - folded };
        let mut bit = 1;
        while bit < active {
            let peer = folding.rank(id ^ bit);
            send(port, peer, buf)?;
            join(port, peer, buf)?;
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
