//! One-to-all broadcast; run backwards, all-to-one reduction.

use super::grid::agree;
use super::line_tree::{TreeEdge, TreeKind};
use super::rule_parts::{Boxed, counted, rule};
use super::{BlockRange, Chain, Mode, Reversed, Step, StepTraffic};
use crate::topology::Extents;

/// Turns a message into the step of the rank that is one of its ends.
fn store(hop: Option<TreeEdge>, rank: usize, blocks: Vec<BlockRange>) -> Step {
    let mut step = Step::default();
    match hop {
        Some(h) if h.from == rank => step.send(h.to, blocks),
        Some(h) if h.to == rank => step.recv(h.from, blocks, Mode::Store),
        _ => {}
    }
    step
}

/// Counts a message in the traffic of the rank that is one of its ends.
fn ends(hop: Option<TreeEdge>, rank: usize, blocks: BlockRange, out: &mut StepTraffic) {
    match hop {
        Some(h) if h.from == rank => out.send(h.to, blocks.count),
        Some(h) if h.to == rank => out.recv(h.from, blocks.count),
        _ => {}
    }
}

/// BC-NAIVE: the root sends to one rank after the other. p-1 steps.
pub(crate) fn naive(p: usize, root: usize, blocks: BlockRange) -> Boxed {
    in_turn(p, root, blocks, |s, _, root| if s < root { s } else { s + 1 })
}

/// RED-NAIVE: the ranks above the root send to it upwards, then those below it
/// downwards, so that what the root holds is always an interval of ranks.
pub(crate) fn naive_reduction(p: usize, root: usize, blocks: BlockRange) -> Boxed {
    let forward = |s: usize, p: usize, root: usize| if s < root { s } else { p - 1 + root - s };
    reduction(in_turn(p, root, blocks, forward))
}

fn in_turn(
    p: usize,
    root: usize,
    blocks: BlockRange,
    order: impl Fn(usize, usize, usize) -> usize + Clone + Send + Sync + 'static,
) -> Boxed {
    let hop = move |s| {
        let to = order(s, p, root);
        Some(TreeEdge { from: root, to, first: to, count: 1 })
    };
    let same = hop.clone();
    let peers =
        move |s: usize, rank: usize, out: &mut StepTraffic| ends(same(s), rank, blocks, out);
    counted(p - 1, peers, move |s, rank| store(hop(s), rank, vec![blocks]))
}

/// BC-RING, -LINEAR, -HCUBE, -TREE-LEAF, -ANY: interval halving (G1) of the
/// line of all ranks. ceil(log p) steps, each t_s + t_w m (Eq. 4.1).
pub(crate) fn line(p: usize, root: usize, blocks: BlockRange) -> Boxed {
    by_dimension(&Extents::ring(p), &[0], root, blocks)
}

/// BC-MESH, BC-MESHD: one line broadcast per dimension, in the order `order`;
/// all lines that contain a holder run at once.
pub(crate) fn by_dimension(
    extents: &Extents,
    order: &[usize],
    root: usize,
    blocks: BlockRange,
) -> Boxed {
    let phase = |(t, &dim): (usize, &usize)| -> Boxed {
        let (e, later) = (extents.clone(), order[t + 1..].to_vec());
        let tree = TreeKind::Halving { n: e.extent(dim), root: e.coordinate(root, dim) };
        let hop = move |s: usize, rank: usize| {
            if !agree(&e, &later, rank, root) {
                return None;
            }
            let on_line = |x| e.on_line(rank, dim, x);
            let hop = tree.hop(s, e.coordinate(rank, dim));
            hop.map(|h| TreeEdge { from: on_line(h.from), to: on_line(h.to), ..h })
        };
        let same = hop.clone();
        let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
            ends(same(s, rank), rank, blocks, out)
        };
        counted(tree.steps(), peers, move |s, rank| store(hop(s, rank), rank, vec![blocks]))
    };
    Box::new(Chain::new(order.iter().enumerate().map(phase).collect()))
}

/// BC-LOOP: the from/to loop of the slides (S4 s.9), root 0 and p = 2^d. The
/// same messages as Alg. 4.1, found without any interval.
pub(crate) fn from_to_loop(p: usize, blocks: BlockRange) -> Boxed {
    let k = p.trailing_zeros() as usize;
    rule(k, move |i, rank| {
        let (span, h) = (1 << (k - i), 1 << (k - i - 1));
        let from = rank - rank % span;
        let hop = TreeEdge { from, to: from + h, first: from + h, count: h };
        store(Some(hop), rank, vec![blocks])
    })
}

/// BC-TREE-NODE: a rank at every node of a binary tree in heap numbering
/// (children 2v+1 and 2v+2, v = (rank - root) mod p). A node passes the data to
/// its left child in the step after it came and to its right child one later:
/// 2 (log(p+1) - 1) steps for a full tree. With `both`, to both children at
/// once, which takes two ports and half the steps.
pub(crate) fn heap(p: usize, root: usize, blocks: BlockRange, both: bool) -> Boxed {
    // The step before which a node has the data: 1 more per left turn on its
    // path from the top, 2 more per right turn.
    let arrival = move |mut v: usize| {
        let mut at = 0;
        while v > 0 {
            at += if both || v % 2 == 1 { 1 } else { 2 };
            v = (v - 1) / 2;
        }
        at
    };
    let steps = (0..p).map(arrival).max().unwrap_or(0);
    rule(steps, move |s, rank| {
        let v = (rank + p - root) % p;
        let real = |v| (v + root) % p;
        let mut step = Step::default();
        if v > 0 && arrival(v) == s + 1 {
            step.recv(real((v - 1) / 2), vec![blocks], Mode::Store);
        }
        for child in [2 * v + 1, 2 * v + 2] {
            if child < p && arrival(child) == s + 1 {
                step.send(real(child), vec![blocks]);
            }
        }
        step
    })
}

/// BC-CHAIN: `segments` parts follow each other along the ring from the root.
/// p - 2 + segments steps of t_s + t_w m / segments.
pub(crate) fn chain(p: usize, root: usize, segments: usize) -> Boxed {
    let steps = if p == 1 { 0 } else { p - 2 + segments };
    let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
        let v = (rank + p - root) % p;
        let on_link = |v: usize| usize::from(v <= s && s - v < segments);
        if v + 1 < p {
            out.send((rank + 1) % p, on_link(v));
        }
        if v > 0 {
            out.recv((rank + p - 1) % p, on_link(v - 1));
        }
    };
    counted(steps, peers, move |s, rank| {
        let v = (rank + p - root) % p;
        let mut step = Step::default();
        // Link v -> v+1 carries segment s - v in step s.
        let on_link = |v: usize| s.checked_sub(v).filter(|&k| k < segments).map(BlockRange::one);
        if let Some(run) = on_link(v).filter(|_| v + 1 < p) {
            step.send((rank + 1) % p, vec![run]);
        }
        if let Some(run) = (v > 0).then(|| on_link(v - 1)).flatten() {
            step.recv((rank + p - 1) % p, vec![run], Mode::Store);
        }
        step
    })
}

/// The reduction that is the dual of a broadcast.
pub(crate) fn reduction(broadcast: Boxed) -> Boxed {
    Box::new(Reversed { rule: broadcast, combine: true })
}
