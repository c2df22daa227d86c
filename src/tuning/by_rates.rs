//! The cheapest algorithm where a message of m words takes t_s + t_w m between any two ranks.

use crate::schedule::{Algorithm, Load, MOST_SEGMENTS, Request, Schedule};
use crate::sorted::Arrange;

/// The times of a message, the same between any two ranks.
///
/// # Examples
/// ```
/// use phalanx::tuning::Rates;
/// let rates = Rates { t_s: 100.0, t_w: 1.0, ports: 1 };
/// assert_eq!(rates.ports, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The start-up time of a message.
    pub t_s: f64,
    /// The time per word, in the same unit.
    pub t_w: f64,
    /// How many messages a rank can have under way in each direction.
    /// Algorithms that want more are left out.
    pub ports: usize,
}

/// The algorithms that can serve a request on `m` words, the cheapest first; with equal times the
/// one with fewer start-ups, then by the order of the catalogue. Pipelined chains have their best
/// number of segments.
///
/// Counts the messages of every schedule, at most p a step and rank.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx::tuning::{Rates, cheapest};
/// let rates = Rates { t_s: 100.0, t_w: 1.0, ports: 1 };
/// let call = Request::new(Operation::AllToAll, 16);
/// let best = |m| cheapest(&call, m, rates)[0];
/// // The crossover is at 0.647 t_s/t_w, or 64.7 words.
/// assert_eq!((best(64.0), best(65.0)), (Algorithm::TX_HCUBE, Algorithm::TX_HCUBE_XOR));
/// ```
pub fn cheapest(request: &Request, m: f64, rates: Rates) -> Vec<Algorithm> {
    let builders = request.operation.builders();
    let timed = |algorithm: Algorithm| {
        let mut request = request.clone();
        let is_chain = matches!(algorithm, Algorithm::BC_CHAIN | Algorithm::RED_CHAIN);
        if is_chain && request.segments.is_none() {
            request.segments = Some(best_segments(request.ranks, m, rates.t_s, rates.t_w));
        }
        let schedule = algorithm.schedule_by(builders, &request).ok()?;
        if schedule.ports() > rates.ports {
            return None;
        }
        let (startups, words) = count(&schedule);
        Some((rates.t_s * startups as f64 + rates.t_w * words * m, startups, algorithm))
    };
    let mut all: Vec<_> = Algorithm::for_operation(request.operation).filter_map(timed).collect();
    all.arrange_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.into_iter().map(|(_, _, algorithm)| algorithm).collect()
}

/// Start-ups, and words in units of m.
fn count(schedule: &Schedule) -> (usize, f64) {
    let (mut startups, mut blocks) = (0, 0.0);
    let ports = schedule.ports();
    let mut load = Load::default();
    for step in 0..schedule.steps() {
        if step == 0 || !schedule.repeats(step) {
            load = schedule.load(step, ports);
        }
        startups += load.startups;
        blocks += load.blocks as f64;
    }
    (startups, blocks / (ports * schedule.contract().split.max(1)) as f64)
}

/// The best number of segments for a pipelined chain of `ranks` ranks and `m`
/// words: sqrt((p - 2) t_w m / t_s), to a whole number, at least 1 and at most
/// m; and at most 1024 (p - 2), beyond which more of them save less than a
/// thousandth of the time, whatever t_s is: (p - 2) t_w m / k is all that k segments leave to save.
///
/// # Examples
/// ```
/// use phalanx::tuning::best_segments;
/// assert_eq!(best_segments(10, 5000.0, 100.0, 1.0), 20);
/// assert_eq!(best_segments(2, 5000.0, 100.0, 1.0), 1);
/// // No word waits for another where messages are free; 8192 segments come close.
/// assert_eq!(best_segments(10, 1e6, 0.0, 1.0), 8192);
/// ```
pub fn best_segments(ranks: usize, m: f64, t_s: f64, t_w: f64) -> usize {
    let sensible = MOST_SEGMENTS.min(ranks.saturating_sub(2).max(1).saturating_mul(1024));
    let most = m.clamp(1.0, sensible as f64);
    let ideal = (ranks.saturating_sub(2) as f64 * t_w * m / t_s).sqrt();
    // Not a number and infinity (t_s = 0) included: `as` saturates.
    let below = if ideal.is_nan() { 1.0 } else { ideal.clamp(1.0, most).floor() };
    let above = (below + 1.0).min(most.floor());
    let time = |k: f64| (ranks.saturating_sub(2) as f64 + k) * (t_s + t_w * m / k);
    (if time(above) < time(below) { above } else { below }) as usize
}
