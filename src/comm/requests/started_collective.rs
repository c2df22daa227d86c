//! A started collective.

use super::running::{Failure, Running};
use crate::exec::Scratch;
use crate::exec::board::started::{FEW, Job, WorkDesk};
use crate::mailbox::{FoundCard, NoticeCard};
use crate::shared::{
    Owed, Place, Port, RankCards, RankPlace, Signature, StartedCall, StartedPart, StartedProgress,
};
use crate::sync::catch_unwind;
use std::panic::AssertUnwindSafe;

/// See the module documentation.
pub(super) struct Collective<'env> {
    progress: StartedProgress,
    /// Those of the [job](Job::sources).
    sources: (usize, usize),
    pub(super) job: Job<'env>,
}

impl<'env> Collective<'env> {
    /// One that is still to be started.
    pub(super) fn new(job: Job<'env>) -> Self {
        Collective::of(job, StartedProgress::new(0))
    }

    /// One that is [shown](Collective::show) next.
    #[inline(always)]
    pub(super) fn of(job: Job<'env>, progress: StartedProgress) -> Self {
        Collective { progress, sources: job.sources(progress.number()), job }
    }

    /// Makes this collective, which has ended, ready to be started once more.
    pub(super) fn renew(&mut self, progress: StartedProgress) {
        (self.progress, self.sources) = (progress, self.job.sources(progress.number()));
    }

    /// Starts it, as the call `begun`: shows the memory that the others need, on the column that
    /// was claimed.
    ///
    /// # Safety
    /// - A column was [claimed](Port::claim_column) of the port that this was made with, and no
    ///   call started on it.
    /// - The memory stays the call's until it is over, or was [quiesced](Running::quiesce).
    #[inline(always)]
    pub(super) unsafe fn show(&self, port: &mut Port, begun: StartedCall) {
        let job = &self.job;
        // SAFETY: by the contract, the first, too: the memory is the call's.
        unsafe { port.start(begun, job.bytes_of_room(), |beside, room| job.fill(beside, room)) };
    }

    /// Completes it, which is [direct](Job::is_direct), if all its sources have started it; whether
    /// they have. Ranks that sleep until then are to be told. `first`: this is its first look.
    ///
    /// # Safety
    /// It was [shown](Collective::show), and is not over. (The rank may have left the communicator:
    /// copies stay until it has finished.)
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, own: RankCards<'_>, first: bool) -> Result<bool, Failure> {
        let &mut Collective { ref mut progress, sources, ref job } = self;
        let taken = progress.advance(&mut CardsPart { own, sources, job, desk: None }, own.rank());
        if let (true, Ok(true), Some(peer)) = (first, &taken, job.leader()) {
            own.fetch_next(progress.number(), peer, job.bytes_of_room());
        }
        taken
    }
}

/// The part of a rank. `desk`: the desk that it works at; none of a [direct](Job::is_direct)
/// call, which needs neither.
struct CardsPart<'a, 'env> {
    own: RankCards<'a>,
    sources: (usize, usize),
    job: &'a Job<'env>,
    desk: Option<(&'a RankPlace, &'a mut Scratch, &'a mut Vec<*mut u8>)>,
}

impl CardsPart<'_, '_> {
    /// Of a call that is not direct.
    ///
    /// # Safety
    /// As [`StartedPart::work`].
    #[inline(never)]
    unsafe fn work_at_desk(&mut self, number: u64) -> Result<(), Failure> {
        let &mut CardsPart { own, sources, job, ref mut desk } = self;
        let Some((place, scratch, all)) = desk else { return Ok(()) };
        let (p, has_counts) = (place.hold.size(), job.counts_shown().is_some());
        if place.has_left() {
            return Err(Failure::Over);
        }
        all.clear();
        all.resize(if has_counts { 2 * p } else { p }, std::ptr::null_mut());
        // SAFETY: its sources have shown theirs, and agree; this rank has neither ended the call
        // nor left, so they keep the memory that they show.
        unsafe {
            own.addresses(number, job.is_beside(), sources, all);
            if has_counts {
                own.addresses(number, true, sources, &mut all[p..]);
                if let Some(unequal) = job.unequal(all) {
                    return Err(Failure::Disagrees(own.unequal(number, unequal)));
                }
            }
        }
        // SAFETY: as above; and this rank's peers touch nothing but their parts of it.
        let work = || unsafe { job.work(all, scratch) };
        catch_unwind(AssertUnwindSafe(|| place.in_user_code(work))).map_err(Failure::Panicked)
    }
}

impl StartedPart for CardsPart<'_, '_> {
    type Card = NoticeCard;
    type Obstacle = Failure;

