//! `phalanx latency`: the time of a cache line and of a message between every two units.

use crate::bench::rounds::Drift;
use crate::failure::Failure;
use crate::interrupt;
use crate::matrix::heat::{self, Grid};
use crate::matrix::heat_map::svg;
use crate::matrix::saved_run::{MatrixRow, MatrixRun, Spread, rounded};
use crate::matrix::summary::classes;
use crate::matrix::unit_axis::{Axis, shared};
use crate::measure::clock::Clock;
use crate::measure::conditions::{accuracy, alone, now};
use crate::measure::emulation;
use crate::measure::proximity::ProximityLimits;
use crate::measure::stats::{CONFIDENCE, Summary};
use crate::measure::steal::Steal;
use crate::output::{Format, OutputArgs, unwritable, writable};
use crate::pair::latency::{Home, Via, Way, measure};
use crate::pair::probe_rounds::{Effort, Placed, align, merge};
use crate::pair::team::{parse_pus, team, units};
use crate::progress::Progress;
use crate::prose;
use crate::source::summary;
use crate::table::{distinct, table};
use phalanx::machine::Machine;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Samples of each pair by default: many where there are few pairs.
const SAMPLES: usize = 300;
const FEWER_SAMPLES: usize = 60;
const MANY_UNITS: usize = 16;
/// Samples between two probes: 20 x 32 round trips of 100 ns are 0.06 ms.
const ROUND: usize = 20;
/// Turns of each way of a pair, so that a change on the machine meets all of them.
const TURNS: usize = 3;
/// When a pair is given up that keeps moving, by the number of pairs.
const LIMIT: Duration = Duration::from_millis(1500);

const ABOUT: &str = "\
WHAT: a rank is bound to every processing unit that may be used; the two of a pair measure, the
  others sleep. flag: each side writes a flag in a cache line of its own and waits for the other's:
  what the hardware takes. mailbox: send and recv of 8 bytes: what the library makes of it. Without
  --one-way the time is there and back (a sample is the mean of 32 round trips); published
  core-to-core tables are half of that. With --one-way it is the time from the sender's clock
  reading to the receiver's, less what reading the clock costs; clocks that disagree are noticed by
  times of 0 or less. --all: both, by flag (pages of either home) and by mailbox. The ways of a pair
  are measured in three turns; the first round of each is a warm-up.

NUMBERS: a sample is there and back in ns (mean of 32), or one way. Least, median, and the spread:
  p10 and p90; ns_ci_low and ns_ci_high have the true median between them with 95 % confidence
  (order statistics). outliers (beyond 3 interquartile ranges) are counted, and stay in. drift:
  none, or what moved: floor (the raw exchange by more than a quarter), steal (the host took time).
  conditions: what reading the clock costs (taken off) and its steps, time stolen from all cores.

HOME: which node's memory a line is in can matter more than the distance. The flags are on a page
  that nobody has used before, first touched by src or (--home dst) by dst. The mailboxes are where
  the library puts them (the reader touches first, where there are several nodes).

PLACES: a virtual machine's cores move. A raw exchange between the two units is probed before and
  after every 20 samples; only samples between two probes that agree count, filed under smt (below
  40 ns), ccx (below 130 ns) or far (--places). A row is of the place with the most samples; json
  lists the others under elsewhere.

COLUMNS (tsv; json: rows[]): src dst ns_min ns_median ns_p10 ns_p90 samples place level via kind
  home ns_ci_low ns_ci_high outliers drift; level is the innermost thing that both units share
  (core, l2, l3, numa, package, machine). json also has date, machine {cpu, topology, source}, pus
  (in the order of the matrix), groups, notes.

Example:
  phalanx latency --svg latency.svg --format json -o latency.json";

