//! Every rank sends a few bytes to every other, and combines all of them by the tree of
//! `Order::Fixed`. Peers need nothing else from this rank, so it may work after it has sent.

use super::board::ordered::reduce_brief;
use super::call::{Call, RawBuffers};
use crate::mailbox::{BRIEF_ALIGN, BRIEF_ROOM};
use crate::shared::{Guard, PayloadKind, Port, StartedCall, Stop};
use std::mem::MaybeUninit;

/// Ranks up to which everybody posts to everybody what fits the mailbox's line:
/// p - 1 stores and looks, of which none waits for another, where a tree's steps
/// would wait for the work of the ranks between. With more ranks the boards cost
/// fewer stores (a store to another core's line is 20 to 50 ns, so these are some
/// microseconds).
pub(crate) const RANKS: usize = 64;

/// A rank's elements.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Line([MaybeUninit<u8>; PayloadKind::BRIEF]);

const _: () = assert!(align_of::<Line>() == BRIEF_ALIGN && PayloadKind::BRIEF <= BRIEF_ROOM);

/// Whether the elements of a call fit the lines, on a communicator of so many ranks.
pub(crate) fn fits(call: &Call<'_, RawBuffers<'_>>, ranks: usize) -> bool {
    let kernel = call.memory().kernel;
    let bytes = call.unit().saturating_mul(kernel.size());
    bytes <= PayloadKind::BRIEF && kernel.align() <= BRIEF_ALIGN && ranks <= RANKS
}

/// All-reduce of what [`fits`]: everybody sends its own to all, and combines all by the tree.
#[inline]
pub(crate) fn run<R>(
    port: &mut Port,
    begun: StartedCall,
    call: &Call<'_, RawBuffers<'_>>,
    work: impl FnOnce() -> R,
) -> Result<R, Stop> {
    port.log_call(begun);
    let RawBuffers { kernel, output, .. } = *call.memory();
    let (rank, p, n) = (port.rank(), port.size(), call.unit());
    let bytes = n * kernel.size();
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    // Each begins with its successor, so that not all write to one rank.
    let peers = (1..p).map(|d| if rank + d < p { rank + d } else { rank + d - p });
    for peer in peers.clone() {
        port.post_copy(peer, bytes, 1, |body| {
            // SAFETY: there is room for `bytes` bytes; the vector is the call's (`RawBuffers`).
            unsafe { std::ptr::copy_nonoverlapping(output.cast_const(), body, bytes) }
        })?;
    }
    let result = work();
    let mut lines = [Line([const { MaybeUninit::uninit() }; PayloadKind::BRIEF]); RANKS];
    // SAFETY: the vector is the call's, and fits a line.
    unsafe { std::ptr::copy_nonoverlapping(output, lines[rank].0.as_mut_ptr().cast(), bytes) };
    for peer in peers {
        let line = &mut lines[peer];
        port.take_copy(peer, bytes, 1, |body| {
            // SAFETY: the peer wrote as many bytes (kind).
            unsafe { std::ptr::copy_nonoverlapping(body, line.0.as_mut_ptr().cast(), bytes) }
        })?;
    }
    let all = lines.each_mut().map(|line| line.0.as_mut_ptr().cast::<u8>());
    // SAFETY: each rank has sent as many elements of the same type (fingerprint and kind agree),
    // which fit a line; the vector is none of the lines.
    unsafe { reduce_brief(kernel, &all[..p], 0..n, output) };
    guard.disarm();
    Ok(result)
}
