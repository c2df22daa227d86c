//! Total exchange, all-to-all personalised.
//!
//! Block `x * p + y` goes from rank x to rank y.

use super::grid::{DimensionPart, pick};
use super::rule_parts::{BlockRanges, Boxed, Padded, ceil_log, counted, cyclic};
use super::{BlockRange, Chain, Mode, Step, StepTraffic};
use crate::sorted::Arrange;
use crate::topology::Extents;

/// TX-RING, -MESH, -MESHD, -HCUBE: along every dimension in turn, everything
/// that still has to travel in that dimension goes one position further in
/// each step. (t_s + t_w m p/2) sum of (n_j - 1) (Eq. 4.7, 4.8, 4.9).
pub(crate) fn by_dimension(extents: &Extents, order: &[usize]) -> Boxed {
    Box::new(Chain::new(phases(extents, order)))
}

/// As [`by_dimension`], with every phase padded to the longest (TX-AP-MESH).
pub(crate) fn in_lockstep(extents: &Extents, order: &[usize]) -> Boxed {
    let steps = (0..extents.dimensions()).map(|j| extents.extent(j) - 1).max().unwrap_or(0);
    let pad = |rule| Box::new(Padded { rule, steps }) as Boxed;
    Box::new(Chain::new(phases(extents, order).into_iter().map(pad).collect()))
}

fn phases(extents: &Extents, order: &[usize]) -> Vec<Boxed> {
    let phase = |(t, &dim): (usize, &usize)| {
        let (e, done) = (extents.clone(), order[..t].to_vec());
        let n = e.extent(dim);
        let around = e.clone();
        let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
            // One origin of the line, any in the dimensions done; n - 1 - s destinations, any in
            // the others.
            let blocks = around.ranks() / n * (n - 1 - s);
            out.send(around.neighbour(rank, dim, 1), blocks);
            out.recv(around.neighbour(rank, dim, -1), blocks);
        };
        counted(n - 1, peers, move |s, rank| {
            // What `from` hands on: in this dimension it has received the data
            // of origin c - s, of which the nearest s destinations are served.
            let blocks = |from: usize| {
                let c = e.coordinate(from, dim);
                let origins = pick(&e, |j| match j {
                    _ if j == dim => DimensionPart::One((c + n - s) % n),
                    _ if done.contains(&j) => DimensionPart::All,
                    _ => DimensionPart::One(e.coordinate(from, j)),
                });
                let destinations = pick(&e, |j| match j {
                    _ if j == dim => DimensionPart::Cyclic(c + 1, n - 1 - s),
                    _ if done.contains(&j) => DimensionPart::One(e.coordinate(from, j)),
                    _ => DimensionPart::All,
                });
                table(e.ranks(), &origins, &destinations)
            };
            let mut step = Step::default();
            let left = e.neighbour(rank, dim, -1);
            step.send(e.neighbour(rank, dim, 1), blocks(rank));
            step.recv(left, blocks(left), Mode::Store);
            step
        })
    };
    order.iter().enumerate().map(phase).collect()
}

fn table(p: usize, origins: &[BlockRange], destinations: &[BlockRange]) -> Vec<BlockRange> {
    let mut runs = BlockRanges::default();
    for x in origins.iter().flat_map(|r| r.range()) {
        for y in destinations {
            runs.push(x * p + y.first, y.count);
        }
    }
    runs.0
}

/// TX-HCUBE-XOR (Alg. 4.10): step i exchanges one block with rank ^ i. p-1
/// steps, no forwarding, t_w m (p-1).
pub(crate) fn pairwise(p: usize) -> Boxed {
    let peers = |s: usize, rank: usize, out: &mut StepTraffic| {
        out.send(rank ^ (s + 1), 1);
        out.recv(rank ^ (s + 1), 1);
    };
    counted(p - 1, peers, move |s, rank| direct(p, rank, rank ^ (s + 1), rank ^ (s + 1)))
}

/// TX-ANY (G5): step k sends to rank + k and receives from rank - k. p-1 steps
/// for any p, no forwarding.
pub(crate) fn shifted(p: usize) -> Boxed {
    let ends = move |s: usize, rank: usize| ((rank + s + 1) % p, (rank + p - s - 1) % p);
    let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
        let (to, from) = ends(s, rank);
        out.send(to, 1);
        out.recv(from, 1);
    };
    counted(p - 1, peers, move |s, rank| {
        let (to, from) = ends(s, rank);
        direct(p, rank, to, from)
    })
}

