//! The cost model's predictions of the measured calls.

use super::curves::CurveRow;
use super::saved_report::SavedReport;
use phalanx::machine::Machine;
use phalanx::schedule::{Algorithm, Operation, Request};
use phalanx::tuning::Profile;
use phalanx_bench::bench::modelled::Modelled;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The share of the calls that are many.
const MANY: f64 = 0.05;
/// The textbook's times for all that was measured, by t_s and t_w as this run fitted them; none
/// without.
pub(crate) fn predictions(machine: &Machine, run: &SavedReport) -> Value {
    let profile = profile(run);
    if profile.levels().is_empty() {
        return json!({ "missing": "no rates were fitted", "rows": [] });
    }
    let all = CurveRow::all(run);
    // Ranks that share cores, and rows of all places, are at none: they have the rates of where the
    // others were.
    let usual = usual(&all);
    let mut rows = Vec::new();
    for row in &all {
        let place = if row.place == "any" { usual } else { &row.place };
        let operation = Operation::ALL.into_iter().find(|op| op.name() == row.op);
        let Some(operation) = operation else { continue };
        // Else it is the automatic choice.
        let algorithm = row.algorithm.parse::<Algorithm>().ok();
        let request = Request::new(operation, row.ranks as usize).shift(1);
        let ns = Modelled::new(machine, &profile, row.ranks as usize)
            .and_then(|model| model.ns(request, algorithm, row.bytes as usize, place));
        if let Some(ns) = ns {
            rows.push(json!({
                "op": row.op, "algorithm": row.algorithm, "ranks": row.ranks, "bytes": row.bytes,
                "place": row.place, "ns": (ns * 10.0).round() / 10.0,
            }));
        }
    }
    json!({ "missing": null, "rows": rows })
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
