//! Every rank sends a few bytes to every other, and combines all of them by the tree of
//! `Order::Fixed`. Peers need nothing else from this rank, so it may work after it has sent.

use super::Workspace;
use super::call::{Buffers, Call, Slices};
use crate::element::Element;
use crate::fabric::{Guard, PayloadKind, Port, StartedCall, Stop};
use crate::op::Operator;
use crate::order::by_tree;
use std::mem::MaybeUninit;

/// Ranks up to which everybody posts to everybody what fits the mailbox's line:
/// p - 1 stores and looks, of which none waits for another, where a tree's steps
/// would wait for the work of the ranks between. With more ranks the boards cost
/// fewer stores (a store to another core's line is 20 to 50 ns, so these are some
/// microseconds).
pub(crate) const RANKS: usize = 64;

/// What a peer has sent.
#[derive(Clone, Copy)]
struct InlineBuffer([MaybeUninit<u8>; PayloadKind::BRIEF]);

/// All-reduce of a value that fits the mailbox's line, among at most [`RANKS`]
/// ranks: everybody sends its own to all, and combines all by the tree.
#[inline]
pub(crate) fn run<'a, T: Element, O: Operator<T>, R>(
    port: &mut Port,
    _: &mut Workspace,
    begun: StartedCall,
    call: Call<'a, Slices<'a, T, O>>,
    work: impl FnOnce() -> R,
) -> Result<R, Stop> {
    port.log_call(begun);
    let (Buffers::InPlace(buf), op) = call.into_buffers() else {
        unreachable!("an all-reduce is in place")
    };
    let (rank, p) = (port.rank(), port.size());
    let bytes = size_of_val(buf);
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    // Each begins with its successor, so that not all write to one rank.
    let peers = (1..p).map(|d| if rank + d < p { rank + d } else { rank + d - p });
    for peer in peers.clone() {
        port.post_copy(peer, bytes, 1, |body| {
            // SAFETY: there is room for `bytes` bytes.
            unsafe { std::ptr::copy_nonoverlapping(buf.as_ptr().cast(), body, bytes) }
        })?;
    }
    let result = work();
    let mut lines = [InlineBuffer([const { MaybeUninit::uninit() }; PayloadKind::BRIEF]); RANKS];
    for peer in peers {
        let line = &mut lines[peer];
        port.take_copy(peer, bytes, 1, |body| {
            // SAFETY: the peer wrote as many bytes (kind).
            unsafe { std::ptr::copy_nonoverlapping(body, line.0.as_mut_ptr().cast(), bytes) }
        })?;
    }
    for (i, own) in buf.iter_mut().enumerate() {
        let mine = *own;
        let operand = |r: usize| match r {
            r if r == rank => mine,
            // SAFETY: rank r sent as many elements of the same type
            // (fingerprint and kind agree); a line is not aligned for them.
            r => unsafe { lines[r].0.as_ptr().cast::<T>().add(i).read_unaligned() },
        };
        *own = by_tree(0, p, &mut { operand }, &mut |a, b| op.combine(a, b));
    }
    guard.disarm();
    Ok(result)
}
