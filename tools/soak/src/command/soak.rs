//! `phalanx soak`: random calls for any length of time, with every result and all resources
//! checked.

use crate::heap;
use crate::kit::judge;
use crate::load::{self, Group, Load};
use crate::longest_waits::LongestWaits;
use crate::memory::Memory;
use crate::pace::{self, Bound, Pace, Slowest, Twin};
use crate::resources::Holdings;
use crate::script::{draw, play};
use phalanx::engine::TestSettings as _;
use phalanx::{Builder, Comm, Error, MAX_RANKS, Team, Wait};
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::output::{Format, OutputArgs};
use phalanx_bench::progress::Progress;
use phalanx_bench::prose::{self, say};
use phalanx_bench::source::count;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// Runs of a team before it is dropped and another one built.
const RUNS_OF_A_TEAM: u64 = 40;
/// And of a team that yields, which is slow beside busy threads and would have the turn for itself.
const RUNS_OF_A_TEAM_THAT_YIELDS: u64 = 4;
/// A rank that waits for so long is a hang, on any machine.
const DEADLINE: Duration = Duration::from_secs(120);
const MOST_SECONDS: u64 = 1_000_000;
/// Busy processes at once.
const MOST_BUSY: usize = 64;
const ABOUT: &str = "\
RUNS: teams of RANKS ranks, with counters that go across 2^32, run scripts of 4 to 127 calls: all
  collectives with even and uneven blocks, up to 4 of them started in a scope, views, overlap,
  halos, ghosts, messages, splits; on the team or on one of up to 4 communicators split off; by an
  algorithm, a mesh, groups or a fixed order forced at random; on 6 element types (no bytes to 16
  KiB, aligned to 1 to 16 KiB, floats, a struct with padding), the library's operators and closures,
  commutative or not; 0 bytes to 1 MiB, in a third of the scripts (longer ones) to 256 bytes. A
  sixth are short calls: 64 to 127 barriers and small collectives of the whole team. In a quarter of
  the runs ranks are late at random. In one of 12, never of short calls, something goes wrong on one
  rank: a panic between calls or in an operator, an early return, another length, element type,
  root, algorithm or call, a call more or less, lost communicators; the run must then end with an
  error that fits, and the next one be right. Five teams of eight wait as they choose, two park, one
  yields. After 40 runs (4 of a team that yields) there is a new team, and one run on threads of the
  tool's own.

LOAD: with --load the same beside so many processes that do nothing but turn: of the scheduler group
  of the ranks (on Linux: of the same session), as a build in the next pane is, or of another group.
  Each number and group, and each number of ranks, has the same part of the time. The processes end
  with this one, however it ends.

CHECKS: every element of every result against a sequential oracle. No rank waits for longer than 120
  s. No run takes longer than its bound: beside each run its twin is timed, the same ranks that make
  the same vectors, are late in the same places, and meet at a std::sync::Barrier where the run has
  a call (in a team that yields, at one that yields). A run of short calls may take 4 times as long
  as its twin, and 20 ms; any other 40 times, and 100 ms. One that took longer is made again, with
  its twin. It crawls if the fastest of 10 runs takes longer than the slowest of their twins allows.
  After each team the process has as many threads and file descriptors as before it, and, counted to
  the byte, no more memory allocated than after the first two (and 4 KiB). In the last third of the
  time no more of it is in use, with mailboxes and stacks, than in the first third (and 16 MiB),
  where both had 8 teams. A
  failed check ends the command with exit code 1 and tells the command that makes the run again: all
  runs of its team, from the first one on, since the seed of that says how the team waits and
  counts. (A slow run that is made again is its team's last: where the repetition says that one was,
  it has made other runs, and is to be started anew.)

COLUMNS (tsv, json): ranks load load_group seconds teams runs operations operations_per_s faults
  failed_runs slow_runs slowest_share slowest_ms slowest_twin_ms slowest_seed longest_call_ms
  longest_meeting_ms heap_first heap_last rss_kib_first rss_kib_last descriptors threads seed. An
  operation is one call by all ranks of a communicator; slow_runs were made again; the slowest run
  is the one that took most of its bound, at its best: 1 is all of it; longest_call_ms is that of a
  rank in a call, longest_meeting_ms in a meeting of a twin; heap_first is in bytes, the most
  after the first two teams, heap_last after the last one; rss_kib_first is the most in the first
  third, rss_kib_last the least in the last third.

