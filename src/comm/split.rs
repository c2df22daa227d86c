//! Sub-communicators.

use super::Comm;
use super::ending::Ending;
use crate::engine::{Cut, Guard};
use crate::fabric::{Fabric, Params, Port, Sig, Stop};
use crate::machine::Level;
use crate::schedule::Operation;
use crate::sync::Arc;
use crate::wait::Bed;
use std::panic::Location;
use std::sync::Mutex;

/// What the first rank of a group has ready for each of its members.
struct Seats {
    fabric: Arc<Fabric>,
    ending: Arc<Ending>,
    beds: Vec<Mutex<Option<Bed>>>,
}

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
        static SIG: Sig = Sig {
            element_name: std::any::type_name::<()>, // For people there is none.
            ..Sig::of::<(usize, usize)>("split", "", "")
        };
        let at = Location::caller();
        let p = self.size();
        let mut all = vec![(0, 0); p];
        let (operation, cut) = (Operation::AllGather, Cut::Equal(1));
        self.collect(operation, &SIG, at, 0, cut, 1, &[(color, key)], &mut all);
        if !self.enter(&SIG, at, Params::of(1)) {
            self.nothing_to_return();
        }
        let mut group: Vec<usize> = (0..p).filter(|&r| all[r].0 == color).collect();
        group.sort_by_key(|&r| (all[r].1, r));
        match self.seat(&group) {
            Ok((port, ending)) => self.child(port, ending),
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
        let me = self.port.fabric().member(self.rank());
        let group = self.roster.as_ref().and_then(|roster| {
            let pu = roster.pus.get(me).copied().flatten()?;
            roster.machine.group_of(pu, level)
        });
        self.split(group.map_or(0, |g| g + 1), self.rank())
    }

    /// This rank's port in the new communicator of `group`, made by its first
    /// rank.
    fn seat(&mut self, group: &[usize]) -> Result<(Port, Arc<Ending>), Stop> {
        let place = group.iter().position(|&r| r == self.rank());
        let place = place.expect("a rank has its own color");
        let parent = self.port.fabric().clone();
        let (run, wait) = (self.port.run(), self.port.wait_policy());
        let seats = (place == 0).then(|| {
            let members: Box<[usize]> = group.iter().map(|&r| parent.member(r)).collect();
            let apart = self.roster.as_ref().is_some_and(|roster| roster.apart(&members));
            let (fabric, beds) = Fabric::new(parent.world_arc().clone(), members, apart);
            let beds = beds.into_iter().map(|bed| Mutex::new(Some(bed))).collect();
            let fabric = Arc::new(fabric);
            Seats { ending: Arc::new(Ending::new(fabric.clone(), run)), fabric, beds }
        });
        let own = seats.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let guard = Guard::new(&mut self.port);
        guard.port.show(own.cast_mut().cast(), std::ptr::null_mut(), 0);
        let shown = if place == 0 { own } else { guard.port.notice(group[0], None)?.a.cast() };
        // SAFETY: the group's first rank shows its `Seats` (same fingerprint)
        // and keeps them until all have finished.
        let seats_shown = unsafe { &*shown };
        let bed = seats_shown.beds[place].lock().unwrap_or_else(|e| e.into_inner()).take();
        let bed = bed.expect("every place of a group is taken once");
        // SAFETY: the fabric is new, and place `place` is this rank's alone.
        let mut port = unsafe { Port::new(seats_shown.fabric.clone(), place, bed, run, wait) };
        // Before `close` ends for anybody, and so before anybody sends.
        port.move_in();
        let ending = seats_shown.ending.clone();
        guard.port.finish();
        guard.port.close()?;
        guard.disarm();
        Ok((port, ending))
    }
}
