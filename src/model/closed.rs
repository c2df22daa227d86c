//! The closed forms of the catalogue: what an algorithm costs according to the
//! book, from p, the mesh and the distance of the shift alone.
//!
//! Where the book or the catalogue prints a form for p = 2^d or a square mesh
//! only, the form here is the one that the algorithm has for every p and mesh
//! that it serves, and agrees with the printed one where that applies. A test
//! counts the messages of every algorithm and compares.

use std::fmt;

use super::{Cost, Ratio};
use crate::schedule::{Algorithm, Contract, Request, Unfit};
use crate::topology::Extents;

/// What a form promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The cost itself.
    Exact,
    /// An upper bound.
    AtMost,
}

/// A cost by formula: t_s * `ts` + t_w * `tw` * m.
///
/// # Examples
/// ```
/// use phalanx::model::closed_form;
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// let form = closed_form(Algorithm::TX_HCUBE, &Request::new(Operation::AllToAll, 8))?;
/// assert_eq!(form.to_string(), "3 t_s + 12 t_w m");
/// assert_eq!(form.formula, "(t_s + t_w m p/2) log p");
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClosedForm {
    /// Whether it is the cost or a bound.
    pub kind: Kind,
    /// How often t_s is paid.
    pub ts: usize,
    /// How often t_w is paid, in units of m.
    pub tw: Ratio,
    /// The formula. log is to the base 2 and rounded up; n_j are the extents of
    /// the mesh, and R, C its rows and columns; d = log p; k the number of
    /// segments; q the distance of the shift.
    pub formula: &'static str,
}

impl ClosedForm {
    /// The same as a cost, with as many steps as start-ups.
    ///
    /// # Examples
    /// ```
    /// use phalanx::model::{Cost, closed_form};
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// let call = Request::new(Operation::Broadcast, 9);
    /// let counted = Cost::of(&Algorithm::BC_ANY.schedule(&call)?);
    /// assert_eq!(closed_form(Algorithm::BC_ANY, &call)?.cost(), counted);
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn cost(&self) -> Cost {
        Cost { steps: self.ts, ts: self.ts, tw: self.tw }
    }

    /// Whether a counted cost is what the form says.
    ///
    /// # Examples
    /// ```
    /// use phalanx::model::{Cost, Ratio, bound};
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// let shift = Request::new(Operation::Shift, 8).shift(6);
    /// let at_most = bound(Algorithm::CS_HC_RGC_FB, &shift).unwrap(); // log p = 3 steps
    /// assert!(at_most.holds(&Cost { steps: 2, ts: 2, tw: Ratio::from(2) }));
    /// assert!(!at_most.holds(&Cost { steps: 4, ts: 4, tw: Ratio::from(4) }));
    /// ```
    pub fn holds(&self, counted: &Cost) -> bool {
        match self.kind {
            Kind::Exact => counted.ts == self.ts && counted.tw == self.tw,
            Kind::AtMost => counted.ts <= self.ts && counted.tw <= self.tw,
        }
    }
}

impl fmt::Display for ClosedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.kind == Kind::AtMost { "<= " } else { "" };
        f.pad(&format!("{sign}{} t_s + {} t_w m", self.ts, self.tw))
    }
}

/// The cost of an algorithm by its formula, with as many ports per rank as the
/// algorithm asks for; or the rule that the request breaks.
///
/// # Examples
/// ```
/// use phalanx::model::{Kind, Ratio, closed_form};
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx::topology::Extents;
/// // Eq. 4.3 for a rectangle: t_s (R + C - 2) + t_w m (p - 1).
/// let call = Request::new(Operation::AllGather, 12).dims(Extents::mesh(3, 4));
/// let form = closed_form(Algorithm::AG_MESH, &call)?;
/// assert_eq!((form.kind, form.ts, form.tw), (Kind::Exact, 5, Ratio::from(11)));
/// assert!(closed_form(Algorithm::AG_HCUBE, &call).is_err());
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
pub fn closed_form(algorithm: Algorithm, request: &Request) -> Result<ClosedForm, Unfit> {
    let schedule = algorithm.schedule(request)?;
    let (ts, tw, formula) = form(algorithm, &Facts::new(request, schedule.contract()));
    Ok(ClosedForm { kind: Kind::Exact, ts, tw, formula })
}

