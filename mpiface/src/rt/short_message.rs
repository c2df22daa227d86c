//! A short message, as it lies in a slot of a lane: two lines of the cache.

use super::error::Site;
use super::lane::Lane;
use super::p2p::{Arrived, Came, Envelope, Received, Send, too_long};
use super::types::{Place, move_bytes};

/// Up to so many bytes lie in a slot of a lane, or in the queue itself: a slot is two lines.
pub const ROOM: usize = 80;
/// Up to so many in memory of the slot's own, if none of the lane's few rooms is free; longer ones
/// in such a room only.
pub const MIDDLE: usize = 1 << 10;
/// Instead of a message's length: it lies in the lane's room, as many bytes,
const IN_ROOM: u32 = 1 << 31;
/// or it is lent: where it lies stands in the slot.
const LENT: u32 = 1 << 30;

/// A line of memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "used by its address")] [u8; 64]);

/// Memory for a message, as much as it needed so far.
#[derive(Debug, Default)]
pub struct Lines(Box<[Line]>);

impl Lines {
    /// Where so many bytes go.
    #[inline]
    pub fn room(&mut self, length: usize) -> *mut u8 {
        if size_of_val(&*self.0) < length {
            self.widen(length);
        }
        self.0.as_mut_ptr().cast()
    }

    #[cold]
    fn widen(&mut self, length: usize) {
        let lines = length.next_power_of_two() / size_of::<Line>();
        self.0 = vec![Line([0; 64]); lines].into();
    }

    /// What lies there.
    ///
    /// # Safety
    /// So many bytes were written to `room`.
    #[inline]
    pub unsafe fn bytes(&self, length: usize) -> &[u8] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), length) }
    }
}

/// Memory that lies without gaps: an address, and how many bytes.
pub type Solid = (usize, usize);

/// A short message in a lane.
#[derive(Debug)]
#[repr(C)]
pub struct Short {
    /// Whose it is.
    pub envelope: Envelope,
    /// And whether it lies in the lane's room.
    length: u32,
    /// Where it was sent.
    pub site: Site,
    /// For more than `ROOM` bytes, up to `MIDDLE`; kept for the slot's next message.
    lines: Lines,
    bytes: [u8; ROOM],
}

// With the lane's word: two lines.
const _: () = assert!(size_of::<Short>() == 120);

impl Default for Short {
    fn default() -> Short {
        let envelope = Envelope { context: 0, source: 0, tag: 0 };
        Short {
            envelope,
            length: 0,
            site: Site::default(),
            lines: Lines::default(),
            bytes: [0; ROOM],
        }
    }
}

impl Short {
    /// The message; `room`: the lane's of it.
    #[inline]
    pub fn data<'a>(&'a self, room: &'a Lines) -> &'a [u8] {
        let length = self.length as usize;
        if length <= ROOM {
            return &self.bytes[..length];
        }
        if self.is_lent() {
            let (address, length) = self.lent();
            // SAFETY: its giver leaves so many bytes alone until this message is taken.
            return unsafe { std::slice::from_raw_parts(address as *const u8, length) };
        }
        let lines = if self.length & IN_ROOM != 0 { room } else { &self.lines };
        // SAFETY: `write_long` wrote as many there.
        unsafe { lines.bytes(self.bytes()) }
    }

    /// Its length.
    #[inline]
    pub fn bytes(&self) -> usize {
        if self.is_lent() { self.lent().1 } else { (self.length & !IN_ROOM) as usize }
    }

