//! A rank's activity at one moment: a line of the report on a deadline.

use crate::error::CallSite;
use std::fmt;
use std::time::Duration;

/// What a rank was doing when a deadline had passed.
///
/// # Examples
/// ```
/// assert_ne!(phalanx::Activity::Computes, phalanx::Activity::WaitsFor(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// It waited for this rank.
    WaitsFor(usize),
    /// It waited for a message from any rank.
    WaitsForAny,
    /// It waited for a rank of another team: its thread is a rank of both.
    WaitsElsewhere,
    /// It was in the user's own code (or in a call, and did not wait).
    Computes,
    /// It was in its latest call, and prepared the plan by which that is carried out: of
    /// many blocks that takes a while, once for each shape of call.
    Prepares,
    /// Its closure had ended.
    Returned,
    /// The thread that had used its communicators last had ended, and no other has used them since:
    /// of threads of the program's own ([`Team::external`](crate::Team::external)).
    ThreadEnded,
}

/// One rank at the moment when a deadline had passed: see
/// [`Error::Deadline`](crate::Error::Deadline).
///
/// # Examples
/// ```
/// use phalanx::{Activity, RankReport};
/// let (doing, calls) = (Activity::WaitsFor(1), vec![]);
/// let standing = RankReport { rank: 3, doing, calls, made: 0, waits: None };
/// assert_eq!(standing.to_string(), "rank 3 waits for rank 1; it has made no call");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankReport {
    /// The rank.
    pub rank: usize,
    /// What it was doing.
    pub doing: Activity,
    /// Its latest calls (up to 16, of this run and of those before), the
    /// latest first.
    pub calls: Vec<CallSite>,
    /// How many calls it has made in the run.
    pub made: u64,
    /// How often it has waited in them, and how long in all, but for a wait that goes on: if the
    /// run is recorded ([`Builder::record`](crate::Builder::record)).
    pub waits: Option<(u64, Duration)>,
}

/// Different calls shown of each rank.
const SHOWN: usize = 4;

impl fmt::Display for RankReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} ", self.rank)?;
        match self.doing {
            Activity::WaitsFor(peer) => write!(f, "waits for rank {peer}; ")?,
            Activity::WaitsForAny => f.write_str("waits for a message from any rank; ")?,
            Activity::WaitsElsewhere => f.write_str("waits in a communicator of another team; ")?,
            Activity::Computes => f.write_str("is in its own code; ")?,
            Activity::Prepares => f.write_str("prepares the plan of its latest call; ")?,
            Activity::Returned => f.write_str("has returned; ")?,
            Activity::ThreadEnded => f.write_str("has no thread, since its last has ended; ")?,
        }
        if self.calls.is_empty() {
            return f.write_str("it has made no call");
        }
        f.write_str("latest calls: ")?;
        for (i, alike) in self.calls.chunk_by(|a, b| a == b).take(SHOWN).enumerate() {
            let sep = if i == 0 { "" } else { ", before: " };
            write!(f, "{sep}{}", alike[0])?;
            if alike.len() > 1 {
                write!(f, " (x{})", alike.len())?;
            }
        }
        if self.made > 0 {
            let calls = if self.made == 1 { "call" } else { "calls" };
            write!(f, "; {} {calls} in this run", self.made)?;
        }
        match self.waits {
            Some((1, time)) => write!(f, ", 1 wait of {time:.1?}"),
            Some((waits, time)) => write!(f, ", {waits} waits of {time:.1?} in all"),
            None => Ok(()),
        }
    }
}
