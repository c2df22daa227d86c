//! Calls of a layer that joins teams of several processes: steps on each, and waits in between.

use crate::Comm;
use crate::error::Error;
use std::time::Duration;

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
    comm.begin_steps(words);
}

/// The next calls are no steps.
///
/// # Examples
/// See [`begin_steps`].
pub fn end_steps(comm: &mut Comm) {
    comm.end_steps();
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
    comm.wait_outside(what, &mut || ready())
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
    comm.end_run_outside(error)
}

/// Why the run has ended, if it has and that is known.
///
/// # Examples
/// ```
/// phalanx::run(2, |comm| assert_eq!(phalanx::engine::cause(comm), None))?;
/// # Ok::<(), phalanx::Error>(())
/// ```
pub fn cause(comm: &Comm) -> Option<String> {
    comm.cause()
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
    comm.deadline()
}
