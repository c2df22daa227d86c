//! Long vectors go through the segment in pieces, two of each sort at a time.
//!
//! Pieces of a communicator are numbered from 0, through all its calls; all members count alike.
//! Each member has two slots for pieces that it *gives*, and two for results that it has *made*;
//! piece `n` is in slot `n % 2` of either. Three words say how far a member is:
//!
//! | word | meaning: of the pieces below this number .. |
//! |---|---|
//! | `shown` | .. it has given its own |
//! | `folded` | .. it has read the pieces of others, and has made its part of the results |
//! | `done` | .. it has read whatever others gave or made: it does not touch their slots any more |
//!
//! A member's way through a call ([`run`]), for each piece:
//!
//! 1. It waits until those that give have `shown` the piece (the first one: until they are at the
//!    gate of the call).
//! 2. In a reduction it makes its part of the results, and says `folded`.
//! 3. It gives its next piece, once all that read the last but one have read it, and says `shown`.
//!    Meanwhile the others come to the end of step 2.
//! 4. It waits until all have `folded`, takes the results, and says `done`.
//!
//! **Slots.** A given piece `n` may be overwritten by `n + 2` when all that read it have `folded`
//! (in a call without results: `done`) `n + 1` pieces. A result of piece `n` may be when all have
//! shown piece `n + 2`, for which its maker waits anyway: in a reduction all give, and each has
//! taken the results of `n` before it gives `n + 2`. The first piece of a call goes into its slot
//! before the gate, when others may still be in the call before: so it waits until all are `done`
//! with the last but one. From the gate on all have left the call before.

use crate::sync::{AtomicU64, Ordering};

/// How far a member is.
#[repr(C, align(128))]
pub(crate) struct Progress {
    shown: AtomicU64,
    folded: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    #[cfg(loom)]
    pub(crate) fn new(pieces: u64) -> Self {
        let word = || AtomicU64::new(pieces);
        Progress { shown: word(), folded: word(), done: word() }
    }
}

/// Some of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Members {
    All,
    One(usize),
}

impl Members {
    pub(crate) fn has(self, member: usize) -> bool {
        self == Members::All || self == Members::One(member)
    }
}

/// The members' parts in a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Those that give pieces.
    pub(crate) givers: Members,
    /// Whether all make results of given pieces.
    pub(crate) folds: bool,
    /// Those that take results; in a call without, given pieces.
    pub(crate) takers: Members,
}

/// A member's work in a call, and how it waits.
pub(crate) trait Work {
    type Error;

    /// How far a member is.
    fn progress(&self, member: usize) -> &Progress;

    /// Waits for a member until `ready` says so of its progress.
    fn wait(
        &mut self,
        member: usize,
        ready: fn(&Progress, u64) -> bool,
        pieces: u64,
    ) -> Result<(), Self::Error>;

    /// The own progress has changed: those that sleep until then are to be woken.
    fn tell(&mut self);

    /// Puts the call's piece `piece` into the own slot for given pieces.
    fn give(&mut self, piece: u64, slot: usize);

    /// Makes the own part of the results of a piece, in the own slot for results.
    fn fold(&mut self, piece: u64, slot: usize);

    /// Takes the others' results, or pieces.
    fn take(&mut self, piece: u64, slot: usize);
}

fn has_shown(progress: &Progress, pieces: u64) -> bool {
    // Ordering: pairs with the store in `give`: the pieces are there.
    progress.shown.load(Ordering::Acquire) >= pieces
}

fn has_folded(progress: &Progress, pieces: u64) -> bool {
    // Ordering: pairs with the store of `folded` in `run`: the results are there, and the
    // given pieces have been read.
    progress.folded.load(Ordering::Acquire) >= pieces
}

fn is_done(progress: &Progress, pieces: u64) -> bool {
    // Ordering: pairs with the store of `done` in `run`: given pieces and results have been read.
    progress.done.load(Ordering::Acquire) >= pieces
}

/// Of `me` among `members`; `first` pieces came before this call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) me: usize,
    pub(crate) members: usize,
    pub(crate) first: u64,
}

impl Position {
    fn wait<W: Work>(
        self,
        work: &mut W,
        whom: Members,
        ready: fn(&Progress, u64) -> bool,
        pieces: u64,
    ) -> Result<(), W::Error> {
        if let Members::One(member) = whom {
            return if member == self.me { Ok(()) } else { work.wait(member, ready, pieces) };
        }
        for member in (self.me + 1..self.members).chain(0..self.me) {
            work.wait(member, ready, pieces)?;
        }
        Ok(())
    }
}

/// Puts the first piece of a call into its slot, before the caller shows the call at the gate, by
/// which the piece is published.
pub(crate) fn give_first<W: Work>(work: &mut W, place: Position) -> Result<(), W::Error> {
    place.wait(work, Members::All, is_done, place.first.saturating_sub(1))?;
    work.give(0, (place.first % 2) as usize);
    Ok(())
}

/// The caller's part in a call of `pieces` pieces, after the gate. It has [given](give_first) its
/// first piece, if it is one that gives.
pub(crate) fn run<W: Work>(
    work: &mut W,
    place: Position,
    parts: Parts,
    pieces: u64,
) -> Result<(), W::Error> {
    let Parts { givers, folds, takers } = parts;
    let Position { me, first, .. } = place;
    debug_assert!(!folds || givers == Members::All, "see `Slots`");
    let (readers, has_read): (_, fn(&Progress, u64) -> bool) =
        if folds { (Members::All, has_folded) } else { (takers, is_done) };
    for piece in 0..pieces {
        let number = first + piece;
        let slot = (number % 2) as usize;
        // The gate has shown the first ones.
        if piece > 0 && readers.has(me) {
            place.wait(work, givers, has_shown, number + 1)?;
        }
        if folds {
            work.fold(piece, slot);
            // Ordering: publishes the results, and that the given pieces have been read; pairs
            // with the load in `has_folded`.
            work.progress(me).folded.store(number + 1, Ordering::Release);
            work.tell();
        }
        if piece + 1 < pieces && givers.has(me) {
            if piece >= 1 {
                place.wait(work, readers, has_read, number)?;
            }
            work.give(piece + 1, 1 - slot);
            // Ordering: publishes the piece; pairs with the load in `has_shown`.
            work.progress(me).shown.store(number + 2, Ordering::Release);
            work.tell();
        }
        if takers.has(me) {
            if folds {
                place.wait(work, Members::All, has_folded, number + 1)?;
            }
            work.take(piece, slot);
        }
        if piece + 1 < pieces {
            // Ordering: the others' pieces and results have been read; pairs with the load in
            // `is_done`.
            work.progress(me).done.store(number + 1, Ordering::Release);
            work.tell();
        }
    }
    leave(work, place, pieces);
    Ok(())
}

/// The caller has no more to do with the pieces of the call.
fn leave<W: Work>(work: &mut W, place: Position, pieces: u64) {
    let (after, own) = (place.first + pieces, work.progress(place.me));
    // Ordering: as in `run`: a peer may find these instead of the last ones there, even where they
    // are the same numbers.
    own.shown.store(after, Ordering::Release);
    own.folded.store(after, Ordering::Release);
    own.done.store(after, Ordering::Release);
    work.tell();
}
