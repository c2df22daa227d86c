//! The channels and trees of Smelt (OSDI 2016), 20 threads on two sockets of 10.

use super::open_mpi::broadcast;
use phalanx::schedule::{BlockRange, Contract, Operation, Round, Schedule};
use phalanx::tuning::{LINES_IN_FLIGHT, Transport};

/// 64-byte channels, polled in a plain loop. The table's hand-off for this machine is half of a
/// channel's round trip, so one transfer is a message; sending takes 62 of 321 cycles near, 193 of
/// 1090 far. All of it published with the measurements; nothing is fitted.
pub(crate) const TRANSPORT: Transport = Transport {
    send_ns: 0.0,
    send_share: 0.18,
    receive_ns: 0.0,
    transfers: 1.0,
    pulls: LINES_IN_FLIGHT,
    acknowledge_ns: 0.0,
    turnaround: false,
    copy_rate: None,
    sender_copies: false,
    inline_bytes: 64.0,
    lent_from: None,
    bounce: 0.0,
    poller_ns: 0.0,
    source: "libsmelt/Simulator, machine-data/intel_xeon_e5_v2_2x10",
};

/// Cycles per nanosecond.
pub(crate) const GHZ: f64 = 2.494;

const RANKS: usize = 20;
const SOCKET: usize = 10;

/// The children of each rank, in the order in which it sends to them.
fn children(tree: &str) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); RANKS];
    match tree {
        "sequential" => out[0] = (1..RANKS).collect(),
        "binary" => {
            for (rank, own) in out.iter_mut().enumerate() {
                own.extend([2 * rank + 1, 2 * rank + 2].into_iter().filter(|&c| c < RANKS));
            }
        }
        "fibonacci" => fibonacci(&mut out),
        // A star in each socket, rank 0 over the other socket's centre.
        _ => {
            out[0] = std::iter::once(SOCKET).chain(1..SOCKET).collect();
            out[SOCKET] = (SOCKET + 1..RANKS).collect();
        }
    }
    out
}

/// The Fibonacci tree of 20 nodes: below a node of order n one of order n - 1 and one of
/// n - 2, numbered level by level.
fn fibonacci(out: &mut [Vec<usize>]) {
    // (rank, order); order 6 has 20 nodes.
    let mut level = vec![(0, 6)];
    let mut next = 1;
    while !level.is_empty() {
        let mut below = Vec::new();
        for (rank, order) in level {
            for order in [order - 1, order - 2].into_iter().filter(|&o| o > 0) {
                out[rank].push(next);
                below.push((next, order));
                next += 1;
            }
        }
        level = below;
    }
}

/// The broadcast along a tree.
pub(crate) fn down(tree: &'static str) -> Schedule {
    let all = children(tree);
    broadcast(tree, RANKS, &|rank| all[rank].clone())
}

/// The reduction: the same messages backwards.
pub(crate) fn up(tree: &'static str) -> Schedule {
    Schedule::of_rounds(tree, contract(Operation::Reduce), upwards(tree))
}

/// A reduction followed by a broadcast.
pub(crate) fn barrier(tree: &'static str) -> Schedule {
    let mut rounds = upwards(tree);
    rounds.extend(rounds_of(&down(tree), false));
    Schedule::of_rounds(tree, contract(Operation::Barrier), rounds)
}

fn contract(operation: Operation) -> Contract {
    Contract { operation, ranks: RANKS, root: 0, shift: 0, split: 1 }
}

fn upwards(tree: &'static str) -> Vec<Round> {
    let mut rounds = rounds_of(&down(tree), true);
    rounds.reverse();
    for round in &mut rounds {
        round.messages.iter_mut().for_each(|m| std::mem::swap(&mut m.0, &mut m.1));
        // The child that was sent to last reports first.
        round.messages.reverse();
    }
    rounds
}

fn rounds_of(schedule: &Schedule, combine: bool) -> Vec<Round> {
    let step = |step| Round {
        combine,
        messages: (0..RANKS)
            .flat_map(|r| schedule.step(step, r).sends.into_iter().map(move |s| (r, s.to)))
            .map(|(from, to)| (from, to, vec![BlockRange::one(0)]))
            .collect(),
    };
    (0..schedule.steps()).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::published::V4;
    use phalanx::schedule::check;

    #[test]
    fn every_tree_reaches_everybody() {
        for &(tree, _) in V4 {
            let nodes: usize = children(tree).iter().map(Vec::len).sum();
            assert_eq!(nodes, RANKS - 1, "{tree}");
            assert!(check(&down(tree)).is_ok(), "{tree}");
            assert!(check(&up(tree)).is_ok(), "{tree}: {:?}", check(&up(tree)));
            assert!(check(&barrier(tree)).is_ok(), "{tree}");
        }
    }
}
