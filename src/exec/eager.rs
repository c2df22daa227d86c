//! Calls of a few bytes (up to [`EAGER`]), which the sender copies: each rank walks the algorithm's
//! rule directly, without a plan. Of two ranks a tree, or a chain, is one message, and a
//! reduce-scatter one in each direction: [`run`] says what is sent, and to whom. (Walked as among
//! more ranks, by a rule and a kernel, a broadcast of 8 bytes takes 826 instructions of two ranks
//! instead of 241, `tools/instructions broadcast-8-both`, and 79 ns instead of 65 near.)

use super::Workspace;
use super::all_at_once::{copy, get, join, put};
use super::call::{Buffers, Call, RawBuffers, Slices};
use super::kernel::Kernel;
use crate::element::Element;
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::op::Operator;
use crate::schedule::{Doubling, Operation, TreeKind, disseminate, rounds};
use crate::shared::{Guard, Port, StartedCall, Stop, copy_few};

// Unoptimised it would fill its callers' frames.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn run<'a, T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
) -> Result<(), Stop> {
    let (operation, root, first) = (call.operation(), call.root_rank(), call.cut().len_of(0));
    let Slices { buffers, op, identity, .. } = call.into_slices();
    let rank = port.rank();
    match (operation, buffers) {
        (Operation::Barrier, _) => {
            port.log_call(begun);
            barrier(port)
        }
        (Operation::Broadcast, Buffers::InPlace(buf)) => pass(port, begun, buf, rank == root),
        (Operation::Reduce, Buffers::InPlace(buf)) => pass_onto(port, begun, buf, op, rank != root),
        (Operation::Scan, Buffers::InPlace(buf)) => pass_onto(port, begun, buf, op, rank == 0),
        (Operation::ExclusiveScan, Buffers::InPlace(buf)) => {
            pass(port, begun, buf, rank == 0)?;
            if rank == 0 {
                identity.into_iter().for_each(|identity| buf.fill(*identity));
            }
            Ok(())
        }
        (Operation::Gather, Buffers::Apart(mine, _)) if rank != root => send(port, begun, mine),
        (Operation::Gather, Buffers::Within(all, own)) if rank != root => {
            send(port, begun, &all[own])
        }
        (Operation::Gather, Buffers::InPlace(all)) if rank != root => send(port, begun, all),
        (Operation::Gather, buffers) => {
            let (mine, all) = match buffers {
                Buffers::Apart(mine, all) => (Some(mine), all),
                Buffers::Within(all, _) | Buffers::InPlace(all) => (None, all),
            };
            let (own, other) = own_first(all.split_at_mut(first), rank);
            if let Some(mine) = mine {
                copy(mine, own);
            }
            receive(port, begun, other)
        }
        (Operation::Scatter, Buffers::Apart(_, mine)) if rank != root => receive(port, begun, mine),
        (Operation::Scatter, Buffers::Apart(all, mine)) => {
            let (own, other) = own_first(all.split_at(first), rank);
            send(port, begun, other)?;
            copy(own, mine);
            Ok(())
        }
        (Operation::ReduceScatter, Buffers::Apart(all, mine)) => {
            port.log_call(begun);
            let (own, other) = own_first(all.split_at(first), rank);
            put_to(port, other, 1 - rank)?;
            copy(own, mine);
            receive_onto(port, mine, op)
        }
        (operation, _) => unreachable!("no {operation} of a few bytes by itself"),
    }
}

