//! Which algorithm is cheapest, for given t_s, t_w, p and m.

use super::{ClosedForm, Congestion, Cost, Network, closed_form};
use crate::schedule::{Algorithm, MOST_SEGMENTS, Request};

/// What a message costs, between any two ranks alike.
///
/// # Examples
/// ```
/// use phalanx::model::Rates;
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

/// An algorithm's place in a ranking.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ranked {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The call; of a pipelined chain with the best number of segments.
    pub request: Request,
    /// The formula.
    pub form: ClosedForm,
    /// The cost: by formula, or counted on the network.
    pub cost: Cost,
    /// The predicted time.
    pub time: f64,
}

/// All algorithms that can serve a request on `m` words, the cheapest first;
/// with equal times the one with fewer start-ups, then by the order of the
/// catalogue. On a `network`, with its congestion.
///
/// Without a number of segments in the request, pipelined chains get the best.
///
/// # Examples
/// ```
/// use phalanx::model::{Rates, rank};
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// let rates = Rates { t_s: 100.0, t_w: 1.0, ports: 1 };
/// let call = Request::new(Operation::AllToAll, 16);
/// // The crossover is at 0.647 t_s/t_w, or 64.7 words.
/// let best = |m| rank(&call, m, rates, None)[0].algorithm;
/// assert_eq!((best(64.0), best(65.0)), (Algorithm::TX_HCUBE, Algorithm::TX_HCUBE_XOR));
/// ```
pub fn rank(request: &Request, m: f64, rates: Rates, network: Option<&Network>) -> Vec<Ranked> {
    let ranked = |algorithm: Algorithm| {
        let mut request = request.clone();
        if is_chain(algorithm) && request.segments.is_none() {
            request.segments = Some(best_segments(request.ranks, m, rates.t_s, rates.t_w));
        }
        let schedule = algorithm.schedule(&request).ok()?;
        if schedule.ports() > rates.ports {
            return None;
        }
        let form = closed_form(algorithm, &request).ok()?;
        let cost = match network {
            None => form.cost(),
            Some(network) => Congestion::on(network, &schedule).ok()?.cost,
        };
        let time = cost.time(rates.t_s, rates.t_w, m);
        Some(Ranked { algorithm, request, form, cost, time })
    };
    let mut all: Vec<Ranked> =
        Algorithm::for_operation(request.operation).filter_map(ranked).collect();
    all.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.cost.ts.cmp(&b.cost.ts)));
    all
}

fn is_chain(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::BC_CHAIN | Algorithm::RED_CHAIN)
}

/// The best number of segments for a pipelined chain of `ranks` ranks and `m`
/// words: sqrt((p - 2) t_w m / t_s), to a whole number, at least 1 and at most
/// m; and at most 1024 (p - 2), beyond which more of them save less than a
/// thousandth of the time, whatever t_s is: (p - 2) t_w m / k is all that k segments leave to save.
///
/// # Examples
/// ```
/// use phalanx::model::best_segments;
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
