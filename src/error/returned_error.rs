//! What a rank's closure has returned under `run`, where other ranks have missed the rank.

use std::fmt;

/// An error that a rank's closure has returned under [`Team::run`](crate::Team::run), to which it
/// is a value like others, while other ranks waited for the rank: a part of the text of the
/// [`Error`](crate::Error) that has ended the run.
///
/// # Examples
/// ```
/// let result = phalanx::run(2, |comm| {
///     if comm.rank() == 1 {
///         return Err("no file");
///     }
///     comm.barrier();
///     Ok(())
/// });
/// let Err(phalanx::Error::Left { returned: Some(returned), .. }) = result else { panic!() };
/// assert_eq!((returned.rank, returned.what.as_str()), (1, "Err(\"no file\")"));
/// assert!(returned.to_string().contains("try_run"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedError {
    /// The rank.
    pub rank: usize,
    /// The value, as `{:?}` shows it; of a type that the library does not know the type's name, of
    /// which it does not know whether it was an error.
    pub what: String,
}

impl fmt::Display for ReturnedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the closure of rank {} returned {}: under Team::try_run a rank's Err ends the run, \
             and is what the caller gets",
            self.rank, self.what
        )
    }
}
