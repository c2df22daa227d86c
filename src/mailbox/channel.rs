//! The channel: a one-way, single-producer, single-consumer mailbox of eight
//! slots, each a pair of cache lines of its own.
//!
//! ```text
//!  Channel (1152 B, aligned to 128)
//!  +------------------------ 64 B ------------------------+
//!  | word: seq 32 | consumed 32 | sig | check | 40 B       |  slot 0   written by the producer
//!  |                                                 64 B  |
//!  +------------------------------------------------------+
//!  | .. the same                                           |  slots 1 to 7
//!  +------------------------------------------------------+
//!  | ack 32 |                                                 written by the consumer
//!  +------------------------------------------------------+
//! ```
//!
//! Each box begins at a multiple of 128 bytes: CPUs prefetch lines in pairs, and
//! a slot that its consumer polls would drag along the one that the producer
//! is about to write (a reply between distant cores then costs 1.3 instead of
//! 1.2 ping-pongs; `benches/ratios`). The second line of the pair is there for
//! payloads that do not fit the first.
//!
//! Message `n` (counted from 1, wrapping) uses slot `n % 8`. The payload is up to [`INLINE`] bytes,
//! among them perhaps the address of up to [`EAGER`](super::EAGER) bytes in the sender's
//! [`EagerBuffer`]; or a description of memory that the consumer reads in place. See `README.md`
//! for the protocol.

use super::eager_buffer::{EagerBuffer, EagerSlot};
use super::memory::RefusedMemory;
#[cfg(not(any(loom, shuttle)))]
use super::memory::reserve;
use crate::sync::{AtomicU32, AtomicU64, Ordering, Site, UnsafeCell, consume, publish};
use std::mem::MaybeUninit;

/// Payload bytes that travel in the slot: two cache lines less the word and
/// the header. Up to 40 of them are in the first line.
pub(crate) const INLINE: usize = 104;

/// Payload bytes of a slot's first line, with the word and the header.
pub(crate) const FIRST: usize = 64 - size_of::<u64>() - size_of::<Header>();

/// Bytes that go to a slot, behind their length or in its second line.
pub(crate) const LONG: usize = INLINE - size_of::<usize>();

/// Payload bytes of a slot's second line.
const SECOND: usize = INLINE - FIRST;

/// Where in a body a payload of up to [`LONG`] bytes begins. A payload that does not fit the
/// first line has the second one for itself, if that will do: the first is then
/// written at one go, together with its word, while the peer looks at it.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) const fn offset(bytes: usize) -> usize {
    if bytes <= FIRST {
        0
    } else if bytes <= SECOND {
        FIRST
    } else {
        size_of::<usize>()
    }
}

/// Writes a payload of `bytes` bytes, up to [`LONG`], and before it the number of
/// elements, `len`, where the header does not say it.
///
/// # Safety
/// `body` is a slot's; a payload with its length has more than 60 bytes.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) unsafe fn pack(
    body: *mut u8,
    len: Option<usize>,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
) {
    fill(body.wrapping_add(offset(bytes)));
    if let Some(len) = len {
        // SAFETY: room for a word, aligned for it; no payload of more than `PayloadKind::BRIEF`
        // bytes begins there.
        unsafe { body.cast::<usize>().write(len) };
    }
}

/// Slots of a channel. Two would do for an exchange, in which the answer
/// carries the acknowledgement; with four a one-way stream flows between near
/// cores (57 -> 35 ns a message), with eight between distant ones, as the
/// consumer fetches the next slot while it works on one ([`Endpoint::read`]).
///
/// Fetching the next slot for writing beforehand (PREFETCHW) was tried: nothing
/// between near cores, and between distant ones a barrier of 1.18 instead of
/// 1.05 raw exchanges. In a one-way stream it pays, further ahead
/// ([`Endpoint::fetch_ahead`]).
///
/// The models have four: a few messages use them all.
pub(crate) const SLOTS: u32 = if cfg!(any(loom, shuttle)) { 4 } else { 8 };

/// The producer's facts about a message; compared by the consumer before it looks at the payload.
/// The mailbox itself does not interpret it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) sig: *const (),
    pub(crate) check: u64,
}

#[repr(C)]
pub(crate) struct Body {
    header: Header,
    bytes: [MaybeUninit<u8>; INLINE],
}

