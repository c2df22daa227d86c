//! A wait that lasts: the warning of the rank that goes on waiting, once a run, and the report of a
//! rank after its deadline.

use crate::error::{Activity, RankReport};
use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

/// The word that is waited for.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(loom, allow(dead_code))] // Made by teams and communicators only.
pub(crate) enum LongWait<'a> {
    /// Something of a rank; of any, if that is the waiting rank itself.
    ForRank { rank: usize, peer: usize },
    /// Something outside of the process.
    Outside { rank: usize, what: &'a str },
    /// That a rank leaves a run that has failed.
    ToLeave { rank: usize, peer: usize },
    /// That a test in a loop, this call, finds something.
    InTests { rank: usize, call: &'a str },
    /// By the caller of `run`, that a rank's closure ends.
    ForEnd { peer: usize },
}

impl LongWait<'_> {
    /// Whether a deadline ends it.
    fn has_deadline(self) -> bool {
        matches!(self, LongWait::ForRank { .. } | LongWait::Outside { .. })
    }

    /// The wait in words, after it has lasted for `time`.
    fn lasting(self, time: Duration) -> String {
        match self {
            LongWait::ForRank { rank, peer } if rank == peer => {
                format!("rank {rank} has waited {time:?} for any other rank")
            }
            LongWait::ForRank { rank, peer } => {
                format!("rank {rank} has waited {time:?} for rank {peer}")
            }
            LongWait::Outside { rank, what } => {
                format!("rank {rank} has waited {time:?} for {what}")
            }
            LongWait::ToLeave { rank, peer } => {
                format!("rank {rank} has waited {time:?} for rank {peer} to leave the failed run")
            }
            LongWait::InTests { rank, call } => {
                format!("rank {rank} has tested in vain for {time:?}, in {call}")
            }
            LongWait::ForEnd { peer } => {
                format!("the caller of `run` has waited {time:?} for rank {peer} to return")
            }
        }
    }
}

/// Makes the whole text, from the wait in words, for an interface that knows more of its ranks.
pub(crate) type StallText = Box<dyn Fn(&str) -> String + Send + Sync>;

/// When a wait of a team is said to stall, and whether that was said.
#[derive(Default)]
pub(crate) struct StallWarning {
    /// After so long; none: never.
    pub(super) after: Option<Duration>,
    /// The number of the latest run in which it was said.
    said: AtomicU64,
    text: OnceLock<StallText>,
}

impl StallWarning {
    pub(super) fn after(after: Option<Duration>) -> Self {
        StallWarning { after, ..StallWarning::default() }
    }

    /// Whether the caller is the first to say it in run `run`.
    pub(super) fn claim(&self, run: u64) -> bool {
        // Relaxed: one of several is to say it; nothing is published by it.
        self.said.fetch_max(run, Relaxed) < run
    }

    /// Whether it was said in run `run`.
    #[cfg_attr(loom, allow(dead_code))] // Of interfaces only.
    pub(super) fn is_said(&self, run: u64) -> bool {
        self.said.load(Relaxed) >= run
    }

    /// From now on `text` makes the warning.
    #[cfg_attr(loom, allow(dead_code))] // Of interfaces only.
    pub(super) fn set_text(&self, text: StallText) {
        // The first stays.
        drop(self.text.set(text));
    }

    /// The warning, or the report: of a run that has failed with `cause`, if it has.
    pub(super) fn text(
        &self,
        wait: LongWait<'_>,
        cause: Option<String>,
        ranks: &[RankReport],
    ) -> String {
        let mut head = wait.lasting(self.after.unwrap_or_default());
        if let Some(cause) = cause {
            head += &format!("; the run has failed: {cause}");
        }
        match self.text.get() {
            Some(text) => text(&head),
            None => {
                let mut text = format!("{head}, and waits on:");
                ranks.iter().for_each(|rank| text += &format!("\n  {rank}"));
                text.push_str(
                    "\n  This is said once in a run, after the seconds of PHALANX_STALL_WARNING or \
                     Builder::stall_warning (C: phx_options.stall_warning; 0 is never). ",
                );
                text.push_str(match wait.has_deadline() {
                    true => "Builder::deadline ends such a wait with an error.",
                    false => "Nothing ends this wait but that rank: by a call, or its return.",
                });
                text
            }
        }
    }
}

/// The ranks that a failed run has to wait for, as nothing ends their work; empty if there are
/// none.
pub(super) struct Unended<'a>(pub(super) &'a [RankReport]);

/// So many ranks are named.
const NAMED: usize = 8;

impl fmt::Display for Unended<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_stuck = |it: &&RankReport| it.doing == Activity::Computes;
        let stuck: Vec<_> = self.0.iter().filter(is_stuck).map(|it| it.rank.to_string()).collect();
        if stuck.is_empty() {
            return Ok(());
        }
        let named = stuck[..stuck.len().min(NAMED)].join(", ");
        let more = match stuck.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (ranks, have) = if stuck.len() == 1 { ("rank", "has") } else { ("ranks", "have") };
        write!(
            f,
            "\n  `run` returns once {ranks} {named}{more} {have} made a call or returned: no \
             deadline ends what a rank does in its own code"
        )
    }
}
