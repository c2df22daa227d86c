//! All-reduce and barrier (section 1.5).

use super::doubling::{Doubling, disseminate, rounds};
use super::rule_parts::{Boxed, rule};
use super::{BlockRange, Chain, Mode, Step};
use crate::topology::Extents;

/// AR-HCUBE, AR-MESH, AR-ANY: along one dimension after the other, lowest
/// first, pairs 2^i apart exchange the whole vector and combine, the lower
/// rank's operand on the left (Fig. 4.11 reread, Eq. 4.5). An extent that is
/// no power of two is folded first and unfolded last (G3: two more steps).
/// Rank order holds: a dimension combines neighbouring intervals of ranks.
pub(crate) fn doubling(extents: &Extents, blocks: BlockRange) -> Boxed {
    let phase = |dim| {
        let e = extents.clone();
        let n = e.extent(dim);
        rule(Doubling::of(n).steps(), move |s, rank| {
            let hop = Doubling::of(n).step(s, e.coordinate(rank, dim));
            let mut step = Step::default();
            if let Some(x) = hop.send {
                step.send(e.on_line(rank, dim, x), vec![blocks]);
            }
            if let Some((x, store)) = hop.recv {
                let from = e.on_line(rank, dim, x);
                let mode = if store { Mode::Store } else { Mode::combine(from, rank) };
                step.recv(from, vec![blocks], mode);
            }
            step
        })
    };
    Box::new(Chain::new((0..extents.dimensions()).map(phase).collect()))
}

/// BAR-ANY: dissemination (G7), ceil(log p) steps for any p. Contributions may
/// arrive more than once, which only an idempotent combination forgives; a
/// barrier's does.
pub(crate) fn dissemination(p: usize) -> Boxed {
    rule(rounds(p), move |k, rank| {
        let (to, from) = disseminate(k, rank, p);
        let mut step = Step::default();
        step.send(to, vec![BlockRange::one(0)]);
        step.recv(from, vec![BlockRange::one(0)], Mode::Left);
        step
    })
}