Examples:
  phalanx soak --seconds 60 -p 2,16 --seed 7
  phalanx soak --seconds 60 -p 8 --load 0,1,8 --load-group same,other";

/// Call everything at random for a while, and check all of it
///
/// Calls everything at random for a while, with mistakes, and checks every
/// result, and that nothing is left behind.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx soak --seconds 60\n\nMore with --help.")]
pub(crate) struct Soak {
    /// How long, for all numbers of ranks and all loads together [default: 60; with --runs, as long
    /// as those take]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_seconds)]
    seconds: Option<u64>,
    /// Numbers of ranks, 1 to 1024
    #[arg(short = 'p', long, value_name = "RANKS[,RANKS..]", allow_negative_numbers = true)]
    #[arg(default_value = "2,16", value_parser = parse_ranks, value_delimiter = ',')]
    ranks: Vec<usize>,
    /// The first run's seed; run k has seed SEED + k [default: of the clock]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_number)]
    seed: Option<u64>,
    /// Stop after so many runs, for each number of ranks
    #[arg(long, allow_negative_numbers = true, value_parser = parse_number)]
    runs: Option<u64>,
    /// Busy processes beside the ranks: their numbers, one after the other, 0 to 64
    #[arg(long, value_name = "N[,N..]", allow_negative_numbers = true, default_value = "0")]
    #[arg(value_parser = parse_load, value_delimiter = ',')]
    load: Vec<usize>,
    /// Whether they are of the ranks' scheduler group (a session has one) or of another: same,
    /// other
    #[arg(long, value_name = "GROUP[,GROUP..]", default_value = "same", value_delimiter = ',')]
    load_group: Vec<Group>,
    /// Let every rank sleep for so many us before every call: to see that the check finds it
    #[arg(long, hide = true, allow_negative_numbers = true, value_name = "US")]
    #[arg(default_value = "0", value_parser = parse_number)]
    crawl: u64,
    /// Divide the bounds of all runs by so much: to see how far from them the runs are
    #[arg(long, hide = true, value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    margin: u32,
    /// Take the run with this seed for wrong, and judge no time: to see that the command that is
    /// told makes it again
    #[arg(long, hide = true, allow_negative_numbers = true, value_name = "SEED")]
    #[arg(value_parser = parse_number)]
    wrong: Option<u64>,
    /// Lose so many bytes in every run: to see that the check finds it
    #[arg(long, hide = true, allow_negative_numbers = true, value_name = "BYTES")]
    #[arg(default_value = "0", value_parser = parse_number)]
    leak: u64,
    #[command(flatten)]
    output: OutputArgs,
}

impl Soak {
    /// The loads, each once: none has no group.
    fn loads(&self) -> Vec<(usize, Group)> {
        let groups = |busy| &self.load_group[..if busy == 0 { 1 } else { self.load_group.len() }];
        self.load.iter().flat_map(|&n| groups(n).iter().map(move |&group| (n, group))).collect()
    }

    fn seconds(&self) -> u64 {
        let default = if self.runs.is_some() { MOST_SECONDS } else { 60 };
        self.seconds.unwrap_or(default)
    }

    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        interrupt::listen();
        heap::count();
        let seed = self.seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(1, |now| now.as_millis() as u64)
        });
        let mut sink = self.output.open()?;
        if Holdings::now().is_none() {
            say("memory, descriptors and threads are not checked: there is no /proc here");
        }
        let loads = self.loads();
        if loads.iter().any(|&(busy, group)| busy > 0 && group == Group::Other) {
            load::no_groups().into_iter().for_each(say);
        }
        let turns = loads.len() * self.ranks.len();
        let share = Duration::from_secs(self.seconds()) / turns as u32;
        let mut table = Table { format: self.output.format, rows: Vec::new() };
        sink.write(&table.head())?;
        // With a number of runs their time is not known.
        let mut progress = match self.seconds {
            Some(_) => Progress::timed(vec![share.as_secs_f64(); turns]),
            None if self.runs.is_none() => Progress::timed(vec![share.as_secs_f64(); turns]),
            None => Progress::new(turns),
        };
        'turns: for &(busy, group) in &loads {
            for &ranks in &self.ranks {
                let plan = SoakPlan {
                    ranks,
                    seed,
                    busy,
                    group,
                    time: share,
                    runs: self.runs.unwrap_or(u64::MAX),
                    leak: self.leak as usize,
                    crawl: Duration::from_micros(self.crawl),
                    margin: f64::from(self.margin),
                    wrong: self.wrong,
                };
                progress.step(&plan.what());
                let row = plan.soak(&mut progress);
                progress.clear();
                sink.write(&table.row(row?))?;
                if interrupt::asked() {
                    break 'turns;
                }
            }
        }
        sink.write(&table.foot())?;
        if interrupt::asked() { Err(Failure::Interrupted) } else { Ok(()) }
    }
}

