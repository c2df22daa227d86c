//! `phalanx bench`: runs the collectives on this machine's cores, checks every
//! result and prints the table.

use crate::bench::cases::{BenchPlan, BenchRequest, Measured, Wanted, parse_operation};
use crate::bench::element::Type;
use crate::bench::exchange;
use crate::bench::interleave::{Turns, floor};
use crate::bench::modelled::Modelled;
use crate::bench::operator::Redop;
use crate::bench::output_forms::{Foot, Head, Report, TextView};
use crate::bench::rounds::Rounds;
use crate::bench::row::BenchRow;
use crate::bench::run_conditions::{RunConditions, is_crowded};
use crate::bench::sample::{Measure, Root, SampleBudget, SampleCase, Tools};
use crate::bench::turn_server::TurnServer;
use crate::failure::Failure;
use crate::measure::aftermath::Aftermath;
use crate::measure::caches::CachesAsked;
use crate::measure::clock::Clock;
use crate::measure::core_watch::{self, CoreWatch};
use crate::measure::probe::Probe;
use crate::measure::proximity::ProximityLimits;
use crate::measure::steal::Steal;
use crate::output::{Format, OutputArgs};
use crate::programs;
use crate::progress::Progress;
use crate::prose::{self, say};
use crate::{byte_size, interrupt, suggest};
use phalanx::placement::Placement;
use phalanx::schedule::Operation;
use phalanx::topology::Extents;
use phalanx::{MAX_RANKS, Team, Wait};
use phalanx_model::Joules;
use std::time::{Duration, Instant};

/// The long help: the operations, then the rest.
fn about() -> String {
    let names = Operation::ALL.map(|operation| operation.name()).join(", ");
    let forms = "With -varied behind its name (all-to-all-varied), an operation with a block for \
                 each rank is called in the form for blocks of different lengths, with equal ones. \
                 all-to-all-neighbors is a gather by a plan (Neighborhood) that is made once, \
                 untimed: each rank reads an equal part of each neighbour's vector, which is the \
                 next rank on each side of a ring, and from 5 ranks on the second next, too. \
                 all-to-all-messages is the same by tagged messages: all receives and sends are \
                 started, and then waited for. With -started, an operation is started, and waited \
                 for at once.";
    prose::help(&format!("OPERATIONS: {names}. {forms}\n\n{ABOUT}"))
}

const ABOUT: &str = "\
SIZES: bytes of a rank's larger buffer, in whole elements, as in nccl-tests: of the vector, or, for
  operations with a block for each rank, of all blocks together, which then have size/ranks bytes
  (at least one element). 64, 16K, 4M, 1G are accepted; the largest size is always measured.

TIMES: before each sample every rank rewrites what it sends and poisons what it receives, untimed
  (inputs that the peers have in their caches already flatter); all start at one moment, at a gate
  that uses nothing of the library; a sample is the time of the slowest rank, less what reading the
  clock costs (measured, in the head). Up to 8K a sample is the mean of several calls back to back,
  each on buffers of its own (as many buffers as fit 16 KiB, at most 32; column calls_per_iteration;
  --calls 1 for single calls): one-way operations (broadcast, scatter, reduce, gather) may then
  overlap, as in a program that calls them in a row. With more ranks than cores a sample is one
  call, and starts when the last rank has come. ns_min, ns_median, ns_p99 and ns_max are of the
  samples of a row, ns per call; iterations is their number. ns_ci_low and ns_ci_high have the true
  median between them with 95 % confidence (order statistics; no distribution is assumed). outliers
  lie more than 3 interquartile ranges above the upper quartile; they are counted, and stay in.

ROUNDS: the rows of an operation are measured in turns, --rounds times, so that what changes on the
  machine meets all of them. spread_percent is (largest - smallest) / median of the rounds' medians.

PLACES: the host may move virtual cores between its own. Every 4 ms ranks 0 and 1 exchange raw
  flags: floor_ns, the least that an operation can cost; place is what it shows: smt (two threads of
  one core, below 40 ns), ccx (a common cache, below 130 ns) or far; other limits with --places.
  Only samples between two exchanges at the same place count. A row is the place with the most
  samples (--by-place: a row for each); dropped counts the others. floor_ratio = ns_median /
  floor_ns. Place is any with one rank, with more ranks than cores, or where no place has samples
  enough. drift: none, or what moved: floor (by more than a quarter within the place), steal (the
  host gave time of our cores to others), disturbed (the library waited as beside load), place (too
  often: the row has the samples of all places).