/// A word that numbers the content of the slot, a header and a payload. The slot's rank,
/// and the meaning of the word, are the channel's and the gate's affair.
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// Of a channel: low half the number of the message in the slot, high half
    /// how many messages of the reverse channel the producer had consumed by
    /// then.
    pub(crate) word: AtomicU64,
    body: UnsafeCell<Body>,
}

impl Slot {
    pub(crate) fn new(word: u64) -> Slot {
        Slot {
            word: AtomicU64::new(word),
            body: UnsafeCell::new(Body {
                header: Header { sig: std::ptr::null(), check: 0 },
                bytes: [const { MaybeUninit::uninit() }; INLINE],
            }),
        }
    }

    /// Writes header and payload.
    ///
    /// # Safety
    /// Nobody else accesses the body now.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn write(&self, header: Header, fill: impl FnOnce(*mut u8)) {
        self.body.with_mut(|body| {
            // SAFETY: by the contract.
            unsafe {
                fill((&raw mut (*body).bytes).cast());
                (&raw mut (*body).header).write(header);
            }
        });
    }

    /// A hint that the first line will be read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fetch_first_line(&self) {
        crate::sync::fetch(std::ptr::from_ref(self).cast());
    }

    /// A hint that the second line will be read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn fetch_second_line(&self) {
        crate::sync::fetch(std::ptr::from_ref(self).cast::<u8>().wrapping_add(64));
    }

    /// Reads header and payload.
    ///
    /// # Safety
    /// The body has been written, before the caller, and nobody writes it
    /// now.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn read<R>(&self, f: impl FnOnce(Header, *const u8) -> R) -> R {
        // SAFETY: by the contract.
        self.body.with(|body| unsafe {
            f((&raw const (*body).header).read(), (&raw const (*body).bytes).cast())
        })
    }
}

#[repr(C, align(128))]
struct PaddedLine<T>(T);

/// See the module documentation.
#[repr(C, align(128))]
pub(crate) struct Channel {
    slots: [Slot; SLOTS as usize],
    /// The number of the last message that the consumer is done with.
    ack: PaddedLine<AtomicU32>,
}

// SAFETY: the slots' cells are written only by the producer while the slot is free and read only by
// the consumer while it is full; `word` and `ack` hand them over (README.md, "Access to a slot").
// That there is one producer and one consumer is the contract of `Endpoint::new`. The raw pointer
// in the header is plain data here.
unsafe impl Sync for Channel {}
// SAFETY: as above; nothing in a channel is tied to a thread.
unsafe impl Send for Channel {}

/// `n` channels, empty.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn channels(n: usize) -> Result<Box<[Channel]>, RefusedMemory> {
    let mut zeroed: Vec<Channel> = reserve(n)?;
    // SAFETY: there is room for `n` channels. All-zero bytes are a valid `Channel`: atomics of
    // zero, a null `sig`, a zero `check`, and bytes that are `MaybeUninit`.
    unsafe {
        zeroed.as_mut_ptr().write_bytes(0, n);
        zeroed.set_len(n);
    }
    Ok(zeroed.into_boxed_slice())
}

#[cfg(any(loom, shuttle))]
pub(crate) fn channels(n: usize) -> Result<Box<[Channel]>, RefusedMemory> {
    super::memory::collect(n, |_| channel_after(0))
}

/// A channel after `n` messages, all consumed, as were those of the reverse
/// channel; its ends start from `n`, too.
#[cfg(any(loom, shuttle))]
pub(crate) fn channel_after(n: u32) -> Channel {
    let slot = |i: u32| {
        let message = n.wrapping_sub(n.wrapping_sub(i) % SLOTS);
        let word = u64::from(message) | u64::from(n) << 32;
        Slot::new(if n == 0 { 0 } else { word })
    };
    Channel { slots: std::array::from_fn(|i| slot(i as u32)), ack: PaddedLine(AtomicU32::new(n)) }
}

