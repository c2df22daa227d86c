//! Parts: what ranks give each other in a call in which only the giver knows how long it is. A
//! part is a message of a channel, as any: copied, if it is short; else its receiver copies it from
//! where it lies, and the giver awaits that.

use super::super::fingerprint::{CallParams, Fingerprint, PayloadKind};
use super::slot_layout::WordBytes;
use super::{EagerAddress, Port, StartedCall, Stop};
use crate::mailbox::{FIRST, LONG, offset, pack};
use std::panic::Location;

/// A part that another rank gives, while it is taken.
#[derive(Clone, Copy, Debug)]
pub struct GivenPart {
    /// Where it lies; of one with gaps, where its giver says more of it.
    pub at: *const u8,
    /// Its bytes, without those of gaps.
    pub bytes: usize,
    /// Whether it lies with gaps.
    pub has_gaps: bool,
}

/// In [`WordBytes::count`]: the part has gaps.
const GAPS: usize = 1;

impl GivenPart {
    /// The part in a message of this kind.
    ///
    /// # Safety
    /// The message is one of a part, and is not consumed before this part has been.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn of(kind: PayloadKind, body: *const u8) -> GivenPart {
        if let Some(bytes) = kind.bytes() {
            return GivenPart { at: body, bytes, has_gaps: false };
        }
        if kind == PayloadKind::COPIED {
            // SAFETY: what is longer begins with its length.
            let bytes = unsafe { body.cast::<usize>().read() };
            if bytes <= LONG {
                let at = body.wrapping_add(offset(bytes));
                return GivenPart { at, bytes, has_gaps: false };
            }
            // SAFETY: of such a length it is in an eager buffer, which lives as long as the
            // fabric.
            let at = unsafe { (*body.cast::<EagerAddress>().read().place).read(|at| at) };
            return GivenPart { at, bytes, has_gaps: false };
        }
        // SAFETY: written by `lend_part`.
        let WordBytes { at, count, len } = unsafe { body.cast::<WordBytes>().read() };
        GivenPart { at, bytes: len, has_gaps: count == GAPS }
    }
}

impl Port {
    /// The call that was begun last, at `at` and with `params`, which is not on record yet.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn begun(&self, at: &'static Location<'static>, params: CallParams) -> StartedCall {
        StartedCall { number: self.next_record(), call: self.calls, sig: self.sig, at, params }
    }

    /// Gives `peer` a part of `bytes` bytes, [`LONG`] at most, that `fill` writes, if there is
    /// room: whether there was. `is_stream`: `peer` gives nothing back, so that this rank runs
    /// ahead.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn give_part_now(
        &mut self,
        peer: usize,
        bytes: usize,
        is_stream: bool,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        debug_assert!(bytes <= LONG);
        let header = self.header(PayloadKind::copied(bytes));
        let at = &mut self.peers[peer];
        let mut endpoint = at.endpoint();
        if !endpoint.can_post() {
            return false;
        }
        let len = (bytes > PayloadKind::BRIEF).then_some(bytes);
        endpoint.post(
            header,
            #[cfg_attr(not(debug_assertions), inline(always))]
            |body| {
                // SAFETY: the body of a slot.
                unsafe { pack(body, len, bytes, fill) }
            },
        );
        if is_stream {
            endpoint.fetch_ahead();
        }
        at.wake();
        true
    }

    /// Lends `peer` a part, of any length: as [`post_words`](Port::post_words).
    pub(crate) fn lend_part(&mut self, peer: usize, part: GivenPart) -> Result<(), Stop> {
        let GivenPart { at, bytes, has_gaps } = part;
        let words = WordBytes { at, count: if has_gaps { GAPS } else { 0 }, len: bytes };
        self.post_words(peer, PayloadKind::SLICE, words)
    }

    /// Takes the next part from `peer`, which is probably as long as `expected` says.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_part<R>(
        &mut self,
        peer: usize,
        expected: usize,
        take: impl FnOnce(GivenPart) -> R,
    ) -> Result<R, Stop> {
        match is_in_two_lines(expected) {
            true => self.await_two_lines(peer)?,
            false => self.await_message(peer)?,
        }
        // SAFETY: the header agrees, so the message is one of a part; consumed after `take`.
        self.take_arrived(peer, |kind, body| take(unsafe { GivenPart::of(kind, body) }))
    }

    /// The same, if it comes soon, and is one of `bytes` bytes, [`LONG`] at most, that was copied;
    /// else nothing has happened.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_part_soon(
        &mut self,
        peer: usize,
        bytes: usize,
        take: impl FnOnce(*const u8),
    ) -> bool {
        let (own, looks) = (self.header(PayloadKind::copied(bytes)), self.looks);
        let at = &mut self.peers[peer];
        let mut endpoint = at.endpoint();
        let has_come = match is_in_two_lines(bytes) {
            true => endpoint.poll_two_lines_for(looks),
            false => endpoint.poll_for(looks),
        };
        // (Signatures of one content at two addresses go the long way.)
        let is_taken = has_come
            && endpoint.read(
                #[cfg_attr(not(debug_assertions), inline(always))]
                |got, body| {
                    let agrees = Fingerprint(own.check).agrees(Fingerprint(got.check));
                    if !agrees || own.sig != got.sig {
                        return false;
                    }
                    let is_brief = bytes <= PayloadKind::BRIEF;
                    // SAFETY: what is longer begins with its length.
                    if !is_brief && unsafe { body.cast::<usize>().read() } != bytes {
                        return false;
                    }
                    take(body.wrapping_add(offset(bytes)));
                    true
                },
            );
        if is_taken {
            endpoint.consume();
            at.wake();
        }
        is_taken
    }
}

/// Whether a payload of so many bytes is in both lines of a slot.
#[cfg_attr(not(debug_assertions), inline(always))]
fn is_in_two_lines(bytes: usize) -> bool {
    bytes > FIRST && bytes <= LONG
}
