//! A collective that a rank has started: its next steps, for the rank itself and for others.

use super::board::{Board, differ};
use super::fold::{Stored, fold_part};
use super::part::{Gives, Part};
use super::sheet::{Data, Sheet};
use crate::rt::awaits::Awaits;
use crate::rt::comm::{Comm, Shared};
use crate::rt::error::Error;
use crate::rt::held::Hold;
use crate::rt::operator::Operator;
use crate::rt::types::Place;
use crate::rt::world::World;
use phalanx::engine::{FoundCard, StartedPart, StartedProgress};
use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};

/// After so many looks in vain a rank takes over others' parts, if it waits for them: they come
/// to it by themselves within fewer, if they are in MPI.
const LOOKS: u32 = 100;
const LOOKS_CROWDED: u32 = 16;

/// A collective that this rank has started, and that is not complete.
#[derive(Debug)]
pub struct Open {
    progress: StartedProgress,
    call: OpenCall,
    /// The datatype that its operator is told, if that is the program's.
    pub hold: Option<Hold>,
}

/// A collective that is not complete, and its state.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) comm: Rc<Comm>,
    /// The ranks of the cards it needs.
    pub(super) awaits: Awaits,
    /// Those that read, or write, this rank's memory, if it lends it.
    pub(super) users: Awaits,
    pub(super) looks: Cell<u32>,
    pub(super) digest: u64,
    /// The calling rank in the world.
    pub(super) me: usize,
}

impl Open {
    /// The collective of this number, which has been shown.
    pub(super) fn new(number: u64, call: OpenCall) -> Open {
        Open { progress: StartedProgress::new(number), call, hold: None }
    }

    /// The number of the collective with the cards that are awaited for it to go on at all.
    pub fn awaited(&self) -> (u64, Awaits) {
        let OpenCall { users, awaits, .. } = self.call;
        let lends = users != Awaits::Nobody;
        (self.progress.number(), if lends { Awaits::All } else { awaits })
    }

    /// The communicator's part that all share.
    pub fn shared(&self) -> &Shared {
        &self.call.comm.shared
    }

    pub(super) fn wake(&self, world: &World) {
        self.call.wake(world);
    }

    /// Takes the steps possible now; `Some` if it is complete: with its error, if there is one.
    ///
    /// # Safety
    /// As `start`, of all ranks' calls; the calling rank's.
    #[inline]
    pub unsafe fn advance(&mut self, world: &World) -> Option<Option<Box<Error>>> {
        let Open { progress, call, .. } = self;
        let rank = call.comm.rank;
        let mut part = call.part(world);
        match progress.advance(&mut part, rank) {
            Ok(is_complete) => is_complete.then(|| part.end(progress.number())),
            Err(never) => match never {},
        }
    }

    /// Whether `advance` would do something: for a rank that waits inside of the library.
    pub fn can_advance(&self, world: &World) -> bool {
        self.progress.can_advance(&self.call.part(world), self.call.comm.rank)
    }
}

/// A collective, as its rank goes on with it.
struct OpenPart<'a> {
    call: &'a OpenCall,
    board: &'a Board,
    world: &'a World,
}

impl OpenCall {
    /// As its rank goes on with it.
    #[inline]
    fn part<'a>(&'a self, world: &'a World) -> OpenPart<'a> {
        OpenPart { call: self, board: self.comm.shared.board(), world }
    }

    fn wake(&self, world: &World) {
        for rank in &self.comm.shared.members {
            if *rank != self.me {
                world.wake(self.me, *rank);
            }
        }
    }
}

impl OpenPart<'_> {
    /// Compares a rank's card with the own call; says whether it lends memory.
    #[inline]
    fn check(&self, number: u64, peer: usize) -> bool {
        let card = self.board.card(peer, number);
        // SAFETY: it was shown, and this rank is not done.
        let (digest, data, done) =
            unsafe { card.read(|it| (it.front.digest, it.front.data, it.front.done)) };
        if digest != self.call.digest {
            self.differ(number, peer);
        }
        if let Some(known) = self.call.comm.begun.borrow_mut().known.get_mut(peer) {
            *known = (*known).max(done);
        }
        data == Data::Lent
    }

    #[cold]
    fn differ(&self, number: u64, peer: usize) -> ! {
        let board = self.board;
        let line = |rank: usize| {
            let card = board.card(rank, number);
            // SAFETY: as `check`.
            let text = unsafe { card.read(|it| it.rest.call.describe()) };
            format!("\n  rank {}: {text}", self.call.comm.world_rank(rank))
        };
        let rank = self.call.comm.rank;
        let (first, second) = (rank.min(peer), rank.max(peer));
        let lines = board.difference(first, second);
        let lines = lines.unwrap_or_else(|| line(first) + &line(second));
        differ(&lines)
    }

    /// The ranks of the cards that the part of a rank needs, which has shown its own.
    fn awaits_of(&self, number: u64, rank: usize) -> Awaits {
        if rank == self.call.comm.rank {
            return self.call.awaits;
        }
        // SAFETY: it was shown, and this rank is not done.
        unsafe { self.board.card(rank, number).read(|it| it.rest.awaits) }
    }

    /// This rank is done: the error, if there is one.
    fn end(&self, number: u64) -> Option<Box<Error>> {
        let (rank, board) = (self.call.comm.rank, self.board);
        let own = board.card(rank, number);
        // SAFETY: the rank's own; its part is over.
        let failed = unsafe { own.read(|it| it.rest.failed.get().cloned()) };
        drop(own);
        board.cards.row(rank).expect("it has shown its card").end(number);
        failed
    }
}