impl Channel {
    /// Writes to the channel's memory, as its reader: the page is then in the
    /// reader's own memory. Only while the channel is new.
    pub(crate) fn touch(&self) {
        // Relaxed: the value is the one that it has; nobody else writes it.
        self.ack.0.store(self.ack.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Pretends that `n` messages have gone each way, and are consumed; the
    /// ends must begin with [`Cursor::after`]. Only while the channel is new.
    pub(crate) fn begin_after(&self, n: u32) {
        for (i, slot) in (0..SLOTS).zip(&self.slots) {
            let message = n.wrapping_sub(n.wrapping_sub(i) % SLOTS);
            // Relaxed: nobody else has the channel yet.
            slot.word.store(u64::from(message) | u64::from(n) << 32, Ordering::Relaxed);
        }
        self.ack.0.store(n, Ordering::Relaxed);
    }

    /// Messages that were posted and not taken. Only while nobody posts or
    /// takes.
    pub(crate) fn untaken(&self) -> u32 {
        let ack = self.ack.0.load(consume(Site::Ack));
        let ahead =
            |slot: &Slot| (slot.word.load(consume(Site::Word)) as u32).wrapping_sub(ack) as i32;
        self.slots.iter().map(ahead).max().unwrap_or(0).max(0) as u32
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn slot(&self, n: u32) -> &Slot {
        &self.slots[(n % SLOTS) as usize]
    }
}

/// One rank's private counters for one peer. All wrap; they are compared for
/// equality or by distance, never by size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Messages posted to the peer.
    pub(crate) tx: u32,
    /// Of those, how many the peer is known to be done with.
    pub(crate) acked: u32,
    /// Messages taken from the peer.
    pub(crate) rx: u32,
}

impl Cursor {
    /// An end of a channel that begins after `n` messages each way.
    pub(crate) fn after(n: u32) -> Self {
        Cursor { tx: n, acked: n, rx: n }
    }

    /// Learns that the peer is done with `consumed` messages, if that is news. A word that was not
    /// looked at for more than 2^31 messages looks ahead by its distance, but not by those sent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn learn(&mut self, consumed: u32) {
        if consumed.wrapping_sub(self.acked) <= self.tx.wrapping_sub(self.acked) {
            self.acked = consumed;
        }
    }

    /// Whether the peer is done with message `n`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_acked(&self, n: u32) -> bool {
        self.acked.wrapping_sub(n) as i32 >= 0
    }
}

/// Both directions between this rank and one peer.
pub(crate) struct Endpoint<'a> {
    out: &'a Channel,
    inc: &'a Channel,
    cursor: &'a mut Cursor,
}

