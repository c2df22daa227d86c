//! Communicators for threads that the caller already owns.

use super::builder::Builder;
use super::handle::check_ranks;
use crate::Comm;
use crate::error::Error;
use crate::machine::{Machine, MachineError, NumaNode, affinity};
use crate::mailbox::{MAX_RANKS, RefusedMemory, check_room};
use crate::shared::{CommState, Port, TeamState};
use crate::sync::{Arc, Mutex};
use crate::tuning::{MachineId, Tuning, TuningSource, for_process};
use crate::wait::know_cores;

pub(super) fn external(builder: &Builder, of_interface: bool) -> Result<Vec<Comm>, Error> {
    // Read once, for all of them: they must agree.
    let machine = machine();
    let one_a_core = || machine.as_ref().map_or(1, |it| it.ranks()).min(MAX_RANKS);
    let ranks = builder.ranks.unwrap_or_else(one_a_core);
    check_ranks(ranks)?;
    let here = || Machine::this().map(|machine| MachineId::of(&machine));
    let profile = for_process(here).map_err(Error::Profile)?;
    know_cores(machine.as_ref().map_or(1, |it| it.allowed_pus().len()));
    let apart = builder.always_apart || machine.as_ref().is_ok_and(|m| may_be_apart(m, ranks));
    let tuning = machine.map_or_else(|_| Tuning::default(), |m| Tuning::of(&m, ranks));
    let rules = Arc::new(TuningSource::new(builder.tuning, profile.profile, tuning));
    let record = builder.record.as_deref();
    let recorder = super::record::recorder(record, builder.record_events, ranks, true)?;
    let recorder = match of_interface {
        true => recorder.map(|it| Box::new(it.of_interface())),
        false => recorder,
    };
    let refused = |it: RefusedMemory| Error::refused(ranks, it.bytes);
    let world = TeamState::new(ranks).map_err(refused)?.with_deadline(builder.deadline);
    let world = world.with_stall_warning(super::stall_warning::after(builder)?);
    let world = world.with_recorder(recorder).shared();
    let run = world.begin(ranks);
    let shared = CommState::new(world, (0..ranks).collect(), apart).map_err(refused)?.shared();
    // All before any: a communicator that is dropped has left.
    let ports: Result<Vec<_>, _> = (0..ranks)
        .map(|rank| {
            shared.world().join(rank, run);
            // SAFETY: one port for each rank of a state made just now.
            unsafe { Port::new(shared.clone(), rank, run, builder.wait) }
        })
        .collect();
    let ports = ports.map_err(refused)?;
    check_room(0, ranks).map_err(refused)?;
    Ok(ports.into_iter().map(|port| Comm::new(port, None, rules.clone())).collect())
}

/// The machine; read anew only if the process may use other processing units than before, as many
/// teams may be made one after the other.
fn machine() -> Result<Arc<Machine>, MachineError> {
    static LATEST: Mutex<Option<(Vec<usize>, Arc<Machine>)>> = Mutex::new(None);
    let _inside = crate::fork::inside();
    // The second one loses units that go offline.
    let (Ok(mut pus), Ok(now)) = (affinity::allowed_pus(), affinity::current_mask()) else {
        return Machine::this().map(Arc::new);
    };
    pus.extend(now);
    let mut latest = LATEST.lock().unwrap_or_else(|e| e.into_inner());
    match &*latest {
        Some((of, machine)) if *of == pus => Ok(machine.clone()),
        _ => {
            let machine = Arc::new(Machine::this()?);
            *latest = Some((pus, machine.clone()));
            Ok(machine)
        }
    }
}

/// Whether the threads may sit in several memories: then each brings its mailboxes with it. Not
/// where they outnumber the processing units.
fn may_be_apart(machine: &Machine, ranks: usize) -> bool {
    let is_ours = |node: &&NumaNode| node.pus.iter().any(|&pu| machine.is_allowed(pu));
    let memories = machine.numa_nodes().iter().filter(is_ours).count();
    memories > 1 && ranks > 1 && ranks <= machine.allowed_pus().len()
}
