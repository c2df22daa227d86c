//! A progress line on the standard error, if it is a terminal.

use std::io::{IsTerminal, Write};

/// A line that is overwritten; silent where the standard error is no terminal.
#[derive(Debug)]
pub struct Progress {
    shown: bool,
    total: usize,
    done: usize,
}

impl Progress {
    /// For `total` steps.
    pub fn new(total: usize) -> Self {
        Progress { shown: std::io::stderr().is_terminal(), total, done: 0 }
    }

    /// Of a process that has nothing to say.
    pub(crate) fn silent() -> Self {
        Progress { shown: false, total: 0, done: 0 }
    }

    /// Starts the next step.
    pub fn step(&mut self, what: &str) {
        self.done += 1;
        if self.shown {
            let _: Result<_, _> =
                write!(std::io::stderr(), "\r\x1b[K[{}/{}] {what}", self.done, self.total);
        }
    }

    /// Removes the line, so that something else can be printed.
    pub fn clear(&self) {
        if self.shown {
            let _: Result<_, _> = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
