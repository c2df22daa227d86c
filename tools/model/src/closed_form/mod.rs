//! The closed forms of the catalogue: an algorithm's cost by the book's formula, from p, the mesh
//! and the distance of the shift alone.
//!
//! Where the book or the catalogue prints a form for p = 2^d or a square mesh
//! only, the form here is the one that the algorithm has for every p and mesh
//! that it serves, and agrees with the printed one where that applies. A test
//! counts the messages of every algorithm and compares.

mod flat;
mod hierarchical;

use std::fmt;

use flat::{Facts, form};

use super::{Cost, Ratio, ratio};
use phalanx::schedule::{Algorithm, Request, Unfit};

/// Whether a form is the cost or a bound of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exactness {
    /// The cost itself.
    Exact,
    /// An upper bound.
    AtMost,
}

/// Start-ups, words of m, and the formula as the book writes it.
type Form = (usize, Ratio, &'static str);

/// A cost by formula: t_s * `ts` + t_w * `tw` * m.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx_model::closed_form;
/// let form = closed_form(Algorithm::TX_HCUBE, &Request::new(Operation::AllToAll, 8))?;
/// assert_eq!(form.to_string(), "3 t_s + 12 t_w m");
/// assert_eq!(form.formula, "(t_s + t_w m p/2) log p");
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClosedForm {
    /// Whether it is the cost or a bound.
    pub kind: Exactness,
    /// How often t_s is paid.
    pub ts: usize,
    /// How often t_w is paid, in units of m.
    pub tw: Ratio,
    /// The formula. log is to the base 2 and rounded up; n_j are the extents of the mesh, and R, C
    /// its rows and columns; d = log p; k the number of segments; q the distance of the shift. Over
    /// levels: n_s and h_s are the members and the steps of the tree of stage s (of all but the
    /// outermost where x is), r_s the degree of a stage that multiplies (8 where none is given), k
    /// the number of stages, q the ranks of an outermost group; x and w are start-ups and words
    /// between the outermost leaders.
    pub formula: &'static str,
}

impl ClosedForm {
    /// The same as a cost, with as many steps as start-ups.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::{Cost, closed_form};
    /// let call = Request::new(Operation::Broadcast, 9);
    /// let counted = Cost::of(&Algorithm::BC_ANY.schedule(&call)?);
    /// assert_eq!(closed_form(Algorithm::BC_ANY, &call)?.cost(), counted);
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn cost(&self) -> Cost {
        Cost { steps: self.ts, ts: self.ts, tw: self.tw }
    }

    /// Whether a counted cost is the form's.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// use phalanx_model::{Cost, Ratio, bound};
    /// let shift = Request::new(Operation::Shift, 8).shift(6);
    /// let at_most = bound(Algorithm::CS_HC_RGC_FB, &shift).unwrap(); // log p = 3 steps
    /// assert!(at_most.holds(&Cost { steps: 2, ts: 2, tw: Ratio::from(2) }));
    /// assert!(!at_most.holds(&Cost { steps: 4, ts: 4, tw: Ratio::from(4) }));
    /// ```
    pub fn holds(&self, counted: &Cost) -> bool {
        match self.kind {
            Exactness::Exact => counted.ts == self.ts && counted.tw == self.tw,
            Exactness::AtMost => counted.ts <= self.ts && counted.tw <= self.tw,
        }
    }
}

impl fmt::Display for ClosedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.kind == Exactness::AtMost { "<= " } else { "" };
        f.pad(&format!("{sign}{} t_s + {} t_w m", self.ts, self.tw))
    }
}

/// The cost of an algorithm by its formula, with as many ports per rank as the
/// algorithm asks for; or the rule that the request breaks.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx::topology::Extents;
/// use phalanx_model::{Exactness, Ratio, closed_form};
/// // Eq. 4.3 for a rectangle: t_s (R + C - 2) + t_w m (p - 1).
/// let call = Request::new(Operation::AllGather, 12).dims(Extents::mesh(3, 4));
/// let form = closed_form(Algorithm::AG_MESH, &call)?;
/// assert_eq!((form.kind, form.ts, form.tw), (Exactness::Exact, 5, Ratio::from(11)));
/// assert!(closed_form(Algorithm::AG_HCUBE, &call).is_err());
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
pub fn closed_form(algorithm: Algorithm, request: &Request) -> Result<ClosedForm, Unfit> {
    let schedule = algorithm.schedule(request)?;
    if algorithm.uses_levels() {
        let levels = algorithm.levels(request)?;
        let counted = || {
            let Cost { ts, tw, .. } = Cost::of(&schedule);
            (ts, tw, "as counted: unequal groups, trees or parts have no shorter form")
        };
        let sum = hierarchical::form(algorithm, &levels, schedule.contract().root);
        let (ts, tw, formula) = sum.unwrap_or_else(counted);
        return Ok(ClosedForm { kind: Exactness::Exact, ts, tw, formula });
    }
    let (ts, tw, formula) = form(algorithm, &Facts::new(request, schedule.contract()));
    Ok(ClosedForm { kind: Exactness::Exact, ts, tw, formula })
}

/// The upper bound that the book prints for an algorithm with a cost that depends on
/// more than p; none where there is no such bound, or where the request does
/// not fit.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx_model::bound;
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
    Some(ClosedForm { kind: Exactness::AtMost, ts, tw: ratio(ts, 1), formula })
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx::schedule::{Operation, cases};

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

    /// The lines that the catalogue prints for squares and cubes.
    #[test]
    fn the_equations_of_the_book() {
        for d in 1..=5usize {
            let (p, side) = (1 << (2 * d), 1 << d);
            let form = |a: Algorithm| {
                let call = Request::new(a.operations()[0], p);
                closed_form(a, &call).unwrap().cost()
            };
            let cost = |ts: usize, tw: usize| Cost { steps: ts, ts, tw: ratio(tw, 1) };
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
            assert_eq!(form(Algorithm::AG_AP_MESH).tw, ratio(p - 1, 2));
            assert_eq!(form(Algorithm::TX_AP_MESH).tw, ratio(p * (side - 1), 2));
        }
    }
}