/// TX-PAIRS: in each step ranks pair up, and the two exchange their blocks, so that in place a
/// block goes where the other comes from. p-1 steps, p if p is odd; no forwarding.
pub(crate) fn paired(p: usize) -> Boxed {
    let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
        if let Some(partner) = partner(p, s, rank) {
            out.send(partner, 1);
            out.recv(partner, 1);
        }
    };
    let steps = if p == 1 { 0 } else { round(p) };
    counted(steps, peers, move |s, rank| match partner(p, s, rank) {
        Some(partner) => direct(p, rank, partner, partner),
        None => Step::default(),
    })
}

/// The ranks that go round: all of an odd number, else all but the last.
fn round(p: usize) -> usize {
    p - 1 + p % 2
}

/// The schedule of a tournament: in step s rank r of n, an odd number, meets s - r mod n. The one
/// for which that is r itself has no partner, or the last rank of an even number.
fn partner(p: usize, s: usize, rank: usize) -> Option<usize> {
    let n = round(p);
    if rank == n {
        // 2 r = s mod n, and 2 (n + 1)/2 = 1.
        return Some(s * n.div_ceil(2) % n);
    }
    match (s + n - rank) % n {
        other if other != rank => Some(other),
        _ => (n < p).then_some(n),
    }
}

fn direct(p: usize, rank: usize, to: usize, from: usize) -> Step {
    let mut step = Step::default();
    step.send(to, vec![BlockRange::one(rank * p + to)]);
    step.recv(from, vec![BlockRange::one(from * p + rank)], Mode::Store);
    step
}

/// TX-BRUCK (G6): in round k every held block whose distance has bit k set
/// goes 2^k further. ceil(log p) steps for any p.
pub(crate) fn bruck(p: usize) -> Boxed {
    let peers = move |k: usize, rank: usize, out: &mut StepTraffic| {
        let h = 1 << k;
        // The distances below p that have bit k.
        let blocks = (p >> (k + 1) << k) + (p & (2 * h - 1)).saturating_sub(h);
        out.send((rank + h) % p, blocks);
        out.recv((rank + p - h) % p, blocks);
    };
    counted(ceil_log(p), peers, move |k, rank| {
        let h = 1 << k;
        let blocks = |from: usize| {
            let mut out = Vec::new();
            for far in (0..p).filter(|far| far & h != 0) {
                // It has travelled the part of its distance below bit k.
                let origin = (from + p - far % h) % p;
                out.push(origin * p + (origin + far) % p);
            }
            out.arrange();
            let mut runs = BlockRanges::default();
            out.into_iter().for_each(|b| runs.push(b, 1));
            runs.0
        };
        let left = (rank + p - h) % p;
        let mut step = Step::default();
        step.send((rank + h) % p, blocks(rank));
        step.recv(left, blocks(left), Mode::Store);
        step
    })
}

/// TX-AP-RING: every block goes the shorter way round, ties to the right. With
/// h = floor(p/2): h steps, t_w m h(h+1)/2, two ports.
pub(crate) fn both_ways(p: usize) -> Boxed {
    let (to_right, to_left) = (p / 2, (p - 1) / 2);
    let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
        let (right, left) = ((rank + 1) % p, (rank + p - 1) % p);
        let (rightwards, leftwards) = (to_right - s, to_left.saturating_sub(s));
        out.send(right, rightwards);
        out.recv(left, rightwards);
        out.send(left, leftwards);
        out.recv(right, leftwards);
    };
    counted(to_right, peers, move |s, rank| {
        let (right, left) = ((rank + 1) % p, (rank + p - 1) % p);
        let shifted = |x: usize, first: usize, count: usize| {
            let mut runs = BlockRanges::default();
            cyclic(first, count, p).iter().for_each(|r| runs.push(x * p + r.first, r.count));
            runs.0
        };
        let rightwards = |from: usize| shifted((from + p - s) % p, from + 1, to_right - s);
        let leftwards = |from: usize| {
            let count = to_left.saturating_sub(s);
            shifted((from + s) % p, from + p - count, count)
        };
        let mut step = Step::default();
        step.send(right, rightwards(rank));
        step.recv(left, rightwards(left), Mode::Store);
        step.send(left, leftwards(rank));
        step.recv(right, leftwards(right), Mode::Store);
        step
    })
}
