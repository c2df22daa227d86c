//! Runs this tool's commands, one after the other, within a time limit.

use super::environment::environment;
use super::machine_drawing::plan;
use super::ranks_section;
use super::saved_report::{NOT_RUN, SavedReport};
use super::{predict, traces};
use crate::peers::process::{PeerProcess, ProcessLimits};
use phalanx::machine::Machine;
use phalanx::placement::Placement;
use phalanx::schedule::{Algorithm, Operation, Request};
use phalanx_bench::byte_size;
use phalanx_bench::failure::{Failure, one_line};
use phalanx_bench::interrupt;
use phalanx_bench::machine_object;
use phalanx_bench::place::outcome::PlacementOutcome;
use phalanx_bench::place::topology::Topology;
use phalanx_bench::programs;
use phalanx_bench::progress::Progress;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Units of the matrices at most: pairs grow with the square.
const UNITS: usize = 16;
/// Sizes of the curves, in bytes of a rank's larger buffer.
pub(crate) const SIZES: [usize; 6] = [8, 256, 4 << 10, 64 << 10, 512 << 10, 4 << 20];
/// The shares of the time that go into the matrices.. (the rest is for the curves)
const LATENCY: f64 = 0.1;
const BANDWIDTH: f64 = 0.12;
/// The share for other numbers of ranks.
const ACROSS: f64 = 0.1;
/// Seconds of a fit of every level of a large machine, and of a small one.
const RATES: f64 = 40.0;
const FIT: f64 = 8.0;
/// The part of the time that the curves have at least, whatever the fit takes.
const CURVES: f64 = 0.25;
/// A row's time in ms at least.
const SHORTEST: f64 = 1.0;
/// Of a row's time, the factor that setting up and checking take besides, found by trial.
const OVERHEAD: f64 = 2.2;
/// All is over after so many times the wished time, and [`RATES`].
const PATIENCE: f64 = 1.5;
/// Fits of rates at most after the first one.
const AGAIN: usize = 2;
/// Ways of each pair: flags of either home and messages, there and back and one way.
const WAYS: f64 = 6.0;
/// Rounds of each curve.
const ROUNDS: usize = 3;

/// The data to be gathered.
#[derive(Clone, Debug)]
pub(crate) struct ReportRequest {
    pub(crate) seconds: f64,
    pub(crate) ranks: usize,
}

/// A run of one command.
struct Step {
    args: Vec<String>,
    /// Whether it draws.
    draws: bool,
    /// Seconds that it is expected to take.
    share: f64,
    /// Rows that its time is for; 0 if it has a time of its own.
    rows: usize,
    limit: Duration,
}

impl Step {
    /// With so much of its time: the steps before have taken longer than expected, and the page is
    /// to be whole within the time that was asked for.
    fn within(&self, part: f64) -> Step {
        let mut args = self.args.clone();
        let time = args.iter().position(|arg| arg == "--time").filter(|_| self.rows > 0);
        if let Some(value) = time.and_then(|at| args.get_mut(at + 1)) {
            *value = format!("{:.0}", row_ms(self.share * part, self.rows, SHORTEST));
        }
        Step { args, ..*self }
    }
}

/// Milliseconds of each of so many rows in so many seconds.
fn row_ms(seconds: f64, rows: usize, least: f64) -> f64 {
    (seconds * 1e3 / OVERHEAD / rows.max(1) as f64).clamp(least, 200.0)
}

/// Measures. A step that fails is named in its section; Ctrl-C ends everything.
pub(crate) fn gather(wish: &ReportRequest) -> Result<SavedReport, Failure> {
    let started = Instant::now();
    let machine = Machine::this().map_err(Failure::run)?;
    let environment = environment(&machine);
    let shape = Topology::Ring.shape(wish.ranks, None)?;
    let outcome = PlacementOutcome::new(&machine, shape, &Placement::Auto, wish.ranks)?;
    let mut placement: Value =
        serde_json::from_str(&outcome.show(phalanx_bench::output::Format::Json))
            .map_err(Failure::run)?;
    placement["drawing"] = json!(outcome.svg());
    placement["plan"] = plan(&machine, &traces::ranks(wish.ranks));

    let steps = steps(&machine, wish);
    let limit = Duration::from_secs_f64(wish.seconds * PATIENCE + RATES);
    let mut progress = Progress::timed(steps.iter().map(|step| step.share).collect());
    let program = programs::phalanx()?;
    let mut sections = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let ahead: f64 = steps[number..].iter().map(|step| step.share).sum();
        let spare = wish.seconds - started.elapsed().as_secs_f64();
        let step = &step.within((spare / ahead).clamp(0.0, 1.0));
        progress.step(&step.args.join(" "));
        let left = limit.saturating_sub(started.elapsed());
        sections.push(match left.is_zero() {
            true => skipped(step, started.elapsed()),
            false => section(&program, number, step, left),
        });
        if interrupt::asked() {
            return Err(Failure::Interrupted);
        }
    }
    progress.clear();
    let mut run = SavedReport::new(json!({
        "seconds": 0,
        "environment": environment,
        "ranks": wish.ranks,
        "machine": machine_object(&machine),
        "placement": placement,
        "sections": sections,
        "predictions": {},
    }));
    // The host may have moved the cores since the fit: those of the calls have rates of their own.
    for again in 0..AGAIN {
        let left = limit.saturating_sub(started.elapsed());
        if !predict::unfitted(&run) || left.is_zero() || interrupt::asked() {
            break;
        }
        run.push(section(&program, steps.len() + again, &rates(), left));
    }
    let predictions = predict::predictions(&machine, &run);
    run.set("seconds", json!((started.elapsed().as_secs_f64() * 10.0).round() / 10.0));
    run.set("predictions", predictions);
    Ok(run)
}

