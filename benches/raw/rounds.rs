//! Rounds of measurements until their time is over, the same number on all ranks.

use phalanx::Comm;
use std::time::{Duration, Instant};

pub(crate) struct Rounds {
    start: Instant,
    time: Duration,
    /// Rounds that have begun.
    pub(crate) begun: u64,
}

impl Rounds {
    pub(crate) fn new(time: Duration) -> Self {
        Rounds { start: Instant::now(), time, begun: 0 }
    }

    /// Whether there is another round, as rank 0 says; the first there always is.
    pub(crate) fn next(&mut self, comm: &mut Comm) -> bool {
        let mut go = [self.start.elapsed() < self.time || self.begun == 0];
        comm.broadcast(&mut go, 0);
        self.begun += u64::from(go[0]);
        go[0]
    }
}