CACHES: --caches warm (the default): just before each sample every rank reads and writes one word of
  each line of what it receives, then of what it sends; so its caches have as much of them as fits.
  cold: after that every rank throws these lines out of all caches (CLFLUSH; where that is missing,
  by reading 64 MiB of something else). What the library keeps for itself is not thrown out. both: a
  row for each, in turns; the column caches says which. Without checks (--no-check) inputs are
  rewritten with one value, as the programs of phalanx peers do it.

CORES: cores = the processor time of the ranks / the time, over the whole row, with what is not
  timed: the meetings before and after each sample, and the checks; ranks that sleep use none.

BANDWIDTHS: algbw = bytes / ns_median. busbw = algbw times 2(p-1)/p (all-reduce), (p-1)/p
  (operations with blocks), 1 (others), the factors of nccl-tests.

MODEL: model_ns is the textbook's time of the algorithm (for auto: of what the rules choose) by t_s
  and t_w of the profile that is followed (phalanx calibrate), at the row's place; model_by is then
  profile. Empty without a profile, and for one rank, which sends nothing (model_by: none). A row is
  apart (json: model_apart) where the median is beyond a factor of 1.6 of it, and nothing moved; the
  last lines then name the file for a report, if nothing was disturbed. Nothing is sent by itself.

DISTURBED: the head says whether ranks share a core, or lose theirs to other programs, for 40 ms in
  which they only run; the foot, and json, whether they did while they were measured. The foot of a
  run without -n has a barrier before and after two threads were busy for 700 ms (json: barrier).

STATISTICS: --statistics records the calls (as PHALANX_RECORD=FILE does, with which it need not be
  given): below each row of the text stand calls, bytes and waits of each method, all ranks' sums,
  with the calls that warm up and check. A wait is counted from about 100 ns on. tsv has the columns
  calls call_bytes waits waited_ns more (all methods together), json has the list statistics in each
  row. A recorded call takes some 20 ns more.

CHECKS: every element of every result, of every sample, against a formula of rank, index and round;
  also that buffers that must not change did not. wrong is the number of wrong elements; any makes
  the exit code 1.

TEXT: operation, bytes, median and model's time in ns, GB/s (algbw) and the time as a multiple of
  the floor; the algorithm too, if one was asked for, and the place with --by-place.
  --wide has the rest.

COLUMNS (tsv, json): op algorithm type redop ranks bytes count iterations ns_min ns_median ns_p99
  ns_max algbw_gb_s busbw_gb_s wrong model_ns place floor_ns floor_ratio ns_ci_low ns_ci_high
  outliers rounds spread_percent dropped drift calls_per_iteration model_by caches.

CTRL-C: ends after the current sample, prints what there is; exit code 130.

Example:
  phalanx bench all-reduce barrier -p 2 -b 8 -e 4M --format tsv";

