//! The cost of a call on several nodes: two levels, each with a t_s and a t_w of its own.
//!
//! The steps are those of `phalanx_nodes::run_across` (leader, no
//! rails): some among the ranks of a node, by the cheapest of the catalogue's
//! algorithms ([`rank`]); some between leaders, priced by the textbook's formulas
//! for hypercubes of `ceil(log2 N)` dimensions, which the algorithms of MPI
//! libraries are at best. Steps do not overlap. Nothing here is measured.

use super::{Rates, rank};
use phalanx::schedule::{Operation, Request};

/// A call's predicted time, in the unit of the rates.
///
/// # Examples
/// ```
/// use phalanx::schedule::Operation;
/// use phalanx_model::{Across, Rates};
/// let node = Rates { t_s: 0.1, t_w: 0.001, ports: 1 };
/// let network = Rates { t_s: 2.0, t_w: 0.001, ports: 1 };
/// let two = Across::of(Operation::AllReduce, 2, 64, 1.0, node, network).unwrap();
/// let many = Across::of(Operation::AllReduce, 4096, 64, 1.0, node, network).unwrap();
/// // The nodes' part is the same; that between them has 12 steps instead of 1.
/// assert_eq!(two.node, many.node);
/// assert!(many.network > 11.9 * two.network && many.network < 12.1 * two.network);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Across {
    /// Of the steps on nodes.
    pub node: f64,
    /// Of those between nodes.
    pub network: f64,
}

/// Words that leaders compare in each call.
const AGREED: f64 = 4.0;

/// Steps between `n` leaders.
#[derive(Clone, Copy)]
struct Leaders {
    n: f64,
    rates: Rates,
}

impl Leaders {
    fn steps(self) -> f64 {
        self.n.log2().ceil()
    }

    fn message(self, m: f64) -> f64 {
        self.rates.t_s + self.rates.t_w * m
    }

    /// Whole, or in parts: scattered and gathered (Equations 4.1, 4.4, 4.6).
    fn whole_or_parts(self, m: f64) -> f64 {
        let parts = 2.0 * self.steps() * self.rates.t_s
            + 2.0 * self.rates.t_w * m * (self.n - 1.0) / self.n;
        parts.min(self.steps() * self.message(m))
    }

    /// Of one block each.
    fn all_gather(self, block: f64) -> f64 {
        self.steps() * self.rates.t_s + self.rates.t_w * block * (self.n - 1.0)
    }

    /// A message from each to each; a root's messages are as many.
    fn each(self, block: f64) -> f64 {
        (self.n - 1.0) * self.message(block)
    }

    fn agree(self) -> f64 {
        self.steps() * self.message(AGREED)
    }
}

impl Across {
    /// Of `operation` on `nodes` nodes of `ranks` ranks each: m words, as everywhere
    /// in this module. None for no nodes or ranks.
    pub fn of(
        operation: Operation,
        nodes: usize,
        ranks: usize,
        m: f64,
        node: Rates,
        network: Rates,
    ) -> Option<Across> {
        use Operation::*;
        if nodes == 0 || ranks == 0 {
            return None;
        }
        let on_node = |operation: Operation, m: f64| {
            let best = rank(&Request::new(operation, ranks), m, node, None);
            best.first().map_or(0.0, |best| best.time)
        };
        if nodes == 1 {
            return Some(Across { node: on_node(operation, m), network: 0.0 });
        }
        let (n, t) = (nodes as f64, ranks as f64);
        let leaders = Leaders { n, rates: network };
        let agree = leaders.agree();
        let (node, network) = match operation.base() {
            Barrier => (2.0 * on_node(Barrier, m), agree),
            Broadcast => (2.0 * on_node(Broadcast, m), agree.max(leaders.whole_or_parts(m))),
            AllReduce => {
                let steps = on_node(Reduce, m) + on_node(Broadcast, m);
                (steps, agree.max(leaders.whole_or_parts(m)))
            }
            Reduce => (on_node(Reduce, m), agree.max(leaders.each(m / n)) + leaders.each(m / n)),
            AllGather => {
                let steps = on_node(Gather, m) + on_node(Broadcast, n * t * m);
                (steps, agree.max(leaders.all_gather(t * m)))
            }
            Gather | Scatter => (on_node(operation, m), agree.max(leaders.each(t * m))),
            ReduceScatter => {
                let steps = on_node(Reduce, n * t * m) + on_node(Scatter, m);
                (steps, agree.max(leaders.each(t * m)))
            }
            AllToAll => {
                let steps = on_node(Gather, n * t * m) + on_node(Scatter, n * t * m);
                (steps, agree.max(leaders.each(t * t * m)))
            }
            Scan => {
                let steps = on_node(Scan, m) + on_node(Broadcast, m);
                (steps, agree.max(leaders.each(m / n)) + leaders.each(m / n))
            }
            Shift => (on_node(Barrier, m), agree + leaders.message(m)),
            // A test asks for every operation.
            _ => return None,
        };
        Some(Across { node, network })
    }

    /// Both together.
    pub fn time(&self) -> f64 {
        self.node + self.network
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Rates = Rates { t_s: 1.0, t_w: 0.01, ports: 1 };
    const NETWORK: Rates = Rates { t_s: 20.0, t_w: 0.05, ports: 1 };

    #[test]
    fn one_node_has_no_network_and_more_nodes_cost_more() {
        for operation in Operation::ALL {
            let of = |n| Across::of(operation, n, 8, 100.0, NODE, NETWORK).unwrap();
            assert_eq!(of(1).network, 0.0);
            for k in 1..12 {
                let (few, many) = (of(1 << k), of(2 << k));
                assert!(few.network > 0.0, "{operation}");
                // Of a vector in parts the parts get smaller.
                assert!(many.time() > few.time() * 0.99, "{operation} {k}: {few:?} {many:?}");
            }
        }
        assert_eq!(Across::of(Operation::Scan, 0, 8, 1.0, NODE, NETWORK), None);
    }

    #[test]
    fn an_all_reduce_by_hand() {
        // 4 nodes: 2 steps. 10 words: whole, 2 (20 + 0.5); in parts 4 x 20 + ..
        let of = |m| Across::of(Operation::AllReduce, 4, 1, m, NODE, NETWORK).unwrap().network;
        assert!((of(10.0) - 41.0).abs() < 1e-9);
        // 10000 words: in parts, 80 + 2 x 0.05 x 7500.
        assert!((of(10_000.0) - 830.0).abs() < 1e-9);
    }
}
