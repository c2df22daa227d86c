//! How long a wait may last.

use crate::error::Result;
use crate::interrupt::{Interrupt, Question};
use std::time::{Duration, Instant};

/// For so long at most a time between two looks counts: who looks many times a second, and has not
/// for longer, was stopped, perhaps together with those for which it waits.
const LONGEST: Duration = Duration::from_secs(1);

/// A time limit that a process's own stop does not use up.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Option<Duration>,
    spent: Duration,
    lost: Duration,
    looked: Instant,
    interrupt: Interrupt,
}

impl Patience {
    /// From now on; without a limit, for ever.
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        let (spent, lost, interrupt) = (Duration::ZERO, Duration::ZERO, Interrupt::new(None));
        Patience { limit, spent, lost, looked: Instant::now(), interrupt }
    }

    /// The program may end it.
    pub(crate) fn with(mut self, question: Question) -> Self {
        self.interrupt = Interrupt::new(question);
        self
    }

    /// An error, if the program ends the attachment of a rank.
    pub(crate) fn heed(&mut self, rank: usize) -> Result<()> {
        self.interrupt.end_attaching(rank)
    }

    /// What is left. To be asked many times a second.
    pub(crate) fn left(&mut self) -> Duration {
        let now = Instant::now();
        self.pass(now - self.looked);
        self.looked = now;
        self.limit.map_or(Duration::MAX, |limit| limit.saturating_sub(self.spent))
    }

    /// The time that has counted, at the last look.
    pub(crate) fn spent(&self) -> Duration {
        self.spent
    }

    fn pass(&mut self, time: Duration) {
        self.spent += time.min(LONGEST);
        self.lost += time.saturating_sub(LONGEST);
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.left().is_zero()
    }

    /// For the error: the limit, and the time that did not count.
    pub(crate) fn told(&self) -> String {
        let limit = format!("{} s", self.limit.unwrap_or_default().as_secs_f32());
        if self.lost.is_zero() {
            return limit;
        }
        let lost = self.lost.as_secs_f32();
        format!("{limit} (this process itself was stopped for {lost:.1} s, which do not count)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_does_not_count() {
        let mut patience = Patience::new(Some(Duration::from_secs(3)));
        patience.pass(Duration::from_millis(500));
        assert_eq!(patience.told(), "3 s");
        patience.pass(Duration::from_secs(3601));
        assert!(!patience.is_over());
        assert!(patience.told().contains("stopped for 3600.0 s"), "{}", patience.told());
        (0..20).for_each(|_| patience.pass(Duration::from_millis(90)));
        assert!(patience.is_over());
        assert!(!Patience::new(Some(Duration::MAX)).is_over() && !Patience::new(None).is_over());
    }
}