/// Measure collectives on this machine's cores, and check every result
///
/// Measures collectives on this machine's cores, with data that vary, and
/// checks every result. Without OP: all operations.
#[derive(Debug, clap::Args)]
#[command(after_long_help = about())]
#[command(after_help = "Example:\n  phalanx bench all-reduce -p 2\n\nMore with --help.")]
pub(crate) struct Bench {
    /// Operations, such as all-reduce [default: all]
    #[arg(value_name = "OP", value_parser = parse_operation, hide_possible_values = true)]
    operations: Vec<Measured>,
    /// Number of ranks, 1 to 1024 [default: one per physical core]
    #[arg(short = 'p', long, allow_negative_numbers = true, value_parser = parse_ranks)]
    ranks: Option<usize>,
    /// Smallest size in bytes
    #[arg(short = 'b', long, allow_negative_numbers = true, value_name = "MIN")]
    #[arg(default_value = "8", value_parser = byte_size::parse)]
    min: usize,
    /// Largest size in bytes
    #[arg(short = 'e', long, allow_negative_numbers = true, value_name = "MAX")]
    #[arg(default_value = "4M", value_parser = byte_size::parse)]
    max: usize,
    /// From one size to the next
    #[arg(short = 'f', long, allow_negative_numbers = true, default_value = "8")]
    #[arg(value_parser = parse_factor)]
    factor: usize,
    /// These sizes, instead of a row of them
    #[arg(long, value_name = "BYTES,..", value_delimiter = ',', value_parser = byte_size::parse)]
    #[arg(conflicts_with_all = ["min", "max", "factor"])]
    sizes: Vec<usize>,
    /// Samples of each row [default: as many as fit the time, at least 5]
    #[arg(short = 'n', long, allow_negative_numbers = true, value_name = "ITERS")]
    #[arg(value_parser = parse_iterations)]
    iterations: Option<usize>,
    /// Samples before the first that counts, in each row's first round
    #[arg(short = 'w', long, allow_negative_numbers = true, default_value = "3")]
    #[arg(value_parser = parse_count)]
    warmup: usize,
    /// Time of each row in ms, if ITERS is not given
    #[arg(long, allow_negative_numbers = true, value_name = "MS", default_value = "200")]
    #[arg(value_parser = parse_time)]
    time: Duration,
    /// Turns in which the rows of an operation are measured
    #[arg(long, allow_negative_numbers = true, value_name = "N", default_value = "5")]
    #[arg(value_parser = parse_rounds)]
    rounds: usize,
    /// Calls in a sample: 1 to 1024 [default: up to 32 while buffers stay warm]
    #[arg(long, allow_negative_numbers = true, value_name = "N", value_parser = parse_calls)]
    calls: Option<usize>,
    /// auto, an algorithm's id such as AR-RING, or all (every one that fits)
    #[arg(short = 'a', long, value_name = "auto|ID|all", default_value = "auto")]
    algorithm: Wanted,
    /// Element type: f32 f64 i32 u8
    #[arg(short = 't', long = "type", value_name = "TYPE", default_value = "f64")]
    ty: Type,
    /// Operator: sum prod min max, of integers also band bor bxor land lor lxor
    #[arg(short = 'r', long, default_value = "sum")]
    redop: Redop,
    /// Root, or all: the next rank with every sample
    #[arg(long, allow_negative_numbers = true, value_name = "RANK|all", default_value = "0")]
    #[arg(value_parser = parse_root)]
    root: Root,
    /// Distance of the shift; negative goes backwards
    #[arg(long, value_name = "Q", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = parse_shift)]
    shift: isize,
    /// Use the algorithms of a mesh of so many rows and columns
    #[arg(long, value_name = "AxB[xC..]", value_parser = parse_dims)]
    dims: Option<Extents>,
    /// Only operations that work in place
    #[arg(long)]
    in_place: bool,
    /// Give operations in place a second buffer, to which the input is copied first (timed)
    #[arg(long, conflicts_with = "in_place")]
    out_of_place: bool,
    /// A row for each place of the cores that has samples enough
    #[arg(long)]
    by_place: bool,
    /// Exchanges in ns below which a place is smt, and ccx; from the second on it is far
    #[arg(long, allow_hyphen_values = true, value_name = "SMT,CCX", default_value_t)]
    places: ProximityLimits,
    /// All columns (tsv and json always have them), and all that is known of the setting
    #[arg(long)]
    wide: bool,
    /// Record the calls, and show their counts: calls, bytes and waits of each method
    #[arg(long)]
    statistics: bool,
    /// State of the caches in which samples start: warm, cold or both
    #[arg(long, value_name = "warm|cold|both", default_value = "warm")]
    caches: CachesAsked,
    /// Measure slices of rows as lines of the standard input ask for them, for `phalanx peers`
    #[arg(long, hide = true, conflicts_with = "wide")]
    turns: bool,
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
    /// Runs the command on this machine, in this program if it is for the type that is asked for.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self.ty {
            Type::F64 => self.run_by(Measure::of::<f64>()),
            ty => {
                // A fault of the arguments is said without another program.
                self.checked()?;
                Err(programs::of_type(ty).carry_out(std::env::args_os().skip(1)))
            }
        }
    }

    /// Runs the command on this machine, in the type that `measure` is of.
    pub(crate) fn run_by(&self, measure: Measure) -> Result<(), Failure> {
        let wish = self.checked()?;
        if let Some(ranks) = self.ranks {
            // Before any thread is started.
            wish.plan(ranks)?;
        }
        let team = match self.ranks {
            Some(ranks) => self.builder().ranks(ranks),
            None => self.builder(),
        }
        .build()?;
        self.run_with(wish, &team, measure)
    }

    fn checked(&self) -> Result<BenchRequest, Failure> {
        let wish = self.wish();
        wish.check()?;
        Ok(wish)
    }

    fn builder(&self) -> phalanx::Builder {
        // The measured ranks stay where they are in all runs, rank 0 too.
        let builder = Team::builder().placement(self.placement.clone()).wait(self.wait);
        let builder = builder.pin_caller(true);
        // Of a record that nobody asked for, only the counts are used.
        match self.statistics && !is_recorded() {
            true => builder.record(NOWHERE).record_events(FEW_EVENTS),
            false => builder,
        }
    }

    /// The element type.
    pub(crate) fn ty(&self) -> Type {
        self.ty
    }

    fn run_with(
        &self,
        mut wish: BenchRequest,
        team: &Team,
        measure: Measure,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        if let Some(why) = &team.profile().refused {
            say(&format!("not followed: {why}"));
        }
        wish.effort.crowded = is_crowded(team);
        let plan = wish.plan(team.size())?;
        let sink = self.output.open()?;
        interrupt::listen();
        for note in &plan.skipped {
            say(note);
        }
        let view = TextView {
            wide: self.wide,
            algorithms: self.algorithm != Wanted::Auto || self.dims.is_some(),
            places: self.by_place,
            tallies: self.statistics || is_recorded(),
            caches: self.caches == CachesAsked::Both,
        };
        let mut report = Report::new(self.output.format, view, sink);
        // The first run binds rank 0.
        team.run(|comm| comm.barrier())?;
        let probes = !wish.effort.crowded && exchange::is_possible(team);
        let probe = probes.then(Probe::default);
        let tools = Tools { clock: Clock::measure(), limits: self.places, probe, measure };
        if self.turns {
            return TurnServer::new(team, &tools, &wish).serve();
        }
        let exchange_ns = floor(team, &tools)?;
        let setting = RunConditions::of(team, &self.placement.to_string(), self.wait);
        let (clock, limits, rounds) = (tools.clock, tools.limits, self.rounds);
        let modelled = Modelled::of(team);
        let (steal, energy) = (Steal::now(), Joules::now());
        let model = modelled.as_ref().map(|_| team.profile().to_string());
        let (caches, attach) = (self.caches, self.attachment(model.as_deref()));
        let disturbed = core_watch::look(team)?;
        let watch = CoreWatch::new(team)?;
        let head =
            Head { setting, exchange_ns, clock, limits, rounds, caches, model, attach, disturbed };
        report.head(&head)?;
        let failed = self.blocks(team, &plan, &tools, modelled.as_ref(), &mut report)?;
        let interrupted = interrupt::asked();
        let exchange_ns = if interrupted { None } else { floor(team, &tools)? };
        let (time, stolen_ms, joules) = (started.elapsed(), steal.ms_since(), energy.since());
        // A team that is dead says nothing more.
        let disturbed = watch.end(team).unwrap_or_default();
        let is_whole = failed.is_empty() && !interrupted && self.iterations.is_none();
        let aftermath = is_whole && probes;
        let aftermath = aftermath.then(|| Aftermath::measure(team)).transpose()?;
        let foot = Foot {
            exchange_ns,
            stolen_ms,
            joules,
            time,
            interrupted,
            failed,
            disturbed,
            aftermath,
        };
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

    /// The files that a report is to have with it.
    fn attachment(&self, model: Option<&str>) -> String {
        let rows = match (self.output.format, self.output.path()) {
            (Format::Json, Some(path)) => format!("the file '{}'", path.display()),
            _ => "the file 'bench.json' of the same command with --format json -o bench.json"
                .to_string(),
        };
        model.map_or(rows.clone(), |model| format!("{rows},\n#   and the {model}"))
    }

    fn wish(&self) -> BenchRequest {
        BenchRequest {
            operations: self.operations.clone(),
            wanted: self.algorithm,
            ty: self.ty,
            redop: self.redop,
            root: self.root,
            shift: self.shift,
            dims: self.dims.clone(),
            in_place: self.in_place,
            apart: self.out_of_place,
            sizes: match &self.sizes[..] {
                [] if self.min <= self.max => byte_size::steps(self.min, self.max, self.factor),
                sizes => sizes.to_vec(),
            },
            min: self.min,
            max: self.max,
            caches: self.caches,
            effort: SampleBudget {
                samples: self.iterations,
                warmup: self.warmup,
                time: self.time,
                check: !self.no_check,
                crowded: false,
                calls: self.calls,
            },
        }
    }

    /// Measures the plan's cases, operation by operation. Returns those that
    /// failed, with the reason; the rest of an algorithm's sizes is then left
    /// out.
    fn blocks(
        &self,
        team: &Team,
        plan: &BenchPlan,
        tools: &Tools,
        model: Option<&Modelled<'_>>,
        report: &mut Report,
    ) -> Result<Vec<String>, Failure> {
        let steps = plan.cases.len() * self.rounds;
        let mut progress = match self.iterations {
            Some(_) => Progress::new(steps),
            None => {
                let each = OVERHEAD * self.time.as_secs_f64() / self.rounds as f64;
                Progress::timed(vec![each; steps])
            }
        };
        let mut failed = Vec::new();
        let of = |case: &SampleCase| (case.shape.operation, case.shape.form);
        for cases in plan.cases.chunk_by(|a, b| of(a) == of(b)) {
            if interrupt::asked() {
                break;
            }
            let mut turns = Turns {
                team,
                cases,
                tools,
                rounds: self.rounds,
                progress: &mut progress,
                failed: &mut failed,
            };
            let (block, dead) = turns.rounds();
            progress.clear();
            let wrong = block.iter().map(Rounds::wrong).sum();
            let rows = cases.iter().zip(&block);
            let rows = rows.flat_map(|(case, rounds)| self.rows(case, rounds, team.size(), model));
            report.block(rows.collect(), wrong)?;
            if dead {
                break;
            }
        }
        Ok(failed)
    }

    fn rows(
        &self,
        case: &SampleCase,
        rounds: &Rounds,
        ranks: usize,
        model: Option<&Modelled<'_>>,
    ) -> Vec<BenchRow> {
        if rounds.len() == 0 {
            return Vec::new();
        }
        // Whoever interrupts gets the samples so far.
        let samples = case.effort.samples.filter(|_| !interrupt::asked());
        let sorted = rounds.sorted(samples, &self.places);
        let rows = sorted.iter().filter_map(|sorted| {
            let row = BenchRow::new(case, ranks, sorted, rounds.wrong())?;
            let row = BenchRow { tally: rounds.tally(), cores: rounds.cores(), ..row };
            let Some(model) = model else { return Some(row) };
            let ns = model.row(case, row.place);
            Some(row.modelled(ns))
        });
        rows.take(if self.by_place { usize::MAX } else { 1 }).collect()
    }
}

