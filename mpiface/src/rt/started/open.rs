//! A collective that a rank has started: does what can be done, for itself and for others.

use super::board::{Board, CardRow, differ};
use super::fold::{Stored, fold_part, fold_whole};
use super::part::{Gives, Part};
use super::sheet::{Data, Sheet};
use crate::rt::awaits::Awaits;
use crate::rt::coll::part;
use crate::rt::comm::{Comm, Shared};
use crate::rt::error::Error;
use crate::rt::held::Hold;
use crate::rt::operator::Operator;
use crate::rt::types::Place;
use crate::rt::world::World;
use phalanx::engine::FoundCard;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};

/// After so many looks in vain a rank does what others have to do, if it waits for that: they come
/// to it by themselves within fewer, if they are in MPI.
const LOOKS: u32 = 100;
const LOOKS_CROWDED: u32 = 16;

/// A collective that this rank has started, and that is not complete.
#[derive(Debug)]
pub struct Open {
    pub(super) comm: Rc<Comm>,
    pub(super) number: u64,
    /// Whose cards it needs.
    pub(super) awaits: Awaits,
    pub(super) lends: bool,
    pub(super) root: Option<usize>,
    pub(super) is_fold: bool,
    /// So many of the cards that it needs have been shown.
    pub(super) shown: usize,
    /// Whether others lend it memory; so its part is claimed.
    pub(super) is_lent: Option<bool>,
    pub(super) is_over: bool,
    /// So many others have done their parts, of those that read this rank's memory.
    pub(super) over: usize,
    pub(super) looks: u32,
    pub(super) digest: u64,
    /// The calling rank in the world.
    pub(super) me: usize,
    /// The datatype that its operator is told, if that is the program's.
    pub hold: Option<Hold>,
}

impl Open {
    /// The collective's number, whose cards are awaited for it to go on at all.
    pub fn awaited(&self) -> (u64, Awaits) {
        (self.number, if self.lends { Awaits::All } else { self.awaits })
    }

    /// The communicator's part that all share.
    pub fn shared(&self) -> &Shared {
        &self.comm.shared
    }

    fn board(&self) -> &Board {
        self.comm.shared.board()
    }

    pub(super) fn wake(&self, world: &World) {
        for rank in &self.comm.shared.members {
            if *rank != self.me {
                world.wake(self.me, *rank);
            }
        }
    }

    /// Does what can be done now; `Some` if it is complete: with its error, if there is one.
    ///
    /// # Safety
    /// As `start`, of all ranks' calls; the calling rank's.
    #[inline]
    pub unsafe fn advance(&mut self, world: &World) -> Option<Option<Error>> {
        if !self.is_over {
            let ranks = self.awaits.ranks(self.comm.size());
            while self.shown < ranks.end {
                if !self.board().has_shown(self.shown, self.number) {
                    return None;
                }
                self.shown += 1;
            }
            // SAFETY: passed on.
            if !unsafe { self.do_own(world) } {
                return None;
            }
            self.is_over = true;
        }
        // SAFETY: passed on.
        if self.lends && !unsafe { self.are_others_over(world) } {
            return None;
        }
        Some(self.end())
    }

    /// Does this rank's part, all cards for which have been shown, or sees that it has been done.
    ///
    /// # Safety
    /// As `advance`.
    #[inline]
    unsafe fn do_own(&mut self, world: &World) -> bool {
        let rank = self.comm.rank;
        let is_lent = match self.is_lent {
            Some(is_lent) => is_lent,
            None => self.check(self.awaits),
        };
        self.is_lent = Some(is_lent);
        let card = self.board().card(rank, self.number);
        if is_lent {
            if card.claim(self.number) {
                // SAFETY: the caller's promise; it was claimed.
                unsafe { self.work(rank, true) };
                card.tell_over(self.number);
                self.tell_lenders(world);
                return true;
            }
            return card.is_over(self.number);
        }
        // SAFETY: the caller's promise; nobody else does it, for nobody lends.
        unsafe { self.work(rank, false) };
        true
    }

    /// Whether `advance` would do something: for who waits inside of the library.
    pub fn can_advance(&self) -> bool {
        let (board, number, rank) = (self.board(), self.number, self.comm.rank);
        if !self.is_over {
            let own = board.card(rank, number);
            let may_do = || self.is_lent != Some(true) || own.is_over(number);
            return board.have_shown(number, self.awaits) && may_do();
        }
        let is_over = |at: usize| {
            board.has_shown(at, number) && {
                let card = board.card(at, number);
                card.is_over(number)
                    || !card.is_claimed(number) && {
                        // SAFETY: it was shown, and this rank is not done.
                        board.have_shown(number, unsafe { card.read(|it| it.rest.awaits) })
                    }
            }
        };
        let mut others = self.others();
        others.start += self.over;
        !self.lends || others.find(|it| *it != rank).is_none_or(is_over)
    }

