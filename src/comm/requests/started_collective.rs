//! A started collective.

use super::open::{Failure, Running};
use crate::exec::board::started::{Job, WorkDesk};
use crate::fabric::{
    Disagreement, LaneEnd, LaneProgress, Owed, Place, Port, RankPlace, Signature, StartedCall, Stop,
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

/// Starts the call `begun`, which is `job`: claims a lane, and shows what the others need.
///
/// # Safety
/// The memory stays the call's until it is over, or was [quiesced](Running::quiesce).
#[inline(always)]
pub(super) unsafe fn show(
    port: &mut Port,
    begun: StartedCall,
    job: &Job<'_>,
) -> Result<LaneProgress, Stop> {
    if let Err(stop) = port.claim_lane() {
        port.log_call(begun);
        return Err(stop);
    }
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
            // SAFETY: there is as much room as the job needs; the lane was claimed just now, so
            // nobody reads it until this call is shown.
            unsafe { job.copy_input(room) };
            room
        }
        false => job.shown(),
    };
    // SAFETY: it was claimed just now. For the memory: by the contract.
    Ok(unsafe { port.start(begun, job.len(), at, fill) })
}

/// Completes `job`, which is [direct](Job::is_direct), if all have started it; whether they have.
/// Who sleeps until then is to be told.
///
/// # Safety
/// The rank has [shown](show) it, and not finished it. (It may have left the communicator: copies
/// stay until it has finished.)
#[inline(always)]
pub(super) unsafe fn take(
    job: &Job<'_>,
    progress: &mut LaneProgress,
    own: LaneEnd<'_>,
) -> Result<bool, Box<Disagreement>> {
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
    progress.finish(own);
    Ok(true)
}

impl<'env> Collective<'env> {
    /// One that is still to be started.
    pub(super) fn new(job: Job<'env>) -> Self {
        Collective { progress: LaneProgress::NONE, job, stage: Stage::Done }
    }

    /// One of `port` that was [shown](show), and is not over.
    #[inline(always)]
    pub(super) fn of(job: Job<'env>, progress: LaneProgress) -> Self {
        Collective { progress, job, stage: Stage::Begun }
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

    /// It was [shown](show), by the port that it was made with.
    #[inline(always)]
    pub(super) fn start(&mut self, progress: LaneProgress) {
        self.progress = progress;
        self.stage = Stage::Begun;
    }
}

impl Running for Collective<'_> {
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        let Collective { progress, job, stage } = self;
        let WorkDesk { place, scratch, all, .. } = desk;
        let own = LaneEnd::of(place);
        if *stage == Stage::Begun && job.is_direct() {
            // SAFETY: shown, and not finished.
            if unsafe { take(job, progress, own) }.map_err(Failure::Disagrees)? {
                place.tell();
                *stage = Stage::Done;
            }
            return Ok(*stage == Stage::Done);
        }
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
            progress.finish(own);
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

    fn sig(&self) -> &'static Signature {
        self.job.call().sig()
    }

    fn quiesce(&self, at: &RankPlace) {
        if !self.job.is_brief() {
            self.progress.quiesce(at);
        }
    }
}
