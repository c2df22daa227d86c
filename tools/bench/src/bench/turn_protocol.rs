//! The lines that a program that takes turns with others gets on its standard input, and its
//! answers on its standard output: one line each. Between an answer and the next line all its ranks
//! sleep.
//!
//! | told | answered |
//! |---|---|
//! | | `ready`, once, when its results are checked |
//! | `place` | `place PLACE`: where the cores of ranks 0 and 1 are now |
//! | `row OP BYTES CACHES MS` | one of the next three |
//! | | `slice OP BYTES CACHES PLACE SAMPLES LARGER MIN MEDIAN CORES` |
//! | | `moved OP BYTES CACHES`: the cores moved meanwhile, so that nothing counts |
//! | | `absent OP BYTES CACHES`: it has no such row |
//! | `end`, or the end of the input | nothing; it ends |
//!
//! LARGER is the bytes of a rank's larger buffer; MIN and MEDIAN are ns of one call; CORES, which
//! an older program leaves out, are those that its ranks kept busy, with what is not timed.
//!
//! The peers' programs do the same (`tools/report/peers/harness.h`).

use crate::measure::caches::CacheState;
use crate::measure::proximity::Proximity;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The ending of an operation's name where a sample has several calls.
pub const BACK_TO_BACK: &str = ".b2b";

/// The row that a slice is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnRow {
    /// The operation, by the name that the program has for it.
    pub op: String,
    /// The size that was asked for.
    pub bytes: usize,
    /// The state of the caches.
    pub caches: CacheState,
}

/// The order to a program.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnCommand {
    /// Say where the cores are.
    Place,
    /// Measure a slice of this row for so long.
    Slice(TurnRow, Duration),
    /// End.
    End,
}

/// Samples of one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnSlice {
    /// Where the cores of ranks 0 and 1 were, before, meanwhile and after.
    pub place: Proximity,
    /// The number of samples.
    pub samples: usize,
    /// Bytes of a rank's larger buffer: those asked for, in whole elements and blocks.
    pub larger: usize,
    /// The smallest of them, and the median.
    pub ns_min: f64,
    /// The median.
    pub ns_median: f64,
    /// The processor time of the ranks over the time, if it is known.
    pub cores: Option<f64>,
}

/// The answer of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnAnswer {
    /// It can be asked.
    Ready,
    /// Where the cores are.
    Place(Proximity),
    /// A slice.
    Slice(TurnRow, TurnSlice),
    /// The cores moved.
    Moved(TurnRow),
    /// There is no such row.
    Absent(TurnRow),
}

impl fmt::Display for TurnRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.op, self.bytes, self.caches)
    }
}

impl TurnRow {
    fn of(cells: &[&str]) -> Option<Self> {
        let [op, bytes, caches] = cells else { return None };
        let (bytes, caches) = (bytes.parse().ok()?, caches.parse().ok()?);
        Some(TurnRow { op: op.to_string(), bytes, caches })
    }
}

impl fmt::Display for TurnCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TurnCommand::Place => f.write_str("place"),
            TurnCommand::Slice(row, time) => write!(f, "row {row} {}", time.as_secs_f64() * 1e3),
            TurnCommand::End => f.write_str("end"),
        }
    }
}

impl FromStr for TurnCommand {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let command = match cells[..] {
            ["place"] => Some(TurnCommand::Place),
            ["end"] => Some(TurnCommand::End),
            ["row", op, bytes, caches, ms] => {
                let time = ms.parse().ok().filter(|ms: &f64| (0.0..=3.6e6).contains(ms));
                let time = time.map(|ms| Duration::from_secs_f64(ms / 1e3));
                TurnRow::of(&[op, bytes, caches])
                    .and_then(|row| Some(TurnCommand::Slice(row, time?)))
            }
            _ => None,
        };
        command.ok_or_else(|| {
            format!("'{line}' is no command; accepted are: place; row OP BYTES CACHES MS; end")
        })
    }
}

