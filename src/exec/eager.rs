//! Calls of a few bytes (up to [`EAGER`]), which the sender copies: each rank walks the algorithm's
//! rule directly, without a plan.

use super::Workspace;
use super::all_at_once::{get, join, put};
use super::call::{Buffers, Call, Slices};
use crate::element::Element;
use crate::fabric::{Guard, Port, StartedCall, Stop};
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::op::Operator;
use crate::schedule::{Doubling, Operation, TreeKind, disseminate, rounds};

#[inline(always)]
pub(crate) fn run<'a, T: Element, O: Operator<T>>(
    port: &mut Port,
    _: &mut Workspace,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
) -> Result<(), Stop> {
    let (operation, root) = (call.operation(), call.root_rank());
    let Slices { buffers, op, .. } = call.into_slices();
    match (operation, buffers) {
        (Operation::Barrier, _) => {
            port.log_call(begun);
            barrier(port)
        }
        (Operation::AllReduce, Buffers::InPlace(buf)) => {
            port.log_call(begun);
            all_reduce(port, buf, op)
        }
        (Operation::Broadcast, Buffers::InPlace(buf)) => broadcast(port, begun, buf, root),
        (operation, _) => unreachable!("no {operation} of a few bytes by itself"),
    }
}

/// Dissemination (`BAR-ANY`).
#[inline(never)]
fn barrier(port: &mut Port) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    let guard = Guard::new(port);
    for k in 0..rounds(p) {
        let (to, from) = disseminate(k, rank, p);
        guard.port.post_copy(to, 0, 1, |_| ())?;
        guard.port.take_copy(from, 0, 1, |_| ())?;
    }
    guard.disarm();
    Ok(())
}

/// Interval halving (`BC-ANY`). No user code runs, and nothing is handed over by
/// address: who fails owes nobody anything.
#[inline(always)]
fn broadcast<T: Element>(
    port: &mut Port,
    begun: StartedCall,
    buf: &mut [T],
    root: usize,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    if p > 2 {
        port.log_call(begun);
        return halve(port, buf, root);
    }
    let peer = 1 - rank;
    if rank != root {
        port.log_call(begun);
        return get_from(port, buf, peer);
    }
    // On record before it waits, else when the message is gone.
    if port.has_room(peer) {
        port.post_copy_in_room(peer, buf.len(), size_of::<T>(), |body| {
            // SAFETY: there is room for `buf`.
            unsafe { put(buf, body) }
        });
        port.log_call(begun);
        return Ok(());
    }
    port.log_call(begun);
    put_to(port, buf, peer)
}

#[inline(never)]
fn halve<T: Element>(port: &mut Port, buf: &mut [T], root: usize) -> Result<(), Stop> {
    let (rank, n) = (port.rank(), port.size());
    let tree = TreeKind::Halving { n, root };
    for hop in (0..tree.steps()).filter_map(|step| tree.hop(step, rank)) {
        if hop.from == rank {
            put_to(port, buf, hop.to)?;
        } else {
            get_from(port, buf, hop.from)?;
        }
    }
    Ok(())
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

/// Recursive doubling (`AR-ANY`). The lower operand stands on the left, and partners
/// have neighbouring intervals: operands are combined in rank order.
#[inline(always)]
fn all_reduce<T: Element, O: Operator<T>>(
    port: &mut Port,
    buf: &mut [T],
    op: &O,
) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    let doubling = Doubling::of(p);
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    for step in 0..doubling.steps() {
        let hop = doubling.step(step, rank);
        if let Some(peer) = hop.send {
            put_to(port, buf, peer)?;
        }
        match hop.recv {
            None => {}
            Some((peer, true)) => get_from(port, buf, peer)?,
            Some((peer, false)) => port.take_copy(peer, buf.len(), size_of::<T>(), |body| {
                // SAFETY: as in `get_from`.
                unsafe { join(body, buf, peer < rank, op) }
            })?,
        }
    }
    guard.disarm();
    Ok(())
}
