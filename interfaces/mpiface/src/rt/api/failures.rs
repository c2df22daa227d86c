//! The failures among the requests that one call completes.

use super::arguments::StatusOut;
use crate::rt::error::{Error, Outcome};

/// The errors, by their places in the call's list of statuses, in that order.
#[derive(Default)]
pub(super) struct Failures(Vec<(usize, Error)>);

impl Failures {
    /// The request of this status has ended so.
    #[inline]
    pub(super) fn note(&mut self, place: usize, outcome: Outcome) {
        self.0.extend(outcome.err().map(|error| (place, error)));
    }

    /// Whether no request has failed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The result of the call, which has set so many statuses: if a request has failed, each status
    /// says how its own has ended. (Else that field stays as it is, as the standard has it.)
    pub(super) fn outcome(self, statuses: StatusOut, count: usize) -> Outcome {
        let Some((place, first)) = self.0.first() else { return Ok(()) };
        let mut failed = self.0.iter().peekable();
        for place in 0..count {
            let own = failed.next_if(|it| it.0 == place);
            statuses.at(place).set_error(own.map_or(0, |it| it.1.code));
        }
        Err(first.in_status(*place))
    }
}
