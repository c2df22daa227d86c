//! What a layer needs that joins teams of several processes: calls that are steps of one call of
//! its own, waits for something outside of the process, and the end of a run for its own reasons.

use super::{Choice, Comm};
use crate::error::Error;
use crate::shared::{LongWait, Signature, Stop, Thread};
use crate::wait::{Backoff, Pause};
use std::panic::Location;
use std::time::Duration;

/// Nothing outside wakes a rank that waits for it: it has to look itself, at least so often.
const LONGEST_NAP: Duration = Duration::from_micros(200);

/// Until [`end_steps`] the communicator's collective calls are steps of one call of the layer's,
/// which `words` describe: ranks with words that differ are told so in the first step, before
/// memory is touched. (Messages and views compare as they always do. Counts of a step are not
/// compared: they have to follow from the words, or from data that all ranks got in an earlier
/// step.) Throws where no call can be made.
///
/// **Cost** calls in between take the way of forced algorithms: some 20 ns more each.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// let err = phalanx::run(2, |comm| {
///     engine::begin_steps(comm, &[7, comm.rank()]); // must be the same on all ranks
///     comm.barrier();
///     engine::end_steps(comm);
/// });
/// assert!(matches!(err, Err(phalanx::Error::Mismatch { .. })), "{err:?}");
/// ```
#[track_caller]
pub fn begin_steps(comm: &mut Comm, words: &[usize]) {
    static SIG: Signature = Signature::of::<()>("a call", "");
    if !comm.check_usable((&SIG, Location::caller())) {
        comm.nothing_to_return();
    }
    comm.step_fingerprint = Some(comm.port.varied(words, &[]));
    comm.slow_path = true;
}

/// The next calls are no steps.
///
/// # Examples
/// See [`begin_steps`].
pub fn end_steps(comm: &mut Comm) {
    comm.step_fingerprint = None;
    comm.slow_path = comm.choice != Choice::Auto;
}

/// Waits until `ready`, which an event outside of the process makes true (its words are given,
/// too). Spins, yields and naps (of 200 us at most) as every wait, moves what the thread has
/// started meanwhile, and throws if the run has ended.
///
/// # Errors
/// The team's deadline, if it has passed.
///
/// # Examples
/// ```
/// use phalanx::engine;
/// use std::time::{Duration, Instant};
/// phalanx::run(2, |comm| {
///     let start = Instant::now();
///     let mut has_come = || start.elapsed() > Duration::from_millis(1);
///     engine::wait_outside(comm, "another process", &mut has_come).unwrap();
/// })?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn wait_outside(
    comm: &mut Comm,
    what: &str,
    ready: &mut dyn FnMut() -> bool,
) -> Result<(), Duration> {
    let port = &comm.port;
    let (shared, run, wait) = (port.shared().clone(), port.run(), port.wait_policy());
    let (world, me) = (shared.world(), shared.member(port.rank()));
    let mut patience = Backoff::new(wait, None);
    loop {
        let looks = if world.is_crowded() { 1 } else { patience.looks() };
        if (0..looks).any(|_| ready()) {
            return Ok(());
        }
        // Another rank of the team may wait for what this one has started on a part of it.
        Thread::here().go_on();
        if world.is_poisoned(run) || world.hear_cancel(me, run) {
            comm.stop_for_good(Stop::Poisoned);
        }
        if let Some(outer) = Thread::here().outer_over(world) {
            comm.stop_for_good(Stop::Outer(outer));
        }
        if patience.is_over(world.deadline()) {
            return Err(world.deadline().unwrap_or_default());
        }
        if patience.stalls(world.stall_warning()) {
            world.warn_of_stall(LongWait::Outside { rank: me, what }, run);
        }
        if let Pause::Nap(nap) = patience.pause() {
            crate::sync::sleep(nap.min(LONGEST_NAP));
        }
    }
}

/// Ends the run with `error`, and throws.
///
/// # Examples
/// ```
/// use phalanx::{Error, engine};
/// let err = phalanx::run(2, |comm| {
///     let (rank, what) = (comm.rank(), "node 3 is gone".to_string());
///     engine::end_run(comm, Error::Outside { rank, site: None, what })
/// });
/// assert!(err.unwrap_err().to_string().contains("node 3 is gone"));
/// ```
pub fn end_run(comm: &mut Comm, error: Error) -> ! {
    comm.end_run(error, None);
    comm.nothing_to_return()
}

/// Why the run has ended, if it has and that is known.
///
/// # Examples
/// ```
/// phalanx::run(2, |comm| assert_eq!(phalanx::engine::cause(comm), None))?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn cause(comm: &Comm) -> Option<String> {
    comm.port.shared().world().cause(comm.port.run())
}

/// The longest that a rank of the team waits in a call: [`Team::deadline`](crate::Team::deadline),
/// also of threads of the program's own.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let builder = phalanx::Team::builder().ranks(1).deadline(Duration::from_secs(5));
/// let comms = builder.external()?;
/// assert_eq!(phalanx::engine::deadline(&comms[0]), Some(Duration::from_secs(5)));
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn deadline(comm: &Comm) -> Option<Duration> {
    comm.port.shared().world().deadline()
}
