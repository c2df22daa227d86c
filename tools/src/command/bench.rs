//! `phalanx bench`: runs the collectives on this machine's cores, checks every
//! result and prints the table.

use crate::bench::element::Type;
use crate::bench::exchange::exchange;
use crate::bench::machine::Setting;
use crate::bench::plan::{Plan, Wanted, Wish, parse_operation};
use crate::bench::redop::Redop;
use crate::bench::report::{Foot, Head, Report};
use crate::bench::row::Row;
use crate::bench::sample::{Case, Effort, Root, measure};
use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::progress::Progress;
use crate::{interrupt, names, size};
use phalanx::placement::Placement;
use phalanx::schedule::Operation;
use phalanx::topology::Extents;
use phalanx::{Error, MAX_RANKS, Team, Wait};
use std::io::Write;
use std::time::{Duration, Instant};

/// Time for the samples of one row, with what is not timed: the default table
/// of 89 rows then ends within half a minute.
const TIME_PER_ROW: Duration = Duration::from_millis(200);

const ABOUT: &str = "\
OPERATIONS: broadcast, reduce, all-gather, reduce-scatter, all-reduce, barrier, scan,
  exclusive-scan, scatter, gather, all-to-all, shift.

SIZES: bytes of a rank's larger buffer, in whole elements, as in nccl-tests: of the vector for
  broadcast, reduce, all-reduce, scan and shift; of all blocks together for all-gather,
  reduce-scatter, scatter, gather and all-to-all, whose blocks have size/ranks bytes (at least
  one element). 64, 16K, 4M, 1G are accepted; the largest size is always measured.

TIMES: before each sample every rank rewrites what it sends and poisons what it receives, untimed;
  all start at one moment; a sample is the time of the slowest rank. Up to 8K a sample is the mean
  of several calls back to back, each on buffers of its own (as many buffers as fit 16 KiB, at
  most 32; in json: calls_per_iteration), since reading the clock costs 25 ns: one-way
  operations (broadcast, scatter, reduce, gather) may then overlap, as in a program that calls them
  in a row. With more ranks than cores a sample is one call, and starts at a barrier.
  ns_min, ns_median, ns_p99 and ns_max are of the samples of a row, ns per call; iterations is
  their number.

  The host may move virtual cores between its own: exch (in json exchange_ns) is a raw exchange
  of two flags between the cores of ranks 0 and 1 just before the row, the unit to compare with.

BANDWIDTHS: algbw = bytes / ns_median. busbw = algbw times 2(p-1)/p (all-reduce), (p-1)/p
  (operations with blocks), 1 (others), the factors of nccl-tests.

CHECKS: every element of every result, of every sample, against a formula of rank, index and round;
  also that buffers that must not change did not. wrong is the number of wrong elements; any makes
  the exit code 1.

COLUMNS (tsv, json): op algorithm type redop ranks bytes count iterations ns_min ns_median ns_p99
  ns_max algbw_gb_s busbw_gb_s wrong model_ns.

Example:
  phalanx bench all-reduce barrier -p 2 -b 8 -e 4M --format tsv";