/// Teams of one size, under one load.
#[derive(Clone, Copy, Debug)]
struct SoakPlan {
    ranks: usize,
    /// The first run's.
    seed: u64,
    /// Busy processes.
    busy: usize,
    group: Group,
    time: Duration,
    runs: u64,
    /// Bytes lost in every run.
    leak: usize,
    crawl: Duration,
    /// The number that the bounds are divided by.
    margin: f64,
    /// The run that is taken for wrong.
    wrong: Option<u64>,
}

/// A team, and which runs it has.
#[derive(Clone, Copy, Debug)]
struct Lot {
    ranks: usize,
    /// The seed of its first run, which says everything about it.
    first: u64,
}

/// Its result.
struct SoakRow {
    plan: SoakPlan,
    time: Duration,
    teams: u64,
    runs: u64,
    operations: u64,
    faults: u64,
    failed: u64,
    /// Runs made again as they were too slow.
    again: u64,
    slowest: Option<Slowest>,
    longest: LongestWaits,
    memory: Memory,
    holdings: Option<Holdings>,
}

impl SoakPlan {
    /// In words.
    fn what(&self) -> String {
        match self.busy {
            0 => format!("{} ranks", self.ranks),
            n => format!("{} ranks, {n} busy of {} group", self.ranks, self.group.article()),
        }
    }

    /// The command that makes the run with `seed` again: the team's, from its first one on.
    fn command(&self, lot: Lot, seed: u64) -> String {
        let load = match self.busy {
            0 => String::new(),
            n => format!(" --load {n} --load-group {}", self.group.name()),
        };
        let margin = match self.margin {
            1.0 => String::new(),
            margin => format!(" --margin {margin}"),
        };
        let crawl = match self.crawl.as_micros() {
            0 => String::new(),
            us => format!(" --crawl {us}"),
        };
        let runs = seed.wrapping_sub(lot.first).wrapping_add(1);
        let (p, first) = (self.ranks, lot.first);
        format!("phalanx soak -p {p}{load}{margin}{crawl} --seed {first} --runs {runs}")
    }

    /// Soaks teams.
    fn soak(self, progress: &mut Progress) -> Result<SoakRow, Failure> {
        // Beyond its time a turn has its last run, and those of its load end with it anyhow.
        let limit = self.time + 2 * DEADLINE;
        let mut load = Load::start(self.busy, self.group, limit)
            .map_err(|e| Failure::Run(format!("the load was not started: {e}")))?;
        let row = self.soak_beside(progress)?;
        let whole = load.is_whole().map_err(Failure::run)?;
        if !whole && !interrupt::asked() {
            return Err(Failure::Run("a busy process ended before it was told to".to_string()));
        }
        Ok(row)
    }

