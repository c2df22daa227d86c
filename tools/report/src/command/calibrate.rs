//! `phalanx calibrate`: t_s and t_w by level, the sizes at which the automatic choice should change
//! its algorithm.

use crate::calibrate::copies::{Copies, measure_copies};
use crate::calibrate::levels::{Levels, measure_levels};
use crate::calibrate::stream::{Stream, measure_stream};
use crate::calibrate::thresholds::{Switch, changes, measure_switches};
use phalanx::machine::Machine;
use phalanx::tuning::{Profile, Tuning};
use phalanx::{MAX_RANKS, Team};
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::matrix::saved_run::rounded;
use phalanx_bench::measure::clock::Clock;
use phalanx_bench::measure::conditions::{accuracy, alone, now};
use phalanx_bench::measure::emulation;
use phalanx_bench::measure::proximity::ProximityLimits;
use phalanx_bench::measure::steal::Steal;
use phalanx_bench::output::Format;
use phalanx_bench::pair::team::{team, units};
use phalanx_bench::prose;
use phalanx_bench::source::summary;
use phalanx_bench::table::table;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

const ABOUT: &str = "\
WHAT: (1) messages of 8 bytes to 4 MiB between pairs of every level that the machine has (core, l2,
  l3, numa, package, machine), by send and recv; t_s and t_w by least squares of relative errors,
  with bounds of 95 %, the residuals, and how far one line for all levels (the flat model) is off;
  the same by pieces, since a message travels in the mailbox's slot (up to 96 bytes), is copied by
  its sender (up to 1024), goes by its address, or outgrows the caches; and what a core takes to
  copy its own memory. These limits are the library's; what 8 bytes more cost is shown. (2) For
  every operation, on as many ranks as cores, half of them (from 4 on), and twice as many: the two
  ways that the automatic choice changes between, by two teams in turns at sizes of 48 bytes to 256
  KiB; the size from which the second one is faster. A size of the library's stays unless another is
  better by 2 % on average. (3) From which footprint on streaming stores are faster. About a minute
  on a small machine; more levels take longer.

PROFILE: -o writes it to a file; --save writes it to where the library looks ($XDG_CACHE_HOME or
  ~/.cache, phalanx/profile.json). A program uses the file that PHALANX_PROFILE names, else that
  one, if it is of the same machine (processor, topology); Team::profile says which, or why not.
  json: phalanx_profile (version), created, machine {cpu, topology}, levels[{level, place, t_s_ns,
  t_s_ci, t_w_ns_per_byte, t_w_ci, samples, pieces[{from_bytes, t_s_ns, t_w_ns_per_byte}]}],
  copies[piece], payloads {line_bytes, slot_bytes, copied_bytes}, tunings[{ranks, sizes by name;
  null: never}], evidence {clock_overhead_ns, clock_resolution_ns, stolen_ms, levels, copies,
  switches, stream}: the points behind it, which the library ignores. How well the model predicts
  with it is said by phalanx bench, which has the model's time beside each row.

PLACES: a virtual machine's cores move; samples count between two probes that agree, each place
  (smt, ccx, far) has rates of its own.

Example:
  phalanx calibrate -o profile.json && PHALANX_PROFILE=profile.json phalanx bench all-reduce";

/// Fit t_s and t_w, find the sizes for the automatic choice, write a profile
///
/// Measures the facts that the automatic choice of algorithms and the cost model need to
/// know of this machine, and writes it to a profile that the library reads.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx calibrate --save\n\nMore with --help.")]
pub struct Calibrate {
    /// Write the profile to this file
    #[arg(short, long, value_name = "PROFILE")]
    output: Option<PathBuf>,
    /// Write the profile to where the library looks for it
    #[arg(long)]
    save: bool,
    /// Only t_s and t_w, some ten seconds: a profile without sizes for the automatic choice
    #[arg(long)]
    rates: bool,
    /// Exchanges, in ns, up to which two cores count as smt and as ccx
    #[arg(long, value_name = "SMT,CCX", default_value_t = ProximityLimits::default())]
    places: ProximityLimits,
    /// Of the standard output: text (for eyes), tsv (levels) or json (the profile)
    #[arg(long, default_value = "text")]
    format: Format,
}

