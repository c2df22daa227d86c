//! The ranking of the algorithms by cost, for given t_s, t_w, p and m.

use super::{ClosedForm, Congestion, Cost, Network, Rates, best_segments, closed_form};
use phalanx::schedule::{Algorithm, Request};

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
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx_model::{Rates, rank};
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