/// Measure collectives on this machine's cores, and check every result
///
/// Measures collectives on this machine's cores, with data that vary, and
/// checks every result. Without OP: all operations.
#[derive(Debug, clap::Args)]
#[command(after_long_help = ABOUT, after_help = "Example:\n  phalanx bench all-reduce -p 2\n\nMore with --help.")]
pub(crate) struct Bench {
    /// Operations, such as all-reduce [default: all]
    #[arg(value_name = "OP", value_parser = parse_operation, hide_possible_values = true)]
    operations: Vec<Operation>,
    /// Number of ranks, 1 to 1024 [default: one per physical core]
    #[arg(short = 'p', long, allow_negative_numbers = true, value_parser = parse_ranks)]
    ranks: Option<usize>,
    /// Smallest size in bytes
    #[arg(short = 'b', long, allow_negative_numbers = true, value_name = "MIN", default_value = "8", value_parser = size::parse)]
    min: usize,
    /// Largest size in bytes
    #[arg(short = 'e', long, allow_negative_numbers = true, value_name = "MAX", default_value = "4M", value_parser = size::parse)]
    max: usize,
    /// From one size to the next
    #[arg(short = 'f', long, allow_negative_numbers = true, default_value = "8", value_parser = parse_factor)]
    factor: usize,
    /// Samples of each row [default: as many as fit 0.2 s, at least 5]
    #[arg(short = 'n', long, allow_negative_numbers = true, value_name = "ITERS", value_parser = parse_iterations)]
    iterations: Option<usize>,
    /// Samples before the first that counts
    #[arg(short = 'w', long, allow_negative_numbers = true, default_value = "3", value_parser = parse_count)]
    warmup: usize,
    /// auto, an algorithm's id such as AR-RING, or all (every one that fits)
    #[arg(short = 'a', long, value_name = "auto|ID|all", default_value = "auto")]
    algorithm: Wanted,
    /// Element type: f32 f64 i8 i16 i32 i64 u8 u16 u32 u64
    #[arg(short = 't', long = "type", value_name = "TYPE", default_value = "f64")]
    ty: Type,
    /// Operator: sum prod min max, of integers also band bor bxor land lor lxor
    #[arg(short = 'r', long, default_value = "sum")]
    redop: Redop,
    /// Root, or all: the next rank with every sample
    #[arg(long, allow_negative_numbers = true, value_name = "RANK|all", default_value = "0", value_parser = parse_root)]
    root: Root,
    /// Distance of the shift; negative goes backwards
    #[arg(long, value_name = "Q", default_value = "1", allow_negative_numbers = true, value_parser = parse_shift)]
    shift: isize,
    /// Use the algorithms of a mesh of so many rows and columns
    #[arg(long, value_name = "AxB[xC..]", value_parser = parse_dims)]
    dims: Option<Extents>,
    /// Only operations that work in place
    #[arg(long)]
    in_place: bool,
    /// Do not check results
    #[arg(long)]
    no_check: bool,
    /// auto, compact, scatter, identity, random:SEED, list:PU,PU,.., unpinned, ring, mesh:RxC,
    /// hypercube
    #[arg(long, default_value = "auto", value_parser = parse_placement)]
    placement: Placement,
    /// How ranks wait: auto, spin, yield or park
    #[arg(long, default_value = "auto", value_parser = parse_wait)]
    wait: Wait,
    #[command(flatten)]
    output: OutputArgs,
}

impl Bench {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        let mut wish = self.wish();
        wish.check()?;
        if let Some(ranks) = self.ranks {
            // Before any thread is started.
            wish.plan(ranks)?;
        }
        let builder = Team::builder().placement(self.placement.clone()).wait(self.wait);
        let team = match self.ranks {
            Some(ranks) => builder.ranks(ranks),
            None => builder,
        }
        .build()?;
        wish.effort.crowded = team.size() > team.machine().allowed_pus().len();
        let plan = wish.plan(team.size())?;
        let sink = self.output.open()?;
        interrupt::listen();
        for note in &plan.skipped {
            say(note);
        }
        let mut report = Report::new(self.output.format, sink);
        // The first run binds rank 0.
        let exchange_ns = exchange(&team)?;
        team.run(|comm| comm.barrier())?;
        let setting = Setting::of(&team, &self.placement.to_string(), self.wait);
        let head = Head { setting, exchange_ns };
        report.head(&head)?;
        let failed = rows(&team, &plan, &mut report)?;
        let interrupted = interrupt::asked();
        let exchange_ns = if interrupted { None } else { exchange(&team)? };
        let foot = Foot { exchange_ns, time: started.elapsed(), interrupted, failed };
        report.foot(&head, &foot)?;
        let wrong = report.wrong();
        if interrupted {
            Err(Failure::Interrupted)
        } else if wrong > 0 {
            Err(Failure::Checks(format!("{wrong} wrong elements")))
        } else if !foot.failed.is_empty() {
            Err(Failure::Run(format!("{} rows could not be measured", foot.failed.len())))
        } else {
            Ok(())
        }
    }

    fn wish(&self) -> Wish {
        Wish {
            operations: self.operations.clone(),
            wanted: self.algorithm,
            ty: self.ty,
            redop: self.redop,
            root: self.root,
            shift: self.shift,
            dims: self.dims.clone(),
            in_place: self.in_place,
            min: self.min,
            max: self.max,
            factor: self.factor,
            effort: Effort {
                samples: self.iterations,
                warmup: self.warmup,
                time: TIME_PER_ROW,
                check: !self.no_check,
                crowded: false,
            },
        }
    }
}