/// All that was measured.
struct CalibrationFound {
    profile: Profile,
    clock: Clock,
    stolen_ms: Option<f64>,
    levels: Levels,
    copies: Option<Copies>,
    switches: Vec<(usize, Vec<Switch>)>,
    stream: Option<Stream>,
}

impl Calibrate {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let started = Instant::now();
        let machine = Machine::this().map_err(Failure::run)?;
        let target = self.target()?;
        let all = units(&machine, None, false)?;
        let pus = units(&machine, None, true)?;
        interrupt::listen();
        let clock = Clock::measure();
        let found = self.measure(&machine, &all, &pus, &clock)?;
        let file = found.file()?;
        let out = match self.format {
            Format::Text => found.text(&machine, &pus, target.as_deref(), started),
            Format::Tsv => found.tsv(),
            Format::Json => file.clone(),
        };
        put(target.as_deref(), &file, &out)
    }

    /// Where the file goes; it must be possible to write there before a minute
    /// is spent.
    fn target(&self) -> Result<Option<PathBuf>, Failure> {
        let wrong = |path: &Path, e: std::io::Error| {
            Failure::Usage(format!("the profile '{}' cannot be written: {e}", path.display()))
        };
        let path = match (&self.output, self.save) {
            (Some(_), true) => {
                let what =
                    "the argument '--output' cannot be used with '--save'; choose one of them";
                return Err(Failure::Usage(what.to_string()));
            }
            (Some(path), false) => path.clone(),
            (None, true) => {
                let nowhere =
                    || Failure::Usage("neither XDG_CACHE_HOME nor HOME is set; use -o".to_string());
                let path = Profile::cache_path().ok_or_else(nowhere)?;
                if let Some(dir) = path.parent() {
                    std::fs::create_dir_all(dir).map_err(|e| wrong(dir, e))?;
                }
                path
            }
            (None, false) => return Ok(None),
        };
        // Beside it first: a profile that is there stays whole until the new
        // one is. A path that is there and no file (a device, a pipe) is written to, and never
        // replaced.
        if path.exists() && !path.is_file() {
            std::fs::OpenOptions::new().write(true).open(&path).map_err(|e| wrong(&path, e))?;
            return Ok(Some(path));
        }
        let probe = beside(&path);
        std::fs::write(&probe, "").map_err(|e| wrong(&path, e))?;
        std::fs::remove_file(&probe).map_err(|e| wrong(&path, e))?;
        Ok(Some(path))
    }

    fn measure(
        &self,
        machine: &Machine,
        all: &[usize],
        pus: &[usize],
        clock: &Clock,
    ) -> Result<CalibrationFound, Failure> {
        let limits = &self.places;
        let steal = Steal::now();
        let levels = measure_levels(machine, all, limits, clock)?;
        let mut profile = Profile::of(machine, &now());
        for line in &levels.lines {
            profile = profile.with_level(line.rates()).map_err(Failure::run)?;
        }
        // Of one core alone nothing is predicted.
        let copies = match pus.first() {
            Some(&first) if pus.len() > 1 => Some(measure_copies(first, limits, clock)?),
            _ => None,
        };
        if let Some(copies) = &copies {
            profile = profile.with_copies(copies.pieces()).map_err(Failure::run)?;
        }
        let n = pus.len();
        let mut tuning = Tuning::of(machine, n.max(1));
        let mut stream = None;
        if n > 1 && !self.rates {
            let build = |tuning| tuned(pus, n, tuning);
            let found = measure_stream(n, tuning.stream_from, build, limits, clock)?;
            tuning.stream_from = found.from;
            stream = Some(found);
        }
        let mut switches = Vec::new();
        let tuned_for = if self.rates { Vec::new() } else { numbers(n) };
        for ranks in tuned_for {
            let mut own = Tuning::of(machine, ranks);
            own.stream_from = tuning.stream_from;
            let build = |tuning| tuned(pus, ranks, tuning);
            let found = measure_switches(ranks, &mut own, build, limits, clock)?;
            profile = profile.with_tuning(ranks, own).map_err(Failure::run)?;
            switches.push((ranks, found));
        }
        let (clock, stolen_ms) = (*clock, steal.ms_since());
        Ok(CalibrationFound { profile, clock, stolen_ms, levels, copies, switches, stream })
    }
}

