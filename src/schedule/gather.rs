//! All-gather; run backwards, reduce-scatter (sections 1.3, 1.4).

use super::grid::{DimensionPart, pick};
use super::rule_parts::{Boxed, Padded, ceil_log, counted, counted_once, cyclic, repeated, rule};
use super::{BlockRange, Chain, Mode, Reversed, Step, StepTraffic, broadcast};
use crate::topology::Extents;

/// AG-RING, -MESH, -MESHD: the ring rule (Alg. 4.4) once per
/// dimension, in the order `order`, with everything gathered so far as the
/// block. Sum of (n_j - 1) steps, t_w m (p-1) (Eq. 4.2, 4.3, 4.4).
pub(crate) fn by_dimension(extents: &Extents, order: &[usize]) -> Boxed {
    Box::new(Chain::new(phases(extents, order)))
}

/// AG-HCUBE: as [`by_dimension`] for a power of two of ranks, the fastest dimension first
/// (Alg. 4.7; the reverse: Alg. 4.5, 4.8). All that a rank has is one run.
pub(crate) fn cube(p: usize) -> Boxed {
    rule(ceil_log(p), |t, rank| {
        let partner = rank ^ 1 << t;
        let run = |rank: usize| vec![BlockRange { first: rank >> t << t, count: 1 << t }];
        let mut step = Step::default();
        step.send(partner, run(rank));
        step.recv(partner, run(partner), Mode::Store);
        step
    })
}

fn phases(extents: &Extents, order: &[usize]) -> Vec<Boxed> {
    let phase = |(t, &dim): (usize, &usize)| {
        let (e, done) = (extents.clone(), order[..t].to_vec());
        let n = e.extent(dim);
        let around = e.clone();
        // One position of the line, any in the dimensions done.
        let blocks = order[..t].iter().map(|&j| e.extent(j)).product();
        let peers = move |_: usize, rank: usize, out: &mut StepTraffic| {
            out.send(around.neighbour(rank, dim, 1), blocks);
            out.recv(around.neighbour(rank, dim, -1), blocks);
        };
        counted_once(n - 1, n - 1, peers, move |s, rank| {
            let c = e.coordinate(rank, dim);
            let at = |x| {
                pick(&e, |j| match j {
                    _ if j == dim => DimensionPart::One(x),
                    _ if done.contains(&j) => DimensionPart::All,
                    _ => DimensionPart::One(e.coordinate(rank, j)),
                })
            };
            let mut step = Step::default();
            step.send(e.neighbour(rank, dim, 1), at((c + n - s) % n));
            step.recv(e.neighbour(rank, dim, -1), at((c + n - s - 1) % n), Mode::Store);
            step
        })
    };
    order.iter().enumerate().map(phase).collect()
}

/// The phases of [`by_dimension`], each padded to the longest extent, so that
/// halves with different orders never meet on a port (AG-AP-MESH).
pub(crate) fn in_lockstep(extents: &Extents, order: &[usize]) -> Boxed {
    let steps = (0..extents.dimensions()).map(|j| extents.extent(j) - 1).max().unwrap_or(0);
    let pad = |rule| Box::new(Padded { rule, steps }) as Boxed;
    Box::new(Chain::new(phases(extents, order).into_iter().map(pad).collect()))
}

/// AG-LINEAR-NN: nearest neighbours on a linear array, both directions at
/// once. p-1 steps and two ports. Reversed it combines in rank order: from the
/// left comes an interval that ends before the rank, from the right one that
/// begins after it.
pub(crate) fn nearest(p: usize) -> Boxed {
    let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
        let (below, above) = (s <= rank, rank + s < p);
        if rank + 1 < p {
            out.send(rank + 1, usize::from(below));
            out.recv(rank + 1, usize::from(rank + 1 + s < p));
        }
        if rank > 0 {
            out.send(rank - 1, usize::from(above));
            out.recv(rank - 1, usize::from(s < rank));
        }
    };
    counted(p - 1, peers, move |s, rank| {
        let below = rank.checked_sub(s).map(BlockRange::one);
        let above = Some(rank + s).filter(|&b| b < p).map(BlockRange::one);
        let mut step = Step::default();
        if rank + 1 < p {
            step.send(rank + 1, below.into_iter().collect());
            let theirs = Some(rank + 1 + s).filter(|&b| b < p).map(BlockRange::one);
            step.recv(rank + 1, theirs.into_iter().collect(), Mode::Store);
        }
        if rank > 0 {
            step.send(rank - 1, above.into_iter().collect());
            let theirs = (rank - 1).checked_sub(s).map(BlockRange::one);
            step.recv(rank - 1, theirs.into_iter().collect(), Mode::Store);
        }
        step
    })
}

/// AG-ANY: Bruck's rule (G4), ceil(log p) steps and t_w m (p-1) for any p. The
/// blocks travel to their own places, so nothing is rotated at the end.
pub(crate) fn bruck(p: usize) -> Boxed {
    rule(ceil_log(p), move |k, rank| {
        let h = 1 << k;
        let count = h.min(p - h);
        let mut step = Step::default();
        step.send((rank + p - h) % p, cyclic(rank, count, p));
        step.recv((rank + h) % p, cyclic(rank + h, count, p), Mode::Store);
        step
    })
}

/// AG-NAIVE: p broadcasts one after the other, p ceil(log p) steps.
pub(crate) fn naive(p: usize) -> Boxed {
    Box::new(Chain::new(
        (0..p).map(|root| broadcast::line(p, root, BlockRange::one(root))).collect(),
    ))
}

/// AG-AP-RING: both directions of the ring at once, floor(p/2) steps; if p is
/// even the last step needs one direction only.
pub(crate) fn both_ways(p: usize) -> Boxed {
    // All but the last, if p is even.
    let alike = (p - 1) / 2;
    repeated(p / 2, alike, move |s, rank| {
        let (right, left) = ((rank + 1) % p, (rank + p - 1) % p);
        let mut step = Step::default();
        step.send(right, vec![BlockRange::one((rank + p - s) % p)]);
        step.recv(left, vec![BlockRange::one((left + p - s) % p)], Mode::Store);
        if 2 * (s + 1) < p {
            step.send(left, vec![BlockRange::one((rank + s) % p)]);
            step.recv(right, vec![BlockRange::one((right + s) % p)], Mode::Store);
        }
        step
    })
}

/// The reduce-scatter that is the dual of an all-gather.
pub(crate) fn reduction(all_gather: Boxed) -> Boxed {
    Box::new(Reversed { rule: all_gather, combine: true })
}

/// All blocks of `0..n`, as one run.
pub(crate) fn all(n: usize) -> BlockRange {
    BlockRange { first: 0, count: n }
}
