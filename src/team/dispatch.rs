//! Dispatch: the caller of `run` starts the workers, and learns that they are done.
//!
//! | word | writer | reader | meaning |
//! |---|---|---|---|
//! | `epoch` | caller | workers | number of the latest job |
//! | `job` | caller, while all workers are done | workers in that epoch | what to run |
//! | `done` (one a worker) | worker | caller | number of the last job it finished |
//! | `result` (beside `done`) | worker, before `done` | caller, after that | what it returns |
//! | `sleep_word` (one a worker) | both, by swap | both | whether the worker sleeps |
//!
//! `epoch` publishes the job, `done` publishes the worker's results; both are
//! Release stores met by Acquire loads.
//!
//! **The one RMW.** A worker may sleep for hours, so unlike a rank in a
//! collective it sleeps without a time limit, and a wake-up must not be lost.
//! The worker swaps `sleep_word` to `ASLEEP`, looks at `epoch` again, and parks, and
//! does all three again whenever something wakes it; the
//! caller stores `epoch`, then swaps `sleep_word` to `AWAKE` and rings if it was
//! `ASLEEP`. Both swaps are on one word, so one comes first: if it is the
//! caller's, the worker's swap reads it, synchronises with it and sees the new
//! epoch; if it is the worker's, the caller sees `ASLEEP` and rings. A plain
//! store and load on each side would need a sequentially consistent fence.
//!
//! **The caller's sleep.** A worker must not pay for a caller that is awake, so the caller has no
//! such word but a [`Mark`] for each worker: it sets the mark, looks at `done` again, and naps; the
//! worker stores `done`, and rings if it finds the mark set. Naps end by themselves all the same,
//! as the caller may have something to do meanwhile.

use crate::sync::{AtomicU32, AtomicU64, Ordering, Site, UnsafeCell, consume, publish};
use crate::wait::{Backoff, Mark, Occasion, Pause, Sleeper, Wait, Waker, sleeper_pair};
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::time::Duration;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

struct WorkerSlot<R> {
    /// In a line of its own: the caller swaps `sleep_word` while the worker may still
    /// have the line of its last `done`.
    done: CachePadded<DoneTicket<R>>,
    sleep_word: AtomicU32,
    waker: Waker,
    /// Whether the caller sleeps until this worker is done. In a line that is hardly ever written.
    mark: CachePadded<Mark>,
}

/// What a worker has to fetch to begin: in one line, if the job is small; else what comes last in
/// the job is in the next.
#[repr(C)]
struct JobTicket<J> {
    epoch: AtomicU64,
    job: UnsafeCell<J>,
}

/// What the caller has to fetch at the end: in one line, if the result is small.
struct DoneTicket<R> {
    done: AtomicU64,
    result: UnsafeCell<R>,
}

/// See the module documentation. `J` is what a job is, `R` what a worker returns.
pub(crate) struct Dispatch<J, R> {
    order: CachePadded<JobTicket<J>>,
    seats: Box<[CachePadded<WorkerSlot<R>>]>,
    /// Wakes the caller.
    waker: Waker,
}

/// Where the caller sleeps.
pub(crate) struct CallerSleep {
    sleeper: Sleeper,
    /// Whether it has set a mark that may still be set.
    has_marked: Cell<bool>,
}

// SAFETY: `job` is written by the caller only while every worker is done with
// the epoch before, and read by workers only in their epoch; `result` is written
// by its worker in its epoch, and read by the caller after that (module
// documentation).
unsafe impl<J: Send + Sync, R: Send> Sync for Dispatch<J, R> {}
// SAFETY: nothing here is tied to a thread but the workers' own beds.
unsafe impl<J: Send + Sync, R: Send> Send for Dispatch<J, R> {}

