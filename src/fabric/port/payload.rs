//! What is in the slot of a message or a gate, or what is there instead.

use super::super::sig::{Check, Kind, Sig};
use super::Stop;
use crate::mailbox::{Header, INLINE, Place};

/// The payload of a message that describes memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Words {
    /// The slice ([`Kind::SLICE`]), or a list of [`Span`]s ([`Kind::LIST`]).
    pub(crate) at: *const u8,
    /// The number of spans of a list.
    pub(crate) count: usize,
    /// Elements in all.
    pub(crate) len: usize,
}

/// A slice of `len` elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Span {
    pub(crate) at: *const u8,
    pub(crate) len: usize,
}

/// Bytes that go to a slot behind their length.
pub(super) const LONG: usize = INLINE - size_of::<usize>();

/// What is in a slot where the payload is not.
#[repr(C)]
pub(super) struct Shelved {
    pub(super) len: usize,
    pub(super) place: *const Place,
}

/// Writes a length and a payload behind it.
///
/// # Safety
/// `body` is valid for writes of a word, aligned for it, and of the payload.
#[inline(always)]
pub(super) unsafe fn long(body: *mut u8, len: usize, fill: impl FnOnce(*mut u8)) {
    // SAFETY: by the contract.
    unsafe { body.cast::<usize>().write(len) };
    fill(body.wrapping_add(size_of::<usize>()));
}

/// What this rank expects of a message.
pub(super) struct Own {
    pub(super) header: Header,
    pub(super) sig: &'static Sig,
    pub(super) len: usize,
}

impl Own {
    /// Gives `take` the payload of a message of `bytes` bytes if its header and
    /// length agree.
    ///
    /// # Safety
    /// If the header agrees, `post_copy` or `show_all` wrote the body, and does
    /// not write it or its place again now.
    #[inline(always)]
    pub(super) unsafe fn unpack<R>(
        &self,
        peer: usize,
        bytes: usize,
        got: Header,
        body: *const u8,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        if !Check(self.header.check).agrees(Check(got.check)) || !self.sig.agrees(got.sig) {
            return Err(Stop::Mismatch { peer, expected: self.header, got, lens: None });
        }
        if bytes <= Kind::BRIEF {
            return Ok(take(body));
        }
        // SAFETY: what is longer begins with its length.
        let len = unsafe { body.cast::<usize>().read() };
        if len != self.len {
            let lens = Some((self.len, len));
            return Err(Stop::Mismatch { peer, expected: self.header, got, lens });
        }
        if bytes <= LONG {
            return Ok(take(body.wrapping_add(size_of::<usize>())));
        }
        // SAFETY: of the same length, so the sender has come to the same
        // branch; shelves live as long as the fabric.
        Ok(unsafe { (*body.cast::<Shelved>().read().place).read(take) })
    }
}
