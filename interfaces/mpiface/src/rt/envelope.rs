//! The envelope of a message, by which it meets its receive.

use phalanx::engine::MatchPattern;

/// Longer messages are not stored: one of the two ranks copies them from buffer to buffer. (Other
/// MPIs' times leap where they begin to wait for the receiver, too: Open MPI 4's between 1 and
/// 4 KiB, MPICH 4's between 8 and 16.)
pub const EAGER: usize = 8 << 10;
pub use super::standard::{ANY_SOURCE, ANY_TAG, PROC_NULL};

/// The facts by which a message is matched: its communicator, its sender there, and its tag.
#[derive(Clone, Copy, Debug, Default)]
pub struct Envelope {
    /// The communicator's number.
    pub context: u32,
    /// The sender, or `ANY_SOURCE`.
    pub source: i32,
    /// The tag, or `ANY_TAG`.
    pub tag: i32,
}

impl Envelope {
    /// A receive's, for the library's list.
    #[inline(always)]
    pub fn pattern(&self) -> MatchPattern {
        let Envelope { source, tag, .. } = *self;
        MatchPattern {
            source: (source != ANY_SOURCE).then_some(source as u32),
            tag: (tag != ANY_TAG).then_some(tag as u32),
        }
    }

    /// A message's, for that list.
    #[inline(always)]
    pub fn label(&self) -> (u32, u32) {
        (self.source as u32, self.tag as u32)
    }

    /// Whether this pattern takes the message.
    #[inline]
    pub fn takes(&self, message: &Envelope) -> bool {
        self.context == message.context
            && (self.source == ANY_SOURCE || self.source == message.source)
            && (self.tag == ANY_TAG || self.tag == message.tag)
    }
}