    /// Those that read, or write, this rank's memory if it lends it.
    fn others(&self) -> Range<usize> {
        let (rank, size) = (self.comm.rank, self.comm.size());
        match self.root {
            Some(root) if root != rank && !self.comm.is_inter() && !self.is_fold => root..root + 1,
            _ => 0..size,
        }
    }

    fn tell_lenders(&self, world: &World) {
        // Pairs with the fence in the library's `Berth::sleep`, as in `Req::complete`. It orders
        // `over` of the card, told before, with the look at the lender's word in `wake`: either the
        // lender, which says that it will sleep and then looks once more, sees `over`, or `wake`
        // sees that word. Without it both may miss the other, and the lender naps to the end.
        fence(Ordering::SeqCst);
        self.wake(world);
    }

    /// Compares the calls of those whose cards a rank needs, which have been shown, with its own;
    /// gives whether one lends memory.
    #[inline]
    fn check(&self, awaits: Awaits) -> bool {
        let (board, number) = (self.board(), self.number);
        let mut is_lent = false;
        let mut begun = self.comm.begun.borrow_mut();
        for peer in awaits.ranks(board.lanes.ranks()) {
            let card = board.card(peer, number);
            // SAFETY: it was shown, and this rank is not done.
            let (digest, data, done) =
                unsafe { card.read(|it| (it.front.digest, it.front.data, it.front.done)) };
            if digest != self.digest {
                self.differ(peer);
            }
            if let Some(known) = begun.known.get_mut(peer) {
                *known = (*known).max(done);
            }
            is_lent |= data == Data::Lent;
        }
        is_lent
    }

    #[cold]
    fn differ(&self, peer: usize) -> ! {
        let board = self.board();
        let line = |rank: usize| {
            let card = board.card(rank, self.number);
            // SAFETY: as `check`.
            let text = unsafe { card.read(|it| it.rest.call.describe()) };
            format!("\n  rank {}: {text}", self.comm.world_rank(rank))
        };
        let rank = self.comm.rank;
        let (first, second) = (rank.min(peer), rank.max(peer));
        let lines =
            board.difference(first, second).filter(|_| self.number & CardRow::UNORDERED == 0);
        let lines = lines.unwrap_or_else(|| line(first) + &line(second));
        differ(&lines)
    }

    /// Whether all have done their parts that read, or write, this rank's memory. What they do not
    /// do for a while, this rank does.
    ///
    /// # Safety
    /// As `advance`.
    unsafe fn are_others_over(&mut self, world: &World) -> bool {
        let (rank, number, others) = (self.comm.rank, self.number, self.others());
        let mut at = others.start + self.over;
        while at < others.end {
            if at != rank {
                if !self.board().has_shown(at, number) {
                    return false;
                }
                if !self.board().card(at, number).is_over(number) {
                    // SAFETY: passed on.
                    if !self.is_patient(world) || !unsafe { self.help(at, world) } {
                        return false;
                    }
                }
            }
            self.over += 1;
            at += 1;
        }
        true
    }

    /// Whether it has looked for as long as others may take to come to it by themselves.
    fn is_patient(&mut self, world: &World) -> bool {
        self.looks = self.looks.saturating_add(1);
        self.looks > if world.is_crowded() { LOOKS_CROWDED } else { LOOKS }
    }

    /// Does what another rank, whose card has been shown, has yet to do, if it can be done.
    ///
    /// # Safety
    /// As `advance`.
    #[cold]
    unsafe fn help(&self, other: usize, world: &World) -> bool {
        let card = self.board().card(other, self.number);
        // SAFETY: it was shown, and this rank is not done.
        let awaits = unsafe { card.read(|it| it.rest.awaits) };
        if !self.board().have_shown(self.number, awaits) || !card.claim(self.number) {
            return false;
        }
        self.check(awaits);
        // SAFETY: the caller's promise; it was claimed.
        unsafe { self.work(other, true) };
        card.tell_over(self.number);
        self.tell_lenders(world);
        true
    }

    /// This rank is done.
    fn end(&mut self) -> Option<Error> {
        let (rank, number, board) = (self.comm.rank, self.number, self.board());
        let own = board.card(rank, number);
        // SAFETY: the rank's own; its part is over.
        let failed = unsafe { own.read(|it| it.rest.failed.get().cloned()) };
        drop(own);
        let ranks = board.lanes.ranks();
        let rows = |rank: usize| board.lanes.row(rank).expect("it has shown its card");
        match number & CardRow::UNORDERED != 0 {
            true => (0..ranks).for_each(|it| rows(it).part(number, ranks)),
            false => rows(rank).end(number),
        }
        failed
    }
}

