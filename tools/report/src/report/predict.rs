//! The machine cost model's predictions: of the measured calls, and of a larger machine.

use super::curves::CurveRow;
use super::machine_drawing::plan;
use super::saved_report::SavedReport;
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign, hierarchy};
use phalanx::schedule::{Algorithm, Hierarchy, Operation, Request, Schedule};
use phalanx::tuning::{MachineCosts, Profile, Tuning};
use phalanx_bench::bench::call_buffers::has_blocks;
use phalanx_bench::bench::predict_call::CallModel;
use phalanx_bench::failure::Failure;
use phalanx_bench::place::outcome::PlacementOutcome;
use phalanx_bench::place::topology::Topology;
use phalanx_model::{Effect, Effects, Simulation};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Sizes of the modelled curves, in bytes of the vector.
const SIZES: [usize; 8] = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20];
/// The share of the calls that are many.
const MANY: f64 = 0.05;
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

    /// Of a larger buffer; the model's size is that of one.
    fn blocks(&self, operation: Operation) -> f64 {
        if has_blocks(operation) { self.ranks as f64 } else { 1.0 }
    }

    /// Nanoseconds of a call with a larger buffer of `bytes` bytes.
    fn ns(&self, schedule: &Schedule, bytes: u64) -> Option<f64> {
        let blocks = self.blocks(schedule.contract().operation);
        let ns = self.simulation.run(schedule, bytes as f64 / blocks).ok()?.ns;
        (ns > 0.0).then(|| tenth(ns))
    }
}

/// The model's times for all that was measured: by t_s and t_w as this run fitted them (the
/// textbook's model), else by the published costs of the most similar machine; those stand beside
/// in any case.
pub(crate) fn predictions(machine: &Machine, run: &SavedReport) -> Result<Value, Failure> {
    let (costs, same) = MachineCosts::nearest(machine);
    let of = json!({ "id": costs.id, "name": costs.name, "same_shape": same });
    let profile = profile(run);
    let calibrated = !profile.levels().is_empty();
    let all = CurveRow::all(run);
    // Ranks that share cores, and rows of all places, are at none: they have the rates of where the
    // others were.
    let usual = usual(&all);
    let by_place: BTreeMap<&str, Option<CallModel<'_>>> = all
        .iter()
        .map(|row| {
            let place = if row.place == "any" { usual } else { &row.place };
            (row.place.as_str(), CallModel::new(&profile, machine, place))
        })
        .collect();
    let mut published: BTreeMap<u64, Option<Modelled>> = BTreeMap::new();
    let mut rows = Vec::new();
    for row in &all {
        // One rank sends nothing.
        if row.ranks < 2 {
            continue;
        }
        let ranks = row.ranks as usize;
        let Some(operation) = Operation::ALL.into_iter().find(|op| op.name() == row.op) else {
            continue;
        };
        let m = row.bytes as f64 / if has_blocks(operation) { row.ranks as f64 } else { 1.0 };
        let algorithm = match row.algorithm.parse::<Algorithm>() {
            Ok(algorithm) => algorithm,
            // The algorithm that the automatic choice takes.
            Err(_) => {
                let sizes = Profile::default().with_tuning(ranks, Tuning::of(machine, ranks));
                sizes.map_err(Failure::run)?.algorithm(operation, ranks, m as usize)
            }
        };
        let modelled = published
            .entry(row.ranks)
            .or_insert_with(|| Modelled::new(machine, costs, ranks).ok())
            .as_ref()
            // The simulation is for one rank a core.
            .filter(|_| ranks <= machine.allowed_pus().len());
        let schedule = modelled.and_then(|modelled| modelled.schedule(algorithm, operation));
        let published = schedule.as_ref().and_then(|own| modelled?.ns(own, row.bytes));
        let schedule =
            schedule.or_else(|| algorithm.schedule(&Request::new(operation, ranks).shift(1)).ok());
        let model = by_place[row.place.as_str()].as_ref();
        let own = schedule.as_ref().and_then(|schedule| model?.time(schedule, m));
        let own = own.filter(|&ns| ns > 0.0).map(tenth);
        if let Some(ns) = if calibrated { own } else { published } {
            rows.push(json!({
                "op": row.op, "algorithm": row.algorithm, "ranks": row.ranks, "bytes": row.bytes,
                "place": row.place, "ns": ns, "published_ns": published,
            }));
        }
    }
    let by = if calibrated { "calibrated" } else { "published" };
    Ok(json!({ "by": by, "costs": of, "missing": null, "rows": rows }))
}

/// The rates that this run fitted, of all its fits.
fn profile(run: &SavedReport) -> Profile {
    let mut all = Profile::default();
    for section in run.sections().filter(|s| s.command.contains(" calibrate")) {
        let Ok(profile) = Profile::from_json(&section.result.to_string()) else { continue };
        for rates in profile.levels() {
            let is_known = |own: &phalanx::tuning::LevelRates| {
                own.level == rates.level && own.place == rates.place
            };
            if !all.levels().iter().any(is_known) {
                // A profile that has been read once is in order.
                all = all.clone().with_level(rates.clone()).unwrap_or(all);
            }
        }
        if all.copies().is_empty() {
            all = all.clone().with_copies(profile.copies().to_vec()).unwrap_or(all);
        }
    }
    all
}

/// Where most of the calls with a place were.
fn usual(rows: &[CurveRow]) -> &str {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().filter(|row| row.place != "any").for_each(|row| {
        *places.entry(&row.place).or_default() += 1;
    });
    places.into_iter().max_by_key(|&(_, count)| count).map_or("any", |(place, _)| place)
}

/// Whether many calls were measured at a place of which no rates were fitted.
pub(crate) fn unfitted(run: &SavedReport) -> bool {
    let (profile, rows) = (profile(run), CurveRow::all(run));
    let rates = profile.levels();
    let fitted = |place: &str| place == "any" || rates.iter().any(|own| own.place == place);
    let without = rows.iter().filter(|row| !fitted(&row.place)).count();
    !rates.is_empty() && without as f64 > MANY * rows.len() as f64
}

fn tenth(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

/// A machine of the table: all its cores placed, and its all-reduce; and the machine for animations
/// of `drawn` ranks.
pub(crate) fn modelled(id: &str, drawn: &[usize]) -> Result<Value, Failure> {
    let costs = MachineCosts::named(id).map_err(Failure::usage)?;
    let machine = costs.machine().map_err(Failure::run)?;
    let ranks = machine.cores().len();
    let shape = Topology::Ring.shape(ranks, None)?;
    let outcome = PlacementOutcome::new(&machine, shape, &Placement::Auto, ranks)?;
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
    // Those that come nearest to the best anywhere; and, among the first, the path that the library
    // itself takes for long vectors.
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
        "plan": plan(&machine, drawn),
        "curves": curves,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_machine_is_modelled() {
        let found = modelled("graviton3", &[8]).unwrap();
        let curves = found["curves"].as_array().unwrap();
        assert!((2..=CURVES).contains(&curves.len()), "{}", curves.len());
        for curve in curves {
            let points = curve["points"].as_array().unwrap();
            assert_eq!(points.len(), SIZES.len());
            assert!(points.iter().all(|point| point[1].as_f64().is_some_and(|ns| ns > 0.0)));
        }
        assert_eq!(found["plan"]["cores"].as_array().unwrap().len(), 64);
        assert!(found["drawing"].as_str().unwrap().starts_with("<svg"));
        let wrong = modelled("graviton", &[8]).unwrap_err().line().unwrap();
        assert!(wrong.contains("the nearest is 'graviton3'"), "{wrong}");
    }
}
