//! Ranks that roam: beside the load of other processes each may run on any of the team's cores.
//!
//! A rank that is bound to a core beside a busy thread gets a part of that core, while another core
//! of the team may be free: its rank sleeps. Threads that are not bound the system moves there. So
//! a rank that sleeps often, in a disturbed process (`wait/lost_time.rs`) or by its policy, widens
//! the masks of all ranks, and gives each its core back when its own part of the run ends: till
//! then the ranks' threads are there, as the run goes on. Only masks that are one core, the
//! rank's, are widened.

use super::team_state::TeamState;
use crate::machine::affinity;
use crate::sync::diagnostic::Ordering::Relaxed;
use crate::wait::{Wait, is_disturbed, owe, sleeps_often};

impl TeamState {
    /// Lets all ranks roam, for the calling rank's part of the run, if that helps.
    #[inline]
    pub(crate) fn perhaps_roam(&self, wait: Wait) {
        let is_better = || wait == Wait::Park || is_disturbed();
        if sleeps_often() && is_better() && !self.is_roaming().load(Relaxed) {
            self.roam();
        }
    }

    #[cold]
    fn roam(&self) {
        let units: Box<[usize]> = self.cores().units().into();
        if units.len() < 2 || self.is_roaming().swap(true, Relaxed) {
            return;
        }
        let widen = |rank| {
            let (thread, unit) = (self.thread(rank)?.number(), self.cores().unit(rank)?);
            affinity::change(thread, &[unit], &units).then_some((thread, unit))
        };
        let widened: Vec<_> = (0..self.ranks()).filter_map(widen).collect();
        let is_roaming = self.is_roaming().clone();
        owe(move || {
            for (thread, unit) in widened {
                affinity::change(thread, &units, &[unit]);
            }
            is_roaming.store(false, Relaxed);
        });
    }
}