/// Measure the latency between every two processing units, as a matrix
///
/// Measures round trips (or one-way times) between every two processing units,
/// by a raw flag and by the library's mailbox, and draws the matrix.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx latency --svg latency.svg\n\nMore with --help.")]
pub(crate) struct Latency {
    /// From clock to clock in one direction, instead of there and back
    #[arg(long)]
    one_way: bool,
    /// There and back and one way, by flags on pages of either home and by mailbox, in turns: one
    /// run with all
    #[arg(long, conflicts_with_all = ["one_way", "home"])]
    all: bool,
    /// Samples of each pair, of its most frequent place [default: 300; 60 above 16 units]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_samples)]
    samples: Option<usize>,
    /// flag or mailbox [default: both]
    #[arg(long, value_name = "flag|mailbox")]
    via: Option<Via>,
    /// The core that touches the flags' page first: src, dst, or both (one after the other)
    #[arg(long, value_name = "src|dst|both", default_value = "src", value_parser = parse_home)]
    home: Homes,
    /// Only these processing units, such as 0-3,8
    #[arg(long, value_name = "LIST", value_parser = parse_pus)]
    pus: Option<std::vec::Vec<usize>>,
    /// One processing unit of each core
    #[arg(long)]
    per_core: bool,
    /// Exchanges, in ns, up to which two cores count as smt and as ccx
    #[arg(long, value_name = "SMT,CCX", default_value_t = ProximityLimits::default())]
    places: ProximityLimits,
    /// Also draw the matrix (of the flags, if they are measured)
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The homes to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Homes {
    One(Home),
    Both,
}

impl Latency {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let machine = Machine::this().map_err(Failure::run)?;
        let pus = units(&machine, self.pus.as_deref(), self.per_core)?;
        let measure = || self.measure(&machine, &pus);
        let grid = |run: &MatrixRun| self.grid(run, &machine);
        let text = |run: &MatrixRun| self.text(run, &machine);
        carry_out(&self.output, self.svg.as_deref(), measure, grid, text)
    }

    fn ways(&self) -> Vec<Way> {
        let kinds = if self.all { vec![false, true] } else { vec![self.one_way] };
        let vias = self.via.map_or(vec![Via::Flag, Via::Mailbox], |via| vec![via]);
        let mut ways = Vec::new();
        for one_way in kinds {
            for &via in &vias {
                let homes = match via {
                    Via::Mailbox => vec![Home::Src],
                    Via::Flag => self.homes(),
                };
                ways.extend(homes.into_iter().map(|home| Way { via, home, one_way }));
            }
        }
        ways
    }

    fn homes(&self) -> Vec<Home> {
        match self.home {
            Homes::One(home) if !self.all => vec![home],
            _ => vec![Home::Src, Home::Dst],
        }
    }

    fn measure(&self, machine: &Machine, pus: &[usize]) -> Result<MatrixRun, Failure> {
        let axis = Axis::new(machine, pus);
        let columns = ["level", "via", "kind", "home"].map(String::from).to_vec();
        let mut run = begin("latency", machine, &axis, columns);
        let pus = &axis.pus;
        if let [only] = pus[..] {
            run.notes.push(alone(machine, only));
            return Ok(run);
        }
        let samples = if pus.len() > MANY_UNITS { FEWER_SAMPLES } else { SAMPLES };
        let samples = self.samples.unwrap_or(samples);
        let turns = TURNS.min(samples);
        let effort =
            Effort { samples: samples.div_ceil(turns), round: ROUND, limit: LIMIT / turns as u32 };
        let team = team(pus)?;
        let (clock, steal) = (Clock::measure(), Steal::now());
        let ways = self.ways();
        let mut progress = Progress::new(pus.len() * (pus.len() - 1) * ways.len() * turns);
        for (src, &from) in pus.iter().enumerate() {
            for (dst, &to) in pus.iter().enumerate().filter(|(dst, _)| *dst != src) {
                let mut found: Vec<Vec<Placed>> = vec![Vec::new(); ways.len()];
                let stolen = Steal::now();
                for _ in 0..turns {
                    for (&way, found) in ways.iter().zip(&mut found) {
                        if interrupt::asked() {
                            run.conditions = conditions(&clock, steal.ms_since());
                            return Ok(run);
                        }
                        let (via, kind) = (way.via.name(), way.kind());
                        progress.step(&format!("PU {from} to PU {to}, {via}, {kind}"));
                        let own = measure(&team, src, dst, way, &effort, &self.places, &clock)?;
                        merge(found, own);
                    }
                }
                align(&mut found);
                let stolen = stolen.ms_since();
                for (&way, found) in ways.iter().zip(&found) {
                    let level = shared(machine, from, to);
                    let labels = [level, way.via.name(), way.kind(), way.home_name()];
                    let labels = labels.map(String::from).to_vec();
                    match row(from.to_string(), to.to_string(), labels, found, None, stolen) {
                        Some(row) if row.ns.median <= 0.0 => run.notes.push(format!(
                            "PU {from} to PU {to}: the clocks disagree by {:.0} ns or more: no \
                             one-way time",
                            -row.ns.median
                        )),
                        Some(row) => run.rows.push(row),
                        None => run.notes.push(format!(
                            "PU {from} to PU {to}, {}: no two probes agreed for {:.1} s",
                            way.via.name(),
                            LIMIT.as_secs_f64()
                        )),
                    }
                }
            }
        }
        run.conditions = conditions(&clock, steal.ms_since());
        Ok(run)
    }