    #[inline(always)]
    fn needs(&self, index: usize) -> Option<usize> {
        let (first, count) = self.sources;
        (index < count).then(|| self.own.peer(first, index))
    }

    #[inline(always)]
    fn lends_to(&self, index: usize) -> Option<usize> {
        if self.desk.is_none() || self.job.is_brief { None } else { self.own.other(index) }
    }

    #[inline(always)]
    fn meet(&mut self, number: u64, rank: usize) -> Result<Option<bool>, Failure> {
        let meets = self.own.meets(number, rank).map_err(Failure::Disagrees)?;
        Ok(meets.then_some(self.desk.is_some() && !self.job.is_brief))
    }

    fn has_shown(&self, _: u64, _: usize) -> bool {
        // Whom it lends to it has met.
        true
    }

    fn card(&self, number: u64, rank: usize) -> FoundCard<'_, NoticeCard> {
        self.own.card(number, rank)
    }

    #[inline(always)]
    unsafe fn work(&mut self, number: u64, _: usize, _: bool) -> Result<(), Failure> {
        if self.desk.is_some() {
            // SAFETY: passed on.
            return unsafe { self.work_at_desk(number) };
        }
        let &mut CardsPart { own, sources, job, .. } = self;
        let mut all = [std::ptr::null_mut(); FEW];
        // SAFETY: its sources have shown theirs, and agree, so they keep the memory that they show
        // until this rank has ended the call.
        unsafe {
            own.addresses(number, job.is_beside(), sources, &mut all);
            job.take(&all);
        }
        Ok(())
    }

    #[inline(always)]
    fn tell(&mut self, number: u64, _: usize, _: bool) {
        self.own.end(number);
        // A rank that starts a direct call tells of its start and of its end at once.
        if let Some((place, ..)) = &self.desk {
            place.tell();
        }
    }
}

impl Running for Collective<'_> {
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        let WorkDesk { place, scratch, all, .. } = desk;
        let own = RankCards::of(place);
        if self.job.is_direct {
            // SAFETY: shown, and not over.
            let is_complete = unsafe { self.take(own, false)? };
            if is_complete {
                place.tell();
            }
            return Ok(is_complete);
        }
        let (&mut Collective { ref mut progress, sources, ref job }, rank) = (self, place.rank);
        let desk = Some((&*place, scratch, all));
        let is_complete = progress.advance(&mut CardsPart { own, sources, job, desk }, rank)?;
        if is_complete {
            // SAFETY: all have finished.
            unsafe { job.end() };
        }
        Ok(is_complete)
    }

    fn owed(&self) -> Owed {
        if self.job.is_brief { Owed::Look } else { Owed::Work }
    }

    fn owes(&self) -> bool {
        !self.progress.is_over() && !self.job.is_brief
    }

    fn passed(&self) -> usize {
        self.progress.passed()
    }

    fn place(&self, at: &RankPlace) -> Place {
        RankCards::place(at, self.awaited(at))
    }

    fn awaited(&self, at: &RankPlace) -> usize {
        let first = if self.progress.is_over() { at.rank + 1 } else { self.sources.0 };
        let (own, passed) = (RankCards::of(at), self.progress.passed());
        let peer = own.peer(first, passed);
        // One that needs nobody is over at its next look: any other rank will do until then.
        if peer == at.rank { own.peer(peer + 1, 0) } else { peer }
    }

    fn left(&self, at: &RankPlace) -> Option<usize> {
        let peer = self.awaited(at);
        at.hold.has_left(peer, at.run).then_some(peer)
    }

    fn blame(&self, port: &mut Port) {
        port.blame(self.progress.number());
    }

    fn sig(&self, at: &RankPlace) -> &'static Signature {
        RankCards::of(at).sig(self.progress.number())
    }

    fn quiesce(&self, at: &RankPlace) {
        if !self.job.is_brief {
            RankCards::quiesce(at, self.progress.number());
        }
    }
}
