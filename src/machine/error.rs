//! Errors of reading a machine.

use std::fmt;
use std::path::PathBuf;

/// Why a machine could not be read.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MachineError {
    /// A file or directory could not be read.
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// The system's words, or the missing part.
        reason: String,
    },
    /// A text does not follow its format.
    Malformed {
        /// The name of the format: "synthetic string", "hwloc XML", "processor list" ..
        format: &'static str,
        /// Where: the byte offset in the text, from 0.
        position: usize,
        /// The value that was found there, and those that are accepted.
        reason: String,
    },
    /// The description was read and holds no processing unit at all.
    Empty {
        /// Where the description came from.
        source: String,
    },
    /// The description is understood, and of a kind that is not supported.
    Unsupported {
        /// The part that is not supported, and the remedy.
        reason: String,
    },
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineError::Unreadable { path, reason } => {
                write!(f, "cannot read the machine from {}: {reason}", path.display())
            }
            MachineError::Malformed { format, position, reason } => {
                write!(f, "malformed {format} at position {position}: {reason}")
            }
            MachineError::Empty { source } => {
                write!(f, "no processing unit found in {source}")
            }
            MachineError::Unsupported { reason } => write!(f, "unsupported machine: {reason}"),
        }
    }
}

crate::error_type!(MachineError:
    Self::Unreadable { path, reason }, Self::Malformed { format, position, reason },
    Self::Empty { source }, Self::Unsupported { reason },
);
