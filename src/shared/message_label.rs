//! A rank's facts about a tagged message, or about the room for one.

use super::fingerprint::Signature;
use std::any::TypeId;
use std::panic::Location;

/// A rank's facts about a message, or about the room for one.
#[derive(Clone, Copy)]
pub(crate) struct MessageLabel {
    pub(crate) sig: &'static Signature,
    pub(crate) at: &'static Location<'static>,
    /// Elements.
    pub(crate) len: usize,
    pub(crate) element: TypeId,
    /// One value that is moved; else elements that are copied.
    pub(crate) owned: bool,
}

impl Default for MessageLabel {
    /// Of nothing.
    #[track_caller]
    fn default() -> Self {
        static NOTHING: Signature = Signature::of::<()>("", "");
        let (at, element) = (Location::caller(), TypeId::of::<()>());
        MessageLabel { sig: &NOTHING, at, len: 0, element, owned: false }
    }
}

impl MessageLabel {
    /// The difference that keeps this message, or this room (`is_message`), from the other one.
    #[inline(always)]
    pub(crate) fn check(&self, is_message: bool, other: &MessageLabel) -> Result<(), String> {
        let (message, room) = if is_message { (self, other) } else { (other, self) };
        if self.element == other.element && self.owned == other.owned && message.len <= room.len {
            return Ok(());
        }
        Err(self.differs(message, room, other))
    }

    #[cold]
    #[inline(never)]
    fn differs(&self, message: &MessageLabel, room: &MessageLabel, other: &MessageLabel) -> String {
        let words = |it: &MessageLabel| {
            let what = if it.owned { "an owned" } else { "elements of type" };
            format!("{what} {}", (it.sig.element_name)())
        };
        if self.element == other.element && self.owned == other.owned {
            let (message, room) = (message.len, room.len);
            return format!(
                "truncation: the message has {message} elements, the buffer has room for {room}"
            );
        }
        match (words(self), words(other)) {
            (a, b) if a == b => "two types of one name".to_string(),
            (a, b) => format!("expected {a}, got {b}"),
        }
    }
}
