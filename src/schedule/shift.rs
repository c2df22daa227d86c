//! Circular q-shift: rank r's vector to rank (r + q) mod p.

use super::rule_parts::{Boxed, rule};
use super::{BlockRange, Mode, Step};
use crate::sorted::Arrange;
use crate::topology::{Extents, gray, gray_inverse};

/// One message out, one in; what leaves carries the origin held before.
fn pass(to: usize, from: usize, mine: usize, theirs: usize) -> Step {
    let mut step = Step::default();
    step.send(to, vec![BlockRange::one(mine)]);
    step.recv(from, vec![BlockRange::one(theirs)], Mode::Store);
    step
}

/// CS-RING: min(q, p-q) shifts to a neighbour, in the shorter direction.
pub(crate) fn ring(p: usize, q: usize) -> Boxed {
    let forward = 2 * q <= p;
    rule(q.min(p - q), move |s, rank| {
        let (to, from) = ((rank + 1) % p, (rank + p - 1) % p);
        if forward {
            pass(to, from, (rank + p - s) % p, (from + p - s) % p)
        } else {
            pass(from, to, (rank + s) % p, (to + s) % p)
        }
    })
}

/// CS-ANY, CS-HC-ECUBE: one message straight to its destination.
pub(crate) fn direct(p: usize, q: usize) -> Boxed {
    let steps = usize::from(q > 0);
    rule(steps, move |_, rank| {
        let from = (rank + p - q) % p;
        pass((rank + q) % p, from, rank, from)
    })
}

/// CS-MESH (Fig. 4.22) and, with `shortest`, CS-MESH-MIN (Eq. 4.11): the ring
/// lies row by row in a torus; unit shifts along the rows, one shift of the
/// columns that went over the row's end, then shifts of whole rows. A mesh of
/// more dimensions counts as its rows along the last dimension.
pub(crate) fn mesh(extents: &Extents, q: usize, shortest: bool) -> Boxed {
    let columns = extents.columns();
    let rows = extents.ranks() / columns;
    let (a, b) = (q / columns, q % columns);
    let back = shortest && 2 * b > columns;
    // Along the rows: how many steps, and which columns then hold what wrapped.
    let along = if back { columns - b } else { b };
    let compensate = b > 0 && rows > 1;
    let wrapped = move |c: usize| if back { c >= b } else { c < b };
    // Down the columns: in which direction and how often.
    let far = if back { (a + 1) % rows } else { a };
    let up = shortest && 2 * far > rows;
    let down = if up { rows - far } else { far };
    let steps = along + usize::from(compensate) + down;

    let add = |x: usize, by: usize, n: usize| (x + by % n) % n;
    let sub = move |x: usize, by: usize, n: usize| (x + n - by % n) % n;
    let go = move |x: usize, minus: bool, by: usize, n: usize| {
        if minus { sub(x, by, n) } else { add(x, by, n) }
    };
    rule(steps, move |s, rank| {
        let (row, c) = (rank / columns, rank % columns);
        let at = |row: usize, c: usize| row * columns + c;
        // Whose datum a place holds after `i` row shifts / before column phase.
        let held_along = |c: usize, i: usize| at(row, go(c, !back, i, columns));
        if s < along {
            let (to, from) = (go(c, back, 1, columns), go(c, !back, 1, columns));
            return pass(at(row, to), at(row, from), held_along(c, s), held_along(from, s));
        }
        let origin_column = go(c, !back, along, columns);
        if compensate && s == along {
            if !wrapped(c) {
                return Step::default();
            }
            let (to, from) = (go(row, back, 1, rows), go(row, !back, 1, rows));
            return pass(at(to, c), at(from, c), at(row, origin_column), at(from, origin_column));
        }
        let i = s - along - usize::from(compensate);
        let held = |row: usize| {
            let before = go(row, !up, i, rows);
            let moved = compensate && wrapped(c);
            at(if moved { go(before, !back, 1, rows) } else { before }, origin_column)
        };
        let (to, from) = (go(row, up, 1, rows), go(row, !up, 1, rows));
        pass(at(to, c), at(from, c), held(row), held(from))
    })
}

/// One hop of a Gray-code shift: a power of two, forward or backward; for
/// powers above 1 the first or the second half of the way.
#[derive(Clone, Copy)]
struct ShiftHop {
    bit: usize,
    backward: bool,
    second: bool,
}

