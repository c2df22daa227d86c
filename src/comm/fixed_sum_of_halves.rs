//! Fixed sums of two ranks whose vector is cut between two blocks, as it is where all parts but the
//! last are multiples of a block.
//!
//! Each rank sends its subtrees, and the short block at the vector's end: in the mailbox's line if
//! they fit, else it lends them; and each joins both parts.

use super::Comm;
use super::fixed_sum::do_not_follow;
use super::fixed_sum_forms::{BOUNDS, HALVES, bounds_in, bounds_of, params_of, write};
use crate::dist::{HalfVector, Values};
use crate::element::Element;
use crate::op::Operator;
use crate::shared::{Guard, PayloadKind, Port, Signature, Stop, WordBytes};
use std::panic::Location;

impl Comm {
    /// The results of `values`, which are cut between two blocks, on the two ranks of this
    /// communicator.
    pub(super) fn whole_of_halves<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        values: &[impl Values<T>; N],
        op: &O,
        offset: usize,
    ) -> [Option<T>; N] {
        let params = params_of(N, values.first().map_or(0, Values::len));
        let parts = values.each_ref().map(|x| HalfVector::new(x, offset, op));
        if !self.enter(sig, at, params) {
            self.nothing_to_return();
        }
        let mut results = [None; N];
        if let Err(stop) = exchange(&mut self.port, &parts, op, &mut results) {
            self.stop_for_good(stop);
        }
        results
    }
}

/// Both ranks exchange their parts, and join them.
fn exchange<T: Element, O: Operator<T>, const N: usize>(
    port: &mut Port,
    parts: &[HalfVector<T>; N],
    op: &O,
    results: &mut [Option<T>; N],
) -> Result<(), Stop> {
    let rank = port.rank();
    let peer = 1 - rank;
    let (begin, end) = parts[0].bounds();
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    // All are cut alike.
    let bytes = bytes_of::<T>((begin, end), N);
    if let Some(bytes) = bytes {
        port.post_copy(peer, bytes, 1, |body| {
            let numbers = parts.iter().flat_map(HalfVector::numbers);
            // SAFETY: there is room for `bytes` bytes.
            unsafe { write((begin, end), numbers, body) }
        })?;
    } else {
        let words = WordBytes { at: parts.as_ptr().cast(), count: HALVES, len: N };
        port.post_words(peer, PayloadKind::SLICE, words)?;
    }
    let follows = |theirs: (usize, usize)| match rank {
        0 => end == theirs.0,
        _ => theirs.1 == begin,
    };
    let mut theirs = None;
    let is_whole = port.take_any(peer, |kind, body| {
        if let Some(bytes) = kind.bytes() {
            // SAFETY: what is copied in this call was written so.
            theirs = unsafe { bounds_in(body, bytes) };
            let Some(bounds) = theirs.filter(|&it| follows(it)) else { return false };
            if bytes_of::<T>(bounds, N) != Some(bytes) {
                return false;
            }
            let each = HalfVector::<T>::len_between(bounds);
            let from = body.wrapping_add(BOUNDS).cast::<T>();
            for (k, (result, own)) in results.iter_mut().zip(parts).enumerate() {
                // SAFETY: `bytes` are as many numbers of the same type (fingerprint).
                let number = |i| unsafe { from.wrapping_add(i).read_unaligned() };
                let numbers = (k * each..(k + 1) * each).map(number);
                *result = own.result_with(rank == 0, bounds, numbers, op);
            }
            return true;
        }
        if kind != PayloadKind::SLICE {
            return false;
        }
        // SAFETY: the body of a message of this kind.
        let words = unsafe { body.cast::<WordBytes>().read() };
        if words.len != N {
            return false;
        }
        // SAFETY: the peer posted them for elements of the same type (fingerprint), as many as ours
        // (length), and keeps them until this is consumed.
        theirs = unsafe { bounds_of::<T>(words) };
        if words.count != HALVES || !theirs.is_some_and(follows) {
            return false;
        }
        // SAFETY: as above, by the count.
        let others = unsafe { &*words.at.cast::<[HalfVector<T>; N]>() };
        for ((result, own), other) in results.iter_mut().zip(parts).zip(others) {
            *result = own.result_with(rank == 0, other.bounds(), other.numbers(), op);
        }
        true
    })?;
    if !is_whole {
        let own = if rank == 0 { end } else { begin };
        return Err(differs::<N>((rank, own), theirs));
    }
    if bytes.is_none() {
        port.wait_all_acked()?;
    }
    guard.disarm();
    Ok(())
}

/// Why a rank's call ends: its part ends, or begins, at an index at which the peer's, which has
/// these bounds, does not begin or end.
#[cold]
fn differs<const N: usize>((rank, own): (usize, usize), theirs: Option<(usize, usize)>) -> Stop {
    let peer = 1 - rank;
    let gap = theirs.map(|(begin, end)| if rank == 0 { (own, begin) } else { (end, own) });
    let what = match gap.filter(|(left, right)| left != right) {
        Some(gap) => do_not_follow(peer, rank, gap),
        None => format!("sums at once, expected {N}"),
    };
    Stop::Differs { peer, what }
}

/// The bytes of `n` parts with these bounds, if they fit the mailbox's line.
#[inline(always)]
fn bytes_of<T: Element>(bounds: (usize, usize), n: usize) -> Option<usize> {
    let numbers = HalfVector::<T>::len_between(bounds).checked_mul(n * size_of::<T>())?;
    (numbers <= PayloadKind::BRIEF - BOUNDS).then_some(BOUNDS + numbers)
}
