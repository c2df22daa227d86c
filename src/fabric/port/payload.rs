//! What is in the slot of a message or a gate, or what is there instead.

use super::super::sig::{Check, Kind, Sig};
use super::Stop;
use crate::mailbox::{FIRST, Header, INLINE, LONG, Place};

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

/// Payload bytes of a slot's second line.
const SECOND: usize = INLINE - FIRST;

/// Where in a body a payload of up to [`LONG`] bytes begins. What does not fit the
/// first line has the second one for itself, if that will do: the first is then
/// written at one go, together with its word, while the peer looks at it.
#[inline(always)]
pub(super) const fn offset(bytes: usize) -> usize {
    if bytes <= FIRST {
        0
    } else if bytes <= SECOND {
        FIRST
    } else {
        size_of::<usize>()
    }
}

/// What is in a slot where the payload is not.
#[repr(C)]
pub(super) struct Shelved {
    pub(super) len: usize,
    pub(super) place: *const Place,
}

/// Writes a payload of `bytes` bytes, up to [`LONG`], in `len` elements; and that
/// number, where the header does not say it.
///
/// # Safety
/// `body` is a slot's.
#[inline(always)]
pub(super) unsafe fn pack(body: *mut u8, len: usize, bytes: usize, fill: impl FnOnce(*mut u8)) {
    fill(body.wrapping_add(offset(bytes)));
    if bytes > Kind::BRIEF {
        // SAFETY: room for a word, aligned for it, which no payload of that
        // length begins at.
        unsafe { body.cast::<usize>().write(len) };
    }
}

/// What this rank expects of a message.
pub(super) struct Own {
    pub(super) header: Header,
    pub(super) sig: &'static Sig,
    pub(super) len: usize,
}

impl Own {
    #[cold]
    #[inline(never)]
    fn mismatch(&self, peer: usize, got: Header, lens: Option<(usize, usize)>) -> Stop {
        Stop::Mismatch { peer, expected: self.header, got, lens }
    }

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
            return Err(self.mismatch(peer, got, None));
        }
        if bytes > Kind::BRIEF {
            // SAFETY: what is longer begins with its length.
            let len = unsafe { body.cast::<usize>().read() };
            if len != self.len {
                return Err(self.mismatch(peer, got, Some((self.len, len))));
            }
        }
        if bytes <= LONG {
            return Ok(take(body.wrapping_add(offset(bytes))));
        }
        // SAFETY: of the same length, so the sender has come to the same
        // branch; shelves live as long as the fabric.
        Ok(unsafe { (*body.cast::<Shelved>().read().place).read(take) })
    }
}
