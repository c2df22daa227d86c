//! Dispatch: jobs handed to workers that spin, or sleep without a time limit.
//! A wake-up that is lost makes the sleeper panic (`Sleeper::sleep` under loom).

use super::{Cell, read, write};
use crate::harness::{model, must_fail};
use crate::sync::Site::*;
use crate::wait::Wait;

#[derive(Clone, Copy)]
enum Job {
    Idle,
    /// Write the job's number to the cell of this worker.
    Work(*const [Cell; 2]),
    Stop,
}

// SAFETY: the cells outlive the job, or loom reports it.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// The bodies, for the real dispatch and for its mutants.
macro_rules! bodies {
    ($name:ident, $dispatch:path) => {
        mod $name {
            use super::*;
            use crate::wait::Wait;
            use crate::{sleepers, sync::Arc};
            use loom::thread;
            use $dispatch as library;

            /// Gives `workers` workers `jobs` jobs and stops them.
            pub(super) fn jobs(workers: usize, jobs: u64, wait: Wait) {
                jobs_for(workers, jobs, wait, Wait::Yield);
            }

            /// The same, of a caller that waits so.
            pub(super) fn jobs_for(workers: usize, jobs: u64, wait: Wait, caller: Wait) {
                sleepers::begin_with_heavy_fences(workers + 1);
                let (dispatch, bed, sleepers) = library::Dispatch::new(workers, Job::Idle, 0);
                let dispatch = Arc::new(dispatch);
                let threads: Vec<_> = sleepers
                    .into_iter()
                    .enumerate()
                    .map(|(me, sleeper)| {
                        let dispatch = dispatch.clone();
                        thread::spawn(move || {
                            sleepers::enter();
                            let mut seen = 0;
                            loop {
                                let epoch = dispatch.next(me, seen, &sleeper, wait, false);
                                assert_eq!(epoch, seen + 1, "a job is not skipped");
                                seen = epoch;
                                // SAFETY: it stays until this worker is done.
                                match dispatch.job(|job| unsafe { *job }) {
                                    Job::Idle => panic!("no job"),
                                    // SAFETY: the caller keeps the cells until
                                    // all are done, or loom reports it.
                                    Job::Work(cells) => write(unsafe { &(*cells)[me] }, epoch),
                                    Job::Stop => return sleepers::end(),
                                }
                                // SAFETY: this is the worker, once for each job.
                                unsafe { dispatch.done(me, epoch, &(10 * epoch)) };
                            }
                        })
                    })
                    .collect();
                let cells = [Cell::new(0), Cell::new(0)];
                for job in 1..=jobs {
                    // SAFETY: the only caller; all are done with the last job.
                    unsafe { dispatch.start(|place| *place = Job::Work(&cells)) };
                    dispatch.await_done(&bed, caller, false, None, |_| false);
                    for (worker, cell) in cells[..workers].iter().enumerate() {
                        assert_eq!(read(cell), job);
                        write(cell, 99);
                        // SAFETY: all are done with the job.
                        let result = unsafe { dispatch.result(worker, |place| *place) };
                        assert_eq!(result, 10 * job);
                    }
                }
                // SAFETY: as above.
                unsafe { dispatch.start(|place| *place = Job::Stop) };
                sleepers::end();
                threads.into_iter().for_each(|t| t.join().unwrap());
            }
        }
    };
}

bodies!(real, crate::dispatch);
bodies!(returning_late, crate::mutants::dispatch_returning_late);
bodies!(without_second_look, crate::mutants::dispatch_without_second_look);
bodies!(marking_once, crate::mutants::dispatch_marking_once);
bodies!(with_relaxed_swaps, crate::mutants::dispatch_with_relaxed_swaps);
bodies!(without_swaps, crate::mutants::dispatch_without_swaps);
bodies!(with_modelled_mark, crate::mutants::dispatch_with_modelled_mark);
bodies!(looking_early, crate::mutants::dispatch_looking_at_the_mark_early);
bodies!(marking_late, crate::mutants::dispatch_marking_after_the_look);

model! {
    two_jobs_and_stop; name: "dispatch: 2 jobs and stop, worker spins", ranks: 2, bound: None,
    floor: 1_000, catches: &[Epoch, Done], body: || real::jobs(1, 2, crate::wait::Wait::Yield)
}

model! {
    two_jobs_and_stop_asleep; name: "dispatch: 2 jobs and stop, worker sleeps", ranks: 2,
    bound: Some(3), floor: 1_000, catches: &[Epoch, Done],
    body: || real::jobs(1, 2, crate::wait::Wait::Park)
}

model! {
    a_caller_asleep; name: "dispatch: 1 job and stop, the caller sleeps", ranks: 2, bound: None,
    floor: 230, catches: &[Epoch, Done],
    body: || with_modelled_mark::jobs_for(1, 1, Wait::Yield, Wait::Park)
}

model! {
    stop_only; name: "dispatch: stop, worker sleeps", ranks: 2, bound: None, floor: 45,
    catches: &[Epoch], body: || real::jobs(1, 0, crate::wait::Wait::Park)
}

model! {
    two_workers; name: "dispatch: stop, 2 workers sleep", ranks: 3, bound: None, floor: 159_000,
    catches: &[Epoch], body: || real::jobs(2, 0, crate::wait::Wait::Park)
}

#[test]
fn a_result_after_its_flag_is_found() {
    must_fail("dispatch: result after the flag", None, "Causality violation", || {
        returning_late::jobs(1, 1, crate::wait::Wait::Yield)
    });
}

#[test]
fn lost_wake_ups_are_found() {
    must_fail("dispatch: no second look after the swap", None, "a wake-up was lost", || {
        without_second_look::jobs(1, 0, crate::wait::Wait::Park)
    });
    // A bug that this model found: the ring for job 1 comes late, when the
    // worker already sleeps for job 2, which is then started without a ring.
    must_fail("dispatch: bed marked once a wait", Some(3), "a wake-up was lost", || {
        marking_once::jobs(1, 1, crate::wait::Wait::Park)
    });
    must_fail("dispatch: swaps that do not synchronise", None, "a wake-up was lost", || {
        with_relaxed_swaps::jobs(1, 0, crate::wait::Wait::Park)
    });
    must_fail("dispatch: the mark read before done", Some(3), "a wake-up was lost", || {
        looking_early::jobs_for(1, 1, Wait::Yield, Wait::Park)
    });
    must_fail("dispatch: the mark set after the look", Some(3), "a wake-up was lost", || {
        marking_late::jobs_for(1, 1, Wait::Yield, Wait::Park)
    });
    must_fail("dispatch: stores and loads for swaps", None, "a wake-up was lost", || {
        without_swaps::jobs(1, 0, crate::wait::Wait::Park)
    });
}