    /// The matrix that is drawn.
    fn grid(&self, run: &MatrixRun, machine: &Machine) -> Grid {
        let way = self.ways()[0];
        self.grid_of(run, machine, way)
    }

    fn grid_of(&self, run: &MatrixRun, machine: &Machine, way: Way) -> Grid {
        let what = if way.one_way { "one way" } else { "round trip" };
        let title = match way.via {
            Via::Flag => format!("{what} of a flag, page touched by {}", way.home.name()),
            Via::Mailbox => format!("{what} of a mailbox message"),
        };
        let mut grid = Grid::new(Axis::new(machine, &run.pus), "ns", title);
        for row in &run.rows {
            let own = run.label(row, "via") == way.via.name()
                && run.label(row, "kind") == way.kind()
                && run.label(row, "home") == way.home_name();
            if let (true, Ok(src), Ok(dst)) = (own, row.src.parse(), row.dst.parse()) {
                grid.set(src, dst, row.ns.median);
            }
        }
        grid
    }

    fn text(&self, run: &MatrixRun, machine: &Machine) -> String {
        let mut out = head(run, machine);
        for way in self.ways() {
            let map = heat::text(&self.grid_of(run, machine, way));
            if !map.is_empty() {
                out += &map;
                out.push('\n');
            }
        }
        if !run.rows.is_empty() {
            let rows: Vec<Vec<String>> = classes(run)
                .into_iter()
                .map(|class| {
                    let mut cells = class.labels;
                    cells.push(class.pairs.to_string());
                    let m = class.medians;
                    cells.extend([m.min, m.p10, m.median, m.p90].map(|ns| format!("{ns:.1}")));
                    let places = class.places.iter().map(|(p, n)| format!("{p} {n}"));
                    cells.push(places.collect::<Vec<_>>().join(", "));
                    cells
                })
                .collect();
            let names = [
                "level", "via", "kind", "home", "pairs", "least", "p10", "median", "p90", "places",
            ];
            out += "medians of the pairs, ns\n";
            out += &table(&names, 4, &rows);
        }
        out
    }
}

/// The row of the measurement; none of nothing.
pub(super) fn row(
    src: String,
    dst: String,
    labels: Vec<String>,
    found: &[Placed],
    bytes: Option<usize>,
    stolen_ms: Option<f64>,
) -> Option<MatrixRow> {
    let (first, others) = found.split_first()?;
    let elsewhere = others.iter().filter_map(|placed| {
        let ns = Spread::of(&placed.samples)?;
        Some((placed.place.name().to_string(), placed.samples.len(), ns.median))
    });
    let summary = Summary::of(&mut first.samples.clone())?;
    let steal = stolen_ms.is_some_and(|ms| ms > 0.0);
    Some(MatrixRow {
        src,
        dst,
        ns: Spread::of(&first.samples)?,
        samples: first.samples.len(),
        place: first.place.name().to_string(),
        elsewhere: elsewhere.collect(),
        ci: summary.ci,
        outliers: summary.outliers,
        drift: Drift { floor: first.adrift, steal, ..Drift::default() }.to_string(),
        labels,
        bytes,
    })
}

