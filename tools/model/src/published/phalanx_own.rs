//! This library's own defaults on such a node: the schedule that it chooses there, by the same
//! clocks as the published libraries.

use super::by_messages::{self, Transport};
use super::clocks::PhaseClocks;
use super::ext_mpi::Kind;
use super::node::Call;
use phalanx::machine::Machine;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{Hierarchy, Mode, Operation, Request};
use phalanx::tuning::{LevelModel, MachineCosts, Profile, Transport as Own, Tuning};

/// Bytes from which a message lends its sender's memory and is read there; shorter ones pass
/// through a mailbox.
const LENT: f64 = 4096.0;

/// The microseconds of a call; None where the machine cannot be described to the library.
pub(super) fn time(call: &Call<'_>, shape: &str, kind: Kind) -> Option<f64> {
    let &Call { p, bytes, .. } = call;
    let operation = match kind {
        Kind::AllReduce => Operation::AllReduce,
        Kind::Broadcast => Operation::Broadcast,
        Kind::Reduce => Operation::Reduce,
    };
    let machine = Machine::from_synthetic(shape).ok()?;
    let places = assign(&Placement::Compact, &machine, p).ok()?;
    let (costs, _) = MachineCosts::nearest(&machine);
    let levels = LevelModel::new(&machine, &places, costs).ok()?;
    let request = Request::new(operation, p);
    let choice = levels.as_ref().and_then(|l| l.choose(operation, bytes as usize, true));
    let (algorithm, request) = match choice {
        Some(choice) => (choice.algorithm, request.levels(Hierarchy::clone(&choice.levels))),
        None => {
            let rules = Profile::default().with_tuning(p, Tuning::of(&machine, p)).ok()?;
            (rules.algorithm(operation, p, bytes as usize), request)
        }
    };
    let schedule = algorithm.schedule(&request).ok()?;
    let split = schedule.contract().split.max(1) as f64;
    let mut clocks = PhaseClocks::new(call, 2.0 * bytes);
    let mailbox = Transport {
        message_ns: Own::PHALANX.send_ns + Own::PHALANX.receive_ns,
        exchange: 1.0,
        hand_offs: 0.0,
        copied: true,
        buffers: 2.0,
        cells: 0.0,
        long: (f64::INFINITY, 0.0),
    };
    for step in 0..schedule.steps() {
        for rank in 0..p {
            for from in schedule.step(step, rank).recvs {
                if from.from == rank {
                    continue;
                }
                let blocks: usize = from.blocks.iter().map(|b| b.count).sum();
                let part = blocks as f64 * bytes / split;
                let adds = !matches!(from.mode, Mode::Store);
                if part < LENT {
                    by_messages::message(&mut clocks, from.from, rank, part, &mailbox, false);
                    continue;
                }
                clocks.wait(rank, from.from);
                clocks.work(rank, mailbox.message_ns);
                clocks.read(rank, from.from, part);
                match adds {
                    true => clocks.again(rank, part, true),
                    false => clocks.own_write(rank, part),
                }
            }
        }
        clocks.run();
    }
    Some(clocks.mean_us())
}
