//! A short message, as it lies in a slot of a ring, one of the library's rings: two lines
//! of the cache.

use super::envelope::{EAGER, Envelope};
use super::error::Site;
use super::p2p::{Came, Received, Send, too_long};
use super::request::Arrived;
use super::types::{Place, Placed, Solid, move_bytes};
use phalanx::engine::{LongRoom, MessageMemory, MessageRing};

/// Up to so many bytes lie in a slot of a ring, or in the queue itself: a slot is two lines, of
/// which the first has 32.
pub const ROOM: usize = 96;
/// Up to so many in memory of the slot's own, if none of the ring's few rooms is free; longer ones
/// in such a room only.
pub const MIDDLE: usize = 1 << 10;
/// With a message's length: it lies in the ring's room.
const IN_ROOM: u32 = 1 << 31;

/// Memory of whole lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Lines<const BYTES: usize>([u8; BYTES]);

/// A room of a ring: longer than any message there, so that rooms begin in different sets of a
/// cache.
pub type RingRoom = Lines<{ EAGER + MIDDLE }>;
/// The memory of a ring's slot.
pub type SlotRoom = Lines<MIDDLE>;
/// Where a message lies that is longer than its slot.
pub type ShortMemory<'a> = MessageMemory<'a, RingRoom, SlotRoom>;
/// The same, to be written.
pub type NewMemory = LongRoom<RingRoom, SlotRoom>;
/// A ring of short messages.
pub type ShortRing = MessageRing<Short, RingRoom, SlotRoom>;

/// A short message in a ring.
#[derive(Debug)]
#[repr(C)]
pub struct Short {
    /// Its sender, tag and communicator.
    pub envelope: Envelope,
    /// And whether it lies in the ring's room.
    length: u32,
    /// Where it was sent.
    pub site: Site,
    bytes: [u8; ROOM],
}

// With the ring's word: two lines.
const _: () = assert!(size_of::<Short>() == 120);

impl Default for Short {
    fn default() -> Short {
        Short { envelope: Envelope::default(), length: 0, site: Site::default(), bytes: [0; ROOM] }
    }
}

impl Short {
    /// The message; `memory`: the ring's of it.
    #[inline]
    pub fn data<'a>(&'a self, memory: ShortMemory<'a>) -> &'a [u8] {
        let length = self.length as usize;
        if length <= ROOM {
            return &self.bytes[..length];
        }
        // SAFETY: `write_long` wrote as many there.
        unsafe {
            let at: *const u8 = match self.length & IN_ROOM != 0 {
                true => memory.room(|it| it.cast()),
                false => memory.own(|it| it.cast()),
            };
            std::slice::from_raw_parts(at, self.bytes())
        }
    }

    /// Its length.
    #[inline]
    pub fn bytes(&self) -> usize {
        (self.length & !IN_ROOM) as usize
    }

    /// Whether this pattern takes it.
    #[inline]
    pub fn is_for(&self, pattern: &Envelope) -> bool {
        pattern.takes(&self.envelope)
    }

    /// Copies it to its receive's place: gives the receive's result. `sender`: of the world.
    ///
    /// # Safety
    /// The place is as `receive` asks for.
    #[inline]
    pub unsafe fn deliver(
        &self,
        memory: ShortMemory<'_>,
        place: &Place,
        sender: usize,
    ) -> Received {
        let Envelope { source, tag, .. } = self.envelope;
        // SAFETY: passed on.
        let bytes = unsafe { place.write(self.data(memory)) };
        let failed = too_long(place, self.envelope, self.bytes(), sender, self.site);
        (Arrived { source, tag, bytes }, failed)
    }

    /// Writes one of at most `ROOM` bytes.
    ///
    /// # Safety
    /// The data is as `send` asks for.
    #[inline(always)]
    pub unsafe fn write(&mut self, envelope: Envelope, data: &impl Placed, site: Site) {
        let bytes = data.bytes();
        debug_assert!(bytes <= ROOM);
        (self.envelope, self.length, self.site) = (envelope, bytes as u32, site);
        // SAFETY: the source is the caller's promise; there is room for so many bytes.
        unsafe { data.read(self.bytes.as_mut_ptr()) };
    }

    /// Copies it to bytes without gaps, if it is for this receive, and fits them: else nothing has
    /// happened, and nothing is noted of it. `memory`: the ring's of it.
    ///
    /// # Safety
    /// The bytes are as `receive` asks for.
    #[inline(always)]
    pub unsafe fn deliver_at_once(
        &self,
        memory: ShortMemory<'_>,
        pattern: &Envelope,
        (at, room): Solid,
    ) -> Option<Came> {
        let data = self.data(memory);
        if !self.is_for(pattern) || data.len() > room {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { move_bytes(data.as_ptr() as usize, at, data.len()) };
        Some(Came::of(data.len(), self.envelope.tag))
    }

    /// Writes a longer one, to that memory.
    ///
    /// # Safety
    /// As `write`; there is room for so many bytes.
    pub unsafe fn write_long(&mut self, memory: NewMemory, send: &Send, bytes: usize) {
        (self.envelope, self.site) = (send.envelope, send.site);
        let (flag, to) = match memory {
            NewMemory::Room(room) => (IN_ROOM, room.cast()),
            NewMemory::Own(own) => (0, own.cast()),
        };
        self.length = bytes as u32 | flag;
        // SAFETY: the source is the caller's promise, as the room.
        unsafe { send.place.read(to) };
    }
}