    fn soak_beside(self, progress: &mut Progress) -> Result<SoakRow, Failure> {
        let SoakPlan { ranks, seed, time, runs, leak, .. } = self;
        // The first team makes the objects that stay: a machine that was read, allocators.
        Team::builder().ranks(ranks).build()?.run(|comm| comm.barrier())?;
        let longest = LongestWaits::listening();
        let mut before = settled(None);
        let begun = Instant::now();
        let is_over =
            |runs_done| runs_done >= runs || begun.elapsed() >= time || interrupt::asked();
        let mut row = SoakRow {
            plan: self,
            time,
            teams: 0,
            runs: 0,
            operations: 0,
            faults: 0,
            failed: 0,
            again: 0,
            slowest: None,
            longest,
            memory: Memory::default(),
            holdings: before,
        };
        while !is_over(row.runs) {
            let lot = Lot { ranks, first: seed.wrapping_add(row.runs) };
            let team = lot.builder().build()?;
            // A run that is made again moves the team's counters: it is the team's last one, so
            // that a command that begins with the team's first run meets the same counters.
            let mut is_last = false;
            for _ in 0..lot.runs() {
                if is_last || is_over(row.runs) {
                    break;
                }
                let of_time = begun.elapsed().as_secs_f64() / time.as_secs_f64();
                progress.part(of_time.max(row.runs as f64 / runs as f64));
                std::mem::forget(vec![1u8; leak]);
                is_last =
                    row.one_run(lot, |part| timed(|| team.run(|comm| part(comm)).map(drop)))?;
            }
            drop(team);
            if !is_last && !is_over(row.runs) {
                row.one_run(lot, |part| lot.on_own_threads(part))?;
            }
            row.teams += 1;
            row.holdings = settled(before);
            if let (Some(before), Some(now)) = (&mut before, row.holdings) {
                if now.descriptors != before.descriptors || now.threads > before.threads {
                    return Err(Failure::Checks(format!(
                        "after {} teams of {ranks} ranks there are {} descriptors and {} \
                         threads, {} and {} before; seed {seed}",
                        row.teams, now.descriptors, now.threads, before.descriptors, before.threads
                    )));
                }
                // A thread of the row before may have been counted that was on its way out.
                before.threads = now.threads;
                let of_time = begun.elapsed().as_secs_f64() / time.as_secs_f64();
                let share = of_time.max(row.runs as f64 / runs as f64);
                row.memory.note(share, now);
            }
        }
        row.time = begun.elapsed();
        if before.is_some() && row.memory.heap_last.is_none() {
            say(&format!(
                "memory was not judged: that begins with the third team, there were {}",
                row.teams
            ));
        }
        if let Some(growth) = row.memory.growth() {
            return Err(Failure::Checks(format!(
                "{growth} in {} runs of {ranks} ranks; seed {seed}",
                row.runs
            )));
        }
        Ok(row)
    }
}

/// A rank's part of a run.
type Part<'a> = dyn Fn(&mut Comm) + Sync + 'a;

impl SoakRow {
    /// One run of the script with the next seed, by `run`; and more of them while they are too
    /// slow. Says whether there were more.
    fn one_run(
        &mut self,
        lot: Lot,
        run: impl Fn(&Part<'_>) -> (Duration, Result<(), Error>),
    ) -> Result<bool, Failure> {
        let (plan, longest) = (self.plan, &self.longest);
        let seed = plan.seed.wrapping_add(self.runs);
        let script = draw(seed, plan.ranks);
        self.runs += 1;
        self.faults += u64::from(script.fault.is_some());
        self.operations += script.acts.len() as u64;
        let failure = |what: String| {
            let (lot_text, command) = (lot.of_run(seed), plan.command(lot, seed));
            let _: Result<_, _> = writeln!(std::io::stderr(), "phalanx: {script}");
            Failure::Checks(format!("{what}; seed {seed}, {lot_text}; again with: {command}"))
        };
        if plan.wrong == Some(seed) {
            return Err(failure("a run was to be taken for wrong".to_string()));
        }
        let trial = |number: usize| {
            pace::pause(number);
            let (took, result) = run(&|comm| play(comm, &script, seed, longest, plan.crawl));
            judge(&script, &result).map_err(failure)?;
            let twin = Twin::new(&script, seed, plan.ranks, lot.wait());
            let (twin_took, twin) = run(&|comm| twin.play(comm.rank(), longest));
            twin.map_err(|e| failure(format!("its twin: {e}")))?;
            let bound = Bound::of(&script, plan.margin);
            let pace = Pace { run: took, twin: twin_took, bound };
            Ok::<_, Failure>((pace, result.is_err()))
        };
        let (mut pace, has_failed) = trial(0)?;
        self.failed += u64::from(has_failed);
        let mut trials = 1;
        while pace.crawls() && plan.wrong.is_none() {
            if trials == pace::TRIALS {
                return Err(failure(format!(
                    "a run crawls ({}): the fastest of {trials} took longer than the slowest twin \
                     allows: {pace}",
                    plan.what()
                )));
            }
            pace = pace.and(trial(trials)?.0);
            trials += 1;
        }
        let is_again = trials > 1;
        self.again += u64::from(is_again);
        if self.slowest.as_ref().is_none_or(|slowest| slowest.pace.share() < pace.share()) {
            self.slowest = Some(Slowest { pace, seed, command: plan.command(lot, seed) });
        }
        Ok(is_again)
    }
}

impl Lot {
    /// Of three ways of waiting.
    fn wait(self) -> Wait {
        match (self.first >> 1) % 8 {
            0..=4 => Wait::Auto,
            5 | 6 => Wait::Park,
            _ => Wait::Yield,
        }
    }

