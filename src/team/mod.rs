//! Teams: persistent pinned workers that run one closure on every rank.

mod attempt;
mod beginning;
mod binding;
mod block_counter;
mod builder;
mod chunks;
mod dispatch;
mod distributed_array;
mod external;
mod filled_memory;
mod handle;
mod mirrored_array;
mod per_rank;
mod record;
mod region;
mod run_body;
mod run_rank;
mod stall_warning;
mod taken_units;
#[cfg(test)]
mod tests;
mod worker;

pub use binding::Binding;
pub use builder::Builder;
pub use chunks::Chunks;
pub use distributed_array::DistributedArray;
pub use handle::Team;
pub use mirrored_array::MirroredArray;

use crate::Comm;
use crate::error::{Error, TryError};

/// Runs `f` on `ranks` ranks of a team that lives for this one call, and
/// returns what each rank returned, in rank order.
///
/// # Errors
/// - [`Error::Ranks`] for 0 ranks or more than [`MAX_RANKS`](crate::MAX_RANKS).
/// - Whatever ends the run: see [`Team::run`].
///
/// # Examples
/// ```
/// let sums = phalanx::run(4, |comm| {
///     let mut x = [comm.rank()];
///     comm.all_reduce(&mut x, phalanx::op::Sum);
///     x[0]
/// })?;
/// assert_eq!(sums, [6, 6, 6, 6]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[track_caller]
pub fn run<R: Send>(ranks: usize, f: impl Fn(&mut Comm) -> R + Sync) -> Result<Vec<R>, Error> {
    Team::builder().ranks(ranks).build()?.run(f)
}

/// As [`run`], of closures that return a `Result`: the first rank's error ends the run for all, and
/// is what the caller gets. See [`Team::try_run`].
///
/// # Errors
/// [`TryError::Rank`] with a rank's own error, [`TryError::Run`] with what [`run`] gives.
///
/// # Examples
/// ```
/// let rows = phalanx::try_run(3, |comm| {
///     let text = if comm.rank() == 0 { "12" } else { "7" };
///     let mut rows = [text.parse::<u64>()?];
///     comm.broadcast(&mut rows, 0);
///     Ok::<_, std::num::ParseIntError>(rows[0])
/// })?;
/// assert_eq!(rows, [12; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn try_run<T: Send, E: Send>(
    ranks: usize,
    f: impl Fn(&mut Comm) -> Result<T, E> + Sync,
) -> Result<Vec<T>, TryError<E>> {
    Team::builder().ranks(ranks).build()?.try_run(f)
}
