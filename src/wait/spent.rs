//! The time that a wait has lasted, without the stops of its own process.

use crate::sync::Instant;
use std::time::Duration;

/// For so long at most the time between two looks at the clock counts. A wait looks many times a
/// second; one that has not for longer was stopped (SIGSTOP, a suspended machine), and those for
/// which it waits perhaps with it.
const LONGEST: Duration = Duration::from_secs(1);

/// See the module documentation.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    time: Duration,
    looked: Instant,
}

impl Spent {
    /// From now on.
    pub(crate) fn new() -> Self {
        Spent { time: Duration::ZERO, looked: Instant::now() }
    }

    /// The time until now.
    pub(crate) fn time(&mut self) -> Duration {
        self.time = self.time.saturating_add(self.looked.elapsed().min(LONGEST));
        self.looked = Instant::now();
        self.time
    }
}
