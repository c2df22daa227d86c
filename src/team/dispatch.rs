//! Dispatch: the caller of `run` starts the workers, and learns that they are done.
//!
//! | word | writer | reader | meaning |
//! |---|---|---|---|
//! | `epoch` | caller | workers | number of the latest job |
//! | `job` | caller, while all workers are done | workers in that epoch | what to run |
//! | `done` (one a worker) | worker | caller | number of the last job it finished |
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

use crate::sync::{AtomicU32, AtomicU64, Ordering, Site, UnsafeCell, consume, publish};
use crate::wait::{Backoff, Occasion, Pause, Sleeper, Wait, Waker, sleeper_pair};
use crossbeam_utils::CachePadded;
use std::time::Duration;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

struct WorkerSlot {
    /// In a line of its own: the caller swaps `sleep_word` while the worker may still
    /// have the line of its last `done`.
    done: CachePadded<AtomicU64>,
    sleep_word: AtomicU32,
    waker: Waker,
}

/// What a worker has to fetch to begin: in one line, if the job is small.
struct JobTicket<J> {
    epoch: AtomicU64,
    job: UnsafeCell<J>,
}

/// See the module documentation. `J` is what a job is.
pub(crate) struct Dispatch<J> {
    order: CachePadded<JobTicket<J>>,
    seats: Box<[CachePadded<WorkerSlot>]>,
}

// SAFETY: `job` is written by the caller only while every worker is done with
// the epoch before, and read by workers only in their epoch (module
// documentation).
unsafe impl<J: Send + Sync> Sync for Dispatch<J> {}
// SAFETY: nothing here is tied to a thread but the workers' own beds.
unsafe impl<J: Send + Sync> Send for Dispatch<J> {}

impl<J: Copy> Dispatch<J> {
    /// For `workers` workers; `idle` fills the job's place until there is one.
    pub(crate) fn new(workers: usize, idle: J) -> (Self, Vec<Sleeper>) {
        let (sleepers, seats) = (0..workers)
            .map(|_| {
                let (sleeper, waker) = sleeper_pair();
                let done = CachePadded::new(AtomicU64::new(0));
                let seat = WorkerSlot { done, sleep_word: AtomicU32::new(AWAKE), waker };
                (sleeper, CachePadded::new(seat))
            })
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let dispatch = Dispatch {
            order: CachePadded::new(JobTicket {
                epoch: AtomicU64::new(0),
                job: UnsafeCell::new(idle),
            }),
            seats: seats.into(),
        };
        (dispatch, sleepers)
    }

    /// Starts `job` on every worker.
    ///
    /// # Safety
    /// - One thread at a time acts as the caller, and it has seen all workers
    ///   done with the job before ([`await_done`](Dispatch::await_done)).
    pub(crate) unsafe fn start(&self, job: J) {
        // SAFETY: no worker reads the job between being done and the next
        // epoch.
        self.order.job.with_mut(|j| unsafe { *j = job });
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

    /// Waits, as worker `worker`, for the job after number `seen`. `crowded`: workers outnumbered
    /// cores in that one.
    pub(crate) fn next(
        &self,
        worker: usize,
        seen: u64,
        sleeper: &Sleeper,
        wait: Wait,
        crowded: bool,
    ) -> (u64, J) {
        let seat = &self.seats[worker];
        let come = || {
            // Ordering: pairs with the store in `start`.
            let epoch = self.order.epoch.load(consume(Site::Epoch));
            (epoch != seen).then_some(epoch)
        };
        let mut patience = Backoff::new(wait, crowded.then_some(Occasion::Together));
        let epoch = loop {
            if let Some(epoch) = (0..patience.looks()).find_map(|_| come()) {
                break epoch;
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
        };
        // SAFETY: the caller writes the job again only after this worker's
        // `done`.
        (epoch, self.order.job.with(|j| unsafe { *j }))
    }

    /// Declares worker `worker` done with job `epoch`.
    pub(crate) fn done(&self, worker: usize, epoch: u64) {
        // Ordering: publishes all that the worker did; pairs with the load in
        // `await_done`.
        self.seats[worker].done.store(epoch, publish(Site::Done));
    }

    /// Waits until every worker is done with the latest job. `crowded` as in
    /// [`next`](Dispatch::next). Calls `meanwhile` again and again, which says whether it may soon
    /// have something to do; once with the worker, when the wait for it has lasted for `limit`.
    #[inline(always)]
    pub(crate) fn await_done(
        &self,
        wait: Wait,
        crowded: bool,
        limit: Option<Duration>,
        meanwhile: impl Fn(Option<usize>) -> bool,
    ) {
        if !self.seats.is_empty() {
            self.await_workers(wait, crowded, limit, &meanwhile);
        }
    }

    fn await_workers(
        &self,
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
            let done = || seat.done.load(consume(Site::Done)) == epoch;
            while !(0..patience.looks()).any(|_| done()) {
                let is_busy = meanwhile(patience.stalls(limit).then_some(worker));
                if let Pause::Nap(nap) = patience.pause() {
                    nap_for(nap.min(longest));
                    // A run may last for years; and nothing may unwind here, while workers run.
                    longest = if is_busy { SHORT } else { longest.saturating_mul(2) };
                }
            }
        }
    }
}

/// The first naps of a caller, and all while it has something to do.
const SHORT: Duration = Duration::from_micros(50);

/// The caller has no [`Sleeper`] of its own (each run may come from another thread);
/// it sleeps by the clock. Only runs that take long get here.
#[cfg(not(loom))]
fn nap_for(nap: Duration) {
    crate::sync::sleep(nap);
}

#[cfg(loom)]
fn nap_for(_: Duration) {
    crate::sync::yield_now();
}
