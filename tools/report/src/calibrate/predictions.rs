//! The cost model's prediction beside the measurement: each operation by size and number of ranks,
//! with the error.
//!
//! The model is the textbook's on the machine's tree ([`phalanx_model::Levels`]):
//! messages in steps, t_s and t_w of the level that they cross, as calibrated.
//! It knows nothing of combining, nor of two ranks that share a core.

use super::compare::{ComparedCall, timed};
use phalanx::machine::Machine;
use phalanx::schedule::Operation;
use phalanx::tuning::Profile;
use phalanx::{Algorithm, Team};
use phalanx_bench::bench::call_buffers::has_blocks;
use phalanx_bench::bench::predict_call::CallModel;
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::matrix::saved_run::rounded;
use phalanx_bench::matrix::summary::table;
use phalanx_bench::measure::clock::Clock;
use phalanx_bench::measure::proximity::ProximityLimits;
use phalanx_bench::pair::probe_rounds::Effort;
use phalanx_bench::progress::Progress;
use serde_json::{Value, json};
use std::time::Duration;

/// Sizes of the vector, or of a block.
const SIZES: [usize; 6] = [8, 256, 4 << 10, 32 << 10, 256 << 10, 2 << 20];
/// The time for one row.
const LIMIT: Duration = Duration::from_millis(120);
const SAMPLES: usize = 80;
/// The model is called wrong beyond this factor.
const WRONG: f64 = 2.0;

/// The columns of the stable output.
const COLUMNS: [&str; 9] = [
    "op",
    "algorithm",
    "ranks",
    "bytes",
    "place",
    "samples",
    "predicted_ns",
    "measured_ns",
    "ratio",
];

/// One row: a call, predicted and measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PredictionRow {
    operation: Operation,
    algorithm: Algorithm,
    ranks: usize,
    bytes: usize,
    place: String,
    samples: usize,
    /// None where the model says nothing: more ranks than cores.
    predicted: Option<f64>,
    measured: f64,
}

impl PredictionRow {
    /// Measured in the predicted.
    fn ratio(&self) -> Option<f64> {
        self.predicted.filter(|&ns| ns > 0.0).map(|ns| self.measured / ns)
    }

    fn is_wrong(&self) -> bool {
        self.ratio().is_some_and(|ratio| !(1.0 / WRONG..=WRONG).contains(&ratio))
    }
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Predictions {
    rows: Vec<PredictionRow>,
}

/// Measures every operation on each team, beside the profile's prediction.
pub(crate) fn validate(
    teams: &[Team],
    machine: &Machine,
    profile: &Profile,
    limits: &ProximityLimits,
    clock: &Clock,
) -> Result<Predictions, Failure> {
    let mut progress = Progress::new(teams.len() * (1 + 11 * SIZES.len()));
    let effort = Effort { samples: SAMPLES, round: 4, limit: LIMIT };
    let mut rows = Vec::new();
    for team in teams {
        let ranks = team.size();
        for operation in Operation::ALL {
            let sizes = if operation == Operation::Barrier { &[0][..] } else { &SIZES };
            for &bytes in sizes {
                if interrupt::asked() {
                    return Err(Failure::Interrupted);
                }
                progress.step(&format!("{operation} of {bytes} bytes on {ranks} ranks"));
                let call = ComparedCall { operation, bytes };
                let Some(outcome) = timed(team, &call, &effort, limits, clock)? else {
                    continue;
                };
                let place = outcome.place.name();
                let algorithm = profile.algorithm(operation, ranks, bytes);
                rows.push(PredictionRow {
                    operation,
                    algorithm,
                    ranks,
                    bytes,
                    place: place.to_string(),
                    samples: outcome.samples,
                    predicted: predict(profile, machine, place, &call, ranks),
                    measured: outcome.ns,
                });
            }
        }
    }
    Ok(Predictions { rows })
}

/// The model's time for an automatic choice, in ns; none for more ranks than
/// cores, and without rates for the place.
pub(crate) fn predict(
    profile: &Profile,
    machine: &Machine,
    place: &str,
    call: &ComparedCall,
    ranks: usize,
) -> Option<f64> {
    if ranks > machine.cores().len() {
        return None;
    }
    let algorithm = profile.algorithm(call.operation, ranks, call.bytes);
    CallModel::new(profile, machine, place)?.call(
        algorithm,
        call.operation,
        ranks,
        call.bytes as f64,
    )
}

impl Predictions {
    /// Rows in which the model is off by more than a factor of 2.
    fn wrong(&self) -> Vec<&PredictionRow> {
        self.rows.iter().filter(|row| row.is_wrong()).collect()
    }

