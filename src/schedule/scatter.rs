//! Scatter; run backwards, gather.

use super::grid::{DimensionPart, agree, pick};
use super::line_tree::TreeKind;
use super::rule_parts::{Boxed, counted, cyclic, rule};
use super::{BlockRange, Chain, Mode, Reversed, Step, StepTraffic};
use crate::topology::Extents;

/// SC-NAIVE: the root sends to one rank after the other. p-1 steps.
pub(crate) fn naive(p: usize, root: usize) -> Boxed {
    let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
        let to = if s < root { s } else { s + 1 };
        if rank == root {
            out.send(to, 1);
        } else if rank == to {
            out.recv(root, 1);
        }
    };
    counted(p - 1, peers, move |s, rank| {
        let to = if s < root { s } else { s + 1 };
        let mut step = Step::default();
        if rank == root {
            step.send(to, vec![BlockRange::one(to)]);
        } else if rank == to {
            step.recv(root, vec![BlockRange::one(to)], Mode::Store);
        }
        step
    })
}

/// SC-ANY and all versions on a line: along the tree go the blocks of the
/// receiver's subtree. ceil(log p) steps; with the clipped tree, and with
/// halving if p = 2^d, t_w m (p-1) (Fig. 4.15, Eq. 4.6).
pub(crate) fn line(p: usize, tree: TreeKind) -> Boxed {
    rule(tree.steps(), move |s, rank| {
        let mut step = Step::default();
        if let Some(h) = tree.hop(s, rank) {
            let blocks = cyclic(h.first, h.count, p);
            if h.from == rank {
                step.send(h.to, blocks);
            } else {
                step.recv(h.from, blocks, Mode::Store);
            }
        }
        step
    })
}

/// SC-MESH, and the rotated trees of SC-AP-HCUBE: one dimension after the
/// other in the order `order`; a position on the root's line gets all blocks
/// whose destination shares its coordinate (book Problem 4.7).
pub(crate) fn by_dimension(extents: &Extents, order: &[usize], root: usize) -> Boxed {
    let phase = |(t, &dim): (usize, &usize)| {
        let (e, later) = (extents.clone(), order[t + 1..].to_vec());
        let tree = TreeKind::for_scatter(e.extent(dim), e.coordinate(root, dim));
        let (line, open) = (e.clone(), later.clone());
        let peers = move |s: usize, rank: usize, out: &mut StepTraffic| {
            let c = line.coordinate(rank, dim);
            let hop = tree.hop(s, c).filter(|_| agree(&line, &open, rank, root));
            let Some(h) = hop else { return };
            let blocks = h.count * open.iter().map(|&j| line.extent(j)).product::<usize>();
            if h.from == c {
                out.send(line.on_line(rank, dim, h.to), blocks);
            } else {
                out.recv(line.on_line(rank, dim, h.from), blocks);
            }
        };
        counted(tree.steps(), peers, move |s, rank| {
            let mut step = Step::default();
            let c = e.coordinate(rank, dim);
            let Some(h) = tree.hop(s, c).filter(|_| agree(&e, &later, rank, root)) else {
                return step;
            };
            let blocks = pick(&e, |j| match j {
                _ if j == dim => DimensionPart::Cyclic(h.first, h.count),
                _ if later.contains(&j) => DimensionPart::All,
                _ => DimensionPart::One(e.coordinate(rank, j)),
            });
            if h.from == c {
                step.send(e.on_line(rank, dim, h.to), blocks);
            } else {
                step.recv(e.on_line(rank, dim, h.from), blocks, Mode::Store);
            }
            step
        })
    };
    Box::new(Chain::new(order.iter().enumerate().map(phase).collect()))
}

/// The gather that is the dual of a scatter.
pub(crate) fn gather(scatter: Boxed) -> Boxed {
    Box::new(Reversed { rule: scatter, combine: false })
}