impl<'a> Endpoint<'a> {
    /// # Safety
    /// - As long as the link lives, no other thread acts as producer of `out`
    ///   or as consumer of `inc`.
    /// - `end` is the one counter record ever used with this end of this pair
    ///   of channels, and both it and they started from zero together (or
    ///   equally far ahead).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn new(out: &'a Channel, inc: &'a Channel, cursor: &'a mut Cursor) -> Self {
        Endpoint { out, inc, cursor }
    }

    /// Whether a slot is known to be free for the next message.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_room(&self) -> bool {
        // Message tx+1 overwrites message tx+1-SLOTS: the peer must be done
        // with that one.
        self.cursor.has_acked(self.cursor.tx.wrapping_add(1).wrapping_sub(SLOTS))
    }

    /// Whether a slot is free for the next message.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn can_post(&mut self) -> bool {
        self.has_room() || {
            self.look_at_ack();
            self.has_room()
        }
    }

    #[cold]
    fn look_at_ack(&mut self) {
        // Ordering: pairs with the store in `consume`; all that the peer read from the slot (or
        // through its pointers) it has read before we write.
        self.cursor.learn(self.out.ack.0.load(consume(Site::Ack)));
    }

    /// Whether the peer is done with message `n` of ours.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_acked(&mut self, n: u32) -> bool {
        self.cursor.has_acked(n) || {
            self.look_at_ack();
            self.cursor.has_acked(n)
        }
    }

    /// Posts a message; `fill` writes the payload, up to [`INLINE`] bytes,
    /// behind the pointer that it is given. Returns the message's number.
    ///
    /// The caller has seen [`can_post`](Endpoint::can_post) return true.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn post(&mut self, header: Header, fill: impl FnOnce(*mut u8)) -> u32 {
        let n = self.cursor.tx.wrapping_add(1);
        debug_assert!(self.cursor.has_acked(n.wrapping_sub(SLOTS)), "posted into a full channel");
        let slot = self.out.slot(n);
        // SAFETY: the slot is free (`can_post`), and this is the only producer
        // (`Endpoint::new`), so nobody else accesses the body.
        unsafe { slot.write(header, fill) };
        let word = u64::from(n) | u64::from(self.cursor.rx) << 32;
        // Ordering: publishes the body and, through it, the memory it points
        // to; pairs with the load in `poll`. The high half also publishes
        // that we are done with `rx` messages (pairs there, too).
        slot.word.store(word, publish(Site::Word));
        self.cursor.tx = n;
        n
    }

    /// In a stream: the slot of a message to come is fetched to be written. So many messages on,
    /// its consumer does not look at it yet. (Where messages go to and fro, the consumer looks at
    /// each slot before it is written, and takes the line back.)
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn fetch_ahead(&self) {
        const AHEAD: u32 = 3;
        let slot = self.out.slot(self.cursor.tx.wrapping_add(AHEAD));
        crate::sync::fetch_to_write(std::ptr::from_ref(slot).cast(), 1);
    }

    /// The place on `eager_buffer` that the next message may use, filled by `fill`.
    ///
    /// The caller has seen [`can_post`](Endpoint::can_post) return true.
    ///
    /// # Safety
    /// - No other link posts with this eager buffer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn eager_slot<'s>(
        &self,
        eager_buffer: &'s EagerBuffer,
        fill: impl FnOnce(*mut u8),
    ) -> &'s EagerSlot {
        let place = eager_buffer.eager_slot(u64::from(self.cursor.tx.wrapping_add(1)));
        // SAFETY: the place was last used by message n - SLOTS, with which the
        // consumer is done (`can_post`).
        unsafe { place.write(fill) };
        place
    }

    /// Whether the next message has come.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn poll(&mut self) -> bool {
        let n = self.cursor.rx.wrapping_add(1);
        // Ordering: pairs with the store in the peer's `post`.
        let word = self.inc.slot(n).word.load(consume(Site::Word));
        if word as u32 != n {
            return false;
        }
        self.cursor.learn((word >> 32) as u32);
        true
    }

    /// [`poll`](Endpoint::poll), so many times. `TWO`: for a payload that goes on in the slot's
    /// second line: that one is fetched as the first is, so that both come at the same time.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn poll_for<const TWO: bool>(&mut self, looks: u32) -> bool {
        let n = self.cursor.rx.wrapping_add(1);
        let slot = self.inc.slot(n);
        for _ in 0..looks {
            if TWO {
                slot.fetch_second_line();
            }
            // Ordering: as in `poll`.
            let word = slot.word.load(consume(Site::Word));
            if word as u32 == n {
                self.cursor.learn((word >> 32) as u32);
                return true;
            }
        }
        false
    }

    /// Reads the message that [`poll`](Endpoint::poll) announced: its header and a
    /// pointer to its [`INLINE`] payload bytes, aligned to 8.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read<R>(&self, f: impl FnOnce(Header, *const u8) -> R) -> R {
        // In a stream the next message is there already, and comes while this one is taken. If
        // it is not, its slot's line is in this core's cache still: nothing moves.
        self.inc.slot(self.cursor.rx.wrapping_add(2)).fetch_first_line();
        // SAFETY: `poll` has seen the message's number, so the producer has
        // written the body and does not touch it again before we `consume`;
        // this is the only consumer (`Endpoint::new`).
        unsafe { self.inc.slot(self.cursor.rx.wrapping_add(1)).read(f) }
    }

    /// Declares that this side is done with the message, and with all memory
    /// that it describes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn consume(&mut self) {
        let n = self.cursor.rx.wrapping_add(1);
        self.cursor.rx = n;
        // Ordering: the slot is read before the producer writes again; pairs with the load in
        // `look_at_ack`.
        self.inc.ack.0.store(n, publish(Site::Ack));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[test]
fn a_word_that_was_long_not_looked_at_is_no_news() {
    for sent in [9, 1 << 31, (1 << 31) + 100, u32::MAX] {
        let mut end = Cursor { tx: sent, acked: sent - 3, rx: 0 };
        for (consumed, acked) in [(0, sent - 3), (5, sent - 3), (sent - 1, sent - 1)] {
            end.learn(consumed);
            assert_eq!(end.acked, acked, "{consumed} of {sent}");
        }
    }
}