    /// The findings, one line for each operation that the model gets wrong.
    pub(crate) fn findings(&self) -> Vec<String> {
        let judged = self.rows.iter().filter(|row| row.ratio().is_some()).count();
        let mut lines = vec![format!(
            "the model is within a factor of {WRONG} in {} of {judged} rows",
            judged - self.wrong().len()
        )];
        for operation in Operation::ALL {
            let own: Vec<&PredictionRow> =
                self.wrong().into_iter().filter(|row| row.operation == operation).collect();
            let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
            let ratios = own.iter().filter_map(|row| row.ratio());
            let worst = ratios.max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs())).unwrap_or(1.0);
            lines.push(format!(
                "{operation}: wrong in {} rows, {} to {} bytes, at worst measured {} of what is \
                 predicted",
                own.len(),
                first.bytes.min(last.bytes),
                first.bytes.max(last.bytes),
                times(worst)
            ));
        }
        lines
    }

    /// For eyes.
    pub(crate) fn text(&self) -> String {
        let row = |row: &PredictionRow| {
            let mark = if row.is_wrong() { "wrong" } else { "" };
            let mut cells = row.cells();
            cells.push(mark.to_string());
            cells
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(row).collect();
        let mut out = table(&[&COLUMNS[..], &[""]].concat(), 2, &rows);
        self.findings().iter().for_each(|line| out += &format!("# {line}\n"));
        out
    }

    /// Tab-separated, with a line of names.
    pub(crate) fn tsv(&self) -> String {
        let rows = self.rows.iter().map(|row| row.cells().join("\t") + "\n");
        COLUMNS.join("\t") + "\n" + &rows.collect::<String>()
    }

    /// Curves, for drawing: by operation and number of ranks.
    pub(crate) fn object(&self) -> Value {
        let mut curves: Vec<((Operation, usize), Vec<&PredictionRow>)> = Vec::new();
        for row in &self.rows {
            let key = (row.operation, row.ranks);
            match curves.last_mut() {
                Some((last, rows)) if *last == key => rows.push(row),
                _ => curves.push((key, vec![row])),
            }
        }
        let point = |row: &&PredictionRow| {
            json!({
                "bytes": row.bytes,
                "algorithm": row.algorithm.id(),
                "place": row.place,
                "samples": row.samples,
                "predicted_ns": row.predicted.map(rounded),
                "measured_ns": rounded(row.measured),
                "ratio": row.ratio().map(rounded),
                "wrong": row.is_wrong(),
            })
        };
        let curve = |((operation, ranks), rows): &((Operation, usize), Vec<&PredictionRow>)| {
            json!({
                "op": operation.name(),
                "ranks": ranks,
                "bytes_are": if has_blocks(*operation) { "block" } else { "vector" },
                "points": rows.iter().map(point).collect::<Vec<_>>(),
            })
        };
        json!({
            "factor": WRONG,
            "findings": self.findings(),
            "curves": curves.iter().map(curve).collect::<Vec<_>>(),
        })
    }
}

impl PredictionRow {
    fn cells(&self) -> Vec<String> {
        vec![
            self.operation.to_string(),
            self.algorithm.to_string(),
            self.ranks.to_string(),
            self.bytes.to_string(),
            self.place.clone(),
            self.samples.to_string(),
            self.predicted.map_or(String::new(), |ns| format!("{ns:.0}")),
            format!("{:.0}", self.measured),
            self.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}")),
        ]
    }
}