    /// Runs before it is dropped.
    fn runs(self) -> u64 {
        match self.wait() {
            Wait::Yield => RUNS_OF_A_TEAM_THAT_YIELDS,
            _ => RUNS_OF_A_TEAM,
        }
    }

    /// The number that its counters count from: they go across 2^32 in one of its runs.
    fn start(self) -> u32 {
        u32::MAX - (self.first % 300) as u32
    }

    /// The conditions of the run with `seed`.
    fn of_run(self, seed: u64) -> String {
        let before = seed.wrapping_sub(self.first);
        let place = if before < self.runs() { "of a team" } else { "on own threads after a team" };
        let calls = (0..before)
            .map(|k| draw(self.first.wrapping_add(k), self.ranks).acts.len())
            .sum::<usize>();
        format!(
            "run {} {place} that waits by {:?} and counts from {}, {calls} calls before",
            before + 1,
            self.wait(),
            self.start()
        )
    }

    fn builder(self) -> Builder {
        Team::builder()
            .ranks(self.ranks)
            .deadline(DEADLINE)
            .wait(self.wait())
            .counting_from(self.start())
    }

    /// A part on threads that are not the library's.
    fn on_own_threads(self, part: &Part<'_>) -> (Duration, Result<(), Error>) {
        match self.builder().external() {
            Ok(comms) => timed(|| protected(comms, part)),
            Err(error) => (Duration::ZERO, Err(error)),
        }
    }
}

fn timed(run: impl FnOnce() -> Result<(), Error>) -> (Duration, Result<(), Error>) {
    let begun = Instant::now();
    let result = run();
    (begun.elapsed(), result)
}

fn protected(comms: Vec<Comm>, part: &Part<'_>) -> Result<(), Error> {
    let results: Vec<Result<(), Error>> = std::thread::scope(|s| {
        let threads: Vec<_> = comms
            .into_iter()
            .map(|mut comm| s.spawn(move || comm.protect(|comm| part(comm))))
            .collect();
        threads.into_iter().map(|t| t.join().unwrap_or(Err(Error::Dead))).collect()
    });
    // One rank has the cause; the others know only that there is one.
    let mut errors: Vec<Error> = results.into_iter().filter_map(Result::err).collect();
    let cause = errors.iter().position(|e| !matches!(e, Error::Dead)).unwrap_or(0);
    if errors.is_empty() { Ok(()) } else { Err(errors.swap_remove(cause)) }
}

/// Holdings, once threads that have ended are gone: `join` returns a little
/// before the system has forgotten them.
fn settled(wanted: Option<Holdings>) -> Option<Holdings> {
    let mut now = Holdings::now()?;
    for _ in 0..200 {
        match wanted {
            Some(wanted) if now.threads <= wanted.threads => break,
            None => break,
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
        now = Holdings::now()?;
    }
    Some(now)
}

/// The output.
struct Table {
    format: Format,
    rows: Vec<Value>,
}

const COLUMNS: [&str; 24] = [
    "ranks",
    "load",
    "load_group",
    "seconds",
    "teams",
    "runs",
    "operations",
    "operations_per_s",
    "faults",
    "failed_runs",
    "slow_runs",
    "slowest_share",
    "slowest_ms",
    "slowest_twin_ms",
    "slowest_seed",
    "longest_call_ms",
    "longest_meeting_ms",
    "heap_first",
    "heap_last",
    "rss_kib_first",
    "rss_kib_last",
    "descriptors",
    "threads",
    "seed",
];

impl Table {
    fn head(&self) -> String {
        match self.format {
            Format::Text => String::new(),
            Format::Tsv => COLUMNS.join("\t") + "\n",
            Format::Json => String::new(),
        }
    }

    fn row(&mut self, row: SoakRow) -> String {
        let seconds = row.time.as_secs_f64();
        let per_second = row.operations as f64 / seconds.max(1e-9);
        let ms = |time: Duration| (time.as_secs_f64() * 1e5).round() / 100.0;
        let (call, meeting) = row.longest.longest();
        let slowest =
            |value: &dyn Fn(&Slowest) -> Value| row.slowest.as_ref().map_or(Value::Null, value);
        let object = json!({
            "ranks": row.plan.ranks,
            "load": row.plan.busy,
            "load_group": (row.plan.busy > 0).then(|| row.plan.group.name()),
            "seconds": (seconds * 10.0).round() / 10.0,
            "teams": row.teams,
            "runs": row.runs,
            "operations": row.operations,
            "operations_per_s": per_second.round() as u64,
            "faults": row.faults,
            "failed_runs": row.failed,
            "slow_runs": row.again,
            "slowest_share": slowest(&|s| json!((s.pace.share() * 1e3).round() / 1e3)),
            "slowest_ms": slowest(&|s| json!(ms(s.pace.run))),
            "slowest_twin_ms": slowest(&|s| json!(ms(s.pace.twin))),
            "slowest_seed": slowest(&|s| json!(s.seed)),
            "longest_call_ms": call.map(|(_, time)| ms(time)),
            "longest_meeting_ms": ms(meeting),
            "heap_first": row.memory.heap_first,
            "heap_last": row.memory.heap_last,
            "rss_kib_first": row.memory.rss_first,
            "rss_kib_last": row.memory.rss_last,
            "descriptors": row.holdings.map(|h| h.descriptors),
            "threads": row.holdings.map(|h| h.threads),
            "seed": row.plan.seed,
        });
        let cell = |name: &str| match &object[name] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let text = match self.format {
            Format::Text => {
                let mut text = format!(
                    "{}: all right: {} operations in {} of {}, {} s: {} operations/s\n",
                    row.plan.what(),
                    row.operations,
                    count(row.runs as usize, "run"),
                    count(row.teams as usize, "team"),
                    cell("seconds"),
                    cell("operations_per_s"),
                );
                text += &mistakes(row.faults, row.failed);
                let mut pair = |what: &str, first: Option<i64>, last: Option<i64>| {
                    if let (Some(first), Some(last)) = (first, last) {
                        let _: Result<_, _> =
                            writeln!(text, "  {what}: at first {first}, at last {last}");
                    }
                };
                let memory = &row.memory;
                let kib = |n: Option<u64>| n.map(|n| n as i64);
                pair("bytes allocated", memory.heap_first, memory.heap_last);
                pair("KiB in use", kib(memory.rss_first), kib(memory.rss_last));
                if let Some(Slowest { pace, command, .. }) = &row.slowest {
                    let _: Result<_, _> = writeln!(
                        text,
                        "  slowest run: {pace}\n  it was: {command}\n  runs made again, as they \
                         were slow: {}",
                        row.again
                    );
                }
                text + &format!("  {}  seed {}\n", row.longest, row.plan.seed)
            }
            Format::Tsv => COLUMNS.map(cell).join("\t") + "\n",
            Format::Json => String::new(),
        };
        self.rows.push(object);
        text
    }

    fn foot(&self) -> String {
        match self.format {
            Format::Json => format!("{:#}\n", json!({ "rows": self.rows })),
            _ => String::new(),
        }
    }
}

/// The fate of the mistakes that runs were given: of `faults` runs `failed` ended by theirs. In the
/// others it was none, and they were judged as all runs are.
fn mistakes(faults: u64, failed: u64) -> String {
    let none = faults.saturating_sub(failed);
    let rest = match none {
        0 => String::new(),
        n => format!(
            ";\n  {n} went well, as the mistake was none there (another length of a barrier, an \
             operator\n  that was not called so often)"
        ),
    };
    let runs = count(faults as usize, "run");
    format!("  mistakes put into {runs}: {failed} ended with the error that fits{rest}\n")
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(ranks) if (1..=MAX_RANKS).contains(&ranks) => Ok(ranks),
        _ => Err(format!("'{text}' is no number of ranks; a team has 1 to {MAX_RANKS}")),
    }
}

fn parse_load(text: &str) -> Result<usize, String> {
    let busy = text.parse().ok().filter(|n| *n <= MOST_BUSY);
    busy.ok_or_else(|| format!("'{text}' is no number of busy processes; 0 to {MOST_BUSY} are"))
}

fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|s| (1..=MOST_SECONDS).contains(s));
    seconds.ok_or_else(|| {
        format!("'{text}' is no time; accepted are 1 to {MOST_SECONDS} whole seconds")
    })
}

fn parse_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_that_is_none_is_no_failure() {
        let all = "  mistakes put into 1 run: 1 ended with the error that fits\n";
        assert_eq!(mistakes(1, 1), all);
        let some = mistakes(16, 12);
        assert!(some.contains("12 ended with the error that fits;\n  4 went well"), "{some}");
        assert!(some.lines().all(|line| line.len() <= 100), "{some}");
    }
}
