//! The ring: messages from one member to another, in chunks.
//!
//! ```text
//! Ring (68 KiB):  taken | pad to 4 KiB | 4 slots of 16 KiB
//! slot:           word: chunk number | tag | bytes | kind | line | chunk
//! ```
//!
//! Chunks are numbered from 1; chunk `n` is in slot `n % 4`. The sender writes it when `taken` says
//! that `n - 4` has been read, and stores `word = n`; the receiver copies it out and stores
//! `taken = n`. The head of a message is in its first chunk. So a message of any length needs no
//! other memory, and a short one is one line.

use crate::sync::{AtomicU64, Ordering};

const SLOTS: u64 = 4;

/// Bytes of a slot, with its head of five words.
const SLOT: usize = 16 << 10;

/// Bytes of a chunk.
pub(crate) const CHUNK: usize = SLOT - HEAD;

/// Bytes of the head.
const HEAD: usize = 5 * 8;

/// Bytes of a ring.
#[cfg(not(loom))]
pub(crate) const RING: usize = 4096 + SLOTS as usize * SLOT;

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) tag: u64,
    pub(crate) bytes: u64,
    /// Digest of the type.
    pub(crate) kind: u64,
    /// The sender's line of the program.
    pub(crate) site: u64,
}

/// The words of a slot.
#[repr(C)]
pub(crate) struct SlotWords {
    word: AtomicU64,
    tag: AtomicU64,
    bytes: AtomicU64,
    kind: AtomicU64,
    site: AtomicU64,
}

impl SlotWords {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        let word = || AtomicU64::new(0);
        SlotWords { word: word(), tag: word(), bytes: word(), kind: word(), site: word() }
    }

    /// Publishes chunk `n`, which is in the slot; the head, if it is a message's first.
    #[inline(always)]
    pub(crate) fn publish(&self, n: u64, label: Option<Label>) {
        if let Some(Label { tag, bytes, kind, site }) = label {
            self.tag.store(tag, Ordering::Relaxed);
            self.bytes.store(bytes, Ordering::Relaxed);
            self.kind.store(kind, Ordering::Relaxed);
            self.site.store(site, Ordering::Relaxed);
        }
        // Ordering: publishes the chunk; pairs with the load in `has`.
        self.word.store(n, Ordering::Release);
    }

    /// Whether chunk `n` is in the slot.
    #[inline(always)]
    pub(crate) fn has(&self, n: u64) -> bool {
        // Ordering: pairs with the store in `publish`.
        self.word.load(Ordering::Acquire) == n
    }

    /// The head of the message whose first chunk is in the slot: copied once.
    #[inline(always)]
    pub(crate) fn label(&self) -> Label {
        Label {
            tag: self.tag.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            kind: self.kind.load(Ordering::Relaxed),
            site: self.site.load(Ordering::Relaxed),
        }
    }
}

/// The receiver's word.
#[repr(C)]
pub(crate) struct Taken(AtomicU64);

impl Taken {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Taken(AtomicU64::new(0))
    }

    /// Whether there is room for chunk `n`.
    #[inline(always)]
    pub(crate) fn has_room(&self, n: u64) -> bool {
        // Ordering: the receiver has read the chunk that was in the slot; pairs with `take`.
        n.wrapping_sub(self.0.load(Ordering::Acquire)) <= SLOTS
    }

    /// Chunk `n` has been read.
    #[inline(always)]
    pub(crate) fn take(&self, n: u64) {
        // Ordering: the chunk has been read; pairs with the load in `has_room`.
        self.0.store(n, Ordering::Release);
    }
}

/// Where a ring is.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring(*mut u8);

#[cfg(not(loom))]
impl Ring {
    /// # Safety
    /// There are [`RING`] bytes at this place, aligned to a page, mapped as long as the result is
    /// used.
    pub(crate) unsafe fn at(place: *mut u8) -> Ring {
        Ring(place)
    }

    #[inline(always)]
    pub(crate) fn taken(&self) -> &Taken {
        // SAFETY: by the contract of `at`; it is an atomic.
        unsafe { &*self.0.cast() }
    }

    /// The words of the slot of chunk `n`.
    #[inline(always)]
    pub(crate) fn slot(&self, n: u64) -> &SlotWords {
        // SAFETY: by the contract of `at`; atomics.
        unsafe { &*self.start(n).cast() }
    }

    /// Where chunk `n` is.
    #[inline(always)]
    pub(crate) fn chunk(&self, n: u64) -> *mut u8 {
        self.start(n).wrapping_add(HEAD)
    }

    fn start(&self, n: u64) -> *mut u8 {
        self.0.wrapping_add(4096 + (n % SLOTS) as usize * SLOT)
    }
}
