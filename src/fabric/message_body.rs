//! What a queue has of a tagged message: a copy, where its sender has it, or an owned value.

use super::tagged_ring::copy_bytes;
use super::ticket::Ticket;
use crate::sync::Arc;
use std::any::Any;
use std::mem::MaybeUninit;

/// Bytes up to which a message is kept in its entry.
pub(crate) const BRIEF: usize = 64;

/// Words of any content, aligned to 8.
type QueueWords = Box<[MaybeUninit<u64>]>;

/// See the module documentation.
pub(crate) enum MessageBody {
    Brief([MaybeUninit<u64>; BRIEF / 8]),
    Copied(QueueWords),
    Lent(*const u8, Arc<Ticket>),
    Owned(Box<dyn Any + Send>),
}

impl MessageBody {
    /// Room for a copy of so many bytes.
    #[inline(always)]
    pub(crate) fn for_copy(bytes: usize) -> Self {
        match bytes {
            ..=BRIEF => MessageBody::Brief([MaybeUninit::uninit(); BRIEF / 8]),
            _ => MessageBody::Copied(Box::new_uninit_slice(bytes.div_ceil(8))),
        }
    }

    /// Where the copy is.
    #[inline(always)]
    pub(crate) fn copy_room(&mut self) -> *mut u8 {
        match self {
            MessageBody::Brief(words) => words.as_mut_ptr().cast(),
            MessageBody::Copied(words) => words.as_mut_ptr().cast(),
            MessageBody::Lent(..) | MessageBody::Owned(_) => std::ptr::null_mut(),
        }
    }

    /// A copy of a message.
    ///
    /// # Safety
    /// So many bytes can be read.
    #[inline(always)]
    pub(crate) unsafe fn copy_of(from: *const u8, bytes: usize) -> Self {
        let mut body = MessageBody::for_copy(bytes);
        // SAFETY: by the contract; there is room.
        unsafe { copy_bytes(body.copy_room(), from, bytes) };
        body
    }
}
