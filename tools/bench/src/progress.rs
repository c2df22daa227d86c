//! A progress line on the standard error, if it is a terminal: how far a long step is, and how long
//! the rest will take.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The time between two lines of one step.
const BETWEEN_LINES: Duration = Duration::from_millis(250);
/// Nothing is said of the time that is left before so much has passed: it would be a guess.
const FIRST_GUESS: Duration = Duration::from_secs(2);

/// A line that is overwritten; silent where the standard error is no terminal.
#[derive(Debug)]
pub struct Progress {
    shown: bool,
    clock: StepClock,
    what: String,
    said: Option<Instant>,
    begun: Instant,
}

impl Progress {
    /// For `total` steps, of which each takes as long as any other.
    pub fn new(total: usize) -> Self {
        Self::of(vec![1.0; total], None)
    }

    /// For steps that are expected to take so many seconds each.
    pub fn timed(seconds: Vec<f64>) -> Self {
        let all = seconds.iter().sum();
        Self::of(seconds, Some(all))
    }

    fn of(weights: Vec<f64>, expected: Option<f64>) -> Self {
        let clock = StepClock { weights, expected, step: 0, part: 0.0 };
        let (shown, begun) = (std::io::stderr().is_terminal(), Instant::now());
        Progress { shown, clock, what: String::new(), said: None, begun }
    }

    /// Starts the next step.
    pub fn step(&mut self, what: &str) {
        self.clock.step += 1;
        self.clock.part = 0.0;
        if self.shown {
            self.what = what.to_string();
            self.show();
        }
    }

    /// Says how much of the current step is done, from 0 to 1. To be called as often as one likes.
    pub fn part(&mut self, part: f64) {
        self.clock.part = part.clamp(0.0, 1.0);
        if self.shown && self.said.is_none_or(|said| said.elapsed() >= BETWEEN_LINES) {
            self.show();
        }
    }

    fn show(&mut self) {
        let line = self.clock.line(&self.what, self.begun.elapsed());
        let _: Result<_, _> = write!(std::io::stderr(), "\r\x1b[K{line}");
        self.said = Some(Instant::now());
    }

    /// Removes the line, so that something else can be printed.
    pub fn clear(&self) {
        if self.shown {
            let _: Result<_, _> = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// How far the steps are.
#[derive(Debug)]
struct StepClock {
    /// Of each step: its time, compared with the others.
    weights: Vec<f64>,
    /// Seconds of all, where they are known before the first.
    expected: Option<f64>,
    /// The current one, from 1.
    step: usize,
    /// How much of it is done.
    part: f64,
}

impl StepClock {
    /// The line after `passed`.
    fn line(&self, what: &str, passed: Duration) -> String {
        let left = match self.left(passed) {
            Some(left) => format!(", {} left", rough(left)),
            None => String::new(),
        };
        format!("[{}/{}] {what}{left}", self.step, self.weights.len())
    }

    /// The time that the rest takes if it goes on as it did.
    fn left(&self, passed: Duration) -> Option<Duration> {
        let before = self.step.saturating_sub(1).min(self.weights.len());
        let all: f64 = self.weights.iter().sum();
        let current = self.weights.get(before).copied().unwrap_or(0.0);
        let done = self.weights[..before].iter().sum::<f64>() + self.part * current;
        let guess = (done > 0.0 && passed >= FIRST_GUESS)
            .then(|| passed.as_secs_f64() * (all - done) / done);
        let seconds = guess.or(self.expected.map(|expected| expected - passed.as_secs_f64()))?;
        Duration::try_from_secs_f64(seconds.max(0.0)).ok()
    }
}

/// In words, no more exact than a guess is.
fn rough(time: Duration) -> String {
    match time.as_secs() {
        0..=9 => format!("{} s", time.as_secs().max(1)),
        s @ 10..=89 => format!("{} s", s.next_multiple_of(5)),
        s @ 90..=5399 => format!("{} min", s.div_ceil(60)),
        s => format!("{:.1} h", s as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(step: usize, part: f64, expected: Option<f64>) -> StepClock {
        StepClock { weights: vec![1.0, 1.0, 2.0], expected, step, part }
    }

    #[test]
    fn the_rest_takes_as_long_as_what_was_done() {
        let after = |s| Duration::from_secs(s);
        // Nothing is done, or too little to say.
        assert_eq!(clock(1, 0.0, None).line("a", after(60)), "[1/3] a");
        assert_eq!(clock(2, 0.0, None).line("b", after(1)), "[2/3] b");
        assert_eq!(clock(2, 0.0, None).line("b", after(6)), "[2/3] b, 20 s left");
        assert_eq!(clock(3, 0.5, None).line("c", after(360)), "[3/3] c, 2 min left");
        // The expected time counts until there is something to go by.
        assert_eq!(clock(1, 0.0, Some(40.0)).line("a", after(0)), "[1/3] a, 40 s left");
        assert_eq!(clock(2, 0.0, Some(40.0)).line("b", after(20)), "[2/3] b, 60 s left");
        // More steps than were said.
        assert_eq!(clock(4, 0.0, None).line("d", after(60)), "[4/3] d, 1 s left");
    }

    #[test]
    fn times_are_told_roughly() {
        let said = |s| rough(Duration::from_secs(s));
        assert_eq!([0, 7, 12, 100, 7200].map(said), ["1 s", "7 s", "15 s", "2 min", "2.0 h"]);
    }
}