fn of(text: String, draws: bool, share: f64, rows: usize) -> Step {
    Step {
        args: text.split_whitespace().map(String::from).collect(),
        draws,
        share,
        rows,
        // A slow machine is better than none: a long step is ended only when it is very long.
        limit: Duration::from_secs_f64((share * 4.0).max(20.0)),
    }
}

/// The fit of t_s and t_w. Its time depends on how many levels there are, not on the time that
/// is given.
fn rates() -> Step {
    let step = of("calibrate --rates".to_string(), false, FIT, 0);
    Step { limit: Duration::from_secs_f64(4.0 * RATES), ..step }
}

fn steps(machine: &Machine, wish: &ReportRequest) -> Vec<Step> {
    let ReportRequest { seconds, ranks } = *wish;
    let units = units(machine);
    let pairs = (units.len() * units.len().saturating_sub(1)).max(1) as f64;
    let list = phalanx_bench::source::list(&units);
    // A sample is 32 round trips, some 20 us; every 20 of them are probed.
    let samples = (seconds * LATENCY / pairs / WAYS / 40e-6).clamp(20.0, 300.0);
    let mut steps = vec![
        of(
            format!("latency --all --pus {list} --samples {samples:.0}"),
            true,
            seconds * LATENCY,
            0,
        ),
        of(format!("bandwidth --pus {list} -e 8M --samples 20"), true, seconds * BANDWIDTH, 0),
        rates(),
    ];
    let sizes = SIZES.map(byte_size::text).join(",");
    let rows = |operation: Operation| {
        let request = Request::new(operation, ranks);
        let fit = Algorithm::for_operation(operation).filter(|a| a.schedule(&request).is_ok());
        let sizes = if operation == Operation::Barrier { 1 } else { SIZES.len() };
        // And the automatic choice.
        (fit.count() + 1) * sizes
    };
    let all: usize = Operation::ALL.into_iter().map(rows).sum();
    let curves = (seconds * (1.0 - LATENCY - BANDWIDTH - ACROSS) - FIT).max(seconds * CURVES);
    let time_ms = row_ms(curves, all, 2.0);
    for operation in Operation::ALL {
        let sizes_of_it = if operation == Operation::Barrier { 1 } else { SIZES.len() };
        let each = [("auto", sizes_of_it), ("all", rows(operation) - sizes_of_it)];
        for (algorithm, rows) in each {
            let share = curves * rows as f64 / all as f64;
            let text = format!(
                "bench {operation} -p {ranks} -a {algorithm} --sizes {sizes} --time {time_ms:.0} \
                 --rounds {ROUNDS}"
            );
            steps.push(of(text, false, share, rows));
        }
    }
    let others = others(machine, ranks);
    let rows = (Operation::ALL.len() - 1) * ranks_section::SIZES.len() + 1;
    let share = seconds * ACROSS / others.len().max(1) as f64;
    let time_ms = row_ms(share, rows, SHORTEST);
    let sizes = ranks_section::SIZES.map(byte_size::text).join(",");
    for p in others {
        let text = format!("bench -p {p} --sizes {sizes} --time {time_ms:.0} --rounds {ROUNDS}");
        steps.push(of(text, false, share, rows));
    }
    steps
}

/// The numbers of ranks that the curves are not of.
fn others(machine: &Machine, ranks: usize) -> Vec<usize> {
    let usable = |pus: &[usize]| pus.iter().any(|&pu| machine.is_allowed(pu));
    let cores = machine.cores().iter().filter(|core| usable(&core.pus)).count().max(1);
    let mut all = ranks_section::ranks(cores, phalanx::MAX_RANKS);
    all.retain(|&p| p != ranks);
    all
}

