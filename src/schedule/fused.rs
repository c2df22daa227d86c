//! The schedules of the fused paths, on paper: the accesses of `exec::board`, for the checker, the
//! cost model and the traces. No executor walks them.

use super::rule_parts::{Boxed, counted};
use super::{BlockRange, Incoming, Mode, RESULT, Step, StepTraffic, TOTAL};

/// The scan's first block for a prefix; that of rank `t` is number `t` from
/// here.
const PREFIXES: usize = 3;

/// Every rank sends part `j` of its vector to rank `j`, which combines the
/// parts in rank order.
pub(super) fn combine(p: usize) -> Boxed {
    let peers = move |_: usize, rank: usize, out: &mut StepTraffic| {
        out.sends.extend(others(rank, p).map(|to| (to, 1)));
        out.recvs.extend((0..rank).rev().chain(rank + 1..p).map(|from| (from, 1)));
    };
    counted(usize::from(p > 1), peers, move |_, rank| {
        let mut step = Step::default();
        for to in others(rank, p) {
            step.send(to, vec![BlockRange::one(to)]);
        }
        // From the own position outwards, so that intervals stay adjacent.
        for from in (0..rank).rev().chain(rank + 1..p) {
            step.recv(from, vec![BlockRange::one(rank)], Mode::combine(from, rank));
        }
        step
    })
}

/// Every rank stores its part to those of the others that `take`.
pub(super) fn store(
    p: usize,
    take: impl Fn(usize) -> bool + Clone + Send + Sync + 'static,
) -> Boxed {
    let takes = take.clone();
    let peers = move |_: usize, rank: usize, out: &mut StepTraffic| {
        out.sends.extend(others(rank, p).filter(|&to| takes(to)).map(|to| (to, 1)));
        out.recvs.extend(others(rank, p).filter(|_| takes(rank)).map(|from| (from, 1)));
    };
    counted(usize::from(p > 1), peers, move |_, rank| {
        let mut step = Step::default();
        for to in others(rank, p).filter(|&to| take(to)) {
            step.send(to, vec![BlockRange::one(rank)]);
        }
        for from in others(rank, p).filter(|_| take(rank)) {
            step.recv(from, vec![BlockRange::one(from)], Mode::Store);
        }
        step
    })
}

/// The root sends every rank its part.
pub(super) fn deal(p: usize, root: usize) -> Boxed {
    let peers = move |_: usize, rank: usize, out: &mut StepTraffic| {
        if rank == root {
            out.sends.extend(others(root, p).map(|to| (to, 1)));
        } else {
            out.recvs.push((root, 1));
        }
    };
    counted(usize::from(p > 1), peers, move |_, rank| {
        let mut step = Step::default();
        if rank == root {
            others(root, p).for_each(|to| step.send(to, vec![BlockRange::one(to)]));
        } else {
            step.recv(root, vec![BlockRange::one(rank)], Mode::Store);
        }
        step
    })
}

/// Every rank sends every other the block for it.
pub(super) fn exchange(p: usize) -> Boxed {
    counted(
        usize::from(p > 1),
        move |_, rank, out| all(p, rank, out),
        move |_, rank| {
            let mut step = Step::default();
            for peer in others(rank, p) {
                step.send(peer, vec![BlockRange::one(rank * p + peer)]);
                step.recv(peer, vec![BlockRange::one(peer * p + rank)], Mode::Store);
            }
            step
        },
    )
}

/// Rank `j` takes part `j` of everybody's vector, and stores each to the rank
/// that the vector is shifted to.
pub(super) fn shift(p: usize, distance: usize) -> Boxed {
    let steps = if distance == 0 { 0 } else { 2 };
    let part = move |origin: usize, part: usize| vec![BlockRange::one(origin * p + part)];
    counted(
        steps,
        move |_, rank, out| all(p, rank, out),
        move |s, rank| {
            let mut step = Step::default();
            for peer in others(rank, p) {
                if s == 0 {
                    step.send(peer, part(rank, peer));
                    step.recv(peer, part(peer, rank), Mode::Store);
                } else {
                    let origin = |of: usize| (of + p - distance) % p;
                    step.send(peer, part(origin(peer), rank));
                    step.recv(peer, part(origin(rank), peer), Mode::Store);
                }
            }
            step
        },
    )
}

/// Rank `j` takes part `j` of everybody's vector in rank order, and stores the
/// prefixes to those that they belong to.
pub(super) fn scan(p: usize, exclusive: bool) -> Boxed {
    let split = p;
    let block = move |coarse: usize, part: usize| coarse * split + part;
    // Rank `t`'s result counts the ranks below `end(t)`.
    let end = move |t: usize| if exclusive { t } else { t + 1 };
    // Who has something to say to a rank above; whose result is not its own
    // vector.
    let speaks = move |rank: usize| rank < end(p - 1);
    let hears = |rank: usize| rank > 0;
    let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
        let (sends, takes) = if s == 0 { (speaks(rank), true) } else { (true, hears(rank)) };
        let to = others(rank, p).filter(|&to| sends && (s == 0 || hears(to)));
        let from = others(rank, p).filter(|&from| takes && (s == 1 || speaks(from)));
        out.sends.extend(to.map(|to| (to, 1)));
        out.recvs.extend(from.map(|from| (from, 1)));
    };
    counted(if p > 1 { 2 } else { 0 }, peers, move |s, rank| {
        let mut step = Step::default();
        if s == 0 {
            for to in others(rank, p).filter(|_| speaks(rank)) {
                step.send(to, vec![BlockRange::one(block(TOTAL, to))]);
            }
            for from in (0..p).filter(|&from| speaks(from)) {
                let mode = if from == 0 { Mode::Store } else { Mode::Right };
                let prefix = |t| if t == rank { RESULT } else { PREFIXES + t };
                let counts = (1..p).filter(|&t| from < end(t));
                step.recvs.push(Incoming {
                    from,
                    blocks: vec![BlockRange::one(block(TOTAL, rank))],
                    mode,
                    also: counts.map(|t| (block(prefix(t), rank), mode)).collect(),
                });
            }
        } else {
            for to in others(rank, p).filter(|&to| hears(to)) {
                step.send(to, vec![BlockRange::one(block(PREFIXES + to, rank))]);
            }
            for from in others(rank, p).filter(|_| hears(rank)) {
                step.recvs.push(Incoming {
                    from,
                    blocks: vec![BlockRange::one(block(PREFIXES + rank, from))],
                    mode: Mode::Store,
                    also: vec![(block(RESULT, from), Mode::Store)],
                });
            }
        }
        step
    })
}

/// One block to everybody, and one from everybody.
fn all(p: usize, rank: usize, out: &mut StepTraffic) {
    out.sends.extend(others(rank, p).map(|to| (to, 1)));
    out.recvs.extend(others(rank, p).map(|from| (from, 1)));
}

fn others(rank: usize, p: usize) -> impl Iterator<Item = usize> {
    (0..p).filter(move |&r| r != rank)
}
