//! The line that made a call.

use super::CollectiveCall;
use std::panic::Location;

/// A value that has the line that made it: a [`call`](crate::call), a message, or a
/// [`PreparedCall`](crate::engine::PreparedCall).
pub trait Made {
    /// It, made at `at`.
    fn made_at(self, at: &'static Location<'static>) -> Self;
}

impl<K, D> Made for CollectiveCall<'_, K, D> {
    #[inline(always)]
    fn made_at(mut self, at: &'static Location<'static>) -> Self {
        self.said.at = at;
        self
    }
}