/// A run in which nothing has been measured yet.
pub(super) fn begin(
    command: &str,
    machine: &Machine,
    axis: &Axis,
    columns: Vec<String>,
) -> MatrixRun {
    MatrixRun {
        command: command.to_string(),
        date: now(),
        machine: about(machine),
        conditions: Value::Null,
        groups: axis.object(),
        pus: axis.pus.clone(),
        columns,
        notes: Vec::new(),
        rows: Vec::new(),
    }
}

/// Measures, draws, and writes a run, also one that was interrupted.
pub(super) fn carry_out(
    output: &OutputArgs,
    svg: Option<&Path>,
    measure: impl FnOnce() -> Result<MatrixRun, Failure>,
    grid: impl FnOnce(&MatrixRun) -> Grid,
    text: impl FnOnce(&MatrixRun) -> String,
) -> Result<(), Failure> {
    svg.map_or(Ok(()), |file| writable("drawing", file))?;
    let mut sink = output.open()?;
    interrupt::listen();
    let run = measure()?;
    svg.map_or(Ok(()), |file| draw(file, &grid(&run), &run))?;
    sink.write(&match output.format {
        Format::Text => text(&run),
        Format::Tsv => run.tsv(),
        Format::Json => format!("{:#}\n", run.object()),
    })?;
    if interrupt::asked() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Machine and notes, for the head of a text.
pub(super) fn head(run: &MatrixRun, machine: &Machine) -> String {
    let cpu = run.machine["cpu"].as_str().unwrap_or("");
    let mut out = format!("# phalanx {}: {cpu}, {}\n", run.command, summary(machine));
    if let Some(warning) = emulation::warning() {
        out += &format!("# {warning}\n");
    }
    run.notes.iter().for_each(|note| out += &format!("# {note}\n"));
    if let Some(said) = run.conditions["said"].as_str() {
        out += &format!("# {said}\n");
    }
    let moved = run.rows.iter().filter(|row| row.drift != "none").count();
    if moved > 0 {
        out += &format!(
            "# during {moved} of {} rows the raw exchange or the time that we had moved (tsv, \
             json: drift)\n",
            run.rows.len()
        );
    }
    out
}

/// The worth of the times.
pub(super) fn conditions(clock: &Clock, stolen_ms: Option<f64>) -> Value {
    json!({
        "clock_overhead_ns": rounded(clock.overhead_ns),
        "clock_resolution_ns": rounded(clock.resolution_ns),
        "stolen_ms": stolen_ms,
        "confidence": CONFIDENCE,
        "said": accuracy(clock, stolen_ms),
    })
}

/// Writes the drawing.
fn draw(file: &Path, grid: &Grid, run: &MatrixRun) -> Result<(), Failure> {
    let mut below = vec![format!(
        "{}; {}",
        run.machine["cpu"].as_str().unwrap_or(""),
        run.machine["topology"].as_str().unwrap_or("")
    )];
    let places = distinct(run.rows.iter().map(|row| row.place.as_str()));
    if !places.is_empty() {
        below.push(format!("seen at: {}", places.join(", ")));
    }
    below.extend(emulation::warning());
    below.extend(run.notes.iter().cloned());
    std::fs::write(file, svg(grid, &below)).map_err(|e| unwritable("drawing", file, &e))
}

/// The machine of the numbers.
pub(super) fn about(machine: &Machine) -> Value {
    let print = phalanx::tuning::MachineId::of(machine);
    json!({
        "cpu": print.cpu,
        "topology": print.topology,
        "source": machine.source().to_string(),
        "emulated": emulation::emulator(),
    })
}

pub(super) fn parse_samples(text: &str) -> Result<usize, String> {
    let samples = text.parse().ok().filter(|n| (1..=1_000_000).contains(n));
    samples.ok_or_else(|| format!("'{text}' is no number of samples; accepted are 1 to 1000000"))
}

fn parse_home(text: &str) -> Result<Homes, String> {
    let [src, dst] = [Home::Src, Home::Dst].map(|home| (home.name(), Homes::One(home)));
    crate::suggest::find("home", text, &[src, dst, ("both", Homes::Both)])
}
