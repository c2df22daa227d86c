//! Sub-communicators.

use super::Comm;
use super::arguments::CallAt;
use super::audit::Audit;
use crate::exec::{Call, Partition};
use crate::machine::Level;
use crate::schedule::Operation;
use crate::shared::{CallParams, CommState, Signature};
use crate::sorted::Arrange;
use crate::sync::Arc;
use std::panic::Location;

/// # Groups
impl Comm {
    /// Splits the communicator: ranks that give the same `color` form a new
    /// one together, in the order of `key` (of equal keys, in the order of
    /// their ranks here).
    ///
    /// The new communicator is independent of this one: collectives on it
    /// concern its ranks only. It ends with the run; a failure in either ends
    /// the run for all ranks.
    ///
    /// **Must agree on all ranks:** that it is called.
    ///
    /// **Cost** an all-gather of two words per rank, and memory for `g * g`
    /// mailboxes in a group of `g`.
    ///
    /// # Examples
    /// Rows of a 2 x 3 mesh:
    /// ```
    /// let sums = phalanx::run(6, |comm| {
    ///     let (row, col) = (comm.rank() / 3, comm.rank() % 3);
    ///     let mut in_row = comm.split(row, col);
    ///     let mut x = [comm.rank()];
    ///     in_row.all_reduce(&mut x, phalanx::op::Sum);
    ///     x[0]
    /// })?;
    /// assert_eq!(sums, [3, 3, 3, 12, 12, 12]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn split(&mut self, color: usize, key: usize) -> Comm {
        static SIG: Signature = splitting("split");
        self.split_as((&SIG, Location::caller()), color, key)
    }

    /// [`split`](Comm::split), as a call of the method of `sig`.
    pub(super) fn split_as(&mut self, (sig, at): CallAt, color: usize, key: usize) -> Comm {
        let p = self.size();
        let mut all = vec![(0, 0); p];
        let call = Call::new(Operation::AllGather, sig, at, Partition::Equal(1));
        self.slices_by_long_route(call, &[(color, key)], &mut all);
        if !self.enter((sig, at), CallParams::of(1)) {
            self.nothing_to_return();
        }
        let mut group: Vec<usize> = (0..p).filter(|&r| all[r].0 == color).collect();
        group.arrange_by_key(|&r| (all[r].1, r));
        let shared = self.port.shared();
        // Of threads of the user's own nobody knows where they are.
        let apart = self.roster.as_ref().map_or(shared.is_apart(), |roster| {
            roster.spans_numa_nodes(&group.iter().map(|&r| shared.member(r)).collect::<Vec<_>>())
        });
        let run = self.port.run();
        let audit = |shared: &Arc<CommState>| Arc::new(Audit::new(shared.clone(), run));
        match self.port.branch(&group, apart, audit) {
            Ok((port, audit)) => self.child(port, audit),
            Err(stop) => self.stop_for_good(stop),
        }
    }

    /// Splits by hardware: ranks whose cores share the same `level` (the same
    /// last-level cache, NUMA node, package ..) form a communicator, in rank
    /// order. Ranks for which the level is not known, because they are not
    /// bound to a core or the machine has no such level, stay together.
    ///
    /// **Must agree on all ranks:** `level`.
    ///
    /// # Examples
    /// ```
    /// use phalanx::machine::Level;
    /// phalanx::run(2, |comm| {
    ///     let package = comm.split_by(Level::Package);
    ///     assert!(package.size() >= 1);
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn split_by(&mut self, level: Level) -> Comm {
        static SIG: Signature = splitting("split_by");
        let me = self.port.shared().member(self.port.rank());
        let group = self.roster.as_ref().and_then(|roster| {
            let pu = roster.pus.get(me).copied().flatten()?;
            roster.machine.group_of(pu, level)
        });
        let color = group.map_or(0, |g| g + 1);
        self.split_as((&SIG, Location::caller()), color, self.rank())
    }
}

/// The signature of a method that splits; all of them meet.
pub(super) const fn splitting(call: &'static str) -> Signature {
    Signature {
        element_name: std::any::type_name::<()>, // For people there is none.
        ..Signature::of::<(usize, usize)>(call, "").meets("split")
    }
}
