//! The gate: where a rank shows the head of each call, and a few bytes, to all others.
//!
//! ```text
//! Gate (512 B), a member: 4 slots, written by its owner
//! | word: episode | kind | length | place | 32 B |  64 B |   slots 0, 1, 2, 3
//! ```
//!
//! The protocol is that of the library's gates (`src/mailbox/README.md`, "Gates"): every member
//! takes part in every episode; it writes its slot `e % 4`, stores `word = e`, and looks at the
//! slot `e % 4` of each other member before it returns. So when a rank shows `e`, all have read
//! what was shown in `e - 2`. The type differs, since here a peer may write at any time: the slot
//! is atomics alone, and a head has names' digests where a team of threads has addresses.

use crate::sync::{AtomicU64, Ordering};

/// Slots of a gate.
pub(crate) const SLOTS: usize = 4;

/// Words of a payload in the slot itself.
pub(crate) const WORDS: usize = 12;

/// Bytes of such a payload.
pub(crate) const INLINE: usize = 8 * WORDS;

/// The head of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Digest of the names: operation, type, operator.
    pub(crate) kind: u64,
    /// Elements of the vector or of a block.
    pub(crate) length: u64,
    /// Upper half: the root. Lower half: the rank's line of the program.
    pub(crate) place: u64,
}

impl Head {
    /// Whether the calls are one: but for their lines.
    #[inline(always)]
    pub(crate) fn agrees(&self, other: &Head) -> bool {
        self.kind == other.kind
            && self.length == other.length
            && self.place >> 32 == other.place >> 32
    }

    pub(crate) fn root(&self) -> u64 {
        self.place >> 32
    }

    pub(crate) fn site(&self) -> usize {
        self.place as u32 as usize
    }
}

#[repr(C, align(128))]
struct Slot {
    word: AtomicU64,
    kind: AtomicU64,
    length: AtomicU64,
    place: AtomicU64,
    inline: [AtomicU64; WORDS],
}

/// See the module documentation.
#[repr(C, align(128))]
pub(crate) struct Gate {
    slots: [Slot; SLOTS],
}

impl Gate {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        let word = || AtomicU64::new(0);
        Gate {
            slots: std::array::from_fn(|_| Slot {
                word: word(),
                kind: word(),
                length: word(),
                place: word(),
                inline: std::array::from_fn(|_| word()),
            }),
        }
    }

    #[inline(always)]
    fn slot(&self, episode: u64) -> &Slot {
        &self.slots[(episode % SLOTS as u64) as usize]
    }

    /// The owner shows the head of its call, and so many words.
    #[inline(always)]
    pub(crate) fn show(&self, episode: u64, head: Head, words: impl Fn(usize) -> u64, n: usize) {
        let slot = self.slot(episode);
        // The line with the word is written last, and at once.
        for i in (0..n.min(WORDS)).rev() {
            slot.inline[i].store(words(i), Ordering::Relaxed);
        }
        slot.place.store(head.place, Ordering::Relaxed);
        slot.length.store(head.length, Ordering::Relaxed);
        slot.kind.store(head.kind, Ordering::Relaxed);
        // Ordering: publishes the slot, what the owner has put into its eager slot or its first
        // piece, and that it has read all that was shown before; pairs with `has_shown`.
        slot.word.store(episode, Ordering::Release);
    }

    /// Whether the owner has shown this episode.
    #[inline(always)]
    pub(crate) fn has_shown(&self, episode: u64) -> bool {
        // Ordering: pairs with the store of the word in `show`.
        self.slot(episode).word.load(Ordering::Acquire) == episode
    }

    /// The head of the owner's call in this episode, which the caller has seen.
    #[inline(always)]
    pub(crate) fn head(&self, episode: u64) -> Head {
        let slot = self.slot(episode);
        Head {
            kind: slot.kind.load(Ordering::Relaxed),
            length: slot.length.load(Ordering::Relaxed),
            place: slot.place.load(Ordering::Relaxed),
        }
    }

    /// A word of its payload.
    #[inline(always)]
    pub(crate) fn word(&self, episode: u64, i: usize) -> u64 {
        self.slot(episode).inline[i].load(Ordering::Relaxed)
    }

    /// Where that payload is.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn payload(&self, episode: u64) -> *mut u8 {
        self.slot(episode).inline.as_ptr().cast::<u8>().cast_mut()
    }

    /// The latest episode that the owner has shown, of those near `episode`, and its head: for
    /// errors.
    #[cfg(not(loom))]
    pub(crate) fn latest(&self, episode: u64) -> Option<(u64, Head)> {
        let near = |it: &u64| *it > 0 && it.abs_diff(episode) <= SLOTS as u64;
        let words = self.slots.iter().map(|slot| slot.word.load(Ordering::Acquire));
        let latest = words.filter(near).max()?;
        Some((latest, self.head(latest)))
    }
}