/// The numbers of ranks that are measured on `cores` cores: as many, half of
/// them, and twice as many.
fn numbers(cores: usize) -> Vec<usize> {
    let half = (cores >= 4).then_some(cores / 2);
    let own = (cores > 1).then_some(cores);
    let twice = (2 * cores).min(MAX_RANKS);
    half.into_iter().chain(own).chain((twice > cores).then_some(twice)).collect()
}

/// A team on these cores; by the library's own placement where there are more ranks than cores.
fn tuned(pus: &[usize], ranks: usize, tuning: Tuning) -> Result<Team, Failure> {
    let mut builder = Team::builder().ranks(ranks).profile(Profile::default()).tuning(tuning);
    if let Some(pus) = pus.get(..ranks) {
        // Says so if threads cannot be bound.
        drop(team(pus)?);
        builder = builder.placement(phalanx::placement::Placement::List(pus.to_vec()));
    }
    Ok(builder.build()?)
}

impl CalibrationFound {
    /// The profile with its grounds.
    fn file(&self) -> Result<String, Failure> {
        let mut object: Value =
            serde_json::from_str(&self.profile.to_json()).map_err(Failure::run)?;
        let switches = self.switches.iter().map(|(ranks, own)| {
            let operations: Vec<_> = own.iter().map(Switch::object).collect();
            json!({ "ranks": ranks, "operations": operations })
        });
        object["evidence"] = json!({
            "written_by": format!("phalanx {}", env!("CARGO_PKG_VERSION")),
            "emulated": emulation::emulator(),
            "clock_overhead_ns": rounded(self.clock.overhead_ns),
            "clock_resolution_ns": rounded(self.clock.resolution_ns),
            "stolen_ms": self.stolen_ms,
            "levels": self.levels.object(),
            "copies": self.copies.as_ref().map(Copies::object),
            "switches": switches.collect::<Vec<_>>(),
            "stream": self.stream.as_ref().map(Stream::object),
        });
        Ok(format!("{object:#}\n"))
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |line: &crate::calibrate::levels::RateLine| {
            let rates = line.rates();
            let mut cells = vec![rates.level.clone(), rates.place.clone()];
            let (s, w) = (rates.t_s_ci, rates.t_w_ci);
            cells.extend([rates.t_s_ns, s[0], s[1]].map(|x| format!("{x:.1}")));
            cells.extend([rates.t_w_ns_per_byte, w[0], w[1]].map(|x| format!("{x:.4}")));
            cells.push(format!("{:.3}", line.fit.rms()));
            cells.push(format!("{:.2}", line.fit.worst_factor()));
            cells.push(rates.samples.to_string());
            cells
        };
        self.levels.lines.iter().map(row).collect()
    }

    fn tsv(&self) -> String {
        let rows = self.rows();
        let rows = rows.iter().map(|row| row.join("\t") + "\n");
        COLUMNS.join("\t") + "\n" + &rows.collect::<String>()
    }

