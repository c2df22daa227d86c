//! `phalanx diff`: compares two saved runs of `latency` or `bandwidth`.

use crate::failure::Failure;
use crate::matrix::compare_runs::Diff;
use crate::matrix::saved_run::MatrixRun;
use crate::output::{Format, OutputArgs};
use crate::prose;
use std::path::{Path, PathBuf};

const ABOUT: &str = "\
CHANGE: faster or slower if the middle 80 % of the samples (p10 to p90) of the two runs do not
  overlap; same if they do; other-place if the host had the cores elsewhere; only-old, only-new.
  ratio is new / old.

COLUMNS (tsv; json: rows[]): src dst, the columns of the runs, bytes old_ns_median new_ns_median
  ratio place change. A difference is no failure: the exit code stays 0.

Example:
  phalanx diff before.json after.json";

/// Compare two saved runs of latency or bandwidth
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx diff before.json after.json\n\nMore with --help.")]
pub(crate) struct DiffArgs {
    /// The earlier run, saved with --format json
    old: PathBuf,
    /// The later one
    new: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl DiffArgs {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        compare(&self.old, &self.new, None, &self.output)
    }
}

/// Reads, compares, prints. The runs must be of `command`, if one is given.
pub(super) fn compare(
    old: &Path,
    new: &Path,
    command: Option<&str>,
    output: &OutputArgs,
) -> Result<(), Failure> {
    let read = |path: &Path| {
        let run = MatrixRun::read(path)?;
        match command {
            Some(wanted) if run.command != wanted => Err(Failure::Usage(format!(
                "'{}' is a run of {}, not of {wanted}; see phalanx diff",
                path.display(),
                run.command
            ))),
            _ => Ok(run),
        }
    };
    let (old, new) = (read(old)?, read(new)?);
    let diff = Diff::new(&old, &new)?;
    output.open()?.write(&match output.format {
        Format::Text => diff.text(),
        Format::Tsv => diff.tsv(),
        Format::Json => format!("{:#}\n", diff.object()),
    })
}
