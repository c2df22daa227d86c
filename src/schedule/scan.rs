//! Prefix sums, inclusive and exclusive.
//!
//! Blocks: [`TOTAL`] is the running total of a rank's group, [`RESULT`] the
//! combination of the ranks that count for it, [`OFFSET`] the total of all mesh
//! rows before its own. An exclusive scan starts without a result.

use super::line_tree::TreeKind;
use super::rule_parts::{Boxed, ceil_log, rule};
use super::{BlockRange, Chain, Incoming, Mode, OFFSET, RESULT, Step, TOTAL};
use crate::topology::Extents;

fn receive(from: usize, block: usize, mode: Mode, also: Vec<(usize, Mode)>) -> Incoming {
    Incoming { from, blocks: vec![BlockRange::one(block)], mode, also }
}

/// SCAN-HCUBE (Alg. 4.9), partners beyond p skipped (G8): a rank needs lower
/// sibling subcubes only, and those are complete for every p. ceil(log p) steps.
pub(crate) fn doubling(p: usize) -> Boxed {
    rule(ceil_log(p), move |i, rank| {
        let mut step = Step::default();
        let partner = rank ^ (1 << i);
        if partner < p {
            step.send(partner, vec![BlockRange::one(TOTAL)]);
            let also = if partner < rank { vec![(RESULT, Mode::Left)] } else { vec![] };
            step.recvs.push(receive(partner, TOTAL, Mode::combine(partner, rank), also));
        }
        step
    })
}

/// What a chain hands on: with an inclusive scan the result itself; with an
/// exclusive one the total, which counts the rank's own value.
fn carried(exclusive: bool) -> usize {
    if exclusive { TOTAL } else { RESULT }
}

fn result(exclusive: bool) -> Vec<(usize, Mode)> {
    if exclusive { vec![(RESULT, Mode::Left)] } else { vec![] }
}

/// SCAN-CHAIN: along a ring or array, p-1 steps r -> r+1.
pub(crate) fn chain(p: usize, exclusive: bool) -> Boxed {
    rows(&Extents::ring(p), exclusive)
}

fn rows(extents: &Extents, exclusive: bool) -> Boxed {
    let columns = extents.columns();
    let carry = carried(exclusive);
    rule(columns - 1, move |s, rank| {
        let c = rank % columns;
        let mut step = Step::default();
        if c == s {
            step.send(rank + 1, vec![BlockRange::one(carry)]);
        } else if c == s + 1 {
            step.recvs.push(receive(rank - 1, carry, Mode::Left, result(exclusive)));
        }
        step
    })
}

/// SCAN-MESH: chain scans in the rows, the row totals chained down the last
/// column, then in every row a broadcast (G1) of the total of the rows before.
/// C + R - 2 + ceil(log C) steps. A mesh of more dimensions counts as its rows
/// along the last dimension.
pub(crate) fn mesh(extents: &Extents, exclusive: bool) -> Boxed {
    let columns = extents.columns();
    let rows_count = extents.ranks() / columns;
    let carry = carried(exclusive);
    let down = rule(rows_count - 1, move |s, rank| {
        let (row, c) = (rank / columns, rank % columns);
        let mut step = Step::default();
        if c + 1 < columns {
            return step;
        }
        if row == s {
            step.send(rank + columns, vec![BlockRange::one(carry)]);
        } else if row == s + 1 {
            let mut also = result(exclusive);
            if columns > 1 {
                also.push((OFFSET, Mode::Store));
            }
            step.recvs.push(receive(rank - columns, carry, Mode::Left, also));
        }
        step
    });
    let tree = TreeKind::Halving { n: columns, root: columns - 1 };
    let levels = if rows_count > 1 { tree.steps() } else { 0 };
    let spread = rule(levels, move |s, rank| {
        let (row, c) = (rank / columns, rank % columns);
        let mut step = Step::default();
        if let Some(h) = tree.hop(s, c).filter(|_| row > 0) {
            if h.from == c {
                step.send(rank - c + h.to, vec![BlockRange::one(OFFSET)]);
            } else {
                let also = vec![(RESULT, Mode::Left)];
                step.recvs.push(receive(rank - c + h.from, OFFSET, Mode::Store, also));
            }
        }
        step
    });
    Box::new(Chain::new(vec![rows(extents, exclusive), down, spread]))
}