/// Measures the plan's cases. Returns those that failed, with the reason; the
/// rest of an algorithm's sizes is then left out.
fn rows(team: &Team, plan: &Plan, report: &mut Report) -> Result<Vec<String>, Failure> {
    let mut progress = Progress::new(plan.cases.len());
    let mut failed = Vec::new();
    let mut broken = None;
    for case in &plan.cases {
        if interrupt::asked() {
            break;
        }
        let (op, algorithm) = (case.shape.operation, case.force.name());
        if broken == Some((op, algorithm)) {
            continue;
        }
        let bytes = case.shape.count * case.ty.size();
        let what = format!("{op} {algorithm} {}", size::text(bytes));
        progress.step(&what);
        let result = exchange_before(team, case)
            .and_then(|exchange_ns| Ok((exchange_ns, measure(team, case)?)));
        progress.clear();
        match result {
            Ok((exchange_ns, outcome)) => {
                if let Some(row) = Row::new(case, team.size(), exchange_ns, outcome) {
                    report.row(row)?;
                }
            }
            Err(e) => {
                let what = format!("{what}: {e}");
                say(&what);
                failed.push(what);
                broken = Some((op, algorithm));
                if matches!(e, Error::Dead) {
                    break;
                }
            }
        }
    }
    Ok(failed)
}

/// The raw exchange just before a row, unless the other ranks share the cores
/// of ranks 0 and 1.
fn exchange_before(team: &Team, case: &Case) -> Result<Option<f64>, Error> {
    if case.effort.crowded { Ok(None) } else { exchange(team) }
}

/// A line on the standard error.
fn say(what: &str) {
    let line = crate::failure::one_line(what);
    let _: Result<_, _> = writeln!(std::io::stderr(), "phalanx: {line}");
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(ranks) if (1..=MAX_RANKS).contains(&ranks) => Ok(ranks),
        Ok(ranks) => Err(format!("{ranks} ranks asked for; a team has 1 to {MAX_RANKS}")),
        Err(_) => Err(format!("'{text}' is no number of ranks; a team has 1 to {MAX_RANKS}")),
    }
}

pub(super) fn parse_factor(text: &str) -> Result<usize, String> {
    let factor = text.parse().ok().filter(|&factor| factor >= 2);
    factor.ok_or_else(|| "the factor is a whole number of at least 2".to_string())
}

fn parse_count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number"))
}

fn parse_iterations(text: &str) -> Result<usize, String> {
    let n = parse_count(text)?;
    if n == 0 { Err("at least 1 sample is needed".to_string()) } else { Ok(n) }
}

fn parse_shift(text: &str) -> Result<isize, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number"))
}

fn parse_root(text: &str) -> Result<Root, String> {
    if names::plain(text) == "all" {
        return Ok(Root::All);
    }
    let rank = text.parse().map(Root::Rank);
    rank.map_err(|_| format!("'{text}' is no rank; accepted are a rank's number and all"))
}

fn parse_dims(text: &str) -> Result<Extents, String> {
    text.parse().map_err(|e: phalanx::topology::BadExtents| e.to_string())
}

fn parse_placement(text: &str) -> Result<Placement, String> {
    text.parse().map_err(|e: phalanx::placement::UnknownPlacement| {
        let accepted = ["auto", "compact", "scatter", "identity", "unpinned", "ring", "hypercube"];
        match names::nearest(&names::plain(text), &accepted) {
            Some(name) => format!("{e}; did you mean {name}?"),
            None => e.to_string(),
        }
    })
}

fn parse_wait(text: &str) -> Result<Wait, String> {
    match names::plain(text).as_str() {
        "auto" => Ok(Wait::Auto),
        "spin" => Ok(Wait::Spin),
        "yield" => Ok(Wait::Yield),
        "park" => Ok(Wait::Park),
        _ => Err(names::unknown("wait mode", text, &["auto", "spin", "yield", "park"])),
    }
}
