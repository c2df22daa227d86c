//! The raw exchange between the cores of ranks 0 and 1: the floor of every
//! table, and the probe between samples.

use crate::measure::probe::Probe;
use phalanx::{Error, Team};

/// Whether ranks 0 and 1 are bound to a core each, so that an exchange between
/// them says something.
pub(crate) fn is_possible(team: &Team) -> bool {
    let bindings = team.bindings();
    match &bindings[..] {
        [a, b, ..] => {
            let bound = a.pu.is_some() && b.pu.is_some() && a.pu != b.pu;
            bound && a.problem.is_none() && b.problem.is_none()
        }
        _ => false,
    }
}

/// Nanoseconds of one exchange now; none where it is not possible.
pub fn exchange(team: &Team, probe: &Probe) -> Result<Option<f64>, Error> {
    if !is_possible(team) {
        return Ok(None);
    }
    let ranks = team.run(|comm| {
        comm.barrier();
        (comm.rank() < 2).then(|| probe.exchange(comm.rank()))
    })?;
    Ok(ranks.into_iter().flatten().next())
}
