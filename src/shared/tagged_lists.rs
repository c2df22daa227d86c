//! The lists of a receiver's queue (`tagged_queue.rs`): messages that wait for their receives, and
//! receives that wait for their messages.

use super::kept_bytes::KeptBytes;
use super::match_list::MatchList;
use super::message_label::MessageLabel;
use super::team_state::discard;
use super::ticket::Ticket;
use crate::sync::Arc;
use std::any::Any;

/// The data of a message in a queue.
pub(crate) enum MessageBody {
    Kept(KeptBytes),
    Lent(*const u8, Arc<Ticket>),
    Owned(Box<dyn Any + Send>),
}

/// A message that waits for its receive.
pub(crate) struct TaggedMessage {
    pub(crate) label: MessageLabel,
    /// Its cost in the queue's account.
    pub(crate) cost: usize,
    pub(crate) body: MessageBody,
}

// SAFETY: the address is that of memory which its sender keeps as it is until the ticket is done,
// whichever thread reads it (the contract of `TaggedQueue::send`); all else is `Send`.
unsafe impl Send for TaggedMessage {}

/// Room for one message.
#[derive(Clone, Copy)]
pub(crate) struct ReceiveRoom {
    pub(crate) label: MessageLabel,
    pub(crate) at: *mut u8,
}

impl Default for ReceiveRoom {
    /// For nothing.
    fn default() -> Self {
        ReceiveRoom { label: MessageLabel::default(), at: std::ptr::null_mut() }
    }
}

/// A receive that waits for its message.
pub(crate) struct PostedReceive {
    pub(crate) room: ReceiveRoom,
    pub(crate) ticket: Arc<Ticket>,
}

// SAFETY: the address is that of memory which its receiver leaves alone until the ticket is done,
// whichever thread writes it (the contract of `TaggedQueue::receive`); all else is `Send`.
unsafe impl Send for PostedReceive {}

/// The entries of a queue, and its account.
#[derive(Default)]
pub(crate) struct TaggedLists {
    pub(crate) list: MatchList<TaggedMessage, PostedReceive>,
    /// Bytes that are kept.
    pub(crate) kept: usize,
    /// A sender of short messages that has no ring yet.
    pub(crate) wanting: Option<u32>,
    /// The sender of the ring that a receive from any looks at first.
    pub(crate) turn: usize,
}

impl TaggedLists {
    /// Takes the message at a place of the list.
    pub(crate) fn take(&mut self, at: usize) -> Option<TaggedMessage> {
        let message = self.list.take(at)?;
        self.kept -= message.cost;
        Some(message)
    }

    /// Takes the entry of this name; whether it was there.
    pub(crate) fn withdraw(&mut self, name: u64) -> bool {
        if self.list.withdraw_posted(name).is_some() {
            return true;
        }
        let message = self.list.withdraw(name);
        self.kept -= message.as_ref().map_or(0, |it| it.cost);
        message.is_some()
    }
}

impl Drop for TaggedLists {
    /// Drops messages one by one: a destructor that panics must not keep the others from theirs.
    fn drop(&mut self) {
        let first = |lists: &TaggedLists| lists.list.messages().next().map(|(at, ..)| at);
        while let Some(at) = first(self) {
            discard(self.take(at));
        }
    }
}
