//! Messages of one rank: how many chunks have gone to each other rank and come from it, and those
//! that have come before they were received.

use crate::ring::{CHUNK, Label, Ring};
use std::collections::VecDeque;

/// The most that is reserved for a message before its bytes are there.
const RESERVE: usize = 1 << 20;

/// Messages to and from each member: how many chunks, and those that nobody has received.
pub(crate) struct Mail(Vec<Letters>);

#[derive(Default)]
pub(crate) struct Letters {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) waiting: VecDeque<Letter>,
    /// One that has come in part.
    pub(crate) coming: Option<Letter>,
}

/// A message that has come before it was received.
pub(crate) struct Letter {
    pub(crate) label: Label,
    pub(crate) data: Vec<u8>,
}

impl Mail {
    pub(crate) fn new(members: usize) -> Self {
        Mail((0..members).map(|_| Letters::default()).collect())
    }

    /// Those of one member.
    pub(crate) fn of(&mut self, member: usize) -> &mut Letters {
        &mut self.0[member]
    }

    /// Takes everything that has come from a member, until nothing more is there.
    pub(crate) fn drain(&mut self, ring: &Ring, from: usize) {
        let letters = &mut self.0[from];
        while letters.take_chunk(ring) {}
    }
}

impl Letters {
    /// Takes a chunk, if one is there.
    pub(crate) fn take_chunk(&mut self, ring: &Ring) -> bool {
        let n = self.received + 1;
        if !ring.slot(n).has(n) {
            return false;
        }
        let letter = self.coming.get_or_insert_with(|| {
            let label = ring.slot(n).label();
            let bytes = usize::try_from(label.bytes).unwrap_or(usize::MAX);
            Letter { label, data: Vec::with_capacity(bytes.min(RESERVE)) }
        });
        // The label was copied once: its length is this process's own now.
        let rest = usize::try_from(letter.label.bytes).unwrap_or(usize::MAX) - letter.data.len();
        let bytes = rest.min(CHUNK);
        letter.data.reserve(bytes);
        // SAFETY: so many bytes are in the chunk, and reserved.
        unsafe {
            let to = letter.data.as_mut_ptr().add(letter.data.len());
            std::ptr::copy_nonoverlapping(ring.chunk(n).cast_const(), to, bytes);
            letter.data.set_len(letter.data.len() + bytes);
        }
        ring.taken().take(n);
        self.received = n;
        if bytes == rest {
            self.waiting.extend(self.coming.take());
        }
        true
    }

    /// The oldest of a tag that has come as a whole.
    pub(crate) fn find(&mut self, tag: u64) -> Option<Letter> {
        let place = self.waiting.iter().position(|letter| letter.label.tag == tag)?;
        self.waiting.remove(place)
    }
}
