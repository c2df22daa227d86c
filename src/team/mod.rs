//! Teams: persistent pinned workers that run one closure on every rank.

mod builder;
mod dispatch;
mod external;
mod handle;
mod nodes;
mod per_rank;
mod run_rank;
#[cfg(test)]
mod tests;
mod worker;

pub use builder::Builder;
pub use handle::{Binding, Team};

use crate::Comm;
use crate::error::Error;

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
pub fn run<R: Send>(ranks: usize, f: impl Fn(&mut Comm) -> R + Sync) -> Result<Vec<R>, Error> {
    Team::builder().ranks(ranks).build()?.run(f)
}