/// The calls of a few bytes among more than two ranks, and an exclusive scan of two.
pub(super) fn run_among(
    port: &mut Port,
    work: &mut Workspace,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
) -> Result<(), Stop> {
    port.log_call(begun);
    let &RawBuffers { kernel, input, output, .. } = call.memory();
    let len = (call.unit(), kernel.size());
    match call.operation() {
        Operation::ExclusiveScan if port.rank() == 1 => get_bytes(port, output, len, 0),
        Operation::ExclusiveScan => {
            put_bytes(port, output, len, 1)?;
            if !input.is_null() {
                // SAFETY: the identity, and the call's vector (`RawBuffers`).
                unsafe { kernel.fill(output, input, call.unit()) };
            }
            Ok(())
        }
        Operation::AllReduce => match kernel.partial_results() {
            None => all_reduce(port, kernel, output, call.unit()),
            Some(partials) => {
                let n = call.unit();
                let sum = work.scratch.reserve(n * partials.size(), partials.align());
                // SAFETY: the call's vector (`RawBuffers`), and room for as many partial results.
                unsafe { kernel.widen(sum, output, n) };
                all_reduce(port, partials, sum, n)?;
                // SAFETY: as above.
                unsafe { kernel.round(output, sum, n) };
                Ok(())
            }
        },
        Operation::Broadcast => halve(port, output, len, call.root_rank()),
        operation => unreachable!("no {operation} of a few bytes among more than two ranks"),
    }
}

/// Dissemination (`BAR-ANY`).
#[inline(never)]
fn barrier(port: &mut Port) -> Result<(), Stop> {
    let (rank, p) = (port.rank(), port.size());
    let guard = Guard::new(port);
    for k in 0..rounds(p) {
        let (to, from) = disseminate(k, rank, p);
        guard.port.post_packed(to, 0, 1, &mut |_: *mut u8| ())?;
        guard.port.take_packed(from, 0, 1, &mut |_: *const u8| ())?;
    }
    guard.disarm();
    Ok(())
}

/// The blocks of the ranks 0 and 1, that of `rank` first.
#[cfg_attr(not(debug_assertions), inline(always))]
fn own_first<B>((of_0, of_1): (B, B), rank: usize) -> (B, B) {
    if rank == 0 { (of_0, of_1) } else { (of_1, of_0) }
}

/// The only message of a call of two ranks: the vector of the rank that gives.
#[cfg_attr(not(debug_assertions), inline(always))]
fn pass<T: Element>(
    port: &mut Port,
    begun: StartedCall,
    buf: &mut [T],
    gives: bool,
) -> Result<(), Stop> {
    if gives { send(port, begun, buf) } else { receive(port, begun, buf) }
}

/// The only message of a call of two ranks: the vector of the rank that gives, which the other
/// combines with its own.
#[cfg_attr(not(debug_assertions), inline(always))]
fn pass_onto<T: Element, O: Operator<T>>(
    port: &mut Port,
    begun: StartedCall,
    buf: &mut [T],
    op: &O,
    gives: bool,
) -> Result<(), Stop> {
    if gives {
        return send(port, begun, buf);
    }
    port.log_call(begun);
    receive_onto(port, buf, op)
}

/// Combines the vector of the other one of two ranks with `buf`, in rank order.
#[cfg_attr(not(debug_assertions), inline(always))]
fn receive_onto<T: Element, O: Operator<T>>(
    port: &mut Port,
    buf: &mut [T],
    op: &O,
) -> Result<(), Stop> {
    let rank = port.rank();
    let guard = Guard::around_user_code(port);
    guard.port.take_copy(
        1 - rank,
        buf.len(),
        size_of::<T>(),
        #[cfg_attr(not(debug_assertions), inline(always))]
        |body| {
            // SAFETY: as in `get_from`.
            unsafe { join(body, buf, rank == 1, op) }
        },
    )?;
    guard.disarm();
    Ok(())
}

/// The only message of a call of two ranks, to the other one. No user code runs, and nothing is
/// handed over by address: a rank that fails owes nobody anything.
#[cfg_attr(not(debug_assertions), inline(always))]
fn send<T: Element>(port: &mut Port, begun: StartedCall, data: &[T]) -> Result<(), Stop> {
    let peer = 1 - port.rank();
    // On record before it waits, else when the message is gone.
    if port.has_room(peer) {
        port.post_copy_in_room(peer, data.len(), size_of::<T>(), |body| {
            // SAFETY: there is room for `data`.
            unsafe { put(data, body) }
        });
        port.log_call(begun);
        return Ok(());
    }
    port.log_call(begun);
    put_to(port, data, peer)
}