/// Of a row's time, the factor that setting up and checking take besides, found by trial.
const OVERHEAD: f64 = 2.2;

/// A record that is not kept.
const NOWHERE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Of a record that is not kept: enough for the counts at a call's end.
const FEW_EVENTS: usize = 256;

/// Whether the user has every team recorded.
fn is_recorded() -> bool {
    std::env::var_os("PHALANX_RECORD").is_some_and(|file| !file.is_empty())
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

fn parse_time(text: &str) -> Result<Duration, String> {
    let ms = text.parse::<f64>().ok().filter(|ms| *ms > 0.0 && *ms <= 3.6e6);
    let wrong = || format!("'{text}' is no time in ms; accepted are more than 0, up to 3600000");
    ms.map(|ms| Duration::from_secs_f64(ms / 1000.0)).ok_or_else(wrong)
}

fn parse_rounds(text: &str) -> Result<usize, String> {
    let n = text.parse().ok().filter(|n| (1..=1000).contains(n));
    n.ok_or_else(|| format!("'{text}' is no number of rounds; accepted are 1 to 1000"))
}

fn parse_calls(text: &str) -> Result<usize, String> {
    let n = text.parse().ok().filter(|n| (1..=1024).contains(n));
    n.ok_or_else(|| format!("'{text}' is no number of calls; accepted are 1 to 1024"))
}

fn parse_shift(text: &str) -> Result<isize, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number"))
}

fn parse_root(text: &str) -> Result<Root, String> {
    if suggest::plain(text) == "all" {
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
        match suggest::nearest(&suggest::plain(text), &accepted) {
            Some(name) => format!("{e}; did you mean {name}?"),
            None => e.to_string(),
        }
    })
}

fn parse_wait(text: &str) -> Result<Wait, String> {
    let all =
        [("auto", Wait::Auto), ("spin", Wait::Spin), ("yield", Wait::Yield), ("park", Wait::Park)];
    suggest::find("wait mode", text, &all)
}