/// A processing unit of each core, or of evenly many.
fn units(machine: &Machine) -> Vec<usize> {
    let allowed = |pus: &Vec<usize>| pus.iter().copied().find(|&pu| machine.is_allowed(pu));
    let all: Vec<usize> = machine.cores().iter().filter_map(|core| allowed(&core.pus)).collect();
    let n = all.len().min(UNITS);
    (0..n).map(|i| all[i * all.len() / n]).collect()
}

/// A step for which there was no time.
fn skipped(step: &Step, elapsed: Duration) -> Value {
    let why = format!("{NOT_RUN} the steps before it took {:.0} s", elapsed.as_secs_f64());
    result(step, Value::Null, None, Some(why))
}

fn result(step: &Step, result: Value, drawing: Option<String>, error: Option<String>) -> Value {
    json!({
        "command": format!("phalanx {}", step.args.join(" ")),
        "result": result,
        "drawing": drawing,
        "error": error,
    })
}

fn section(program: &Path, number: usize, step: &Step, left: Duration) -> Value {
    let drawing = step.draws.then(|| scratch(number));
    let mut command = Command::new(program);
    command.args(&step.args).args(["--format", "json"]);
    if let Some(file) = &drawing {
        command.arg("--svg").arg(file);
    }
    let done = PeerProcess::run(command, ProcessLimits::of(step.limit.min(left)));
    let svg = drawing.and_then(|file| {
        let svg = std::fs::read_to_string(&file).ok();
        // Nothing depends on its going.
        let _: Result<(), _> = std::fs::remove_file(&file);
        svg
    });
    let (found, error) = match done {
        Err(e) => (Value::Null, Some(format!("cannot be started: {e}"))),
        Ok(done) => {
            let found = serde_json::from_str(&done.stdout).unwrap_or(Value::Null);
            let said = done.stderr.lines().last().map(one_line).unwrap_or_default();
            let error = (!done.success).then(|| match said.is_empty() {
                true => done.why,
                false => said.trim_start_matches("phalanx: ").to_string(),
            });
            (found, error)
        }
    };
    result(step, found, svg, error)
}

/// A file that nobody else writes.
fn scratch(number: usize) -> PathBuf {
    std::env::temp_dir().join(format!("phalanx-report-{}-{number}.svg", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_machines_are_sampled_evenly() {
        let machine = Machine::from_synthetic("pack:2 core:32 pu:2").unwrap();
        let units = units(&machine);
        assert_eq!(units.len(), UNITS);
        assert!(units.is_sorted() && units[0] == 0 && units[15] > 100, "{units:?}");
        assert_eq!(super::units(&Machine::from_synthetic("core:2 pu:2").unwrap()), [0, 2]);
    }

    #[test]
    fn every_operation_is_asked_for_within_the_time() {
        let machine = Machine::from_synthetic("core:2 pu:1").unwrap();
        let wish = ReportRequest { seconds: 60.0, ranks: 2 };
        let steps = steps(&machine, &wish);
        assert_eq!(steps.len(), 3 + 2 * Operation::ALL.len() + 2);
        // And all of them alone, and on twice as many ranks as cores.
        let others = steps.iter().map(|s| s.args.join(" "));
        let is_other = |s: &String| s.starts_with("bench -p 1 ") || s.starts_with("bench -p 4 ");
        assert_eq!(others.filter(is_other).count(), 2);
        for operation in Operation::ALL {
            let asked = steps.iter().filter(|s| s.args[..2] == ["bench", operation.name()]);
            assert_eq!(asked.count(), 2, "{operation}");
        }
    }

    #[test]
    fn what_is_late_shortens_what_follows_and_leaves_nothing_out() {
        let machine = Machine::from_synthetic("core:2 pu:1").unwrap();
        for seconds in [20.0, 75.0] {
            let wish = ReportRequest { seconds, ranks: 2 };
            let steps = steps(&machine, &wish);
            let all: f64 = steps.iter().map(|step| step.share).sum();
            assert!(all <= seconds * 1.01, "{all} of {seconds} s");
            let time = |step: &Step| -> Option<f64> {
                let at = step.args.iter().position(|arg| arg == "--time")?;
                step.args[at + 1].parse().ok()
            };
            for step in &steps {
                assert_eq!(step.within(1.0).args, step.args, "{:?}", step.args);
                let late = step.within(0.0);
                assert_eq!(time(&late), time(step).map(|_| SHORTEST), "{:?}", late.args);
                assert_eq!(late.args.len(), step.args.len());
            }
        }
    }
}