impl fmt::Display for TurnAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TurnAnswer::Ready => f.write_str("ready"),
            TurnAnswer::Place(place) => write!(f, "place {place}"),
            TurnAnswer::Slice(row, slice) => {
                let TurnSlice { place, samples, larger, ns_min, ns_median, cores } = slice;
                write!(f, "slice {row} {place} {samples} {larger} {ns_min:.1} {ns_median:.1}")?;
                cores.map_or(Ok(()), |cores| write!(f, " {cores:.2}"))
            }
            TurnAnswer::Moved(row) => write!(f, "moved {row}"),
            TurnAnswer::Absent(row) => write!(f, "absent {row}"),
        }
    }
}

impl FromStr for TurnAnswer {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let answer = match cells[..] {
            ["ready"] => Some(TurnAnswer::Ready),
            ["place", place] => place.parse().ok().map(TurnAnswer::Place),
            ["moved", ref row @ ..] => TurnRow::of(row).map(TurnAnswer::Moved),
            ["absent", ref row @ ..] => TurnRow::of(row).map(TurnAnswer::Absent),
            ["slice", op, bytes, caches, ref slice @ ..] => TurnRow::of(&[op, bytes, caches])
                .and_then(|row| Some(TurnAnswer::Slice(row, TurnSlice::of(slice)?))),
            _ => None,
        };
        answer.ok_or_else(|| format!("'{line}' is no answer"))
    }
}

impl TurnSlice {
    fn of(cells: &[&str]) -> Option<Self> {
        let [place, samples, larger, ns_min, ns_median, cores @ ..] = cells else { return None };
        let ns = |cell: &str| cell.parse().ok().filter(|ns: &f64| *ns > 0.0 && ns.is_finite());
        let cores = match cores {
            [] => None,
            [cores] => Some(cores.parse().ok().filter(|it: &f64| *it >= 0.0 && it.is_finite())?),
            _ => return None,
        };
        Some(TurnSlice {
            place: place.parse().ok()?,
            samples: samples.parse().ok().filter(|samples| *samples > 0)?,
            larger: larger.parse().ok()?,
            ns_min: ns(ns_min)?,
            ns_median: ns(ns_median)?,
            cores,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> TurnRow {
        TurnRow { op: "all-gather.b2b".to_string(), bytes: 8, caches: CacheState::Cold }
    }

    #[test]
    fn commands_are_read_as_they_are_written() {
        for (command, text) in [
            (TurnCommand::Place, "place"),
            (TurnCommand::End, "end"),
            (
                TurnCommand::Slice(row(), Duration::from_micros(2500)),
                "row all-gather.b2b 8 cold 2.5",
            ),
        ] {
            assert_eq!(command.to_string(), text);
            assert_eq!(text.parse(), Ok(command));
        }
        for wrong in ["", "row", "row x 8 cold", "row x 8 cool 2", "row x 8 cold -1", "places"] {
            assert!(wrong.parse::<TurnCommand>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn answers_are_read_as_they_are_written() {
        let slice = TurnSlice {
            place: Proximity::Far,
            samples: 7,
            larger: 16,
            ns_min: 90.5,
            ns_median: 101.0,
            cores: None,
        };
        let with_cores = TurnSlice { cores: Some(1.97), ..slice };
        for (answer, text) in [
            (TurnAnswer::Ready, "ready"),
            (TurnAnswer::Place(Proximity::Any), "place any"),
            (TurnAnswer::Moved(row()), "moved all-gather.b2b 8 cold"),
            (TurnAnswer::Absent(row()), "absent all-gather.b2b 8 cold"),
            (TurnAnswer::Slice(row(), slice), "slice all-gather.b2b 8 cold far 7 16 90.5 101.0"),
            (
                TurnAnswer::Slice(row(), with_cores),
                "slice all-gather.b2b 8 cold far 7 16 90.5 101.0 1.97",
            ),
        ] {
            assert_eq!(answer.to_string(), text);
            assert_eq!(text.parse(), Ok(answer));
        }
        for wrong in [
            "",
            "ready now",
            "place fra",
            "slice x 8 cold far 7 16 90.5",
            "slice x 8 cold far 0 16 90.5 101.0",
            "slice x 8 cold far 7 16 90.5 0",
            "slice x 8 cold far 7 16 inf nan",
            "slice x 8 cold far 7 16 90.5 101.0 -1",
            "moved x 8",
        ] {
            assert!(wrong.parse::<TurnAnswer>().is_err(), "{wrong}");
        }
    }
}
