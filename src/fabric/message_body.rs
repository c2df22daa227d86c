//! What a queue has of a tagged message: a copy, where its sender has it, or an owned value.

use super::tagged_ring::copy_bytes;
use super::ticket::Ticket;
use crate::sync::Arc;
use std::any::Any;
use std::mem::MaybeUninit;

/// Bytes up to which a message is kept in its entry.
pub(super) const BRIEF: usize = 64;

/// Words of any content, aligned to 8.
pub(super) type QueueWords = Box<[MaybeUninit<u64>]>;

/// See the module documentation.
pub(super) enum MessageBody {
    Brief([MaybeUninit<u64>; BRIEF / 8]),
    Copied(QueueWords),
    Lent(*const u8, Arc<Ticket>),
    Owned(Box<dyn Any + Send>),
}

/// A copy of a message of up to [`BRIEF`] bytes.
///
/// # Safety
/// So many bytes can be read.
#[inline(always)]
pub(super) unsafe fn brief(from: *const u8, bytes: usize) -> MessageBody {
    let mut words = [MaybeUninit::uninit(); BRIEF / 8];
    // SAFETY: by the contract; there is room.
    unsafe { copy_bytes(words.as_mut_ptr().cast(), from, bytes) };
    MessageBody::Brief(words)
}

/// A copy of a longer one.
///
/// # Safety
/// As [`brief`].
pub(super) unsafe fn copied(from: *const u8, bytes: usize) -> QueueWords {
    let mut words: QueueWords = Box::new_uninit_slice(bytes.div_ceil(8));
    // SAFETY: by the contract; there is room.
    unsafe { copy_bytes(words.as_mut_ptr().cast(), from, bytes) };
    words
}
