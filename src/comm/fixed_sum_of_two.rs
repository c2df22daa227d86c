//! Fixed sums of two ranks with a vector that is cut inside of a block.
//!
//! Rank 0 lends its subtrees and the combined part of the cut block; rank 1 completes that with its
//! own elements, in place, and sends the results. Where both exchanged contributions, as
//! `fixed_sum.rs` does, up to 255 elements would be copied and travel.

use super::Comm;
use super::fixed_sum::do_not_follow;
use super::fixed_sum_forms::{BOUNDS, FIRST_PARTS, RESULTS, bounds_in, bounds_of, params_of};
use crate::dist::{FirstPart, SecondPart, Values};
use crate::element::Element;
use crate::op::Operator;
use crate::shared::{Guard, PayloadKind, Port, Signature, Stop, WordBytes};
use std::panic::Location;

/// In the place of a part's begin: results follow. No part begins there.
const IS_RESULT: usize = usize::MAX;

impl Comm {
    /// The results of `values`, which are cut inside of a block, on the two ranks of this
    /// communicator.
    pub(super) fn whole_of_two<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        values: &[impl Values<T>; N],
        op: &O,
        offset: usize,
    ) -> [Option<T>; N] {
        let params = params_of(N, values.first().map_or(0, Values::len));
        let mut results = [None; N];
        let outcome = if self.rank() == 0 {
            let parts = values.each_ref().map(|x| FirstPart::new(x, op));
            if !self.enter(sig, at, params) {
                self.nothing_to_return();
            }
            lend(&mut self.port, &parts, &mut results)
        } else {
            let parts = values.each_ref().map(|x| SecondPart::new(x, offset, op));
            if !self.enter(sig, at, params) {
                self.nothing_to_return();
            }
            complete(&mut self.port, &parts, offset, op, &mut results)
        };
        if let Err(stop) = outcome {
            self.stop_for_good(stop);
        }
        results
    }
}

/// Rank 0.
fn lend<T: Element, const N: usize>(
    port: &mut Port,
    parts: &[FirstPart<T>; N],
    results: &mut [Option<T>; N],
) -> Result<(), Stop> {
    const PEER: usize = 1;
    let guard = Guard::new(port);
    let port = &mut *guard.port;
    let words = WordBytes { at: parts.as_ptr().cast(), count: FIRST_PARTS, len: N };
    port.post_words(PEER, PayloadKind::SLICE, words)?;
    let mut begins = None;
    let is_received = port.take_any(PEER, |kind, body| {
        if let Some(bytes) = kind.bytes() {
            if bytes < BOUNDS {
                return false;
            }
            // SAFETY: the bytes that are copied in this call begin with two words
            // (`fixed_sum_forms::write`, `give`).
            let [begin, _] = unsafe { body.cast::<[usize; 2]>().read_unaligned() };
            if begin != IS_RESULT || bytes != BOUNDS + size_of_val(results) {
                begins = Some(begin);
                return false;
            }
            // SAFETY: `give` wrote as many results of the same type (fingerprint).
            *results =
                unsafe { body.wrapping_add(BOUNDS).cast::<[Option<T>; N]>().read_unaligned() };
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
        if words.count != RESULTS {
            // SAFETY: the peer posted them for elements of the same type (fingerprint), as many as
            // ours (length), and keeps them until this is consumed.
            begins = unsafe { bounds_of::<T>(words) }.map(|(begin, _)| begin);
            return false;
        }
        // SAFETY: as above.
        *results = unsafe { words.at.cast::<[Option<T>; N]>().read() };
        true
    })?;
    if !is_received {
        let what = match begins {
            Some(begins) => do_not_follow(0, PEER, (parts[0].end(), begins)),
            None => format!("sums at once, expected {N}"),
        };
        return Err(Stop::Differs { peer: PEER, what });
    }
    port.wait_all_acked()?;
    guard.disarm();
    Ok(())
}

/// Rank 1.
fn complete<T: Element, O: Operator<T>, V: Values<T>, const N: usize>(
    port: &mut Port,
    parts: &[SecondPart<'_, T, V>; N],
    begin: usize,
    op: &O,
    results: &mut [Option<T>; N],
) -> Result<(), Stop> {
    const PEER: usize = 0;
    let guard = Guard::around_user_code(port);
    let port = &mut *guard.port;
    let mut ends = None;
    let is_whole = port.take_any(PEER, |kind, body| {
        if let Some(bytes) = kind.bytes() {
            // SAFETY: the bytes that rank 0 copies in this call were written so.
            ends = unsafe { bounds_in(body, bytes) }.map(|(_, end)| end);
            return false;
        }
        if kind != PayloadKind::SLICE {
            return false;
        }
        // SAFETY: the body of a message of this kind.
        let words = unsafe { body.cast::<WordBytes>().read() };
        if words.len != N {
            return false;
        }
        if words.count != FIRST_PARTS {
            // SAFETY: of the same type (fingerprint), as many as ours (length); rank 0 keeps it
            // until this is consumed.
            ends = unsafe { bounds_of::<T>(words) }.map(|(_, end)| end);
            return false;
        }
        // SAFETY: rank 0 posted as many of them (length, count), for elements of the same type
        // (fingerprint), and keeps them until this is consumed.
        let firsts = unsafe { &*words.at.cast::<[FirstPart<T>; N]>() };
        ends = Some(firsts[0].end());
        if firsts[0].end() != begin {
            return false;
        }
        for ((result, part), first) in results.iter_mut().zip(parts).zip(firsts) {
            *result = part.result(first, op);
        }
        true
    })?;
    if !is_whole {
        let what = match ends {
            Some(end) => do_not_follow(PEER, 1, (end, begin)),
            None => format!("sums at once, expected {N}"),
        };
        return Err(Stop::Differs { peer: PEER, what });
    }
    give(port, PEER, results)?;
    guard.disarm();
    Ok(())
}

/// Sends the results; they have been read if they are lent.
fn give<T: Element, const N: usize>(
    port: &mut Port,
    peer: usize,
    results: &[Option<T>; N],
) -> Result<(), Stop> {
    let bytes = BOUNDS + size_of_val(results);
    if bytes > PayloadKind::BRIEF {
        let words = WordBytes { at: results.as_ptr().cast(), count: RESULTS, len: N };
        port.post_words(peer, PayloadKind::SLICE, words)?;
        return port.wait_all_acked();
    }
    // SAFETY: there is room for `bytes` bytes.
    port.post_copy(peer, bytes, 1, |body| unsafe {
        body.cast::<[usize; 2]>().write_unaligned([IS_RESULT; 2]);
        body.wrapping_add(BOUNDS).cast::<[Option<T>; N]>().write_unaligned(*results);
    })
}
