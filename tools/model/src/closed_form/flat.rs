//! The formulas of the algorithms without levels: start-ups, words, and the textbook's notation.

use super::{Form, ratio};
use phalanx::schedule::{Algorithm, Contract, Request};
use phalanx::topology::Extents;

/// The numbers that a formula may use.
pub(super) struct Facts {
    pub(super) p: usize,
    q: usize,
    segments: usize,
    /// The extents of the mesh, the fastest first.
    extents: Vec<usize>,
}

impl Facts {
    pub(super) fn new(request: &Request, contract: &Contract) -> Facts {
        let p = contract.ranks;
        let dims = request.dims.clone().filter(|d| d.ranks() == p);
        let dims = dims.unwrap_or_else(|| Extents::squarest(p));
        Facts {
            p,
            q: contract.shift,
            segments: request.segments.unwrap_or(p),
            extents: (0..dims.dimensions()).rev().map(|j| dims.extent(j)).collect(),
        }
    }

    /// log p, rounded up.
    pub(super) fn log(&self) -> usize {
        log(self.p)
    }

    /// The sum of a function of the extents.
    fn sum(&self, of: impl Fn(usize) -> usize) -> usize {
        self.extents.iter().map(|&n| of(n)).sum()
    }

    pub(super) fn columns(&self) -> usize {
        self.extents[0]
    }

    pub(super) fn rows(&self) -> usize {
        self.p / self.columns()
    }

    /// The dimensions of the cube, at least 1.
    fn d(&self) -> usize {
        self.log().max(1)
    }
}

