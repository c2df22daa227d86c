//! Parts: data that ranks give each other in a call in which only the giver knows how long it is. A
//! part is a message of a channel, as any: copied, if it is short; else its receiver copies it from
//! where it lies, and the giver awaits that.

use super::super::fingerprint::{CallParams, Fingerprint, PayloadKind};
use super::slot_layout::WordBytes;
use super::{EagerAddress, Port, StartedCall, Stop};
use crate::mailbox::{EAGER, FIRST, LONG, offset};
use std::panic::Location;

/// A part that another rank gives, while it is taken.
///
/// # Examples
/// See [`exchange`](crate::engine::exchange).
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
    pub(crate) unsafe fn of(kind: PayloadKind, body: *const u8) -> GivenPart {
        if let Some(bytes) = kind.bytes() {
            return GivenPart { at: body, bytes, has_gaps: false };
        }
        if kind == PayloadKind::COPIED {
            // SAFETY: longer ones begin with their length.
            let bytes = unsafe { body.cast::<usize>().read() };
            if bytes <= LONG {
                let at = body.wrapping_add(offset(bytes));
                return GivenPart { at, bytes, has_gaps: false };
            }
            // SAFETY: of such a length it is in an eager buffer, which lives as long as the
            // state.
            let at = unsafe { (*body.cast::<EagerAddress>().read().place).read(|at| at) };
            return GivenPart { at, bytes, has_gaps: false };
        }
        // SAFETY: written by `lend_part`.
        let WordBytes { at, count, len } = unsafe { body.cast::<WordBytes>().read() };
        GivenPart { at, bytes: len, has_gaps: count == GAPS }
    }
}

#[cfg_attr(loom, allow(dead_code))] // Of communicators, but for what is modelled.
impl Port {
    /// The number of the call in progress.
    pub(crate) fn call_number(&self) -> u64 {
        self.calls
    }

    /// The call that was begun last, at `at` and with `params`, which is not on record yet.
    pub(crate) fn begun(&self, at: &'static Location<'static>, params: CallParams) -> StartedCall {
        StartedCall { number: self.next_record(), call: self.calls, sig: self.sig, at, params }
    }