/// What a reduction needs to know of a card.
struct FoldedValues<'a> {
    op: Operator,
    gives: Option<&'a Gives>,
}

impl Open {
    /// Does the part of a rank; `is_lent`: others lend it memory.
    ///
    /// # Safety
    /// As `advance`; all cards for it have been shown, and it is the caller's to do.
    #[inline]
    unsafe fn work(&self, rank: usize, is_lent: bool) {
        let (board, number) = (self.board(), self.number);
        let size = board.lanes.ranks();
        let card = board.card(rank, number);
        let run = |sheet: &Sheet| match &sheet.rest.part {
            Some(Part::Exchange { takes, .. }) => takes.each(size, |peer, to| {
                let from = board.card(peer, number);
                // SAFETY: the caller's promise, and that of the peer's call.
                let failed = unsafe { from.read(|it| it.give(peer, (rank, size), to)) };
                if let Some(error) = failed {
                    let _ = sheet.rest.failed.set(error);
                }
            }),
            Some(Part::Fold { op, gives, .. }) => {
                let gives = gives.as_ref();
                // SAFETY: as above.
                unsafe { self.fold(rank, is_lent, FoldedValues { op: *op, gives }) };
            }
            None => {}
        };
        // SAFETY: it was shown, and the calling rank is not done.
        unsafe { card.read(run) };
    }

    /// # Safety
    /// As `work`.
    #[inline]
    unsafe fn fold(&self, rank: usize, is_lent: bool, it: FoldedValues<'_>) {
        if !is_lent {
            let Some((target, ranks, start)) = it.gives else { return };
            if ranks.is_empty() {
                return;
            }
            // Between groups a root has no values of its own.
            let element = target.ty.size;
            let at = |rank: usize| {
                let card = self.board().card(rank, self.number);
                // SAFETY: it was shown, and this rank is not done.
                unsafe { card.read(|it| it.front.address()) + start * element }
            };
            let values = Stored { at, op: it.op, element };
            // SAFETY: the cards hold as many elements each, for all agree; a target is the promise
            // of the rank's call.
            unsafe { values.fold_to(ranks.clone(), target) };
            return;
        }
        // SAFETY: passed on.
        unsafe { self.fold_any(rank, it) };
    }

    /// The same for values that are lent, or lie with gaps.
    ///
    /// # Safety
    /// As `work`.
    #[inline(never)]
    unsafe fn fold_any(&self, rank: usize, it: FoldedValues<'_>) {
        let (board, number, size) = (self.board(), self.number, self.comm.size());
        let cards: Vec<_> = (0..size).map(|it| board.card(it, number)).collect();
        let values = |card: &FoundCard<'_, Sheet>| {
            // SAFETY: all have been shown, and this rank is not done until this returns; so what is
            // read stays.
            let sheet: &Sheet = unsafe { card.read(|it| &*std::ptr::from_ref(it)) };
            let Some(Part::Fold { own, op, gives }) = &sheet.rest.part else { return None };
            let own = match sheet.front.data {
                Data::Lent => own.clone(),
                _ => Place { address: sheet.front.address(), ..own.clone() },
            };
            Some((own, *op, gives.clone()))
        };
        let all: Vec<_> = cards.iter().filter_map(values).collect();
        if all.len() != size {
            return;
        }
        let owns: Vec<Place> = all.iter().map(|it| it.0.clone()).collect();
        // A user's operator is the working rank's own, if that has a part in it.
        let mine = &all[self.comm.rank];
        let op = if mine.0.count > 0 || mine.2.is_some() { mine.1 } else { it.op };
        let gives: Vec<_> = all.iter().filter_map(|it| it.2.clone()).collect();
        let is_even = |it: &Gives| it.1 == (0..size) && it.2 == 0 && it.0.count == owns[0].count;
        // What goes to where other values lie may be written when nobody reads these any more.
        let is_moved = |own: &Place, gives: &Gives| gives.0.address == own.address;
        let mut moved = all.iter().filter(|it| it.2.as_ref().is_some_and(|to| is_moved(&it.0, to)));
        // SAFETY: the caller's promise, for each of them.
        unsafe {
            if gives.iter().all(is_even) && owns.iter().all(|it| it.count == owns[0].count) {
                let elements = part(owns[0].count, rank, size);
                let targets: Vec<Place> = gives.into_iter().map(|it| it.0).collect();
                fold_part(&owns, &targets, elements, op);
            } else if moved.next().is_none() {
                if let Some(gives) = it.gives {
                    fold_whole(&owns, std::slice::from_ref(gives), op);
                }
            } else if rank == 0 {
                fold_whole(&owns, &gives, op);
            }
        }
    }
}
