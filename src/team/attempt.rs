//! Runs of closures that return a `Result`.

use super::chunks::Chunks;
use super::handle::Team;
use super::run_body::as_given;
use crate::Comm;
use crate::error::{Error, Quit, TryError};
use crate::sync::diagnostic::Mutex;
use crate::sync::resume_unwind;

/// What the ranks of one run have returned as errors.
struct Attempt<E>(Mutex<Vec<(usize, E)>>);

impl<E> Attempt<E> {
    fn new() -> Self {
        Attempt(Mutex::new(Vec::new()))
    }

    /// The value of `f`, as `comm`'s rank; an error ends the run.
    fn value<T>(&self, comm: &mut Comm, f: impl FnOnce(&mut Comm) -> Result<T, E>) -> T {
        // The closure may put another communicator in this one's place.
        let rank = comm.rank();
        f(comm).unwrap_or_else(|error| {
            self.0.lock().unwrap_or_else(|e| e.into_inner()).push((rank, error));
            let error = Error::Returned { rank };
            let text = error.to_string();
            // To the end of the rank's part, which is where the run is ended.
            resume_unwind(Box::new(Quit { of: (0, 0), error: Some(error), text }))
        })
    }

    fn outcome<T>(self, result: Result<Vec<T>, Error>) -> Result<Vec<T>, TryError<E>> {
        if let Err(Error::Forked) = result {
            // Ranks of the parent may have been writing there when it forked.
            std::mem::forget(self);
            return Err(TryError::Run(Error::Forked));
        }
        let mut errors = self.0.into_inner().unwrap_or_else(|e| e.into_inner());
        result.map_err(|error| {
            // A rank's sub-communicators are dropped before its error is known. A peer may miss
            // the rank there, and be the first to end the run.
            let suspects = match error {
                Error::Returned { rank } | Error::Left { peer: rank, .. } => [rank; 2],
                Error::Unreceived { rank, peer, .. } | Error::Mismatch { rank, peer, .. } => {
                    [rank, peer]
                }
                error => return TryError::Run(error),
            };
            match errors.iter().position(|(rank, _)| suspects.contains(rank)) {
                Some(at) => {
                    let (rank, error) = errors.swap_remove(at);
                    TryError::Rank { rank, error }
                }
                None => TryError::Run(error),
            }
        })
    }
}

impl Team {
    /// Runs `f` on every rank, as [`run`](Team::run); the first rank whose closure returns an error
    /// ends the run for all, and that error is what the caller gets. So `?` works in the closure.
    ///
    /// The other ranks leave their next (or current) call by unwinding. What they return meanwhile
    /// is dropped, errors among it.
    ///
    /// # Errors
    /// [`TryError::Rank`] with the rank and its error; [`TryError::Run`] with one of the library's
    /// causes, if such a one ended the run first (a rank's panic, say), or if it did not begin.
    ///
    /// # Examples
    /// ```
    /// use phalanx::{Team, TryError};
    /// use std::error::Error;
    ///
    /// fn sum(texts: &[&str]) -> Result<f64, Box<dyn Error + Send + Sync>> {
    ///     let team = Team::builder().ranks(texts.len()).build()?;
    ///     let sums = team.try_run(|comm| {
    ///         let mine: f64 = texts[comm.rank()].parse()?; // ends the run for all
    ///         let [sum] = comm.sum([mine]);
    ///         Ok::<_, std::num::ParseFloatError>(sum)
    ///     })?;
    ///     Ok(sums[0])
    /// }
    /// assert_eq!(sum(&["1.5", "2", "4"]).unwrap(), 7.5);
    /// let error = sum(&["1.5", "two", "4"]).unwrap_err();
    /// assert_eq!(error.to_string(), "rank 1: invalid float literal");
    /// ```
    #[track_caller]
    pub fn try_run<T: Send, E: Send>(
        &self,
        f: impl Fn(&mut Comm) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, TryError<E>> {
        let attempt = Attempt::new();
        let f = as_given::<dyn Fn(&mut Comm) -> Result<T, E> + Sync>(&f);
        let result = self.run(|comm| attempt.value(comm, f));
        attempt.outcome(result)
    }

    /// As [`try_run`](Team::try_run), with an item for each rank, as
    /// [`run_with`](Team::run_with).
    ///
    /// # Errors
    /// As [`try_run`](Team::try_run), and [`Error::Parts`].
    ///
    /// # Examples
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// let mut lines = vec!["1".to_string(), "x".to_string()];
    /// let result = team.try_run_with(&mut lines, |_, line| line.parse::<u8>());
    /// assert_eq!(result.unwrap_err().to_string(), "rank 1: invalid digit found in string");
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn try_run_with<I: Send, T: Send, E: Send>(
        &self,
        items: &mut [I],
        f: impl Fn(&mut Comm, &mut I) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, TryError<E>> {
        let attempt = Attempt::new();
        let f = as_given::<dyn Fn(&mut Comm, &mut I) -> Result<T, E> + Sync>(&f);
        let result = self.run_with(items, |comm, item| attempt.value(comm, |comm| f(comm, item)));
        attempt.outcome(result)
    }

    /// As [`try_run`](Team::try_run), with blocks of `data`, as [`run_chunks`](Team::run_chunks).
    ///
    /// # Errors
    /// As [`try_run`](Team::try_run), and [`Error::Parts`].
    ///
    /// # Examples
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// let mut x = [1.0f64, 4.0, -9.0];
    /// let result = team.try_run_chunks(&mut x, |_, mine, at| {
    ///     for (i, x) in (at..).zip(mine) {
    ///         if *x < 0.0 {
    ///             return Err(format!("no root of {x}, element {i}"));
    ///         }
    ///         *x = x.sqrt();
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(result.unwrap_err().to_string(), "rank 1: no root of -9, element 2");
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn try_run_chunks<D: Chunks, T: Send, E: Send>(
        &self,
        data: D,
        f: impl Fn(&mut Comm, D::Block, usize) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, TryError<E>> {
        let attempt = Attempt::new();
        let f = as_given::<dyn Fn(&mut Comm, D::Block, usize) -> Result<T, E> + Sync>(&f);
        let result =
            self.run_chunks(data, |comm, part, at| attempt.value(comm, |comm| f(comm, part, at)));
        attempt.outcome(result)
    }
}