/// "3.2 times", "a 3.2th".
fn times(ratio: f64) -> String {
    if ratio >= 1.0 { format!("{ratio:.1} times") } else { format!("1/{:.1}", 1.0 / ratio) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::tuning::LevelRates;

    fn rates(level: &str, place: &str, t_s_ns: f64, t_w: f64) -> LevelRates {
        LevelRates {
            level: level.into(),
            place: place.into(),
            t_s_ns,
            t_s_ci: [t_s_ns; 2],
            t_w_ns_per_byte: t_w,
            t_w_ci: [t_w; 2],
            samples: 1,
            pieces: Vec::new(),
        }
    }

    #[test]
    fn the_level_that_a_message_crosses_is_what_it_costs() {
        let machine = Machine::from_synthetic("pack:2 l3:2 core:2 pu:1").unwrap();
        let profile = [("l3", 50.0), ("package", 100.0), ("machine", 400.0)]
            .into_iter()
            .fold(Profile::default(), |profile, (level, t_s)| {
                profile.with_level(rates(level, "any", t_s, 0.0)).unwrap()
            });
        let barrier = ComparedCall { operation: Operation::Barrier, bytes: 0 };
        let time = |ranks| predict(&profile, &machine, "any", &barrier, ranks).unwrap();
        // Dissemination: in every step somebody crosses the widest border there is.
        assert_eq!(time(2), 50.0);
        assert_eq!(time(4), 200.0);
        assert_eq!(time(8), 1200.0);
        assert_eq!(predict(&profile, &machine, "any", &barrier, 9), None);
        assert_eq!(predict(&profile, &machine, "far", &barrier, 2), None);
    }

    /// Broadcasts are messages, whatever the library's own sizes are.
    fn never_fused() -> phalanx::tuning::Tuning {
        let mut tuning = phalanx::tuning::Tuning::default();
        tuning.broadcast_fused = usize::MAX;
        tuning
    }

    #[test]
    fn a_level_without_rates_has_its_neighbours() {
        let machine = Machine::from_synthetic("pack:2 l3:2 core:2 pu:1").unwrap();
        let only = [rates("machine", "any", 400.0, 0.1)];
        let profile = Profile::default().with_level(only[0].clone()).unwrap();
        let profile = profile.with_tuning(2, never_fused()).unwrap();
        let message = ComparedCall { operation: Operation::Broadcast, bytes: 1000 };
        assert_eq!(predict(&profile, &machine, "any", &message, 2), Some(500.0));
        assert!(CallModel::new(&Profile::default(), &machine, "any").is_none());
    }

    #[test]
    fn near_levels_keep_their_own_place() {
        let machine = Machine::from_synthetic("pack:2 core:2 pu:1").unwrap();
        let both = [rates("package", "ccx", 50.0, 0.0), rates("machine", "far", 400.0, 0.0)];
        let profile =
            both.into_iter().fold(Profile::default(), |p, rates| p.with_level(rates).unwrap());
        let barrier = ComparedCall { operation: Operation::Barrier, bytes: 0 };
        // Dissemination of four: a step across, after one that has a message across already.
        assert_eq!(predict(&profile, &machine, "far", &barrier, 4), Some(800.0));
        assert_eq!(predict(&profile, &machine, "ccx", &barrier, 2), Some(50.0));
        // Seen at two places, by a machine with cores that move: the call's own place counts.
        let two = [rates("machine", "ccx", 50.0, 0.0), rates("machine", "far", 400.0, 0.0)];
        let profile =
            two.into_iter().fold(Profile::default(), |p, rates| p.with_level(rates).unwrap());
        let flat = Machine::from_synthetic("core:2 pu:1").unwrap();
        assert_eq!(predict(&profile, &flat, "ccx", &barrier, 2), Some(50.0));
        assert_eq!(predict(&profile, &flat, "far", &barrier, 2), Some(400.0));
    }

    #[test]
    fn where_the_model_is_wrong_is_said() {
        let row = |bytes, predicted, measured| PredictionRow {
            operation: Operation::Scan,
            algorithm: Algorithm::SCAN_HCUBE,
            ranks: 2,
            bytes,
            place: "ccx".into(),
            samples: 30,
            predicted,
            measured,
        };
        let rows = vec![
            row(8, Some(100.0), 150.0),
            row(64, Some(100.0), 350.0),
            row(512, Some(100.0), 10.0),
            row(4096, None, 10.0),
        ];
        let validation = Predictions { rows };
        let findings = validation.findings();
        assert_eq!(findings[0], "the model is within a factor of 2 in 1 of 3 rows");
        assert!(findings[1].starts_with("scan: wrong in 2 rows, 64 to 512 bytes"), "{findings:?}");
        assert!(findings[1].contains("1/10.0"), "{findings:?}");
        let object = validation.object();
        let points = object["curves"][0]["points"].as_array().unwrap();
        assert_eq!(points.len(), 4);
        assert_eq!((&points[1]["wrong"], &points[3]["predicted_ns"]), (&json!(true), &Value::Null));
        assert_eq!(validation.tsv().lines().count(), 5);
        assert!(validation.text().contains("wrong"));
    }
}