impl<J: Copy, R: Copy> Dispatch<J, R> {
    /// For `workers` workers; `idle` and `none` fill the places of job and results until there are
    /// some. Beside it the sleeps of the caller and of the workers.
    pub(crate) fn new(workers: usize, idle: J, none: R) -> (Self, CallerSleep, Vec<Sleeper>) {
        let (sleepers, seats) = (0..workers)
            .map(|_| {
                let (sleeper, waker) = sleeper_pair();
                let (done, result) = (AtomicU64::new(0), UnsafeCell::new(none));
                let done = CachePadded::new(DoneTicket { done, result });
                let mark = CachePadded::new(Mark::new(false));
                let seat = WorkerSlot { done, sleep_word: AtomicU32::new(AWAKE), waker, mark };
                (sleeper, CachePadded::new(seat))
            })
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let (sleeper, waker) = sleeper_pair();
        let dispatch = Dispatch {
            order: CachePadded::new(JobTicket {
                epoch: AtomicU64::new(0),
                job: UnsafeCell::new(idle),
            }),
            seats: seats.into(),
            waker,
        };
        (dispatch, CallerSleep { sleeper, has_marked: Cell::new(false) }, sleepers)
    }

    /// Starts a job on every worker: the one that `write` leaves.
    ///
    /// # Safety
    /// - One thread at a time acts as the caller, and it has seen all workers
    ///   done with the job before ([`await_done`](Dispatch::await_done)): none
    ///   reads it until the next epoch.
    #[inline(always)]
    pub(crate) unsafe fn start(&self, write: impl FnOnce(*mut J)) {
        self.order.job.with_mut(write);
        let epoch = self.order.epoch.load(Ordering::Relaxed) + 1;
        // Ordering: publishes the job; pairs with the loads in `next`.
        self.order.epoch.store(epoch, publish(Site::Epoch));
        for seat in &self.seats {
            // See "The one RMW" above.
            if seat.sleep_word.swap(AWAKE, Ordering::AcqRel) == ASLEEP {
                seat.waker.wake();
            }
        }
    }

    /// Waits, as worker `worker`, for the job after number `seen`, and returns its number.
    /// `crowded`: workers outnumbered cores in that one.
    pub(crate) fn next(
        &self,
        worker: usize,
        seen: u64,
        sleeper: &Sleeper,
        wait: Wait,
        crowded: bool,
    ) -> u64 {
        let seat = &self.seats[worker];
        let come = || {
            // Ordering: pairs with the store in `start`.
            let epoch = self.order.epoch.load(consume(Site::Epoch));
            (epoch != seen).then_some(epoch)
        };
        let mut patience = Backoff::new(wait, crowded.then_some(Occasion::Together));
        loop {
            if let Some(epoch) = (0..patience.looks()).find_map(|_| come()) {
                return epoch;
            }
            if let Pause::Nap(_) = patience.pause() {
                loop {
                    // Before every sleep: the ring for the job before may come
                    // late, end this sleep, and have set `sleep_word` to AWAKE.
                    seat.sleep_word.swap(ASLEEP, Ordering::AcqRel);
                    if come().is_some() {
                        break;
                    }
                    sleeper.sleep();
                }
                seat.sleep_word.swap(AWAKE, Ordering::AcqRel);
            }
        }
    }

    /// Reads the job that `next` has found: it stays until [`done`](Dispatch::done).
    #[inline(always)]
    pub(crate) fn job<T>(&self, read: impl FnOnce(*const J) -> T) -> T {
        self.order.job.with(read)
    }

    /// Declares worker `worker` done with job `epoch`.
    ///
    /// The result is written here, and not by the job: in between the caller, who looks at the
    /// line, would have taken it away.
    ///
    /// # Safety
    /// The calling thread is the worker, which has not said so before.
    #[inline(always)]
    pub(crate) unsafe fn done(&self, worker: usize, epoch: u64, result: &R) {
        let seat = &self.seats[worker];
        let ticket = &seat.done;
        // SAFETY: the caller reads it after this job's end, and before it starts the next.
        ticket.result.with_mut(|place| unsafe { *place = *result });
        // Ordering: publishes all that the worker did; pairs with the load in
        // `await_done`.
        ticket.done.store(epoch, publish(Site::Done));
        if seat.mark.is_set() {
            self.waker.wake();
        }
    }

