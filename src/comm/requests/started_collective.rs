//! A started collective.

use super::running::{Failure, Running};
use crate::exec::Scratch;
use crate::exec::board::started::{Job, WorkDesk};
use crate::mailbox::{FoundCard, NoticeCard};
use crate::shared::{
    Owed, Place, Port, RankCards, RankPlace, Signature, StartedCall, StartedPart, StartedProgress,
};
use crate::sync::catch_unwind;
use std::panic::AssertUnwindSafe;

/// See the module documentation.
pub(super) struct Collective<'env> {
    progress: StartedProgress,
    job: Job<'env>,
}

impl<'env> Collective<'env> {
    /// One that is still to be started.
    pub(super) fn new(job: Job<'env>) -> Self {
        Collective { progress: StartedProgress::new(0), job }
    }

    /// One that is [shown](Collective::show) next.
    #[inline(always)]
    pub(super) fn of(job: Job<'env>, progress: StartedProgress) -> Self {
        Collective { progress, job }
    }

    /// Makes this collective, which has ended, ready to be started once more.
    pub(super) fn renew(&mut self, progress: StartedProgress) {
        self.progress = progress;
    }

    #[inline(always)]
    pub(super) fn job(&self) -> &Job<'env> {
        &self.job
    }

    /// Works in place at `at` from now on.
    ///
    /// # Safety
    /// As [`Job::place`]; the call is brief.
    #[inline(always)]
    pub(super) unsafe fn place_at(&mut self, at: *mut u8) {
        // SAFETY: passed on.
        unsafe { self.job.place(at) };
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
        let (counts, is_beside) = (job.counts_shown(), job.is_beside());
        let fill = |room: *mut u8| {
            // SAFETY: there is as much room as the job may need.
            unsafe {
                match counts {
                    _ if is_beside => job.copy_input(room),
                    Some(counts) => room.cast::<*const usize>().write(counts),
                    None => {}
                }
            }
        };
        let at = match job.is_brief() {
            _ if is_beside => std::ptr::null_mut(),
            true => {
                let room = port.copy_room();
                // SAFETY: there is as much room as the job needs; by the contract nobody reads it
                // before this call is shown.
                unsafe { job.copy_input(room) };
                room
            }
            false => job.shown(),
        };
        // SAFETY: by the contract.
        unsafe { port.start(begun, at, fill) };
    }

    /// As [`advance`](Running::advance), if it is a [direct](Job::is_direct) call.
    #[inline(always)]
    pub(super) fn advance_direct(&mut self, place: &RankPlace) -> Option<Result<bool, Failure>> {
        if !self.job.is_direct() {
            return None;
        }
        // SAFETY: shown, and not over.
        let advanced = unsafe { self.take(RankCards::of(place)) };
        if let Ok(true) = advanced {
            place.tell();
        }
        Some(advanced)
    }

    /// Completes it, which is [direct](Job::is_direct), if all have started it; whether they have.
    /// Ranks that sleep until then are to be told.
    ///
    /// # Safety
    /// It was [shown](Collective::show), and is not over. (The rank may have left the communicator:
    /// copies stay until it has finished.)
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, own: RankCards<'_>) -> Result<bool, Failure> {
        let Collective { progress, job } = self;
        progress.advance(&mut CardsPart { own, job, desk: None }, own.rank())
    }
}

/// The part of a rank. `desk`: the desk that it works at; none of a [direct](Job::is_direct)
/// call, which needs neither.
struct CardsPart<'a, 'env> {
    own: RankCards<'a>,
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
        let CardsPart { own, job, desk: Some((place, scratch, all)) } = self else { return Ok(()) };
        if place.has_left() {
            return Err(Failure::Over);
        }
        all.clear();
        // SAFETY: all have shown theirs, and agree; this rank has neither ended the call nor left,
        // so everybody keeps the memory that it shows.
        unsafe {
            own.addresses(number, job.is_beside(), all);
            if job.counts_shown().is_some() {
                own.addresses(number, true, all);
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
        self.own.other(index)
    }

    #[inline(always)]
    fn lends_to(&self, index: usize) -> Option<usize> {
        if self.desk.is_none() || self.job.is_brief() { None } else { self.own.other(index) }
    }

    #[inline(always)]
    fn meet(&mut self, number: u64, rank: usize) -> Result<Option<bool>, Failure> {
        let meets = self.own.meets(number, rank).map_err(Failure::Disagrees)?;
        Ok(meets.then_some(self.desk.is_some() && !self.job.is_brief()))
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
        let (own, job) = (self.own, self.job);
        // SAFETY: all have shown theirs, and agree, so everybody keeps the memory that it shows
        // until this rank has ended the call.
        unsafe {
            job.take_few(
                #[inline(always)]
                |all| own.addresses_of_few(number, job.is_beside(), all),
            );
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
        if let Some(advanced) = self.advance_direct(place) {
            return advanced;
        }
        let Collective { progress, job } = self;
        let own = RankCards::of(place);
        let is_complete = progress
            .advance(&mut CardsPart { own, job, desk: Some((place, scratch, all)) }, place.rank)?;
        if is_complete {
            // SAFETY: all have finished.
            unsafe { job.end() };
        }
        Ok(is_complete)
    }

    fn owed(&self) -> Owed {
        if self.job.is_brief() { Owed::Look } else { Owed::Work }
    }

    fn owes(&self) -> bool {
        !self.progress.is_over() && !self.job.is_brief()
    }

    fn place(&self, at: &RankPlace) -> Place {
        RankCards::place(at, &self.progress)
    }

    fn awaited(&self, at: &RankPlace) -> usize {
        RankCards::of(at).awaited(&self.progress)
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
        if !self.job.is_brief() {
            RankCards::quiesce(at, self.progress.number());
        }
    }
}
