//! Why a run of closures that return a `Result` did not succeed.

use super::Error;
use std::fmt;

/// Why [`Team::try_run`](crate::Team::try_run) did not succeed: an error of a rank's own, or one of
/// the library's causes.
///
/// It is a [`std::error::Error`] for every `E` that can be shown, so that `?` hands it on also
/// where `E` is a `Box<dyn Error + Send + Sync>`, an `anyhow::Error` or a `String`, which are none
/// themselves. Its text is that of the rank's error, with the rank; [`source`] is therefore none in
/// that case.
///
/// [`source`]: std::error::Error::source
///
/// # Examples
/// ```
/// use phalanx::{Team, TryError};
/// let team = Team::builder().ranks(2).build()?;
/// let words = ["7", "x1"];
/// let result = team.try_run(|comm| words[comm.rank()].parse::<i32>());
/// let Err(TryError::Rank { rank: 1, error }) = result else { panic!() };
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// # Ok::<(), phalanx::Error>(())
/// ```
pub enum TryError<E> {
    /// The closure of this rank returned an error, and was the first to.
    Rank {
        /// The rank.
        rank: usize,
        /// What its closure returned.
        error: E,
    },
    /// The run has failed, or did not begin: as [`Team::run`](crate::Team::run).
    Run(Error),
}

impl<E> From<Error> for TryError<E> {
    fn from(error: Error) -> Self {
        TryError::Run(error)
    }
}

impl<E: fmt::Display> fmt::Display for TryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryError::Rank { rank, error } => write!(f, "rank {rank}: {error}"),
            TryError::Run(error) => error.fmt(f),
        }
    }
}

/// As other errors: `{:?}` is a text, in which a rank's error stands as its own `{:?}` shows it.
impl<E: fmt::Debug> fmt::Debug for TryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryError::Rank { rank, error } if f.alternate() => {
                f.debug_struct("Rank").field("rank", rank).field("error", error).finish()
            }
            TryError::Run(error) if f.alternate() => f.debug_tuple("Run").field(error).finish(),
            TryError::Rank { rank, error } => write!(f, "rank {rank}: {error:?}"),
            TryError::Run(error) => fmt::Debug::fmt(error, f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for TryError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TryError::Rank { .. } => None,
            TryError::Run(error) => error.source(),
        }
    }
}
