//! Errors: the kind of fault, the rank, and a text.

use crate::limits::{Limited, limit};
use std::fmt;
use std::io;
use std::sync::Arc;

/// The kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Ranks made different calls.
    Disagreement,
    /// A rank's process has died.
    Died,
    /// A rank has left the team, or its process runs another program.
    Left,
    /// A rank has not come within the time of [`Builder::timeout`](crate::Builder::timeout), or not
    /// all ranks were there within that of [`Builder::attach_timeout`](crate::Builder).
    Deadline,
    /// The process may not be this rank of this team.
    Refused,
    /// The arguments of a call make no sense.
    Argument,
    /// The system has no memory left, or the team's is full.
    Memory,
    /// The system said no.
    System,
    /// A rank panicked in an operator, or while it had the team (in Python: left `with` by an
    /// exception).
    Panicked,
    /// The team belongs to the parent of this process.
    Forked,
    /// The program has ended a wait: a signal, for example.
    Interrupted,
    /// Each of some ranks waits for another one of them.
    Deadlock,
}

impl ErrorKind {
    const ALL: [ErrorKind; 12] = [
        ErrorKind::Disagreement,
        ErrorKind::Died,
        ErrorKind::Left,
        ErrorKind::Deadline,
        ErrorKind::Refused,
        ErrorKind::Argument,
        ErrorKind::Memory,
        ErrorKind::System,
        ErrorKind::Panicked,
        ErrorKind::Forked,
        ErrorKind::Interrupted,
        ErrorKind::Deadlock,
    ];

    /// A number for the shared memory, and for C: from 1.
    ///
    /// # Examples
    /// ```
    /// use phalanx_processes::ErrorKind;
    /// assert_ne!(ErrorKind::Died.number(), ErrorKind::Deadline.number());
    /// ```
    pub fn number(self) -> u32 {
        Self::ALL.iter().position(|kind| *kind == self).map_or(0, |at| at as u32 + 1)
    }

    pub(crate) fn of_number(number: u32) -> ErrorKind {
        let place = (number as usize).wrapping_sub(1);
        *Self::ALL.get(place).unwrap_or(&ErrorKind::System)
    }
}

/// Why a call, or an attachment, has failed. A team whose call has failed is over: all later calls
/// of this rank fail with the same error, and those of the others with the first cause.
///
/// # Examples
/// ```
/// use phalanx_processes::{ErrorKind, Team};
/// let error = Team::join("alone", 1, 1).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Argument);
/// assert_eq!(error.to_string(), "rank 1 is none of a team of 1 rank: ranks count from 0");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    rank: Option<usize>,
    text: Arc<str>,
}

/// What a call gives, or why it has failed.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Error { kind, rank: None, text: text.into().into() }
    }

    pub(crate) fn of(kind: ErrorKind, rank: usize, text: impl Into<String>) -> Self {
        Error { kind, rank: Some(rank), text: text.into().into() }
    }

    pub(crate) fn system(doing: &str, error: &io::Error) -> Self {
        let hint = match error.raw_os_error() {
            Some(libc::EMFILE) => {
                let most = limit(Limited::Descriptors).unwrap_or_default();
                format!(": no descriptor is left (limit {most}, `ulimit -n`)")
            }
            Some(libc::ENOSYS | libc::EPERM) => {
                ": a sandbox forbids it, or the kernel is older than Linux 3.17".to_string()
            }
            _ => String::new(),
        };
        Error::new(ErrorKind::System, format!("{doing}: {error}{hint}"))
    }

    /// `doing`, and the error of the system call that has just failed.
    pub(crate) fn last(doing: &str) -> Self {
        Error::system(doing, &io::Error::last_os_error())
    }

    /// The kind of fault.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The rank in which it went wrong, or that is missing, if it is one: its rank in the team, not
    /// in a group.
    pub fn rank(&self) -> Option<usize> {
        self.rank
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

phalanx::error_type!(Error: Self { kind, rank, text });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_numbers() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::of_number(kind.number()), kind);
        }
        assert_eq!(ErrorKind::of_number(0), ErrorKind::System);
        assert_eq!(ErrorKind::of_number(99), ErrorKind::System);
    }
}
