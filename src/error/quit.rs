//! The payload that a rank throws when it leaves a run that is over.

use super::Error;
use std::any::Any;

/// The payload that a rank throws to leave its closure when the run has ended for another
/// reason than a panic of its own. Thrown without calling the panic hook.
pub(crate) struct Quit {
    /// The run that is over: the world's id, and the run's number.
    pub(crate) of: (u64, u64),
    /// The error of the run that catches this.
    pub(crate) error: Option<Error>,
    /// The reason, for a catcher in another run.
    pub(crate) text: String,
}

/// The payload that a rank has thrown in run `of`, as an error; none if the rank left because
/// that run is over.
pub(crate) fn thrown(of: (u64, u64), rank: usize, payload: Box<dyn Any + Send>) -> Option<Error> {
    match payload.downcast::<Quit>() {
        Ok(quit) if quit.error.is_none() && quit.of != of => {
            let text = format!("(passed on from another run) {}", quit.text);
            Some(Error::panicked(rank, Box::new(text)))
        }
        Ok(quit) => quit.error,
        Err(payload) => Some(Error::panicked(rank, payload)),
    }
}
