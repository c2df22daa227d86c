//! The messages of a schedule as text, a line a step.

use phalanx::schedule::{Algorithm, Request, Unfit, trace};

/// For each step of `algorithm` its messages, `from>to`, by sender and receiver.
///
/// # Errors
/// [`Unfit`], as [`Algorithm::schedule`].
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// let call = Request::new(Operation::Broadcast, 4);
/// assert_eq!(phalanx_model::arcs(Algorithm::BC_HCUBE, &call)?, ["0>2", "0>1 2>3"]);
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
pub fn arcs(algorithm: Algorithm, call: &Request) -> Result<Vec<String>, Unfit> {
    let schedule = algorithm.schedule(call)?;
    let mut steps = vec![Vec::new(); schedule.steps()];
    for message in trace(&schedule) {
        steps[message.step - 1].push(format!("{}>{}", message.src, message.dst));
    }
    Ok(steps.into_iter().map(|arcs| arcs.join(" ")).collect())
}
