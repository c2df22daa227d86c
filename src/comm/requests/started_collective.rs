//! A started collective.

use super::open::{Failure, Running, Whose};
use crate::exec::board::started::{Job, WorkDesk};
use crate::fabric::{
    Disagreement, LaneCall, LaneEnd, LaneProgress, Owed, Place, Port, Signature, StartedCall, Stop,
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
    lane: LaneCall,
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
    pub(super) fn new(port: &Port, job: Job<'env>) -> Self {
        let lane = LaneCall::new(port, job.call().sig(), job.call().at());
        Collective { lane, job, stage: Stage::Done }
    }

    /// One of `port` that was [shown](show), and is not over.
    #[inline(always)]
    pub(super) fn of(port: &Port, job: Job<'env>, progress: LaneProgress) -> Self {
        Collective { lane: LaneCall::of(port, progress), job, stage: Stage::Begun }
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
        self.lane.start(progress);
        self.stage = Stage::Begun;
    }
}

impl Running for Collective<'_> {
    fn advance(&mut self, desk: &mut WorkDesk) -> Result<bool, Failure> {
        let Collective { lane, job, stage } = self;
        if *stage == Stage::Begun && job.is_direct() {
            // SAFETY: shown, and not finished.
            let is_over = unsafe { lane.go_on(|progress, own| take(job, progress, own)) };
            if is_over.map_err(Failure::Disagrees)? {
                lane.tell();
                *stage = Stage::Done;
            }
            return Ok(*stage == Stage::Done);
        }
        if *stage == Stage::Begun {
            if !lane.have_all_begun().map_err(Failure::Disagrees)? {
                return Ok(false);
            }
            if lane.has_left() {
                return Err(Failure::Over);
            }
            let WorkDesk { scratch, all, .. } = desk;
            // SAFETY: they have, and agree; this rank has neither finished nor left, so everybody
            // keeps what it shows.
            unsafe {
                lane.addresses(job.is_beside(), all);
                if job.counts_shown().is_some() {
                    lane.add_rooms(all);
                    if let Some(unequal) = job.unequal(all) {
                        return Err(Failure::Disagrees(lane.unequal(unequal)));
                    }
                }
            }
            // SAFETY: as above; and this rank's peers touch nothing but their parts of it.
            let work = || unsafe { job.work(all, scratch) };
            catch_unwind(AssertUnwindSafe(|| lane.in_user_code(work)))
                .map_err(Failure::Panicked)?;
            lane.finish();
            *stage = if job.is_brief() { Stage::Done } else { Stage::Finished };
        }
        if *stage == Stage::Finished && lane.have_all_finished() {
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

    fn place(&self) -> Place {
        self.lane.place()
    }

    fn awaited(&self) -> usize {
        self.lane.awaited()
    }

    fn left(&self) -> Option<usize> {
        self.lane.left()
    }

    fn blame(&self, port: &mut Port) {
        self.lane.blame(port);
    }

    fn sig(&self) -> &'static Signature {
        self.lane.sig()
    }

    fn whose(&self) -> Whose {
        (self.lane.fabric().clone(), self.lane.rank(), self.lane.run())
    }

    fn give_up(&self) {
        self.lane.give_up();
    }

    fn quiesce(&self) {
        if !self.job.is_brief() {
            self.lane.quiesce();
        }
    }
}