/// CS-HC-RGC-F and, with `backward`, -FB: the ring lies in the cube by the
/// Gray code (rank = ring position, on cube node `gray(rank)`), and q is a sum
/// of powers of two, highest first, each one hop if it is 1, otherwise two
/// (Fig. 4.23, Eq. 4.12). Every hop crosses one cube link.
pub(crate) fn gray_code(p: usize, q: usize, backward: bool) -> Boxed {
    let terms = if backward { signed(p, q) } else { binary(p, q) };
    let mut hops = Vec::new();
    // How far everything has come before the hop's term.
    let mut done = 0;
    for (bit, minus) in terms {
        let hop = ShiftHop { bit, backward: minus, second: false };
        hops.push((hop, done));
        if bit > 0 {
            hops.push((ShiftHop { second: true, ..hop }, done));
        }
        done = (done + if minus { p - (1 << bit) } else { 1 << bit }) % p;
    }
    rule(hops.len(), move |s, rank| {
        let (hop, done) = hops[s];
        let far = 1 << hop.bit;
        let target = |i: usize| (if hop.backward { i + p - far } else { i + far }) % p;
        let source = |i: usize| (if hop.backward { i + far } else { i + p - far }) % p;
        let cross = |i: usize| if hop.bit == 0 { target(i) } else { cross(i, hop.bit) };
        let origin = |i: usize| (i + p - done) % p;
        if hop.bit == 0 {
            return pass(target(rank), source(rank), origin(rank), origin(source(rank)));
        }
        if !hop.second {
            // All cross bit `bit - 1` of the node: an exchange in pairs.
            let partner = cross(rank);
            return pass(partner, partner, origin(rank), origin(partner));
        }
        let (mine, theirs) = (cross(rank), source(rank));
        pass(target(mine), cross(theirs), origin(mine), origin(theirs))
    })
}

/// The ring position reached by crossing bit `bit - 1` of the cube node.
fn cross(position: usize, bit: usize) -> usize {
    gray_inverse(gray(position) ^ (1 << (bit - 1)))
}

/// The binary powers of q, highest first.
fn binary(p: usize, q: usize) -> Vec<(usize, bool)> {
    (0..p.ilog2() as usize).rev().filter(|b| q & (1 << b) != 0).map(|b| (b, false)).collect()
}

/// The cheapest signed powers of two with sum q mod p, highest first; a power
/// costs two hops, 1 costs one. Equal costs prefer the forward power.
fn signed(p: usize, q: usize) -> Vec<(usize, bool)> {
    let d = p.ilog2() as usize;
    // best[carry]: cost and terms of the bits from j on, given a carry into j.
    let mut best: [(usize, Vec<(usize, bool)>); 2] = [(0, vec![]), (0, vec![])];
    for j in (0..d).rev() {
        let cost = if j == 0 { 1 } else { 2 };
        let take = |carry: usize| {
            let bit = (q >> j & 1) + carry;
            if bit != 1 {
                return best[bit / 2].clone();
            }
            let minus = best[1].0 < best[0].0;
            let mut way = best[usize::from(minus)].clone();
            way.0 += cost;
            way.1.push((j, minus));
            way
        };
        best = [take(0), take(1)];
    }
    let [(_, terms), _] = best;
    let mut terms = terms;
    terms.arrange_by(|a, b| b.cmp(a));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T12: the signed decompositions; and FB never takes more than log p hops.
    #[test]
    fn signed_powers() {
        let values = |p, q| -> Vec<i32> {
            let value = |(b, minus): (usize, bool)| if minus { -(1 << b) } else { 1 << b };
            signed(p, q).into_iter().map(value).collect()
        };
        assert_eq!(values(8, 3), [2, 1]);
        assert_eq!(values(8, 5), [4, 1]);
        assert_eq!(values(8, 6), [-2]);
        assert_eq!(values(8, 7), [-1]);
        assert_eq!(values(16, 7), [8, -1]);
        assert_eq!(values(16, 11), [-4, -1]);
        assert_eq!(values(16, 13), [-4, 1]);
        assert_eq!(values(16, 14), [-2]);
        for d in 0..=10 {
            let p = 1 << d;
            for q in 0..p {
                let terms = signed(p, q);
                let sum: i64 =
                    terms.iter().map(|&(b, m)| if m { -(1i64 << b) } else { 1 << b }).sum();
                assert_eq!(sum.rem_euclid(p as i64), q as i64);
                assert!(gray_code(p, q, true).steps() <= d);
                assert!(gray_code(p, q, false).steps() <= (2 * d).saturating_sub(1));
            }
        }
    }
}
