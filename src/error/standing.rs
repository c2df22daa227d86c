//! What a rank was doing at one moment: the lines of a deadline's report.

use crate::error::CallSite;
use std::fmt;

/// What a rank was doing when a deadline had passed.
///
/// # Examples
/// ```
/// assert_ne!(phalanx::Doing::Computes, phalanx::Doing::WaitsFor(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doing {
    /// It waited for this rank.
    WaitsFor(usize),
    /// It waited for a rank of another team: its thread is a rank of both.
    WaitsElsewhere,
    /// It was in the user's own code (or in a call, and did not wait).
    Computes,
    /// It was in its latest call, and prepared the plan by which that is carried out: of
    /// many blocks that takes a while, once for each shape of call.
    Prepares,
    /// Its closure had ended.
    Returned,
}

/// One rank at the moment when a deadline had passed: see
/// [`Error::Deadline`](crate::Error::Deadline).
///
/// # Examples
/// ```
/// use phalanx::{Doing, Standing};
/// let standing = Standing { rank: 3, doing: Doing::WaitsFor(1), calls: vec![] };
/// assert_eq!(standing.to_string(), "rank 3 waits for rank 1; it has made no call");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The rank.
    pub rank: usize,
    /// What it was doing.
    pub doing: Doing,
    /// Its latest calls (up to 16, of this run and of those before), the
    /// latest first.
    pub calls: Vec<CallSite>,
}

/// Different calls shown of each rank.
const SHOWN: usize = 4;

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} ", self.rank)?;
        match self.doing {
            Doing::WaitsFor(peer) => write!(f, "waits for rank {peer}; ")?,
            Doing::WaitsElsewhere => f.write_str("waits in a communicator of another team; ")?,
            Doing::Computes => f.write_str("is in its own code; ")?,
            Doing::Prepares => f.write_str("prepares the plan of its latest call; ")?,
            Doing::Returned => f.write_str("has returned; ")?,
        }
        if self.calls.is_empty() {
            return f.write_str("it has made no call");
        }
        f.write_str("latest calls: ")?;
        for (i, alike) in self.calls.chunk_by(|a, b| a == b).take(SHOWN).enumerate() {
            let sep = if i == 0 { "" } else { ", before: " };
            write!(f, "{sep}{} at {}", alike[0].call, alike[0].at)?;
            if alike.len() > 1 {
                write!(f, " (x{})", alike.len())?;
            }
        }
        Ok(())
    }
}
