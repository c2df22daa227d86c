//! The cores of ranks while they are measured: whether they shared or lost them.

use crate::bench::run_conditions::is_crowded;
use crate::disturbance::{CoreMoment, Disturbance};
use phalanx::engine::CoreUse;
use phalanx::{Error, Team};
use std::time::{Duration, Instant};

/// A look at a machine takes so long: other programs get several turns.
const LOOK: Duration = Duration::from_millis(40);

/// The ranks at the beginning.
pub(crate) struct CoreWatch {
    since: Instant,
    begin: Vec<Option<CoreMoment>>,
}

impl CoreWatch {
    pub(crate) fn new(team: &Team) -> Result<Self, Error> {
        Ok(CoreWatch { since: Instant::now(), begin: moments(team)? })
    }

    /// What the ranks have met since then; nothing where they are more than the cores, and
    /// so share them anyway.
    pub(crate) fn end(&self, team: &Team) -> Result<Disturbance, Error> {
        let end = moments(team)?;
        if is_crowded(team) {
            return Ok(Disturbance::default());
        }
        let spans: Vec<_> = self.begin.iter().zip(end).map(|(begin, end)| [*begin, end]).collect();
        Ok(Disturbance::of(self.since.elapsed().as_nanos() as u64, &spans))
    }
}

/// What ranks meet that do nothing but run for a moment.
pub(crate) fn look(team: &Team) -> Result<Disturbance, Error> {
    let watch = CoreWatch::new(team)?;
    team.run(|_| {
        let since = Instant::now();
        while since.elapsed() < LOOK {
            std::hint::spin_loop();
        }
    })?;
    watch.end(team)
}

fn moments(team: &Team) -> Result<Vec<Option<CoreMoment>>, Error> {
    team.run(|_| {
        let at = CoreUse::now()?;
        Some(CoreMoment { pu: at.pu as u64, lost: at.lost })
    })
}