fn log(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

/// Recursive doubling for any n: two more steps where n is no power of two.
fn folded(n: usize) -> usize {
    n.ilog2() as usize + if n.is_power_of_two() { 0 } else { 2 }
}

/// Steps down a heap of p nodes, left child first. The last level has the
/// nodes h turns away from the top, of which the right turns (the ones of the
/// node's place in its level) take a step more.
fn heap(p: usize) -> usize {
    let h = p.ilog2() as usize;
    let last_level = p + 1 - (1 << h);
    (h + last_level.ilog2() as usize).max((2 * h).saturating_sub(2))
}

/// The fewest hops of a shift by q over Gray-coded links: every signed power of
/// two costs 2, and 1 costs 1. Non-adjacent forms of q and q - p have the
/// fewest powers.
fn signed_hops(p: usize, q: usize) -> usize {
    let weight = |x: usize| (x ^ (3 * x)).count_ones() as usize;
    (2 * weight(q).min(weight(p - q))).saturating_sub(q % 2)
}

/// `steps` times t_s + t_w m.
fn whole(steps: usize, formula: &'static str) -> Form {
    (steps, ratio(steps, 1), formula)
}

pub(super) fn form(algorithm: Algorithm, c: &Facts) -> Form {
    use Algorithm as A;
    let p = c.p;
    let busy = usize::from(p > 1);
    // Words of a split message: each of the two halves carries (p-1)/p of m.
    let split = ratio(2 * (p - 1), p);
    match algorithm {
        A::BC_NAIVE | A::RED_NAIVE | A::SC_NAIVE | A::GA_NAIVE => {
            whole(p - 1, "(t_s + t_w m)(p - 1)")
        }
        A::BC_RING | A::BC_LINEAR | A::BC_LOOP | A::BC_HCUBE | A::BC_HCUBE_SRC => {
            whole(c.log(), "(t_s + t_w m) log p")
        }
        A::BC_TREE_LEAF | A::BC_ANY | A::RED_RING | A::RED_LINEAR | A::RED_HCUBE => {
            whole(c.log(), "(t_s + t_w m) log p")
        }
        A::RED_TREE_LEAF | A::RED_ANY | A::AR_HCUBE | A::SCAN_HCUBE => {
            whole(c.log(), "(t_s + t_w m) log p")
        }
        A::BC_MESH | A::BC_MESHD | A::RED_MESH | A::RED_MESHD | A::RED_MESH_ROWS => {
            whole(c.sum(log), "(t_s + t_w m) sum of log n_j")
        }
        A::BC_TREE_NODE | A::RED_TREE_NODE => whole(
            heap(p),
            "(t_s + t_w m) max(h + floor(log(p + 1 - 2^h)), 2h - 2), h = floor(log p)",
        ),
        A::BC_AP_TREE_NODE => whole(p.ilog2() as usize, "(t_s + t_w m) floor(log p)"),
        A::BC_CHAIN | A::RED_CHAIN => {
            let steps = if p == 1 { 0 } else { p - 2 + c.segments };
            (steps, ratio(steps, c.segments), "(t_s + t_w m/k)(p - 2 + k)")
        }
        A::BC_SPLIT_RING | A::RED_SPLIT_RING => {
            (c.log() + p - 1, split, "t_s (log p + p - 1) + 2 t_w m (p - 1)/p")
        }
        A::BC_SPLIT_MESH | A::RED_SPLIT_MESH => {
            (c.sum(|n| log(n) + n - 1), split, "t_s sum of (log n_j + n_j - 1) + 2 t_w m (p - 1)/p")
        }
        A::BC_SPLIT_HCUBE | A::BC_SPLIT_ANY | A::RED_SPLIT_HCUBE | A::RED_SPLIT_ANY => {
            (2 * c.log(), split, "2 t_s log p + 2 t_w m (p - 1)/p")
        }
        A::AR_SPLIT_HCUBE | A::AR_SPLIT_ANY => {
            (2 * c.log(), split, "2 t_s log p + 2 t_w m (p - 1)/p")
        }
        A::BC_AP_HCUBE | A::RED_AP_HCUBE | A::AR_AP_HCUBE => {
            (2 * c.log(), ratio(2 * (p - 1), p * c.d()), "2 t_s log p + 2 t_w m (p - 1)/(p log p)")
        }
        A::BC_FUSED | A::RED_FUSED | A::AR_FUSED | A::SCAN_FUSED => {
            (2 * busy, ratio(2 * busy, p), "2 (t_s + t_w m/p), p - 1 ports")
        }

        A::AG_NAIVE => whole(p * c.log(), "(t_s + t_w m) p log p"),
        A::AG_RING | A::AG_LINEAR | A::AG_LINEAR_NN | A::AG_PIPE => {
            whole(p - 1, "(t_s + t_w m)(p - 1)")
        }
        A::RS_RING | A::RS_LINEAR | A::RS_LINEAR_NN => whole(p - 1, "(t_s + t_w m)(p - 1)"),
        A::AG_MESH | A::AG_MESHD | A::RS_MESH | A::RS_MESHD => {
            (c.sum(|n| n - 1), ratio(p - 1, 1), "t_s sum of (n_j - 1) + t_w m (p - 1)")
        }
        A::AG_HCUBE | A::AG_HCUBE_DESC | A::AG_ANY => {
            (c.log(), ratio(p - 1, 1), "t_s log p + t_w m (p - 1)")
        }
        A::RS_HCUBE | A::RS_HCUBE_ASC | A::RS_ANY => {
            (c.log(), ratio(p - 1, 1), "t_s log p + t_w m (p - 1)")
        }
        A::AG_AP_HCUBE | A::RS_AP_HCUBE | A::SC_AP_HCUBE | A::GA_AP_HCUBE => {
            (c.log(), ratio(p - 1, c.d()), "t_s log p + t_w m (p - 1)/log p")
        }
        A::AG_AP_RING => whole(p / 2, "(t_s + t_w m) floor(p/2)"),
        A::AG_AP_MESH => all_port_gather(c),
        A::AG_FUSED | A::RS_FUSED | A::SC_FUSED | A::GA_FUSED | A::TX_FUSED => {
            whole(busy, "t_s + t_w m, p - 1 ports")
        }
        A::CS_FUSED => {
            let moves = 2 * usize::from(c.q > 0);
            (moves, ratio(moves, p), "2 (t_s + t_w m/p), p - 1 ports")
        }
        A::RS_RED_SC => {
            (2 * c.log(), ratio(p * c.log() + p - 1, 1), "2 t_s log p + t_w m (p log p + p - 1)")
        }
        A::RS_MESH_RED_SC => (
            2 * c.sum(log),
            ratio(p * c.sum(log) + p - 1, 1),
            "2 t_s L + t_w m (p L + p - 1), L = sum of log n_j",
        ),

        A::AR_NAIVE | A::AR_RING => whole(2 * c.log(), "2 (t_s + t_w m) log p"),
        A::AR_MESH => whole(
            c.sum(folded),
            "(t_s + t_w m) sum of (floor(log n_j), + 2 if n_j is no power of 2)",
        ),
        A::AR_ANY | A::BAR_AR => {
            whole(folded(p), "(t_s + t_w m)(floor(log p), + 2 if p is no power of 2)")
        }
        A::AR_SPLIT_RING => (2 * (p - 1), split, "2 (p - 1)(t_s + t_w m/p)"),
        A::AR_SPLIT_MESH => {
            (2 * c.sum(|n| n - 1), split, "2 t_s sum of (n_j - 1) + 2 t_w m (p - 1)/p")
        }
        // A flag travels as one word.
        A::BAR_ANY => whole(c.log(), "(t_s + t_w) log p"),

        A::SCAN_CHAIN => whole(p - 1, "(t_s + t_w m)(p - 1)"),
        A::SCAN_MESH => {
            let (rows, columns) = (c.rows(), c.columns());
            let spread = if rows > 1 { log(columns) } else { 0 };
            whole(columns + rows - 2 + spread, "(t_s + t_w m)(C + R - 2, + log C if R > 1)")
        }

        A::SC_RING | A::SC_LINEAR | A::SC_HCUBE | A::SC_TREE_LEAF | A::SC_ANY => {
            (c.log(), ratio(p - 1, 1), "t_s log p + t_w m (p - 1)")
        }
        A::GA_RING | A::GA_LINEAR | A::GA_HCUBE | A::GA_TREE_LEAF | A::GA_ANY => {
            (c.log(), ratio(p - 1, 1), "t_s log p + t_w m (p - 1)")
        }
        A::SC_MESH | A::GA_MESH => {
            (c.sum(log), ratio(p - 1, 1), "t_s sum of log n_j + t_w m (p - 1)")
        }

        A::TX_RING => (p - 1, ratio(p * (p - 1), 2), "(t_s + t_w m p/2)(p - 1)"),
        A::TX_MESH | A::TX_MESHD => {
            let steps = c.sum(|n| n - 1);
            (steps, ratio(p * steps, 2), "(t_s + t_w m p/2) sum of (n_j - 1)")
        }
        A::TX_HCUBE => (c.log(), ratio(p * c.log(), 2), "(t_s + t_w m p/2) log p"),
        A::TX_HCUBE_XOR | A::TX_ANY => whole(p - 1, "(t_s + t_w m)(p - 1)"),
        A::TX_PAIRS => whole((p - 1 + p % 2) * busy, "(t_s + t_w m)(p - 1 + p mod 2)"),
        A::TX_BRUCK => {
            let words = (0..p).map(|x| x.count_ones() as usize).sum::<usize>();
            (c.log(), ratio(words, 1), "t_s log p + t_w m sum over x < p of the ones of x")
        }
        A::TX_AP_HCUBE => (c.log(), ratio(busy * p, 2), "t_s log p + t_w m p/2"),
        A::TX_AP_RING => {
            let h = p / 2;
            (h, ratio(h * (h + 1), 2), "t_s h + t_w m h (h + 1)/2, h = floor(p/2)")
        }
        A::TX_AP_MESH => {
            let n = c.extents.iter().copied().max().unwrap_or(1);
            let lines = if c.extents.len() == 1 { 1 } else { 2 };
            let words = ratio(p * (n - 1), 2);
            (lines * (n - 1), words, "2 t_s (N - 1) + t_w m p (N - 1)/2, N = max(R, C)")
        }

        A::CS_RING => whole(c.q.min(p - c.q), "(t_s + t_w m) min(q, p - q)"),
        A::CS_MESH => {
            let (a, b) = (c.q / c.columns(), c.q % c.columns());
            let wraps = usize::from(b > 0 && c.rows() > 1);
            whole(b + wraps + a, "(t_s + t_w m)(b + 1 + a), a = q div C, b = q mod C; a if b = 0")
        }
        A::CS_MESH_MIN => {
            let (rows, columns) = (c.rows(), c.columns());
            let (a, b) = (c.q / columns, c.q % columns);
            let wraps = usize::from(b > 0 && rows > 1);
            let (along, a) = if 2 * b > columns { (columns - b, (a + 1) % rows) } else { (b, a) };
            whole(
                along + wraps + a.min(rows - a),
                "(t_s + t_w m)(min(b, C - b) + 1 + min(a', R - a')), a' = a or, backwards, a + 1",
            )
        }
        A::CS_HC_RGC_F => whole(
            (2 * c.q.count_ones() as usize).saturating_sub(c.q % 2),
            "(t_s + t_w m)(2 for every binary one of q, 1 for the lowest)",
        ),
        A::CS_HC_RGC_FB => whole(
            signed_hops(p, c.q),
            "(t_s + t_w m)(2 for every signed power of 2 of q, 1 for +-1)",
        ),
        A::CS_HC_ECUBE | A::CS_ANY => whole(usize::from(c.q > 0), "t_s + t_w m"),
        // The test `every_algorithm_has_a_form` keeps this from being reached.
        _ => whole(0, "none"),
    }
}

/// AG-AP-MESH: each half goes in lockstep, N - 1 steps a phase. In the second
/// phase lines of the longer extent N travel over the shorter dimension, and
/// lines of the shorter one, n, go on when those have arrived.
fn all_port_gather(c: &Facts) -> Form {
    let formula = "2 t_s (N - 1) + t_w m ((N - 1) + (n - 1) N + (N - n) n)/2, n <= N = R, C";
    match c.extents[..] {
        // A ring has one way on: both halves take it.
        [n] => (n - 1, ratio(n - 1, 1), formula),
        _ => {
            let (long, short) = (c.rows().max(c.columns()), c.rows().min(c.columns()));
            let halves = long - 1 + (short - 1) * long + (long - short) * short;
            (2 * (long - 1), ratio(halves, 2), formula)
        }
    }
}