/// The only message of a call of two ranks, from the other one.
#[cfg_attr(not(debug_assertions), inline(always))]
fn receive<T: Element>(port: &mut Port, begun: StartedCall, buf: &mut [T]) -> Result<(), Stop> {
    port.log_call(begun);
    get_from(port, buf, 1 - port.rank())
}

/// Interval halving (`BC-ANY`) of `len` elements of `size` bytes at `buf`, which are the call's.
fn halve(
    port: &mut Port,
    buf: *mut u8,
    (len, size): (usize, usize),
    root: usize,
) -> Result<(), Stop> {
    let (rank, n) = (port.rank(), port.size());
    let tree = TreeKind::Halving { n, root };
    for hop in (0..tree.steps()).filter_map(|step| tree.hop(step, rank)) {
        if hop.from == rank {
            put_bytes(port, buf, (len, size), hop.to)?;
        } else {
            get_bytes(port, buf, (len, size), hop.from)?;
        }
    }
    Ok(())
}

/// Sends `len` elements of `size` bytes at `buf`, which are the call's, to `peer`.
#[inline(never)]
fn put_bytes(
    port: &mut Port,
    buf: *const u8,
    (len, size): (usize, usize),
    peer: usize,
) -> Result<(), Stop> {
    port.post_packed(peer, len, size, &mut |body: *mut u8| {
        // SAFETY: there is room for `buf`.
        unsafe { copy_few(body, buf, len * size) }
    })
}

/// Receives as many from `peer`.
fn get_bytes(
    port: &mut Port,
    buf: *mut u8,
    (len, size): (usize, usize),
    peer: usize,
) -> Result<(), Stop> {
    port.take_packed(peer, len, size, &mut |body: *const u8| {
        // SAFETY: as in `get_from`.
        unsafe { copy_few(buf, body, len * size) }
    })
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn put_to<T: Element>(port: &mut Port, buf: &[T], peer: usize) -> Result<(), Stop> {
    port.post_copy(peer, buf.len(), size_of::<T>(), |body| {
        // SAFETY: there is room for `buf`.
        unsafe { put(buf, body) }
    })
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn get_from<T: Element>(port: &mut Port, buf: &mut [T], peer: usize) -> Result<(), Stop> {
    port.take_copy(peer, buf.len(), size_of::<T>(), |body| {
        // SAFETY: the peer wrote as many elements of the same type (fingerprint
        // and length agree), and we have not consumed them.
        unsafe { get(body, buf) }
    })
}

/// Recursive doubling (`AR-ANY`) of `len` elements at `buf`, which are the call's. The lower
/// operand stands on the left, and partners have neighbouring intervals: operands are combined in
/// rank order.
fn all_reduce(port: &mut Port, kernel: Kernel<'_>, buf: *mut u8, len: usize) -> Result<(), Stop> {
    let (rank, p, size) = (port.rank(), port.size(), kernel.size());
    let doubling = Doubling::of(p);
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    for step in 0..doubling.steps() {
        let hop = doubling.step(step, rank);
        if let Some(peer) = hop.send {
            put_bytes(port, buf, (len, size), peer)?;
        }
        match hop.recv {
            None => {}
            Some((peer, true)) => get_bytes(port, buf, (len, size), peer)?,
            Some((peer, false)) => port.take_packed(peer, len, size, &mut |body: *const u8| {
                let (left, right) =
                    if peer < rank { (body, buf.cast_const()) } else { (buf.cast_const(), body) };
                // SAFETY: as in `get_from`; `buf` is the call's.
                unsafe { kernel.combine(buf, left, right, len) }
            })?,
        }
    }
    guard.disarm();
    Ok(())
}
