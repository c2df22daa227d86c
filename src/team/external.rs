//! Communicators for threads that the caller already owns.

use super::crew::check_ranks;
use crate::Comm;
use crate::error::Error;
use crate::fabric::{Fabric, Port, World};
use crate::machine::Machine;
use crate::model::{Fingerprint, Rules, Tuning, for_process};
use crate::wait::{Wait, know_cores};
use std::sync::Arc;

pub(super) fn external(ranks: usize) -> Result<Vec<Comm>, Error> {
    check_ranks(ranks)?;
    let here = || Machine::this().map(|machine| Fingerprint::of(&machine));
    let profile = for_process(here).map_err(Error::Profile)?;
    know_cores(std::thread::available_parallelism().map_or(1, usize::from));
    // Read once, for all of them: they must agree.
    let tuning = Machine::this().map_or_else(|_| Tuning::default(), |m| Tuning::of(&m, ranks));
    let rules = Arc::new(Rules::new(None, profile.profile, tuning));
    let world = Arc::new(World::new(ranks));
    let run = world.begin();
    let (fabric, beds) = Fabric::new(world, (0..ranks).collect(), false);
    let fabric = Arc::new(fabric);
    Ok(beds
        .into_iter()
        .enumerate()
        .map(|(rank, bed)| {
            // SAFETY: one port for each rank of a fabric made just now.
            let port = unsafe { Port::new(fabric.clone(), rank, bed, run, Wait::Auto) };
            Comm::new(port, None, rules.clone())
        })
        .collect())
}
