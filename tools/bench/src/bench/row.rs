//! A row of the table: its samples and the numbers computed from them.

use super::call_form::CallForm;
use super::call_tally::CallTally;
use super::cases::Measured;
use super::rounds::{Drift, Sorted};
use super::sample::{Root, SampleCase};
use crate::measure::caches::CacheState;
use crate::measure::proximity::Proximity;
use crate::measure::stats::{Summary, spread_percent};
use phalanx::schedule::Operation;

/// How far apart a measured and a modelled time are before a row says so.
pub(crate) const APART: f64 = 1.6;

/// The names of the columns, in order. Stable.
pub(crate) const COLUMNS: [&str; 30] = [
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
    "place",
    "floor_ns",
    "floor_ratio",
    "ns_ci_low",
    "ns_ci_high",
    "outliers",
    "rounds",
    "spread_percent",
    "dropped",
    "drift",
    "calls_per_iteration",
    "model_by",
    "caches",
    "cores",
];

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BenchRow {
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
    pub(crate) ns: Summary,
    pub(crate) algbw: f64,
    pub(crate) busbw: f64,
    /// Wrong elements; none if nothing was checked.
    pub(crate) wrong: Option<u64>,
    /// The time by the machine's cost model, and the machine of its rates.
    pub(crate) model_ns: Option<f64>,
    pub(crate) model_by: &'static str,
    /// Where the cores of ranks 0 and 1 were.
    pub(crate) place: Proximity,
    /// The raw exchange of two flags around the samples, where it was measured.
    pub(crate) floor_ns: Option<f64>,
    /// Rounds that have some of the samples, and the spread of their medians
    /// in percent of the median of these.
    pub(crate) rounds: usize,
    pub(crate) spread: f64,
    /// Samples that do not count, since the cores were elsewhere or moved.
    pub(crate) dropped: usize,
    pub(crate) drift: Drift,
    /// The root, of an operation that has one; none for all in turn.
    pub(crate) root: Option<usize>,
    /// Whether the result went to a second buffer, for an operation in place.
    pub(crate) apart: bool,
    pub(crate) form: CallForm,
    pub(crate) caches: CacheState,
    /// The counts of the calls of all places, where they are recorded.
    pub(crate) tally: Option<CallTally>,
    /// The cores that the ranks kept busy, over all places.
    pub(crate) cores: Option<f64>,
}

impl BenchRow {
    /// The row of a case at one place; none if there was not a single sample.
    pub(crate) fn new(
        case: &SampleCase,
        ranks: usize,
        sorted: &Sorted,
        wrong: u64,
    ) -> Option<Self> {
        let shape = &case.shape;
        let op = shape.operation;
        let bytes = shape.count * case.ty.size();
        let mut slowest: Vec<f64> = sorted.samples.clone();
        let ns = Summary::of(&mut slowest)?;
        let algbw = if ns.median > 0.0 { bytes as f64 / ns.median } else { 0.0 };
        Some(BenchRow {
            op,
            algorithm: case.force.name(),
            ty: if op == Operation::Barrier { "none" } else { case.ty.name() },
            redop: shape.redop.map_or("none", |redop| redop.name()),
            ranks,
            bytes,
            count: shape.count,
            iterations: ns.n,
            calls: shape.sets,
            ns,
            algbw,
            busbw: algbw * bus_factor(op, shape.form, ranks),
            wrong: case.effort.check.then_some(wrong),
            model_ns: None,
            model_by: "none",
            place: sorted.place,
            floor_ns: sorted.floor_ns,
            rounds: sorted.medians.len(),
            spread: spread_percent(&sorted.medians),
            dropped: sorted.dropped,
            drift: sorted.drift,
            root: match case.root {
                Root::Rank(root) if op.is_rooted() => Some(root),
                _ => None,
            },
            apart: shape.apart,
            form: shape.form,
            caches: case.caches,
            tally: None,
            cores: None,
        })
    }

    /// Its name, as it is asked for.
    pub(crate) fn name(&self) -> String {
        Measured { operation: self.op, form: self.form }.name()
    }

    /// With the model's time of it.
    pub(crate) fn modelled(self, ns: Option<f64>) -> Self {
        BenchRow { model_ns: ns, model_by: if ns.is_some() { "profile" } else { "none" }, ..self }
    }

    /// Whether the median and the model's time are apart by more than [`APART`], while nothing
    /// moved.
    pub(crate) fn is_apart(&self) -> bool {
        let quiet = self.place != Proximity::Any && self.drift == Drift::default();
        let within = 1.0 / APART..=APART;
        quiet && self.model_ns.is_some_and(|ns| !within.contains(&(self.ns.median / ns)))
    }

    /// The median as a multiple of the floor.
    pub(crate) fn floor_ratio(&self) -> Option<f64> {
        self.floor_ns.map(|floor| self.ns.median / floor)
    }
}

/// Bytes that must cross the boundary of each rank, per byte of its larger
/// buffer: the factors of nccl-tests, by which bandwidths of different
/// operations and numbers of ranks compare.
fn bus_factor(op: Operation, form: CallForm, ranks: usize) -> f64 {
    let others = (ranks - 1) as f64 / ranks as f64;
    match op {
        Operation::AllReduce => 2.0 * others,
        // No part is the rank's own.
        _ if form.is_among_neighbors() => 1.0,
        op if op.has_blocks() => others,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_factors() {
        assert_eq!(bus_factor(Operation::AllReduce, CallForm::Even, 4), 1.5);
        assert_eq!(bus_factor(Operation::AllGather, CallForm::Even, 4), 0.75);
        assert_eq!(bus_factor(Operation::AllToAll, CallForm::Neighbors, 4), 1.0);
        assert_eq!(bus_factor(Operation::Broadcast, CallForm::Even, 4), 1.0);
        assert_eq!(bus_factor(Operation::AllReduce, CallForm::Even, 1), 0.0);
    }
}
