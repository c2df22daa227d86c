//! Waits that the program may end: an interpreter handles its signals there.

use crate::error::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

/// How often the program is asked: half of what is promised.
const PERIOD: Duration = Duration::from_millis(50);

/// Whether the program ends a wait, if it wants to be asked.
pub(crate) type Question = Option<fn() -> bool>;

/// The question, and when it is due again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interrupt {
    check: Question,
    due: Option<Instant>,
}

impl Interrupt {
    /// Of a wait that begins.
    pub(crate) fn new(check: Question) -> Self {
        Interrupt { check, due: None }
    }

    /// Whether the program ends the wait.
    pub(crate) fn has_come(&mut self) -> bool {
        let Some(check) = self.check else { return false };
        let now = Instant::now();
        if *self.due.get_or_insert(now + PERIOD) > now {
            return false;
        }
        self.due = Some(now + PERIOD);
        check()
    }

    /// An error, if the program ends the attachment of a rank.
    pub(crate) fn end_attaching(&mut self, rank: usize) -> Result<()> {
        if !self.has_come() {
            return Ok(());
        }
        let text = format!("rank {rank} was interrupted while it attached");
        Err(Error::of(ErrorKind::Interrupted, rank, text))
    }
}