/// The upper bound that the book prints for an algorithm whose cost depends on
/// more than p; none where there is no such bound, or where the request does
/// not fit.
///
/// # Examples
/// ```
/// use phalanx::model::bound;
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// // Eq. 4.11: (t_s + t_w m) (sqrt p + 1), whatever the distance.
/// let shift = Request::new(Operation::Shift, 16).shift(7);
/// let form = bound(Algorithm::CS_MESH_MIN, &shift).unwrap();
/// assert_eq!(form.to_string(), "<= 5 t_s + 5 t_w m");
/// ```
pub fn bound(algorithm: Algorithm, request: &Request) -> Option<ClosedForm> {
    let schedule = algorithm.schedule(request).ok()?;
    let facts = Facts::new(request, schedule.contract());
    let (p, r, c) = (facts.p, facts.rows(), facts.columns());
    let (ts, formula) = match algorithm {
        // n <= p broadcasts together cost no more than n = p, which this is.
        Algorithm::AG_PIPE => (p - 1, "(t_s + t_w m)(p - 1)"),
        Algorithm::CS_RING => (p / 2, "(t_s + t_w m) p/2"),
        Algorithm::CS_MESH => (r + c - 1, "(t_s + t_w m)(R + C - 1)"),
        Algorithm::CS_MESH_MIN => (c / 2 + 1 + r / 2, "(t_s + t_w m)(C/2 + 1 + R/2)"),
        Algorithm::CS_HC_RGC_F => {
            ((2 * facts.log()).saturating_sub(1), "(t_s + t_w m)(2 log p - 1)")
        }
        Algorithm::CS_HC_RGC_FB => (facts.log(), "(t_s + t_w m) log p"),
        Algorithm::BC_TREE_NODE | Algorithm::RED_TREE_NODE => {
            (2 * p.ilog2() as usize, "2 (t_s + t_w m) floor(log p)")
        }
        _ => return None,
    };
    Some(ClosedForm { kind: Kind::AtMost, ts, tw: Ratio::from(ts), formula })
}

/// What a formula may speak of.
struct Facts {
    p: usize,
    q: usize,
    segments: usize,
    /// The extents of the mesh, dimension 0 first.
    extents: Vec<usize>,
}

impl Facts {
    fn new(request: &Request, contract: &Contract) -> Facts {
        let p = contract.ranks;
        let dims = request.dims.clone().filter(|d| d.ranks() == p);
        let dims = dims.unwrap_or_else(|| Extents::squarest(p));
        Facts {
            p,
            q: contract.shift,
            segments: request.segments.unwrap_or(p),
            extents: (0..dims.dimensions()).map(|j| dims.extent(j)).collect(),
        }
    }

    /// log p, rounded up.
    fn log(&self) -> usize {
        log(self.p)
    }

    /// The sum of a function of the extents.
    fn sum(&self, of: impl Fn(usize) -> usize) -> usize {
        self.extents.iter().map(|&n| of(n)).sum()
    }

    fn columns(&self) -> usize {
        self.extents[0]
    }

