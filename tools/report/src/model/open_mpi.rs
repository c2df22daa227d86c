//! Open MPI over shared memory, as far as the published curves need it: the cost of a message, and
//! the messages of its algorithms.

use phalanx::schedule::{BlockRange, Contract, Operation, Round, Schedule};
use phalanx::tuning::{LINES_IN_FLIGHT, Transport};

/// Nanoseconds that two ranks of the 7H12 nodes that share an L3 take for a message of 2 bytes, one
/// way (osu_latency). An input: `machines` that publish it have it beside the hand-off, and it is
/// no point of a curve.
pub(crate) const LATENCY: f64 = 140.0;

/// The same ranks' nanoseconds from message to message (osu_bw, 2 bytes): LogP's gap. An input,
/// too.
pub(crate) const GAP: f64 = 66.0;

/// The hand-off between these two ranks.
const NEAR: f64 = 25.3;

/// Hand-off, latency and gap of 2 bytes on the 7H12 nodes, nearest first: the first row is the
/// input, the others say how good the rule is that makes messages of it.
pub(crate) const PAIRS: [(&str, f64, f64, f64); 4] = [
    ("L3", NEAR, LATENCY, GAP),
    ("NUMA node", 113.9, 350.0, 156.0),
    ("package", 134.6, 410.0, 176.0),
    ("machine", 266.6, 650.0, 299.0),
];

/// Fitted, on V2's double ring of two ranks: 2.14 us for four messages, the latter two of which are
/// synchronous sends (coll_base_barrier.c): (2140 - 4 x 140) / 2.
pub(crate) const ACKNOWLEDGE: f64 = (2140.0 - 4.0 * LATENCY) / 2.0;

/// Fitted, on V5's broadcast of 1 MiB to one other rank: 90.8 us.
pub(crate) const COPY_RATE: f64 = 11.5;

/// From the inputs: a message moves its line twice (the sender takes it back, the receiver fetches
/// it), the rest of the latency is software; the sender's part of that and a hand-off are the gap.
/// How well this gives the latencies and gaps of the other levels is in docs/validation.md, and
/// the fitted constants, and the choice of the others.
pub(crate) const TRANSPORT: Transport = Transport {
    send_ns: GAP - NEAR,
    send_share: 1.0,
    receive_ns: LATENCY - NEAR - GAP,
    transfers: 2.0,
    acknowledge_ns: ACKNOWLEDGE,
    turnaround: true,
    pulls: LINES_IN_FLIGHT,
    copy_rate: Some(COPY_RATE),
    sender_copies: true,
    inline_bytes: 256.0,
    lent_from: None,
    bounce: 0.0,
    poller_ns: 0.0,
    source: "2-byte latency and gap of two ranks; two-rank points of V2 and V5",
};

fn contract(operation: Operation, ranks: usize) -> Contract {
    Contract { operation, ranks, root: 0, shift: 0, split: 1 }
}

fn round(combine: bool, pairs: impl Iterator<Item = (usize, usize)>) -> Round {
    let messages = pairs.map(|(from, to)| (from, to, vec![BlockRange::one(0)])).collect();
    Round { combine, messages }
}

/// All report to rank 0, which releases them.
pub(crate) fn linear_barrier(p: usize) -> Schedule {
    let rounds = vec![round(true, (1..p).map(|r| (r, 0))), round(false, (1..p).map(|r| (0, r)))];
    Schedule::of_rounds("linear", contract(Operation::Barrier, p), rounds)
}

/// Two laps of a token, the second by synchronous sends.
pub(crate) fn double_ring(p: usize) -> Schedule {
    let hops = (0..2 * p).map(|hop| round(true, [(hop % p, (hop + 1) % p)].into_iter()));
    let ring = Schedule::of_rounds("double-ring", contract(Operation::Barrier, p), hops.collect());
    ring.acknowledged(p..2 * p)
}

/// Dissemination.
pub(crate) fn bruck(p: usize) -> Schedule {
    let distances = std::iter::successors(Some(1), |d| Some(d * 2)).take_while(|&d| d < p);
    let rounds = distances.map(|d| round(true, (0..p).map(move |r| (r, (r + d) % p))));
    Schedule::of_rounds("bruck", contract(Operation::Barrier, p), rounds.collect())
}

/// Recursive doubling; the ranks beyond the power of two report first and are released last, by
/// synchronous sends.
pub(crate) fn recursive_doubling(p: usize) -> Schedule {
    let active = 1 << p.ilog2();
    let beyond = p - active;
    let mut rounds = Vec::new();
    if beyond > 0 {
        rounds.push(round(true, (0..beyond).map(|i| (active + i, i))));
    }
    for bit in (0..active.ilog2()).map(|b| 1 << b) {
        rounds.push(round(true, (0..active).map(move |r| (r, r ^ bit))));
    }
    if beyond > 0 {
        rounds.push(round(false, (0..beyond).map(|i| (i, active + i))));
    }
    let last = rounds.len().saturating_sub(1);
    let doubling =
        Schedule::of_rounds("recursive-doubling", contract(Operation::Barrier, p), rounds);
    doubling.acknowledged((beyond > 0).then_some(last))
}

/// The default of Open MPI 4 (ompi PR 11023).
pub(crate) fn default_barrier(p: usize) -> Schedule {
    match p {
        4..=7 => linear_barrier(p),
        64..=255 => bruck(p),
        _ => recursive_doubling(p),
    }
}

/// A broadcast along a tree: each rank sends to its children in turn.
pub(crate) fn broadcast(
    id: &'static str,
    p: usize,
    children: &dyn Fn(usize) -> Vec<usize>,
) -> Schedule {
    let mut rounds = Vec::new();
    let mut level = vec![0];
    while !level.is_empty() {
        let mut pairs = Vec::new();
        for &parent in &level {
            pairs.extend(children(parent).into_iter().filter(|&c| c < p).map(|c| (parent, c)));
        }
        level = pairs.iter().map(|&(_, child)| child).collect();
        if !pairs.is_empty() {
            rounds.push(round(false, pairs.into_iter()));
        }
    }
    Schedule::of_rounds(id, contract(Operation::Broadcast, p), rounds)
}

/// The children of `rank` in Open MPI's chain: four chains side by side.
pub(crate) fn chain(p: usize) -> impl Fn(usize) -> Vec<usize> {
    let length = (p - 1).div_ceil(4);
    move |rank| match rank {
        0 => (0..4).map(|c| 1 + c * length).collect(),
        _ if rank % length == 0 => vec![],
        _ => vec![rank + 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::schedule::check;

    #[test]
    fn the_algorithms_do_what_they_are_for() {
        for p in 2..40 {
            for schedule in [linear_barrier(p), bruck(p), recursive_doubling(p), default_barrier(p)]
            {
                check(&schedule).unwrap_or_else(|e| panic!("{} {p}: {e}", schedule.id()));
            }
            for schedule in [
                broadcast("chain", p, &chain(p)),
                broadcast("binary", p, &|r| vec![2 * r + 1, 2 * r + 2]),
                broadcast("linear", p, &|r| if r == 0 { (1..p).collect() } else { vec![] }),
            ] {
                check(&schedule).unwrap_or_else(|e| panic!("{} {p}: {e}", schedule.id()));
            }
        }
    }
}
