//! A row of the table: what was measured, and the numbers made of it.

use super::sample::{Case, Outcome};
use phalanx::schedule::Operation;

/// The names of the columns, in order. Stable.
pub(crate) const COLUMNS: [&str; 16] = [
    "op",
    "algorithm",
    "type",
    "redop",
    "ranks",
    "bytes",
    "count",
    "iterations",
    "ns_min",
    "ns_median",
    "ns_p99",
    "ns_max",
    "algbw_gb_s",
    "busbw_gb_s",
    "wrong",
    "model_ns",
];

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) op: Operation,
    pub(crate) algorithm: &'static str,
    /// The element type; `none` for the barrier.
    pub(crate) ty: &'static str,
    /// The operator; `none` for operations that only move.
    pub(crate) redop: &'static str,
    pub(crate) ranks: usize,
    /// Bytes of a rank's larger buffer.
    pub(crate) bytes: usize,
    /// Elements of it.
    pub(crate) count: usize,
    /// Samples.
    pub(crate) iterations: usize,
    /// Calls in each sample.
    pub(crate) calls: usize,
    pub(crate) ns: Times,
    pub(crate) algbw: f64,
    pub(crate) busbw: f64,
    /// Wrong elements; none if nothing was checked.
    pub(crate) wrong: Option<u64>,
    /// What the machine's cost model says.
    pub(crate) model_ns: Option<f64>,
    /// The raw exchange of two flags just before, where it was measured.
    pub(crate) exchange_ns: Option<f64>,
}

/// The distribution of the time of one call, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Times {
    /// Of at least one sample; none of none.
    pub(crate) fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        let (&min, &max) = (samples.first()?, samples.last()?);
        let n = samples.len();
        let median = (samples[(n - 1) / 2] + samples[n / 2]) / 2.0;
        // The nearest rank: the smallest sample that 99 % do not exceed.
        let p99 = samples[(n * 99).div_ceil(100) - 1];
        Some(Times { min, median, p99, max })
    }
}

impl Row {
    /// The row of a case; none if there was not a single sample.
    pub(crate) fn new(
        case: &Case,
        ranks: usize,
        exchange_ns: Option<f64>,
        outcome: Outcome,
    ) -> Option<Self> {
        let shape = &case.shape;
        let op = shape.operation;
        let bytes = shape.count * case.ty.size();
        let iterations = outcome.ns.len();
        let ns = Times::of(outcome.ns)?;
        let algbw = if ns.median > 0.0 { bytes as f64 / ns.median } else { 0.0 };
        Some(Row {
            op,
            algorithm: case.force.name(),
            ty: if op == Operation::Barrier { "none" } else { case.ty.name() },
            redop: shape.redop.map_or("none", |redop| redop.name()),
            ranks,
            bytes,
            count: shape.count,
            iterations,
            calls: shape.lanes,
            ns,
            algbw,
            busbw: algbw * bus_factor(op, ranks),
            wrong: case.effort.check.then_some(outcome.wrong),
            model_ns: None,
            exchange_ns,
        })
    }
}

/// Bytes that must cross the boundary of each rank, per byte of its larger
/// buffer: the factors of nccl-tests, by which bandwidths of different
/// operations and numbers of ranks compare.
fn bus_factor(op: Operation, ranks: usize) -> f64 {
    let others = (ranks - 1) as f64 / ranks as f64;
    match op {
        Operation::AllReduce => 2.0 * others,
        Operation::AllGather
        | Operation::ReduceScatter
        | Operation::AllToAll
        | Operation::Gather
        | Operation::Scatter => others,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics() {
        assert_eq!(Times::of(vec![]), None);
        let t = Times::of(vec![3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!((t.min, t.median, t.p99, t.max), (1.0, 2.5, 10.0, 10.0));
        let t = Times::of((1..=200).map(f64::from).collect()).unwrap();
        assert_eq!((t.median, t.p99), (100.5, 198.0));
    }

    #[test]
    fn bus_factors() {
        assert_eq!(bus_factor(Operation::AllReduce, 4), 1.5);
        assert_eq!(bus_factor(Operation::AllGather, 4), 0.75);
        assert_eq!(bus_factor(Operation::Broadcast, 4), 1.0);
        assert_eq!(bus_factor(Operation::AllReduce, 1), 0.0);
    }
}