    fn text(
        &self,
        machine: &Machine,
        pus: &[usize],
        to: Option<&Path>,
        started: Instant,
    ) -> String {
        let mut out = String::new();
        // Sentences are folded; tables come as they are.
        let mut line = |text: &str| {
            let text = if text.contains('\n') { text.to_string() } else { prose::folded(text) };
            writeln!(out, "{text}").unwrap_or_default();
        };
        line(&format!("# phalanx calibrate: {}", summary(machine)));
        if let Some(warning) = emulation::warning() {
            line(&format!("# {warning}"));
        }
        match self.levels.lines.first() {
            None => {
                let why = match pus {
                    [only] => alone(machine, *only),
                    _ => "no pair kept its place long enough".to_string(),
                };
                line(&format!("# no t_s, t_w: {why}"));
            }
            Some(_) => {
                line("t_s + t_w * bytes, ns, by what two cores share; 95 % bounds");
                line(table(&COLUMNS, 2, &self.rows()).trim_end());
            }
        }
        for own in &self.levels.lines {
            line(&residuals(own));
        }
        if let Some(flat) = &self.levels.flat {
            line(&format!(
                "the flat model (one line for all of these): t_s {:.0} ns, t_w {:.4} ns/byte, \
                 relative error {:.2}, at worst a factor of {:.1}",
                flat.t_s,
                flat.t_w,
                flat.rms(),
                flat.worst_factor()
            ));
        }
        for own in &self.levels.lines {
            let at = own.limits().into_iter().map(|limit| {
                let [ns, beyond] = limit.ns;
                format!("{} ({}) {ns:.0}, 8 more {beyond:.0} ns", limit.bytes, limit.way)
            });
            line(&format!(
                "{} ({}): bytes at the mailbox's limits: {}",
                own.level,
                own.place,
                at.collect::<Vec<_>>().join("; ")
            ));
            line(&format!("{} ({}): {}", own.level, own.place, pieces(&own.rates().pieces)));
        }
        if !self.profile.copies().is_empty() {
            line(&format!("copies of a core's own memory: {}", pieces(self.profile.copies())));
        }
        if let Some(stream) = &self.stream {
            let size = |size: usize| match size {
                usize::MAX => "never".to_string(),
                size => format!("from {:.1} MiB", size as f64 / f64::from(1 << 20)),
            };
            line(&format!(
                "streaming stores: {} in all (the library's own: {})",
                size(stream.from),
                size(stream.before)
            ));
        }
        for (ranks, switches) in &self.switches {
            let changed = changes(switches);
            let what = match changed.is_empty() {
                true => "the library's own sizes stay".to_string(),
                false => changed.join("; "),
            };
            line(&format!("{ranks} ranks: {what}"));
        }
        line(&match to {
            Some(path) => format!("# written to '{}'", path.display()),
            None => "# not kept; -o FILE or --save writes the profile".to_string(),
        });
        line(&format!("# {}", accuracy(&self.clock, self.stolen_ms)));
        line(&format!("# {:.0} s", started.elapsed().as_secs_f64()));
        out
    }
}

const COLUMNS: [&str; 11] = [
    "level",
    "place",
    "t_s_ns",
    "t_s_low",
    "t_s_high",
    "t_w_ns_per_byte",
    "t_w_low",
    "t_w_high",
    "rms_error",
    "worst_factor",
    "samples",
];

/// "from 0 bytes 80 + 0 ns/KiB, from 97 .."
fn pieces(pieces: &[phalanx::tuning::Piece]) -> String {
    let all = pieces.iter().map(|p| {
        let per_kib = 1024.0 * p.t_w_ns_per_byte;
        format!("from {} bytes {:.0} + {per_kib:.1} ns/KiB", p.from_bytes, p.t_s_ns)
    });
    all.collect::<Vec<_>>().join(", ")
}

/// The residuals of a line, in per cent of the measured.
fn residuals(line: &crate::calibrate::levels::RateLine) -> String {
    let all = line.fit.residuals.iter().map(|r| {
        format!("{} {:+.0} %", phalanx_bench::byte_size::text(r.point.bytes), 100.0 * r.relative())
    });
    let all = all.collect::<Vec<_>>().join(", ");
    format!("residuals {} ({}): {all}", line.level, line.place)
}

/// The file beside `path` that is renamed to it when it is complete.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Writes the file as a whole, then the output.
fn put(target: Option<&Path>, file: &str, out: &str) -> Result<(), Failure> {
    if let Some(path) = target {
        let written = match path.exists() && !path.is_file() {
            true => std::fs::write(path, file),
            false => {
                let part = beside(path);
                let written =
                    std::fs::write(&part, file).and_then(|()| std::fs::rename(&part, path));
                if written.is_err() {
                    // The rest of it is no profile.
                    let _: Result<(), _> = std::fs::remove_file(&part);
                }
                written
            }
        };
        written.map_err(|e| {
            Failure::Run(format!("the profile '{}' cannot be written: {e}", path.display()))
        })?;
    }
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(out.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_ranks() {
        assert_eq!(numbers(1), [2]);
        assert_eq!(numbers(2), [2, 4]);
        assert_eq!(numbers(8), [4, 8, 16]);
        assert_eq!(numbers(1024), [512, 1024]);
    }
}