    /// Gives `peer` `bytes` bytes at `at`, without gaps, if there is room: whether there was.
    /// `copy` copies a few of them to where it is told. `is_stream`: `peer` gives nothing back, so
    /// that this rank runs ahead.
    ///
    /// # Safety
    /// They are readable; the lent ones, of more than [`EAGER`], are not written until
    /// [`has_settled_soon`](Port::has_settled_soon), or until the call is over in another way.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn give_part_now(
        &mut self,
        peer: usize,
        (at, bytes): (*const u8, usize),
        is_stream: bool,
        copy: impl FnOnce(*mut u8),
    ) -> bool {
        if bytes > FIRST {
            // SAFETY: passed on.
            return unsafe { self.give_longer_now(peer, (at, bytes), is_stream) };
        }
        let header = self.header(PayloadKind::copied(bytes));
        let at = &mut self.peers[peer];
        let mut endpoint = at.endpoint();
        if !endpoint.can_post() {
            return false;
        }
        endpoint.post(
            header,
            #[cfg_attr(not(debug_assertions), inline(always))]
            |body| copy(body.wrapping_add(const { offset(FIRST) })),
        );
        if is_stream {
            endpoint.fetch_ahead();
        }
        at.wake();
        true
    }

    /// # Safety
    /// As `give_part_now`.
    #[inline(never)]
    unsafe fn give_longer_now(
        &mut self,
        peer: usize,
        (at, bytes): (*const u8, usize),
        is_stream: bool,
    ) -> bool {
        if !self.peers[peer].endpoint().can_post() {
            return false;
        }
        if bytes <= EAGER {
            // SAFETY: the caller's promise; there is room for so many bytes.
            self.post_copy_in_room(peer, bytes, 1, |to| unsafe {
                std::ptr::copy_nonoverlapping(at, to, bytes);
            });
            if is_stream {
                self.peers[peer].endpoint().fetch_ahead();
            }
            return true;
        }
        self.lend_part(peer, GivenPart { at, bytes, has_gaps: false }).is_ok()
    }

    /// Whether a part may be given to `peer` now.
    pub(crate) fn can_give_part(&mut self, peer: usize) -> bool {
        self.peers[peer].endpoint().can_post()
    }

    /// Whether all that was lent has been taken, or is so soon.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_settled_soon(&mut self) -> bool {
        self.debts.is_empty() || self.settles_soon()
    }

    #[inline(never)]
    fn settles_soon(&mut self) -> bool {
        loop {
            let Some(&(peer, n)) = self.debts.last() else { return true };
            let mut looks = 0..self.looks;
            if !looks.any(|_| self.peers[peer].endpoint().is_acked(n)) {
                return false;
            }
            self.debts.pop();
        }
    }

    /// Lends `peer` a part, of any length: as [`post_words`](Port::post_words).
    pub(crate) fn lend_part(&mut self, peer: usize, part: GivenPart) -> Result<(), Stop> {
        let GivenPart { at, bytes, has_gaps } = part;
        let words = WordBytes { at, count: if has_gaps { GAPS } else { 0 }, len: bytes };
        self.post_words(peer, PayloadKind::SLICE, words)
    }

    /// Takes the next part from `peer`, which has come.
    pub(crate) fn take_part<R>(
        &mut self,
        peer: usize,
        take: impl FnOnce(GivenPart) -> R,
    ) -> Result<R, Stop> {
        // SAFETY: the header agrees, so the message is one of a part; consumed after `take`.
        self.take_arrived(peer, |kind, body| take(unsafe { GivenPart::of(kind, body) }))
    }

    /// Awaits a part from `peer` that has not come soon.
    #[cold]
    #[inline(never)]
    pub(crate) fn await_part(&mut self, peer: usize) -> Result<(), Stop> {
        self.await_message::<false>(peer)
    }

    /// Whether a part from `peer` comes soon, which is probably as long.
    pub(crate) fn has_part_soon(&mut self, peer: usize, expected: usize) -> bool {
        let looks = self.looks;
        let mut endpoint = self.peers[peer].endpoint();
        match is_in_two_lines(expected) {
            true => endpoint.poll_for::<true>(looks),
            false => endpoint.poll_for::<false>(looks),
        }
    }

    /// Takes the next part from `peer` to `to`, if it comes soon, and is of as many bytes, without
    /// gaps; else nothing has happened. `copy` copies a few from where it is told.
    ///
    /// # Safety
    /// There is room for so many, which nobody else uses.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn take_part_soon(
        &mut self,
        peer: usize,
        (to, bytes): (*mut u8, usize),
        copy: impl FnOnce(*const u8),
    ) -> bool {
        if bytes > FIRST {
            // SAFETY: passed on.
            return unsafe { self.take_longer_soon(peer, (to, bytes)) };
        }
        let (own, looks) = (self.header(PayloadKind::copied(bytes)), self.looks);
        let at = &mut self.peers[peer];
        let mut endpoint = at.endpoint();
        // (Signatures of one content at two addresses go the long way.)
        let is_taken = endpoint.poll_for::<false>(looks)
            && endpoint.read(
                #[cfg_attr(not(debug_assertions), inline(always))]
                |got, body| {
                    let agrees = Fingerprint(own.check).agrees(Fingerprint(got.check));
                    if !agrees || own.sig != got.sig {
                        return false;
                    }
                    copy(body.wrapping_add(const { offset(FIRST) }));
                    true
                },
            );
        if is_taken {
            endpoint.consume();
            at.wake();
        }
        is_taken
    }

    /// # Safety
    /// As `take_part_soon`.
    #[inline(never)]
    unsafe fn take_longer_soon(&mut self, peer: usize, (to, bytes): (*mut u8, usize)) -> bool {
        if !self.has_part_soon(peer, bytes) {
            return false;
        }
        let (check, sig) = (self.check, self.header(PayloadKind::COPIED).sig);
        let at = &mut self.peers[peer];
        let mut endpoint = at.endpoint();
        let is_taken = endpoint.read(|got, body| {
            let kind = Fingerprint(got.check).kind();
            if !check.with(kind).agrees(Fingerprint(got.check)) || sig != got.sig {
                return false;
            }
            // SAFETY: the header agrees, so the message is one of a part, and not consumed yet.
            let part =
                unsafe { GivenPart::of(kind, body.wrapping_add(kind.bytes().map_or(0, offset))) };
            let fits = part.bytes == bytes && !part.has_gaps;
            if fits {
                // SAFETY: the target is the caller's promise, the source that of the rank that
                // gives it.
                unsafe { std::ptr::copy(part.at, to, bytes) };
            }
            fits
        });
        if is_taken {
            endpoint.consume();
            at.wake();
        }
        is_taken
    }
}

/// Whether a payload of so many bytes is in both lines of a slot.
fn is_in_two_lines(bytes: usize) -> bool {
    bytes > FIRST && bytes <= LONG
}