impl StartedPart for OpenPart<'_> {
    type Card = Sheet;
    /// A fault of a part is an error of its request; a difference ends the run.
    type Obstacle = Infallible;

    #[inline]
    fn needs(&self, index: usize) -> Option<usize> {
        self.board.awaited(self.call.awaits, index)
    }

    #[inline]
    fn lends_to(&self, index: usize) -> Option<usize> {
        self.board.awaited(self.call.users, index)
    }

    #[inline]
    fn meet(&mut self, number: u64, rank: usize) -> Result<Option<bool>, Infallible> {
        Ok(self.has_shown(number, rank).then(|| self.check(number, rank)))
    }

    #[inline]
    fn has_shown(&self, number: u64, rank: usize) -> bool {
        self.board.has_shown(rank, number)
    }

    fn uses(&self, number: u64, rank: usize) -> bool {
        // Not so where the ranks of a graph do not agree.
        let awaits = self.awaits_of(number, rank);
        let mut needed = (0..).map_while(|index| self.board.awaited(awaits, index));
        needed.any(|it| it == self.call.comm.rank)
    }

    #[inline]
    fn card(&self, number: u64, rank: usize) -> FoundCard<'_, Sheet> {
        self.board.card(rank, number)
    }

    #[inline]
    unsafe fn work(&mut self, number: u64, rank: usize, is_lent: bool) -> Result<(), Infallible> {
        if rank != self.call.comm.rank {
            let (board, awaits) = (self.board, self.awaits_of(number, rank));
            let all = (0..).map_while(|index| board.awaited(awaits, index));
            all.for_each(|it| _ = self.check(number, it));
        }
        // SAFETY: the caller's promise, and that of the calls of all.
        unsafe { self.do_part(number, rank, is_lent) };
        Ok(())
    }

    fn tell(&mut self, _: u64, _: usize, is_lent: bool) {
        if !is_lent {
            return;
        }
        // Pairs with the fence in the library's `Berth::sleep`, as in `Req::complete`. It orders
        // `over` of the card, told before, with the look at the lender's word in `wake`: either the
        // lender, which says that it will sleep and then looks once more, sees `over`, or `wake`
        // sees that word. Without it both may miss the other, and the lender naps to the end.
        fence(Ordering::SeqCst);
        self.call.wake(self.world);
    }

    fn helps(&mut self) -> bool {
        let looks = self.call.looks.get().saturating_add(1);
        self.call.looks.set(looks);
        looks > if self.world.is_crowded() { LOOKS_CROWDED } else { LOOKS }
    }

    fn can_work(&self, number: u64, rank: usize) -> bool {
        self.board.have_shown(number, self.awaits_of(number, rank))
    }
}

/// A reduction's view of a card.
struct FoldedValues<'a> {
    op: Operator,
    gives: Option<&'a Gives>,
}

impl OpenPart<'_> {
    /// Does the part of a rank; `is_lent`: others lend it memory.
    ///
    /// # Safety
    /// As `advance`; all cards for it have been shown, and it is the caller's to do.
    #[inline]
    unsafe fn do_part(&self, number: u64, rank: usize, is_lent: bool) {
        let board = self.board;
        let size = board.cards.ranks();
        let card = board.card(rank, number);
        let run = |sheet: &Sheet| match &sheet.rest.part {
            Some(part @ Part::Exchange { takes, .. }) => takes.each(size, |edge, to| {
                let (from, to) = (board.card(edge.0, number), (to, part.may_be_less()));
                // SAFETY: the caller's promise, and that of the peer's call.
                let failed = unsafe { from.read(|it| it.give(edge, (rank, size), to)) };
                if let Some(error) = failed {
                    let _ = sheet.rest.failed.set(error.into());
                }
            }),
            Some(Part::Fold { op, gives, .. }) => {
                let gives = gives.as_ref();
                // SAFETY: as above.
                unsafe { self.fold((number, rank), is_lent, FoldedValues { op: *op, gives }) };
            }
            None => {}
        };
        // SAFETY: it was shown, and the calling rank is not done.
        unsafe { card.read(run) };
    }

    /// # Safety
    /// As `work`.
    #[inline]
    unsafe fn fold(&self, (number, rank): (u64, usize), is_lent: bool, it: FoldedValues<'_>) {
        if !is_lent {
            let Some((target, ranks, start)) = it.gives else { return };
            if ranks.is_empty() {
                return;
            }
            // Between groups a root has no values of its own.
            let element = target.ty.size;
            let at = |rank: usize| {
                let card = self.board.card(rank, number);
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
        unsafe { self.fold_any((number, rank), it.op) };
    }

    /// The same for values that are lent, or lie with gaps.
    ///
    /// # Safety
    /// As `work`.
    #[inline(never)]
    unsafe fn fold_any(&self, (number, rank): (u64, usize), op: Operator) {
        let (board, size) = (self.board, self.call.comm.size());
        let cards: Vec<_> = (0..size).map(|it| board.card(it, number)).collect();
        let values = |card: &FoundCard<'_, Sheet>| {
            // SAFETY: all have been shown, and this rank is not done until this returns; so data
            // that is read stays.
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
        // A user's operator is the working rank's own, if that has a part in it.
        let mine = &all[self.call.comm.rank];
        let op = if mine.0.count > 0 || mine.2.is_some() { mine.1 } else { op };
        let (owns, gives): (Vec<_>, Vec<_>) = all.into_iter().map(|it| (it.0, it.2)).unzip();
        // SAFETY: the caller's promise, for each of them.
        unsafe { fold_part(rank, &owns, &gives, op) };
    }
}
