//! The gate: a few ranks, or many on few cores, exchange small payloads, all with all, in one step.
//!
//! ```text
//!  Gate (512 B, aligned to 128), one per rank
//!  | word: episode 64 | sig | check | 104 B |   slots 0, 1, 2, 3, written by the owner
//! ```
//!
//! In episode `e` (counted from 1; every rank takes part in every one) a rank
//! shows a header and a payload in slot `e % 4` of its own gate, and looks at the
//! same slot of all others. Nobody acknowledges anything: a rank that shows
//! episode `e` has seen everybody in `e - 1`, so everybody has read `e - 2`.
//! The protocol is in `README.md`, "Gates".

use super::Header;
use super::channel::Slot;
use super::eager_buffer::{EagerBuffer, EagerSlot};
use crate::sync::{Site, consume, publish};

/// Slots of a gate. Two would be enough; with four, the line that is written next is not one that a
/// slow peer still reads.
const SLOTS: u32 = 4;

/// See the module documentation.
#[repr(C, align(128))]
pub(crate) struct Gate {
    slots: [Slot; SLOTS as usize],
}

// SAFETY: a slot's body is written by the owner only while no peer may read
// it, and read by peers only while the owner does not write it (README.md,
// "Gates"); the pointer in the header is plain data here.
unsafe impl Sync for Gate {}
// SAFETY: as above; nothing in a gate is tied to a thread.
unsafe impl Send for Gate {}

impl Gate {
    /// A gate on which `episode` was the last episode.
    pub(crate) fn after(episode: u64) -> Gate {
        // The episode that slot `i` would hold: episode, episode - 1 ..
        let held = |i: u64| episode.wrapping_sub(episode.wrapping_sub(i) % u64::from(SLOTS));
        Gate { slots: [0, 1, 2, 3].map(|i| Slot::new(if episode == 0 { 0 } else { held(i) })) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn slot(&self, episode: u64) -> &Slot {
        &self.slots[(episode % u64::from(SLOTS)) as usize]
    }

    /// Shows `header` and the payload that `fill` writes, up to [`INLINE`](super::INLINE) bytes.
    ///
    /// # Safety
    /// - Only the owner calls this, with each episode once, in order.
    /// - It has seen every peer in the episode before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn show(&self, episode: u64, header: Header, fill: impl FnOnce(*mut u8)) {
        let slot = self.slot(episode);
        // SAFETY: the slot was last used for `episode - 4`, which every peer
        // has read before it showed `episode - 3`.
        unsafe { slot.write(header, fill) };
        // Ordering: publishes the body, and that the owner has read all that
        // was shown to it in the episode before; pairs with the load in
        // `has_shown`.
        slot.word.store(episode, publish(Site::Gate));
    }

    /// The place on the owner's `eager_buffer` for `episode`, filled by `fill`.
    ///
    /// # Safety
    /// - As [`show`](Gate::show), before which this is called.
    /// - The eager buffer is used with this gate only.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn eager_slot<'s>(
        &self,
        eager_buffer: &'s EagerBuffer,
        episode: u64,
        fill: impl FnOnce(*mut u8),
    ) -> &'s EagerSlot {
        let place = eager_buffer.eager_slot(episode % u64::from(SLOTS));
        // SAFETY: as in `show`.
        unsafe { place.write(fill) };
        place
    }

    /// Whether the owner has shown its payload for `episode`.
    ///
    /// Equality is enough: it cannot have come further than one episode
    /// beyond the caller's.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_shown(&self, episode: u64) -> bool {
        // Ordering: pairs with the store in `show`.
        self.slot(episode).word.load(consume(Site::Gate)) == episode
    }

    /// [`has_shown`](Gate::has_shown), asked so many times.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_shown_within(&self, episode: u64, looks: u32) -> bool {
        let word = &self.slot(episode).word;
        // Ordering: as in `has_shown`.
        (0..looks).any(|_| word.load(consume(Site::Gate)) == episode)
    }

    /// [`has_shown_within`](Gate::has_shown_within) for a payload that goes on in
    /// the slot's second line: that one is fetched as the first is, so that both
    /// come at the same time.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_shown_two_lines_within(&self, episode: u64, looks: u32) -> bool {
        let slot = self.slot(episode);
        (0..looks).any(|_| {
            slot.fetch_second_line();
            // Ordering: as in `has_shown`.
            slot.word.load(consume(Site::Gate)) == episode
        })
    }

    /// The content that the owner shows in `episode`: header and payload.
    ///
    /// # Safety
    /// - The caller is a peer that takes part in `episode`, has seen
    ///   `has_shown(episode)`, and has not shown `episode + 1` yet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn read<R>(&self, episode: u64, f: impl FnOnce(Header, *const u8) -> R) -> R {
        // SAFETY: written before the word that the caller has seen; the owner
        // writes the slot again for `episode + 4`, after the caller has shown
        // `episode + 3`.
        unsafe { self.slot(episode).read(f) }
    }
}
