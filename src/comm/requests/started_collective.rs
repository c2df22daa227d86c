//! A started collective.

use super::running::{Failure, Running};
use crate::exec::board::started::{Job, WorkDesk};
use crate::fabric::{
    Disagreement, LaneEnd, LaneProgress, Owed, Place, Port, RankPlace, Signature, StartedCall,
};
use crate::sync::catch_unwind;
use std::panic::AssertUnwindSafe;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not all have started.
    Begun,
    /// This rank has done its work.
    Finished,
    Done,
}

/// See the module documentation.
pub(super) struct Collective<'env> {
    progress: LaneProgress,
    job: Job<'env>,
    stage: Stage,
}

impl<'env> Collective<'env> {
    /// One that is still to be started.
    pub(super) fn new(job: Job<'env>) -> Self {
        Collective { progress: LaneProgress::NONE, job, stage: Stage::Done }
    }

    /// One that is [shown](Collective::show) next.
    #[inline(always)]
    pub(super) fn of(job: Job<'env>, progress: LaneProgress) -> Self {
        Collective { progress, job, stage: Stage::Begun }
    }

    /// The same, which has ended, once more.
    pub(super) fn renew(&mut self, progress: LaneProgress) {
        (self.progress, self.stage) = (progress, Stage::Begun);
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

    /// Starts it, as the call `begun`: shows what the others need, on the lane that was claimed.
    ///
    /// # Safety
    /// - A lane was [claimed](Port::claim_lane) of the port that this was made with, and no call
    ///   started on it.
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
        if self.stage != Stage::Begun || !self.job.is_direct() {
            return None;
        }
        // SAFETY: shown, and not finished.
        Some(match unsafe { self.take(LaneEnd::of(place)) } {
            Ok(true) => {
                place.tell();
                self.stage = Stage::Done;
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(found) => Err(Failure::Disagrees(found)),
        })
    }

    /// Completes it, which is [direct](Job::is_direct), if all have started it; whether they have.
    /// Who sleeps until then is to be told.
    ///
    /// # Safety
    /// It was [shown](Collective::show), and is not over. (The rank may have left the communicator:
    /// copies stay until it has finished.)
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, own: LaneEnd<'_>) -> Result<bool, Box<Disagreement>> {
        let Collective { progress, job, .. } = self;
        if !progress.have_all_begun(own)? {
            return Ok(false);
        }
        // SAFETY: they have, and agree, so everybody keeps what it shows until this rank finishes.
        unsafe {
            // Asked once, and not for each rank: most calls are of a few bytes.
            match job.is_beside() {
                true => job.take_few(|rank| progress.address(own, true, rank)),
                false => job.take_few(|rank| progress.address(own, false, rank)),
            }
        }
        progress.finish(own, false);
        Ok(true)
    }
}

impl Running for Collective<'_> {
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        let WorkDesk { place, scratch, all, .. } = desk;
        if let Some(advanced) = self.advance_direct(place) {
            return advanced;
        }
        let own = LaneEnd::of(place);
        let Collective { progress, job, stage } = self;
        if *stage == Stage::Begun {
            if !progress.have_all_begun(own).map_err(Failure::Disagrees)? {
                return Ok(false);
            }
            if place.has_left() {
                return Err(Failure::Over);
            }
            // SAFETY: they have, and agree; this rank has neither finished nor left, so everybody
            // keeps what it shows.
            unsafe {
                progress.addresses(own, job.is_beside(), all);
                if job.counts_shown().is_some() {
                    progress.add_addresses(own, true, all);
                    if let Some(unequal) = job.unequal(all) {
                        return Err(Failure::Disagrees(progress.unequal(own, unequal)));
                    }
                }
            }
            // SAFETY: as above; and this rank's peers touch nothing but their parts of it.
            let work = || unsafe { job.work(all, scratch) };
            catch_unwind(AssertUnwindSafe(|| place.in_user_code(work)))
                .map_err(Failure::Panicked)?;
            progress.finish(own, !job.is_brief());
            place.tell();
            *stage = if job.is_brief() { Stage::Done } else { Stage::Finished };
        }
        if *stage == Stage::Finished && progress.have_all_finished(own) {
            // SAFETY: they have.
            unsafe { job.end() };
            *stage = Stage::Done;
        }
        Ok(*stage == Stage::Done)
    }

    fn owed(&self) -> Owed {
        if self.job.is_brief() { Owed::Look } else { Owed::Work }
    }

    fn owes(&self) -> bool {
        self.stage == Stage::Begun && !self.job.is_brief()
    }

    fn place(&self, at: &RankPlace) -> Place {
        self.progress.place(at)
    }

    fn awaited(&self, at: &RankPlace) -> usize {
        self.progress.awaited(LaneEnd::of(at))
    }

    fn left(&self, at: &RankPlace) -> Option<usize> {
        self.progress.left(at)
    }

    fn blame(&self, port: &mut Port) {
        self.progress.blame(port);
    }

    fn sig(&self, at: &RankPlace) -> &'static Signature {
        self.progress.sig(at)
    }

    fn quiesce(&self, at: &RankPlace) {
        if !self.job.is_brief() {
            self.progress.quiesce(at);
        }
    }
}
