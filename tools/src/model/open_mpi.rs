//! Open MPI over shared memory, as far as the published curves need it: what a message costs, and
//! which messages its algorithms send.

use phalanx::model::Transport;
use phalanx::schedule::{Contract, Operation, Round, Run, Schedule};

/// Two constants are fitted, both on two ranks that share an L3 (hand-off 25.3 ns):
/// the software, from the 2-byte latency of 140 ns (V1's nodes): 140 - 2 x 25.3, shared out so that the sender's part and a
/// hand-off are the published message gap of 66 ns (with 114, 135 and 267 ns that gives the gaps of the other levels, 156, 176
/// and 299 ns, within 5 %);
/// and what a rank that has only waited takes longer, from the double ring of
/// two ranks (2.14 us for four hops): 2140 / 4 - 140.
///
/// `pulls` is the number of line-fill buffers that a core has at least. That a message moves its line twice and that a core which both sends and receives does one
/// after the other (`turnaround`) is structure, not a number.
pub(crate) const TRANSPORT: Transport = Transport {
    send_ns: 40.7,
    send_share: 1.0,
    receive_ns: 48.7,
    transfers: 2.0,
    waited_ns: 395.0,
    turnaround: true,
    pulls: 10.0,
    // 1 MiB between two ranks: 90.8 us.
    copy_rate: Some(11.5),
    sender_copies: true,
    inline_bytes: 256.0,
    poller_ns: 0.0,
    source: "two-rank points of V1, V2 and V5",
};

fn contract(operation: Operation, ranks: usize) -> Contract {
    Contract { operation, ranks, root: 0, shift: 0, split: 1 }
}

fn round(combine: bool, pairs: impl Iterator<Item = (usize, usize)>) -> Round {
    let messages = pairs.map(|(from, to)| (from, to, vec![Run::one(0)])).collect();
    Round { combine, messages }
}

/// All report to rank 0, which releases them.
pub(crate) fn linear_barrier(p: usize) -> Schedule {
    let rounds = vec![round(true, (1..p).map(|r| (r, 0))), round(false, (1..p).map(|r| (0, r)))];
    Schedule::of_rounds("linear", contract(Operation::Barrier, p), rounds)
}

/// Two laps of a token.
pub(crate) fn double_ring(p: usize) -> Schedule {
    let hops = (0..2 * p).map(|hop| round(true, [(hop % p, (hop + 1) % p)].into_iter()));
    Schedule::of_rounds("double-ring", contract(Operation::Barrier, p), hops.collect())
}

/// Dissemination.
pub(crate) fn bruck(p: usize) -> Schedule {
    let distances = std::iter::successors(Some(1), |d| Some(d * 2)).take_while(|&d| d < p);
    let rounds = distances.map(|d| round(true, (0..p).map(move |r| (r, (r + d) % p))));
    Schedule::of_rounds("bruck", contract(Operation::Barrier, p), rounds.collect())
}

/// Recursive doubling; the ranks beyond the power of two report first and are released last.
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
    Schedule::of_rounds("recursive-doubling", contract(Operation::Barrier, p), rounds)
}

/// What Open MPI 4 takes by default (ompi PR 11023).
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
