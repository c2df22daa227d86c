//! A tray: the place of a card, which says which memory its rank brings to a started call. The rank
//! writes it, the others read it. The protocol is in `README.md`, "Cards".

use crate::sync::{AtomicU64, Ordering, Site, UnsafeCell, consume, publish};

/// A place with a card, or without one yet. A card that others have to do something for says so:
/// the rank that [claims](Tray::claim) it first does it, and tells when it is
/// [over](Tray::tell_over).
///
/// # Examples
/// ```
/// use phalanx::engine::Tray;
/// let tray = Tray::<u32>::default();
/// // SAFETY: nobody reads it so far.
/// unsafe { tray.show(7, |card| *card = 70) };
/// assert_eq!(tray.shown(), 7);
/// // SAFETY: it has been shown, and no other is shown there.
/// assert_eq!(unsafe { tray.read(|card| *card) }, 70);
/// assert!(tray.claim(7) && !tray.claim(7) && tray.is_claimed(7) && !tray.is_over(7));
/// tray.tell_over(7);
/// assert!(tray.is_over(7));
/// ```
#[derive(Debug)]
#[repr(C, align(16))]
pub struct Tray<C> {
    /// The number of the call of the card that lies here.
    shown: AtomicU64,
    card: UnsafeCell<C>,
    /// The claim on the work that the card asks for.
    claimed: AtomicU64,
    over: AtomicU64,
}

// SAFETY: cards are written as `show` asks of its caller and read as `read` does: `shown` orders
// both. They go from thread to thread.
unsafe impl<C: Send + Sync> Sync for Tray<C> {}

impl<C: Default> Default for Tray<C> {
    fn default() -> Self {
        let [shown, claimed, over] = [(); 3].map(|()| AtomicU64::new(0));
        Tray { shown, card: UnsafeCell::new(C::default()), claimed, over }
    }
}

impl<C> Tray<C> {
    /// Where a card begins, for layouts that are made for lines of memory.
    pub const START: usize = std::mem::offset_of!(Tray<C>, card);
    /// Where the claim begins: for cards of which others look at one, while it is claimed, on lines
    /// of its own.
    pub const CLAIM: usize = std::mem::offset_of!(Tray<C>, claimed);

    /// Writes the card of call `number`, and shows it.
    ///
    /// # Safety
    /// The rank that owns it calls this, with larger numbers each time, when the tray is free:
    /// every rank is done with the card that lay there.
    #[inline(always)]
    pub unsafe fn show(&self, number: u64, fill: impl FnOnce(&mut C)) {
        // SAFETY: the caller's promise: nobody reads it.
        self.card.with_mut(|card| fill(unsafe { &mut *card }));
        // Ordering: publishes the card and the memory behind it; pairs with the load in `shown`.
        self.shown.store(number, publish(Site::Entered));
    }

    /// The number of the call of the card that lies here.
    #[inline(always)]
    pub fn shown(&self) -> u64 {
        // Ordering: pairs with the store in `show`.
        self.shown.load(consume(Site::Entered))
    }

    /// Reads the card.
    ///
    /// # Safety
    /// The calling rank has seen it shown, and has not told since that it is done with it; or it is
    /// the calling rank's own.
    #[inline(always)]
    pub unsafe fn read<R>(&self, run: impl FnOnce(&C) -> R) -> R {
        // SAFETY: the caller's promise: it is not written meanwhile.
        self.card.with(|card| run(unsafe { &*card }))
    }

    /// Claims the work that the card of call `number` asks for: whether the caller does it.
    pub fn claim(&self, number: u64) -> bool {
        let claimed = &self.claimed;
        // Relaxed: it says which rank does it, and publishes nothing. The cards that are read for
        // it have been seen shown; the result is published by `over`.
        let before = claimed.load(Ordering::Relaxed);
        before < number && claimed.fetch_max(number, Ordering::Relaxed) < number
    }

    /// Whether somebody does it, or has done it.
    pub fn is_claimed(&self, number: u64) -> bool {
        // Relaxed: as `claim`.
        self.claimed.load(Ordering::Relaxed) >= number
    }

    /// The work that the card of call `number` asks for has been done: the rank's part of the call.
    #[inline(always)]
    pub fn tell_over(&self, number: u64) {
        // Ordering: everything that was read or written for it comes before; pairs with the load in
        // `is_over`. Streaming stores are not ordered by this one: whoever makes some ends them
        // with a fence (`exec/kernel/stream.rs`).
        self.over.store(number, publish(Site::Finished));
    }

    /// Whether that has been done: the bytes that were written for it can be read, and memory that
    /// was lent for it is its rank's own again.
    #[inline(always)]
    pub fn is_over(&self, number: u64) -> bool {
        // Ordering: pairs with the store in `tell_over`.
        self.over.load(consume(Site::Finished)) >= number
    }
}
