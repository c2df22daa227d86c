//! Small all-gathers and scans through the gates: everybody shows its vector to
//! everybody, in one step, and takes what it needs. For vectors that are copied to
//! the peers (up to [`EAGER`] bytes); the all-reduce is in `small.rs`.

use super::small::{Tree, combine_all, copy, get, join, put};
use crate::element::Element;
use crate::engine::Guard;
use crate::fabric::{Begun, Port, Stop};
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::op::Operator;

/// Everybody's `mine`, in rank order, into `all`, which has room for as many.
#[inline(always)]
pub(super) fn all_gather<T: Element>(
    port: &mut Port,
    begun: Begun,
    mine: &[T],
    all: &mut [T],
) -> Result<(), Stop> {
    let (rank, p, n) = (port.rank(), port.size(), mine.len());
    let guard = Guard::new(port);
    guard.port.show_all(n, size_of::<T>(), |body| {
        // SAFETY: there is room for `mine`.
        unsafe { put(mine, body) }
    });
    guard.port.note(begun);
    for (peer, block) in all.chunks_exact_mut(n.max(1)).enumerate() {
        if peer == rank {
            copy(mine, block);
            continue;
        }
        guard.port.look(peer, n, size_of::<T>(), |body| {
            // SAFETY: the peer shows as many elements of the same type
            // (fingerprint and length agree) until we show something again.
            unsafe { get(body, block) }
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
#[inline(always)]
pub(super) fn scan<T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: Begun,
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
    guard.port.note(begun);
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
        // Two ranks, as a rule.
        // SAFETY: as below.
        (1, true) => unsafe { join(all[0], buf, true, op) },
        // SAFETY: as below.
        (1, false) => unsafe { get(all[0], buf) },
        // SAFETY: the peers show as many elements of the same type (fingerprint
        // and length agree) until we show something again.
        _ => unsafe { combine_all(rank, all, buf, op, Tree::Prefix(operands)) },
    }
    guard.disarm();
    Ok(())
}
