//! Communicators for threads that the caller already owns.

use super::builder::Builder;
use super::handle::check_ranks;
use crate::Comm;
use crate::comm::explain_team;
use crate::error::Error;
use crate::fabric::{CommState, Port, TeamState};
use crate::machine::{Machine, NumaNode};
use crate::mailbox::MAX_RANKS;
use crate::sync::Arc;
use crate::tuning::{MachineId, Tuning, TuningSource, for_process};
use crate::wait::know_cores;

pub(super) fn external(builder: &Builder) -> Result<Vec<Comm>, Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ranks = builder.ranks.unwrap_or_else(|| cores.min(MAX_RANKS));
    check_ranks(ranks)?;
    let here = || Machine::this().map(|machine| MachineId::of(&machine));
    let profile = for_process(here).map_err(Error::Profile)?;
    know_cores(cores);
    // Read once, for all of them: they must agree.
    let machine = Machine::this();
    let apart = builder.always_apart || machine.as_ref().is_ok_and(|m| may_be_apart(m, ranks));
    let tuning = machine.map_or_else(|_| Tuning::default(), |m| Tuning::of(&m, ranks));
    explain_team(ranks, Err("where the program's own threads run is not known"));
    let rules = Arc::new(TuningSource::new(builder.tuning, profile.profile, tuning));
    let record = builder.record.as_deref();
    let recorder = super::record::recorder(record, builder.record_events, ranks, true)?;
    let world = TeamState::new(ranks).with_deadline(builder.deadline);
    let world = Arc::new(world.with_recorder(recorder));
    let run = world.begin(ranks);
    let fabric = Arc::new(CommState::new(world, (0..ranks).collect(), apart));
    Ok((0..ranks)
        .map(|rank| {
            fabric.world().join(rank, run);
            // SAFETY: one port for each rank of a fabric made just now.
            let port = unsafe { Port::new(fabric.clone(), rank, run, builder.wait) };
            Comm::new(port, None, rules.clone())
        })
        .collect())
}

/// Whether the threads may sit in several memories: then each brings its mailboxes with it. Not
/// where they outnumber the processing units.
fn may_be_apart(machine: &Machine, ranks: usize) -> bool {
    let is_ours = |node: &&NumaNode| node.pus.iter().any(|&pu| machine.is_allowed(pu));
    let memories = machine.numa_nodes().iter().filter(is_ours).count();
    memories > 1 && ranks > 1 && ranks <= machine.allowed_pus().len()
}