    fn rows(&self) -> usize {
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

type Form = (usize, Ratio, &'static str);

/// `steps` times t_s + t_w m.
fn whole(steps: usize, formula: &'static str) -> Form {
    (steps, Ratio::from(steps), formula)
}

fn form(algorithm: Algorithm, c: &Facts) -> Form {
    use Algorithm as A;
    let p = c.p;
    let busy = usize::from(p > 1);
    // Words of a split message: each of the two halves carries (p-1)/p of m.
    let split = Ratio::of(2 * (p - 1), p);
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
            (steps, Ratio::of(steps, c.segments), "(t_s + t_w m/k)(p - 2 + k)")
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
        A::BC_AP_HCUBE | A::RED_AP_HCUBE | A::AR_AP_HCUBE => (
            2 * c.log(),
            Ratio::of(2 * (p - 1), p * c.d()),
            "2 t_s log p + 2 t_w m (p - 1)/(p log p)",
        ),
        A::BC_FUSED | A::RED_FUSED | A::AR_FUSED | A::SCAN_FUSED => {
            (2 * busy, Ratio::of(2 * busy, p), "2 (t_s + t_w m/p), p - 1 ports")
        }

        A::AG_NAIVE => whole(p * c.log(), "(t_s + t_w m) p log p"),
        A::AG_RING | A::AG_LINEAR | A::AG_LINEAR_NN | A::AG_PIPE => {
            whole(p - 1, "(t_s + t_w m)(p - 1)")
        }
        A::RS_RING | A::RS_LINEAR | A::RS_LINEAR_NN => whole(p - 1, "(t_s + t_w m)(p - 1)"),
        A::AG_MESH | A::AG_MESHD | A::RS_MESH | A::RS_MESHD => {
            (c.sum(|n| n - 1), Ratio::from(p - 1), "t_s sum of (n_j - 1) + t_w m (p - 1)")
        }
        A::AG_HCUBE | A::AG_HCUBE_DESC | A::AG_ANY => {
            (c.log(), Ratio::from(p - 1), "t_s log p + t_w m (p - 1)")
        }
        A::RS_HCUBE | A::RS_HCUBE_ASC | A::RS_ANY => {
            (c.log(), Ratio::from(p - 1), "t_s log p + t_w m (p - 1)")
        }
        A::AG_AP_HCUBE | A::RS_AP_HCUBE | A::SC_AP_HCUBE | A::GA_AP_HCUBE => {
            (c.log(), Ratio::of(p - 1, c.d()), "t_s log p + t_w m (p - 1)/log p")
        }
        A::AG_AP_RING => whole(p / 2, "(t_s + t_w m) floor(p/2)"),
        A::AG_AP_MESH => all_port_gather(c),
        A::AG_FUSED | A::RS_FUSED | A::SC_FUSED | A::GA_FUSED | A::TX_FUSED => {
            whole(busy, "t_s + t_w m, p - 1 ports")
        }
        A::CS_FUSED => {
            let moves = 2 * usize::from(c.q > 0);
            (moves, Ratio::of(moves, p), "2 (t_s + t_w m/p), p - 1 ports")
        }
        A::RS_RED_SC => {
            (2 * c.log(), Ratio::from(p * c.log() + p - 1), "2 t_s log p + t_w m (p log p + p - 1)")
        }
        A::RS_MESH_RED_SC => (
            2 * c.sum(log),
            Ratio::from(p * c.sum(log) + p - 1),
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
            (c.log(), Ratio::from(p - 1), "t_s log p + t_w m (p - 1)")
        }
        A::GA_RING | A::GA_LINEAR | A::GA_HCUBE | A::GA_TREE_LEAF | A::GA_ANY => {
            (c.log(), Ratio::from(p - 1), "t_s log p + t_w m (p - 1)")
        }
        A::SC_MESH | A::GA_MESH => {
            (c.sum(log), Ratio::from(p - 1), "t_s sum of log n_j + t_w m (p - 1)")
        }

        A::TX_RING => (p - 1, Ratio::of(p * (p - 1), 2), "(t_s + t_w m p/2)(p - 1)"),
        A::TX_MESH | A::TX_MESHD => {
            let steps = c.sum(|n| n - 1);
            (steps, Ratio::of(p * steps, 2), "(t_s + t_w m p/2) sum of (n_j - 1)")
        }
        A::TX_HCUBE => (c.log(), Ratio::of(p * c.log(), 2), "(t_s + t_w m p/2) log p"),
        A::TX_HCUBE_XOR | A::TX_ANY => whole(p - 1, "(t_s + t_w m)(p - 1)"),
        A::TX_BRUCK => {
            let words = (0..p).map(|x| x.count_ones() as usize).sum::<usize>();
            (c.log(), Ratio::from(words), "t_s log p + t_w m sum over x < p of the ones of x")
        }
        A::TX_AP_HCUBE => (c.log(), Ratio::of(busy * p, 2), "t_s log p + t_w m p/2"),
        A::TX_AP_RING => {
            let h = p / 2;
            (h, Ratio::of(h * (h + 1), 2), "t_s h + t_w m h (h + 1)/2, h = floor(p/2)")
        }
        A::TX_AP_MESH => {
            let n = c.extents.iter().copied().max().unwrap_or(1);
            let lines = if c.extents.len() == 1 { 1 } else { 2 };
            let words = Ratio::of(p * (n - 1), 2);
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
        [n] => (n - 1, Ratio::from(n - 1), formula),
        _ => {
            let (long, short) = (c.rows().max(c.columns()), c.rows().min(c.columns()));
            let halves = long - 1 + (short - 1) * long + (long - short) * short;
            (2 * (long - 1), Ratio::of(halves, 2), formula)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Operation, cases};

    /// Counts every call of every algorithm on the numbers of ranks given.
    fn counted_equals_closed(ranks: impl Iterator<Item = usize> + Clone) -> usize {
        let mut calls = 0;
        let mut wrong = Vec::new();
        for &algorithm in Algorithm::ALL {
            for call in ranks.clone().flat_map(|p| cases(algorithm, p)) {
                let schedule = algorithm.schedule(&call).unwrap();
                let counted = Cost::of(&schedule);
                let form = closed_form(algorithm, &call).unwrap();
                if !form.holds(&counted) || counted.steps != counted.ts {
                    wrong.push(format!("{algorithm} {call:?}: {counted:?}, not {form}"));
                }
                if let Some(bound) = bound(algorithm, &call)
                    && !bound.holds(&counted)
                {
                    wrong.push(format!("{algorithm} {call:?}: {counted:?}, not {bound}"));
                }
                calls += 1;
            }
        }
        wrong.truncate(40);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        calls
    }

    #[test]
    fn every_algorithm_has_a_form() {
        for &a in Algorithm::ALL {
            let form = closed_form(a, &Request::new(a.operations()[0], 4).shift(1)).unwrap();
            assert_ne!(form.formula, "none", "{a}");
        }
    }

    #[test]
    fn counted_and_closed_forms_agree_up_to_16_ranks() {
        assert!(counted_equals_closed(1..=16) > 1000);
    }

    /// Every id, every p, every mesh, some roots and distances.
    #[test]
    #[ignore = "long in a debug build; cargo test --release --lib up_to_64 -- --ignored"]
    fn counted_and_closed_forms_agree_up_to_64_ranks() {
        assert!(counted_equals_closed(1..=64) > 10000);
    }

    /// The same for the p that `cargo test` can afford: one call of each id.
    #[test]
    fn counted_and_closed_forms_agree_for_plain_calls_up_to_64_ranks() {
        for &algorithm in Algorithm::ALL {
            for p in 17..=64 {
                let call = Request::new(algorithm.operations()[0], p).shift(p as isize / 3);
                let call = call.segments(5);
                let Ok(schedule) = algorithm.schedule(&call) else { continue };
                let form = closed_form(algorithm, &call).unwrap();
                let counted = Cost::of(&schedule);
                assert!(form.holds(&counted), "{algorithm} {p}: {counted:?}, not {form}");
            }
        }
    }

    /// All distances of the Gray-code shifts, against the schedule's own steps.
    #[test]
    fn gray_code_shifts() {
        for d in 0..=9 {
            let p = 1 << d;
            for q in 0..p {
                let call = Request::new(Operation::Shift, p).shift(q as isize);
                for a in [Algorithm::CS_HC_RGC_F, Algorithm::CS_HC_RGC_FB] {
                    let steps = a.schedule(&call).unwrap().steps();
                    assert_eq!(closed_form(a, &call).unwrap().ts, steps, "{a} {p} {q}");
                    assert!(bound(a, &call).unwrap().ts >= steps);
                }
            }
        }
    }

    /// What the catalogue prints for squares and cubes.
    #[test]
    fn the_equations_of_the_book() {
        for d in 1..=5usize {
            let (p, side) = (1 << (2 * d), 1 << d);
            let form = |a: Algorithm| {
                let call = Request::new(a.operations()[0], p);
                closed_form(a, &call).unwrap().cost()
            };
            let cost = |ts: usize, tw: usize| Cost { steps: ts, ts, tw: Ratio::from(tw) };
            assert_eq!(form(Algorithm::BC_HCUBE), cost(2 * d, 2 * d)); // 4.1
            assert_eq!(form(Algorithm::AG_RING), cost(p - 1, p - 1)); // 4.2
            assert_eq!(form(Algorithm::AG_MESH), cost(2 * (side - 1), p - 1)); // 4.3
            assert_eq!(form(Algorithm::AG_HCUBE), cost(2 * d, p - 1)); // 4.4
            assert_eq!(form(Algorithm::AR_HCUBE), cost(2 * d, 2 * d)); // 4.5
            assert_eq!(form(Algorithm::SC_HCUBE), cost(2 * d, p - 1)); // 4.6
            assert_eq!(form(Algorithm::TX_RING), cost(p - 1, p * (p - 1) / 2)); // 4.7
            assert_eq!(form(Algorithm::TX_MESH), cost(2 * (side - 1), p * (side - 1))); // 4.8
            assert_eq!(form(Algorithm::TX_HCUBE), cost(2 * d, p * d)); // 4.9
            assert_eq!(form(Algorithm::TX_HCUBE_XOR), cost(p - 1, p - 1)); // 4.10
            // 1.10: half the words of AG-MESH and TX-MESH.
            assert_eq!(form(Algorithm::AG_AP_MESH).tw, Ratio::of(p - 1, 2));
            assert_eq!(form(Algorithm::TX_AP_MESH).tw, Ratio::of(p * (side - 1), 2));
        }
    }
}