    /// Whether it lies at its giver's (`parts.rs`).
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.length & LENT != 0
    }

    /// Where, and how many bytes.
    #[inline]
    pub fn lent(&self) -> (usize, usize) {
        let word = |it: usize| {
            let mut bytes = [0; size_of::<usize>()];
            bytes.copy_from_slice(&self.bytes[it * size_of::<usize>()..][..size_of::<usize>()]);
            usize::from_ne_bytes(bytes)
        };
        (word(0), word(1))
    }

    /// Lends a part, which has no gaps.
    pub fn lend(&mut self, part: &Send) {
        (self.envelope, self.length, self.site) = (part.envelope, LENT, part.site);
        let words = [part.place.address, part.place.bytes()].map(usize::to_ne_bytes);
        self.bytes[..size_of_val(&words)].copy_from_slice(words.as_flattened());
    }

    /// Writes one of at most `ROOM` bytes that lie without gaps: an address, and how many.
    ///
    /// # Safety
    /// They are memory of the program, and no more than `ROOM`.
    #[inline(always)]
    pub unsafe fn write_solid(&mut self, envelope: Envelope, (at, bytes): Solid, site: Site) {
        debug_assert!(bytes <= ROOM);
        (self.envelope, self.length, self.site) = (envelope, bytes as u32, site);
        // SAFETY: the source is the caller's promise; there is room for so many bytes.
        unsafe { move_bytes(at, self.bytes.as_mut_ptr() as usize, bytes) };
    }

    /// Copies it there, if it is one of this envelope and of as many bytes, at most `ROOM`.
    ///
    /// # Safety
    /// They are memory of the program, which nobody else uses, and no more than `ROOM`.
    #[inline(always)]
    pub unsafe fn deliver_part(&self, wanted: Envelope, (at, bytes): Solid) -> Option<()> {
        let Envelope { context, source, tag } = self.envelope;
        let is_it = context == wanted.context && source == wanted.source && tag == wanted.tag;
        if !is_it || self.length as usize != bytes {
            return None;
        }
        // SAFETY: the target is the caller's promise; so many bytes were written here.
        unsafe { move_bytes(self.bytes.as_ptr() as usize, at, bytes) };
        Some(())
    }

    /// Whether this pattern takes it.
    #[inline]
    pub fn is_for(&self, pattern: &Envelope) -> bool {
        pattern.takes(&self.envelope)
    }

    /// Copies it to its receive's place: what the receive gives. `sender`: of the world.
    ///
    /// # Safety
    /// The place is as `receive` asks for.
    #[inline]
    pub unsafe fn deliver(&self, room: &Lines, place: &Place, sender: usize) -> Received {
        let Envelope { source, tag, .. } = self.envelope;
        // SAFETY: passed on.
        let bytes = unsafe { place.write(self.data(room)) };
        let failed = too_long(place, self.envelope, self.bytes(), sender, self.site);
        (Arrived { source, tag, bytes }, failed)
    }

    /// Writes one of at most `ROOM` bytes.
    ///
    /// # Safety
    /// The place is as `send` asks for.
    #[inline(always)]
    pub unsafe fn write(&mut self, envelope: Envelope, place: &Place, bytes: usize, site: Site) {
        (self.envelope, self.length, self.site) = (envelope, bytes as u32, site);
        // SAFETY: the source is the caller's promise; there is room for so many bytes.
        unsafe { place.read(self.bytes.as_mut_ptr()) };
    }

    /// Copies it to bytes without gaps, if it is for this receive, and fits them. `lines`: the
    /// lane's room of it.
    ///
    /// # Safety
    /// The bytes are as `receive` asks for.
    #[inline(always)]
    pub unsafe fn deliver_solid(
        &self,
        lines: &Lines,
        pattern: &Envelope,
        (at, room): Solid,
    ) -> Option<Came> {
        let data = self.data(lines);
        if !self.is_for(pattern) || data.len() > room {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe { move_bytes(data.as_ptr() as usize, at, data.len()) };
        Some(Came::of(data.len(), self.envelope.tag))
    }

    /// Writes a longer one: to the lane's room, if it is given.
    ///
    /// # Safety
    /// As `write`.
    pub unsafe fn write_long(&mut self, room: Option<&mut Lines>, send: &Send, bytes: usize) {
        (self.envelope, self.site) = (send.envelope, send.site);
        let flag = if room.is_some() { IN_ROOM } else { 0 };
        self.length = bytes as u32 | flag;
        // SAFETY: the source is the caller's promise; there is room for so many bytes.
        unsafe { send.place.read(room.unwrap_or(&mut self.lines).room(bytes)) };
    }
}

/// A lane of short messages.
pub type ShortLane = Lane<Short, Lines>;
