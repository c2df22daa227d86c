//! What the machine cost model says: of the calls that were measured, and of a machine that is not here.

use super::curves::Row;
use super::run::Run;
use crate::failure::Failure;
use crate::place::outcome::Outcome;
use crate::place::topology::Topology;
use phalanx::machine::Machine;
use phalanx::model::{Effect, Effects, MachineCosts, Simulation};
use phalanx::placement::{Placement, assign, hierarchy};
use phalanx::schedule::{Algorithm, Hierarchy, Operation, Request, Schedule};
use serde_json::{Value, json};

/// Sizes of the modelled curves, in bytes of the vector.
const SIZES: [usize; 8] = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20];
/// Steps of all ranks beyond which an algorithm is left out: it is no candidate on so many ranks.
const MOST_WORK: usize = 1 << 18;
/// Curves that are drawn.
const CURVES: usize = 8;

/// A machine under the model.
struct Modelled {
    simulation: Simulation,
    groups: Hierarchy,
    ranks: usize,
}

impl Modelled {
    fn new(machine: &Machine, costs: &MachineCosts, ranks: usize) -> Result<Self, Failure> {
        let placed = assign(&Placement::Compact, machine, ranks).map_err(Failure::usage)?;
        let simulation = Simulation::new(machine, &placed, costs).map_err(Failure::usage)?;
        let simulation = simulation.with_effects(Effects::ALL.without(Effect::Spread));
        Ok(Modelled { simulation, groups: hierarchy(machine, &placed), ranks })
    }

    fn schedule(&self, algorithm: Algorithm, operation: Operation) -> Option<Schedule> {
        let request = Request::new(operation, self.ranks).levels(self.groups.clone());
        algorithm.schedule(&request).ok()
    }

    /// Nanoseconds of a call whose larger buffer has `bytes` bytes.
    fn ns(&self, schedule: &Schedule, bytes: u64) -> Option<f64> {
        let blocks = match schedule.contract().operation {
            Operation::AllGather
            | Operation::ReduceScatter
            | Operation::Scatter
            | Operation::Gather
            | Operation::AllToAll => self.ranks as f64,
            _ => 1.0,
        };
        let ns = self.simulation.run(schedule, bytes as f64 / blocks).ok()?.ns;
        (ns > 0.0).then_some((ns * 10.0).round() / 10.0)
    }
}

/// The model's times for all that was measured under an algorithm's name.
pub(crate) fn predictions(machine: &Machine, run: &Run) -> Result<Value, Failure> {
    let (costs, same) = MachineCosts::nearest(machine);
    let ranks = run.part("ranks").as_u64().unwrap_or(1) as usize;
    let of = json!({ "id": costs.id, "name": costs.name, "same_shape": same });
    if ranks > machine.allowed_pus().len() {
        let why = "ranks outnumber the processing units; the model is for one rank a core";
        return Ok(json!({ "costs": of, "missing": why, "rows": [] }));
    }
    let modelled = match Modelled::new(machine, costs, ranks) {
        Ok(modelled) => modelled,
        Err(why) => {
            let why = why.line().unwrap_or_default();
            return Ok(json!({ "costs": of, "missing": why, "rows": [] }));
        }
    };
    let mut rows = Vec::new();
    for row in Row::all(run) {
        let Ok(algorithm) = row.algorithm.parse::<Algorithm>() else { continue };
        let operation = Operation::ALL.into_iter().find(|op| op.name() == row.op);
        let schedule = operation.and_then(|op| modelled.schedule(algorithm, op));
        if let Some(ns) = schedule.and_then(|schedule| modelled.ns(&schedule, row.bytes)) {
            rows.push(json!({
                "op": row.op, "algorithm": row.algorithm, "bytes": row.bytes, "ns": ns,
            }));
        }
    }
    Ok(json!({ "costs": of, "missing": null, "rows": rows }))
}

/// A machine of the table: all its cores placed, and its all-reduce.
pub(crate) fn modelled(id: &str) -> Result<Value, Failure> {
    let costs = MachineCosts::named(id).map_err(Failure::usage)?;
    let machine = costs.machine().map_err(Failure::run)?;
    let ranks = machine.cores().len();
    let shape = Topology::Ring.shape(ranks, None)?;
    let outcome = Outcome::new(&machine, shape, &Placement::Auto, ranks)?;
    let modelled = Modelled::new(&machine, costs, ranks)?;
    let mut curves: Vec<(&str, Vec<f64>)> = Vec::new();
    for algorithm in Algorithm::for_operation(Operation::AllReduce) {
        let Some(schedule) = modelled.schedule(algorithm, Operation::AllReduce) else { continue };
        if schedule.steps() * ranks > MOST_WORK {
            continue;
        }
        let times: Option<Vec<f64>> =
            SIZES.iter().map(|&bytes| modelled.ns(&schedule, bytes as u64)).collect();
        if let Some(times) = times {
            curves.push((algorithm.id(), times));
        }
    }
    // Those that come nearest to the best anywhere; and, among the first, the path that the library itself takes for
    // long vectors.
    let best: Vec<f64> = (0..SIZES.len())
        .map(|i| curves.iter().map(|(_, times)| times[i]).fold(f64::INFINITY, f64::min))
        .collect();
    let nearest = |(id, times): &(&str, Vec<f64>)| match *id == Algorithm::AR_FUSED.id() {
        true => 1.0,
        false => times.iter().zip(&best).map(|(ns, best)| ns / best).fold(f64::INFINITY, f64::min),
    };
    curves.sort_by(|a, b| nearest(a).total_cmp(&nearest(b)));
    curves.truncate(CURVES);
    let curves: Vec<Value> = curves
        .into_iter()
        .map(|(id, times)| {
            let points: Vec<(usize, f64)> = SIZES.into_iter().zip(times).collect();
            json!({ "algorithm": id, "points": points })
        })
        .collect();
    Ok(json!({
        "id": costs.id,
        "name": costs.name,
        "synthetic": costs.synthetic,
        "ranks": ranks,
        "operation": "all-reduce",
        "drawing": outcome.svg(),
        "curves": curves,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_machine_is_modelled() {
        let found = modelled("graviton3").unwrap();
        let curves = found["curves"].as_array().unwrap();
        assert!((2..=CURVES).contains(&curves.len()), "{}", curves.len());
        for curve in curves {
            let points = curve["points"].as_array().unwrap();
            assert_eq!(points.len(), SIZES.len());
            assert!(points.iter().all(|point| point[1].as_f64().is_some_and(|ns| ns > 0.0)));
        }
        assert!(found["drawing"].as_str().unwrap().starts_with("<svg"));
        let wrong = modelled("graviton").unwrap_err().line().unwrap();
        assert!(wrong.contains("the nearest is 'graviton3'"), "{wrong}");
    }
}
