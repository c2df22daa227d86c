//! `phalanx report`: one page about this machine.

use crate::report::html_page::page;
use crate::report::run_commands::{ReportRequest, gather};
use crate::report::saved_report::SavedReport;
use phalanx::MAX_RANKS;
use phalanx::machine::Machine;
use phalanx_bench::failure::Failure;
use phalanx_bench::interrupt;
use phalanx_bench::output::{unwritable, writable};
use phalanx_bench::prose::{self, say};
use std::fs;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
PAGE: one file that needs no network and runs from a disk: a summary, environment, machine
  and placement, latency and bandwidth between cores, curves of every operation (each algorithm,
  the automatic choice, the model, the raw exchange), the fastest at each size, where the model is
  wrong by more than 2 x, and every algorithm's messages step by step. It has the data in it, to be
  saved.

HOW: runs `phalanx latency`, `bandwidth`, `calibrate --rates` and `bench` one after the other, in
  processes of their own; the page lists the command lines. A part that fails is named in the page,
  and on the standard error, and is an error (exit 1) only if nothing could be measured. Nothing
  else should run meanwhile.

FILES: -o FILE is the page. --json also saves the data, beside it (report.html, report.json) or
  under the name that is given; --from reads such a file instead of measuring.

Example:
  phalanx report -o report.html --json";

/// One page: this machine, its collectives beside the model, every algorithm step by step
///
/// Measures this machine and writes one self-contained HTML page about it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx report -o report.html\n\nMore with --help.")]
pub struct ReportArgs {
    /// The page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Ranks of the collectives [default: one per physical core that may be used]
    #[arg(short = 'p', long, allow_negative_numbers = true, value_parser = parse_ranks)]
    #[arg(conflicts_with = "from")]
    ranks: Option<usize>,
    /// At most about 20 seconds of measurements (11 on two quiet cores); on a busy machine each has
    /// less of them
    #[arg(long, conflicts_with_all = ["seconds", "from"])]
    quick: bool,
    /// At most about so many seconds of measurements
    #[arg(long, allow_negative_numbers = true, value_name = "S", default_value = "75")]
    #[arg(value_parser = parse_seconds)]
    seconds: f64,
    /// Make the page of this saved run, and measure nothing
    #[arg(long, value_name = "FILE.json")]
    from: Option<PathBuf>,
    /// Save the data, too [default name: the page's, with .json]
    #[arg(long, value_name = "FILE.json", num_args = 0..=1)]
    json: Option<Option<PathBuf>>,
}

/// Seconds of --quick.
const QUICK: f64 = 20.0;

impl ReportArgs {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.data().is_some_and(|file| same(&file, &self.output)) {
            let name = self.output.display();
            return Err(Failure::Usage(format!(
                "'{name}' cannot be both the page and its data; name two files"
            )));
        }
        let run = match &self.from {
            Some(file) => SavedReport::read(file)?,
            None => self.measure()?,
        };
        let written = match self.data() {
            Some(file) => write(&file, &run.text()),
            None => Ok(()),
        };
        let written = written.and_then(|()| write(&self.output, &page(&run)));
        written
            .map_err(|failure| if self.from.is_some() { failure } else { kept(&run, failure) })?;
        self.tell(&run);
        let measured = run.sections().any(|section| section.result.is_object());
        match measured {
            true => Ok(()),
            false => Err(Failure::Run("nothing could be measured; the page says why".to_string())),
        }
    }

    /// Says where the page is, and the parts that are not in it: also in a pipe, and with exit code
    /// 0.
    fn tell(&self, run: &SavedReport) {
        let data = self
            .data()
            .map_or(String::new(), |file| format!("; the data are in '{}'", file.display()));
        say(&format!("the page is '{}'{data}", self.output.display()));
        run.disturbance().line().iter().chain(&run.left_out()).for_each(|what| say(what));
    }

    /// Where the data are saved.
    fn data(&self) -> Option<PathBuf> {
        let name = self.json.as_ref()?;
        Some(name.clone().unwrap_or_else(|| self.output.with_extension("json")))
    }

    fn measure(&self) -> Result<SavedReport, Failure> {
        // Before minutes are spent.
        writable(PAGE, &self.output)?;
        if let Some(file) = self.data() {
            writable(PAGE, &file)?;
        }
        let ranks = match self.ranks {
            Some(ranks) => ranks,
            None => cores(&Machine::this().map_err(Failure::run)?),
        };
        interrupt::listen();
        let seconds = if self.quick { QUICK } else { self.seconds };
        gather(&ReportRequest { seconds, ranks })
    }
}

/// The cores that this process may use.
fn cores(machine: &Machine) -> usize {
    let usable = |pus: &[usize]| pus.iter().any(|&pu| machine.is_allowed(pu));
    machine.cores().iter().filter(|core| usable(&core.pus)).count().clamp(1, MAX_RANKS)
}

/// The name of a file that cannot be written.
const PAGE: &str = "output file";

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|e| unwritable(PAGE, file, &e))
}

/// Whether two names are of one file, which may not be there yet.
fn same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    a == b || whole(a).is_some_and(|a| whole(b) == Some(a))
}

/// The measurements, where the page could not be written (a disk can become full meanwhile): kept
/// where it can be.
fn kept(run: &SavedReport, failure: Failure) -> Failure {
    let file = std::env::temp_dir().join(format!("phalanx-report-{}.json", std::process::id()));
    let why = failure.line().unwrap_or_default();
    match fs::write(&file, run.text()) {
        Ok(()) => Failure::Run(format!(
            "{why}; what was measured is in '{}' (phalanx report --from)",
            file.display()
        )),
        Err(e) => Failure::Run(format!("{why}; what was measured is lost: {e}")),
    }
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    let ranks = text.parse().ok().filter(|p| (1..=MAX_RANKS).contains(p));
    ranks.ok_or_else(|| format!("no number of ranks; accepted are 1 to {MAX_RANKS}"))
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (1.0..=3600.0).contains(s));
    seconds.ok_or_else(|| "no time; accepted are 1 to 3600 seconds".to_string())
}
