//! The failures of a command and their exit codes.

use std::fmt;
use std::io;

/// The failure that ended a command, and so its exit code.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are wrong: the fault, and the values that are accepted. Exit 2.
    Usage(String),
    /// The run failed. Exit 1.
    Run(String),
    /// A check failed; the output says so already. Exit 1.
    Checks(String),
    /// Ctrl-C; the rows so far have been printed. Exit 130, as shells expect.
    Interrupted,
    /// The reader of the standard output has gone (`| head`). It has all that it
    /// wanted, so this is no failure: exit 0.
    Closed,
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Run(_) | Failure::Checks(_) => 1,
            Failure::Interrupted => 130,
            Failure::Closed => 0,
        }
    }

    /// Wrong arguments, because of something that can say the fault.
    pub fn usage(what: impl fmt::Display) -> Self {
        Failure::Usage(what.to_string())
    }

    /// A failed run, because of something that can say the fault.
    pub fn run(what: impl fmt::Display) -> Self {
        Failure::Run(what.to_string())
    }

    /// The text for the standard error, on one line; nothing where nothing needs to be said.
    pub fn line(&self) -> Option<String> {
        match self {
            Failure::Usage(what) | Failure::Run(what) | Failure::Checks(what) => {
                Some(one_line(what))
            }
            Failure::Interrupted => Some("interrupted".to_string()),
            Failure::Closed => None,
        }
    }
}

impl From<io::Error> for Failure {
    /// An error of writing the output.
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Run(format!("the output cannot be written: {e}")),
        }
    }
}

#[cfg(feature = "phalanx")]
impl From<phalanx::Error> for Failure {
    fn from(e: phalanx::Error) -> Self {
        match e {
            phalanx::Error::Ranks { .. }
            | phalanx::Error::Placement(_)
            | phalanx::Error::Profile(_)
            | phalanx::Error::Record { .. } => Failure::usage(e),
            other => Failure::run(other),
        }
    }
}

/// The lines of `text`, joined.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
