//! For a layer that joins teams of several processes.

use crate::comm::Vectorised;
use crate::dist::{Partial, Products};
use crate::element::Element;
use crate::error::Error;
use crate::op::Operator;
use crate::{Comm, Peers, Team};
use std::ops::Mul;
use std::time::Duration;

/// Until [`end_steps`] the communicator's collective calls are steps of one call of the layer's,
/// which `words` describe: ranks whose words differ are told so in the first step, before memory is
/// touched. (Messages and views compare what they always do. Counts of a step are not compared:
/// they have to follow from the words, or from what all ranks got in an earlier step.) Throws where
/// no call can be made.
#[track_caller]
pub fn begin_steps(comm: &mut Comm, words: &[usize]) {
    comm.begin_steps(words);
}

/// The next calls are no steps.
pub fn end_steps(comm: &mut Comm) {
    comm.end_steps();
}

/// Waits until `ready`, which something outside of the process makes true, `what` in words. Spins,
/// yields and naps as every wait, moves what the thread has started meanwhile, and throws if the
/// run has ended.
///
/// # Errors
/// The team's deadline, if it has passed.
pub fn wait_outside(
    comm: &mut Comm,
    what: &str,
    ready: &mut dyn FnMut() -> bool,
) -> Result<(), Duration> {
    comm.wait_outside(what, ready)
}

/// Ends the run with `error`, and throws.
pub fn end_run(comm: &mut Comm, error: Error) -> ! {
    comm.end_run_outside(error)
}

/// Why the run has ended, if it has and that is known.
pub fn cause(comm: &Comm) -> Option<String> {
    comm.cause()
}

/// The longest that a rank of the team waits in a call.
pub fn deadline(comm: &Comm) -> Option<Duration> {
    comm.deadline()
}

/// Calls `f` with these slices as those of the ranks.
pub fn with_parts<T, R>(parts: &[&[T]], f: impl for<'a> FnOnce(Peers<'a, T>) -> R) -> R {
    Peers::of_parts(parts, f)
}

/// The longest that a rank of the team waits in a call.
pub fn deadline_of_team(team: &Team) -> Option<Duration> {
    team.deadline()
}

/// What elements from `start` on contribute to a reduction in fixed order.
pub fn partial<T: Element>(x: &[T], start: usize, op: &impl Operator<T>) -> Partial<T> {
    Partial::new(&Vectorised(x), start, op)
}

/// The same of the products of two slices.
pub fn partial_of_products<T: Element + Mul<Output = T>>(
    x: &[T],
    y: &[T],
    start: usize,
    op: &impl Operator<T>,
) -> Partial<T> {
    Partial::new(&Vectorised(Products(x, y)), start, op)
}