    /// Reads the result of worker `worker`.
    ///
    /// # Safety
    /// The calling thread is the caller, which has awaited the end of the latest job.
    #[inline(always)]
    pub(crate) unsafe fn result<T>(&self, worker: usize, read: impl FnOnce(*const R) -> T) -> T {
        self.seats[worker].done.result.with(read)
    }

    /// Waits until every worker is done with the latest job, and sleeps as `sleep` says, which came
    /// with this dispatch. `crowded` as in [`next`](Dispatch::next). Calls `meanwhile` again and
    /// again, which says whether it may soon have something to do; once with the worker, when the
    /// wait for it has lasted for `limit`.
    #[inline(always)]
    pub(crate) fn await_done(
        &self,
        sleep: &CallerSleep,
        wait: Wait,
        crowded: bool,
        limit: Option<Duration>,
        meanwhile: impl Fn(Option<usize>) -> bool,
    ) {
        if !self.seats.is_empty() {
            self.await_workers(sleep, wait, crowded, limit, &meanwhile);
        }
    }

    fn await_workers(
        &self,
        sleep: &CallerSleep,
        wait: Wait,
        crowded: bool,
        limit: Option<Duration>,
        meanwhile: &dyn Fn(Option<usize>) -> bool,
    ) {
        let epoch = self.order.epoch.load(Ordering::Relaxed);
        let mut longest = SHORT;
        for (worker, seat) in self.seats.iter().enumerate() {
            let mut patience = Backoff::new(wait, crowded.then_some(Occasion::Together));
            // Ordering: pairs with the store in `done`.
            let done = || seat.done.done.load(consume(Site::Done)) == epoch;
            while !(0..patience.looks()).any(|_| done()) {
                let is_busy = meanwhile(patience.stalls(limit).then_some(worker));
                if let Pause::Nap(nap) = patience.pause() {
                    // A run may last for years; and nothing may unwind here, while workers run.
                    longest = if is_busy { SHORT } else { longest };
                    sleep.has_marked.set(true);
                    let is_surely_woken = seat.mark.set();
                    if !done() {
                        sleep.sleeper.nap(nap.min(longest));
                    }
                    longest = longest.saturating_mul(2);
                    if !is_surely_woken {
                        seat.mark.clear();
                    }
                }
            }
        }
        if sleep.has_marked.get() {
            self.fade(sleep);
        }
    }

    /// Marks whose waits do not end in sleep any more cost their workers nothing.
    #[cold]
    #[inline(never)]
    fn fade(&self, sleep: &CallerSleep) {
        sleep.has_marked.set(self.seats.iter().fold(false, |any, seat| seat.mark.fade() | any));
    }
}

/// The first naps of a caller, and all while it has something to do.
const SHORT: Duration = Duration::from_micros(50);

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_has_slept_marks_its_workers_until_waits_are_short() {
        crate::wait::know_cores(1); // As a team does: so that marks are seen.
        let (dispatch, sleep, _beds) = Dispatch::new(1, (), ());
        for job in 1..=17 {
            // SAFETY: this thread is the caller, and the worker is done with the job before.
            unsafe { dispatch.start(|_| ()) };
            let is_done = Cell::new(false);
            let work = |_: Option<usize>| {
                if !is_done.replace(true) {
                    // SAFETY: this thread is the worker.
                    unsafe { dispatch.done(0, job, &()) };
                }
                false
            };
            // The first job is done as late as the caller is about to sleep.
            if job > 1 {
                work(None);
            }
            dispatch.await_done(&sleep, Wait::Park, false, None, work);
            let are_set = [sleep.has_marked.get(), dispatch.seats[0].mark.is_set()];
            assert_eq!(are_set, [job < 16; 2], "{job}");
        }
    }
}
