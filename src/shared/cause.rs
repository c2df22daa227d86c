//! The first cause of a run's failure.
//!
//! The rank that ends a run may come to say why only later: a panic in an
//! operator first waits until no peer can reach the rank's memory, and unwinds
//! then. Meanwhile another rank may fail for a reason of its own. So it is noted
//! which rank was the first, and that rank's cause, whenever it comes, is the run's.

use crate::error::Error;

/// The cause of one run's end.
pub(crate) struct Cause {
    run: u64,
    /// The rank that ended the run.
    first: usize,
    /// The rank that has given a reason, and the reason.
    told: Option<(usize, Error)>,
    /// The communicator of the ranks that disagree, if that is the reason.
    comm: Option<u64>,
    /// The reason has been taken, and reported: none that comes later is the run's.
    /// Its text is kept for ranks that panic of it.
    taken: Option<String>,
}

impl Cause {
    /// Rank `by` ends run `run`, or knows that it has ended, and gives its `reason` if it has one.
    /// Returns `(rejected, evicted)`: the given reason if an earlier one is kept, and the reason
    /// that it replaced.
    pub(crate) fn offer(
        slot: &mut Option<Cause>,
        run: u64,
        by: usize,
        reason: Option<Error>,
    ) -> (Option<Error>, Option<Error>) {
        let told = reason.map(|reason| (by, reason));
        match slot {
            Some(it) if it.run == run => {
                let is_better = match &it.told {
                    None => it.taken.is_none(),
                    Some((teller, _)) => by == it.first && *teller != by,
                };
                if told.is_none() || !is_better {
                    return (told.map(|(_, reason)| reason), None);
                }
                it.comm = None;
                (None, std::mem::replace(&mut it.told, told).map(|(_, reason)| reason))
            }
            _ => {
                let old = slot.replace(Cause { run, first: by, told, comm: None, taken: None });
                (None, old.and_then(|it| it.told).map(|(_, reason)| reason))
            }
        }
    }

    /// The reason of run `run`, which `by` has given, is a disagreement on
    /// communicator `comm`.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only, which are not modelled.
    pub(crate) fn suspect(slot: &mut Option<Cause>, run: u64, by: usize, comm: u64) {
        if let Some(it) = slot
            && it.run == run
            && it.told.as_ref().is_some_and(|(teller, _)| *teller == by)
        {
            it.comm = Some(comm);
        }
    }

    /// The reason of run `run`, so far.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn text(slot: &Option<Cause>, run: u64) -> Option<String> {
        let it = slot.as_ref().filter(|it| it.run == run)?;
        it.told.as_ref().map(|(_, reason)| reason.to_string()).or_else(|| it.taken.clone())
    }

    /// The reason of run `run`, if it has been given, and nobody has taken it.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn reason(slot: &Option<Cause>, run: u64) -> Option<&Error> {
        let it = slot.as_ref().filter(|it| it.run == run)?;
        it.told.as_ref().map(|(_, reason)| reason)
    }

    /// The rank that ended run `run`.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn first(slot: &Option<Cause>, run: u64) -> Option<usize> {
        slot.as_ref().filter(|it| it.run == run).map(|it| it.first)
    }

    /// The rank that ended run `run`, if no reason has been given yet.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn first_untold(slot: &Option<Cause>, run: u64) -> Option<usize> {
        let it = slot.as_ref().filter(|it| it.run == run)?;
        (it.told.is_none() && it.taken.is_none()).then_some(it.first)
    }

    /// Takes the reason of run `run`, and the communicator of the ranks that disagree.
    pub(crate) fn take(slot: &mut Option<Cause>, run: u64) -> Option<(Error, Option<u64>)> {
        let it = slot.as_mut().filter(|it| it.run == run)?;
        let (_, reason) = it.told.take()?;
        it.taken = Some(reason.to_string());
        Some((reason, it.comm.take()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn reason(rank: usize) -> Option<Error> {
        Some(Error::panicked(rank, Box::new("bomb")))
    }

    fn rank(error: Option<Error>) -> Option<usize> {
        error.map(|error| match error {
            Error::Panicked { rank, .. } => rank,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn the_first_rank_is_heard() {
        let mut slot = None;
        let mut offer = |run, by, reason| {
            let (rest, old) = Cause::offer(&mut slot, run, by, reason);
            (rank(rest), rank(old))
        };
        // Rank 2 is the first, and says why after rank 1.
        assert_eq!(offer(1, 2, None), (None, None));
        assert_eq!(offer(1, 1, reason(1)), (None, None));
        assert_eq!(offer(1, 0, reason(0)), (Some(0), None));
        assert_eq!(offer(1, 2, None), (None, None));
        assert_eq!(offer(1, 2, reason(2)), (None, Some(1)));
        assert_eq!(offer(1, 2, reason(3)), (Some(3), None));
        // The next run's is another.
        assert_eq!(offer(2, 0, reason(0)), (None, Some(2)));
        assert!(Cause::take(&mut slot, 1).is_none());
        Cause::suspect(&mut slot, 2, 1, 77);
        Cause::suspect(&mut slot, 2, 0, 78);
        let (error, comm) = Cause::take(&mut slot, 2).unwrap();
        assert_eq!((rank(Some(error)), comm), (Some(0), Some(78)));
        assert!(Cause::take(&mut slot, 2).is_none());
        // A rank that comes after that (threads of the user's own have no common end) keeps its
        // own.
        let (rest, old) = Cause::offer(&mut slot, 2, 1, reason(1));
        assert_eq!((rank(rest), rank(old)), (Some(1), None));
        assert!(Cause::take(&mut slot, 2).is_none());
    }
}
