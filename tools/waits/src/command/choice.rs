//! Which run of a record is shown: of the newest process, the longest of several ranks.

use crate::record::{self, Run};
use crate::summary::{self, RegionRow, Regions};
use phalanx_cli::disturbance::Disturbance;
use phalanx_cli::failure::Failure;
use phalanx_cli::{MOST_BYTES, file, prose};
use std::ops::Range;
use std::path::Path;

/// A file of runs.
pub(super) struct Record<'a> {
    pub(super) path: &'a Path,
    pub(super) bytes: Vec<u8>,
    /// The runs that are whole.
    pub(super) sections: Vec<Range<usize>>,
}

impl<'a> Record<'a> {
    /// Says which runs are left out.
    pub(super) fn open(path: &'a Path) -> Result<Self, Failure> {
        let wrong = |e: String| Record::wrong(path, &e);
        let bytes = file::read(path, MOST_BYTES).map_err(wrong)?;
        let record::Sections { whole: sections, cut } = record::sections(&bytes).map_err(wrong)?;
        cut.iter().for_each(|what| prose::say(what));
        Ok(Record { path, bytes, sections })
    }

    fn wrong(path: &Path, what: &str) -> Failure {
        Failure::Usage(format!("the record '{}' cannot be read: {what}", path.display()))
    }

    /// Run `number`, counted from 1.
    pub(super) fn run(&self, number: usize) -> Result<Run, Failure> {
        let run = record::run(&self.bytes[self.sections[number - 1].clone()]);
        run.map_err(|e| Record::wrong(self.path, &format!("run {number}: {e}")))
    }
}

/// A moment in UTC, of nanoseconds since 1970.
pub(super) fn moment(unix: u64) -> String {
    let (days, second) = (unix / 86_400_000_000_000, unix / 1_000_000_000 % 86_400);
    // Of years that begin in March, in eras of 400 (Hinnant, "chrono-compatible low-level date
    // algorithms").
    let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month, later) = match month {
        10.. => (day - (153 * month + 2) / 5 + 1, month - 9, 1),
        _ => (day - (153 * month + 2) / 5 + 1, month + 3, 0),
    };
    let year = era * 400 + year + later;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// The run that is shown, and the text about those beside it.
pub(super) struct Choice {
    pub(super) run: Run,
    /// Its number in the file, and how many there are.
    pub(super) number: usize,
    pub(super) count: usize,
    /// The runs of its process that have as many ranks as the question needs, if it was not asked
    /// for by its number: how many, by line, and what they met.
    pub(super) runs: usize,
    pub(super) regions: Vec<RegionRow>,
    pub(super) disturbance: Disturbance,
}

/// The runs of one process, of several ranks or of one.
#[derive(Default)]
struct Process {
    longest: Option<(Run, usize)>,
    runs: usize,
    regions: Regions,
    disturbance: Disturbance,
}

impl Choice {
    pub(super) fn read(path: &Path, wanted: Option<usize>) -> Result<Choice, Failure> {
        let record = Record::open(path)?;
        let count = record.sections.len();
        if let Some(number) = wanted {
            if !(1..=count).contains(&number) {
                let what = format!("--run {number}: the record has runs 1 to {count}");
                return Err(Failure::Usage(what));
            }
            let run = record.run(number)?;
            let disturbance = summary::disturbance(&run);
            return Ok(Choice { run, number, count, runs: 1, regions: Vec::new(), disturbance });
        }
        // The newest process, and of it the runs of several ranks, are the greatest.
        let mut best = ((0, 0), false);
        let mut process = Process::default();
        for number in 1..=count {
            let run = record.run(number)?;
            let its = (run.process, run.ranks.len() > 1);
            if its > best {
                (best, process) = (its, Process::default());
            }
            if its < best {
                continue;
            }
            process.runs += 1;
            process.regions.add(&run);
            process.disturbance.add(&summary::disturbance(&run));
            let length = run.length();
            if process.longest.as_ref().is_none_or(|(best, _)| length > best.length()) {
                process.longest = Some((run, number));
            }
        }
        let Process { longest, runs, regions, disturbance } = process;
        let (run, number) = longest.ok_or_else(|| Record::wrong(path, "it has no run"))?;
        let regions = if runs > 1 { regions.rows() } else { Vec::new() };
        Ok(Choice { run, number, count, runs, regions, disturbance })
    }
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_are_those_of_the_calendar() {
        let at = |second: u64| moment(second * 1_000_000_000);
        assert_eq!(at(0), "1970-01-01 00:00:00");
        assert_eq!(at(951_782_399), "2000-02-28 23:59:59");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(at(1_795_883_999), "2026-11-28 16:39:59");
        assert_eq!(moment(u64::MAX), "2554-07-21 23:34:33");
    }
}
