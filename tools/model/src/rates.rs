//! The start-up time and the word time of a message, and the segments of a pipelined chain.

use phalanx::schedule::MOST_SEGMENTS;

/// The times of a message, the same between any two ranks.
///
/// # Examples
/// ```
/// use phalanx_model::Rates;
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

/// The best number of segments for a pipelined chain of `ranks` ranks and `m`
/// words: sqrt((p - 2) t_w m / t_s), to a whole number, at least 1 and at most
/// m; and at most 1024 (p - 2), beyond which more of them save less than a
/// thousandth of the time, whatever t_s is: (p - 2) t_w m / k is all that k segments leave to save.
///
/// # Examples
/// ```
/// use phalanx_model::best_segments;
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
