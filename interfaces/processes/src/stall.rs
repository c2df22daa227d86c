//! Waits that last, and after how long one is told.

use crate::interrupt::{Interrupt, Question};
use crate::patience::Patience;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// As in teams of threads.
const USUAL: Duration = Duration::from_secs(30);
pub(crate) const VARIABLE: &str = "PHALANX_STALL_WARNING";

/// After how long a wait is told: the seconds of the variable, else 30. None: never.
pub(crate) fn after() -> Option<Duration> {
    let text = std::env::var(VARIABLE).unwrap_or_default();
    let seconds = text.trim().parse().ok().map(Duration::try_from_secs_f64);
    let after = match seconds {
        Some(Ok(after)) => after,
        _ if text.is_empty() => USUAL,
        _ => {
            say(&format!("{VARIABLE}: '{text}' is no number of seconds (0 is never)"));
            USUAL
        }
    };
    Some(after).filter(|after| !after.is_zero())
}

pub(crate) fn say(text: &str) {
    // Nothing can be done where the standard error is closed.
    let _ = writeln!(std::io::stderr(), "phalanx: {text}");
}

/// Whether this thread is the only one of its process, as far as the system says so.
pub(crate) fn is_alone() -> bool {
    std::fs::metadata("/proc/self/task").is_ok_and(|it| it.nlink() == 3)
}

/// A wait that lasts.
pub(crate) struct LongWait {
    pub(crate) examined: Instant,
    pub(crate) interrupt: Interrupt,
    pub(crate) patience: Patience,
    pub(crate) member: usize,
    /// The state of the wait; 0 until the rank has said that it waits.
    pub(crate) state: u64,
}

impl LongWait {
    /// For a member, from now on.
    pub(crate) fn new(member: usize, (timeout, question): (Option<Duration>, Question)) -> Self {
        let interrupt = Interrupt::new(question);
        let patience = Patience::new(timeout);
        LongWait { examined: Instant::now(), interrupt, patience, member, state: 0 }
    }
}
