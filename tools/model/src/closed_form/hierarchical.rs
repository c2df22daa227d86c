//! The closed forms of the hierarchical algorithms: a sum over the stages of a hierarchy, in which
//! each stage costs as much as a star, a tree or an exchange of its largest group.

use super::{Form, ratio};
use phalanx::schedule::{Algorithm, Exchange, Hierarchy};

/// One stage.
struct Stage {
    /// The members of each of its groups.
    groups: Vec<usize>,
    /// The members of the largest.
    n: usize,
    /// Steps of the tree in it.
    tree: usize,
    exchange: Exchange,
}

/// Start-ups, words, formula. None where no form is shorter than counting: an all-gather or a
/// reduce-scatter over groups of different sizes or over trees, of which the longest message
/// depends on which subtree is the largest; trees with a root that is not their group's first rank;
/// vectors in parts, of which the longest piece depends on how groups of different sizes meet.
pub(super) fn form(algorithm: Algorithm, h: &Hierarchy, root: usize) -> Option<Form> {
    use Algorithm as A;
    let stars = (0..h.stages()).all(|s| h.degree(s) == 0);
    if !stars && root != 0 {
        return None;
    }
    let stages: Vec<Stage> = (0..h.stages()).map(|s| stage(h, s)).collect();
    let (top, below) = stages.split_last()?;
    let trees: usize = below.iter().map(|s| s.tree).sum();
    let busy = usize::from(top.n > 1);
    let across = |doubling: usize| match top.exchange {
        Exchange::Direct => busy,
        Exchange::Tree => 2 * top.tree,
        _ => doubling,
    };
    let whole = |steps: usize, formula| Some((steps, ratio(steps, 1), formula));
    match algorithm {
        A::AR_RADIX | A::BAR_RADIX => {
            let steps =
                stages.iter().enumerate().map(|(s, stage)| multiplied(stage.n, h.degree(s)));
            whole(steps.sum(), "(t_s + t_w m) sum of ceil(log n_s to the base r_s)")
        }
        A::BC_HIER | A::RED_HIER => whole(trees + top.tree, "(t_s + t_w m) sum of h_s"),
        A::BAR_HIER => whole(2 * trees + across(log(top.n)), "(t_s + t_w m)(2 sum of h_s + x)"),
        A::AR_HIER => whole(2 * trees + across(folded(top.n)), "(t_s + t_w m)(2 sum of h_s + x)"),
        A::SCAN_HIER => {
            let steps = stages.iter().enumerate().map(|(i, s)| scan(s, i == below.len())).sum();
            whole(steps, "(t_s + t_w m) sum of (log n_s + 1), less what is empty")
        }
        A::AG_HIER | A::RS_HIER => {
            let even = |s: &Stage| s.groups.iter().all(|&n| n == s.n);
            if !stars || !stages.iter().all(even) {
                return None;
            }
            // Up and down a stage: a subtree's blocks, and all others.
            let p = h.ranks();
            let own = p / top.n;
            let words = match top.exchange {
                Exchange::Direct => busy * own,
                Exchange::Tree => busy * p,
                _ => p - own,
            };
            let ts = 2 * trees + across(log(top.n));
            Some((ts, ratio(trees * p + words, 1), "t_s (2 (k - 1) + x) + t_w m (p (k - 1) + w)"))
        }
        _ => None,
    }
}

fn stage(h: &Hierarchy, s: usize) -> Stage {
    let groups: Vec<usize> = h.members(s).iter().map(Vec::len).collect();
    let n = groups.iter().copied().max().unwrap_or(1);
    Stage { n, tree: height(n, h.degree(s)), exchange: h.exchange(s), groups }
}

/// Steps of a tree of `n` from its first member: each child has the first of an interval.
fn height(n: usize, degree: usize) -> usize {
    match (n, degree) {
        (0 | 1, _) => 0,
        (_, 0) => 1,
        (n, d) => 1 + height((n - 1).div_ceil(d), d),
    }
}

/// Steps of recursive multiplying among `n`: as often as the radix, 8 unless a degree is given, has
/// to be multiplied to reach n.
fn multiplied(n: usize, degree: usize) -> usize {
    let radix = if degree == 0 { 8 } else { degree.max(2) };
    let reached = std::iter::successors(Some(1usize), |n| Some(n.saturating_mul(radix)));
    reached.take_while(|&reached| reached < n).count()
}

/// Prefix sums of a stage, the total to the leader, and down from it.
fn scan(s: &Stage, last: bool) -> usize {
    let inside = match s.exchange {
        Exchange::Direct => usize::from(s.n > 1),
        _ => {
            let handed = !last && s.groups.iter().any(|n| !n.is_power_of_two());
            log(s.n) + usize::from(handed)
        }
    };
    // Nothing lies before the first group.
    let down = !last && s.groups[1..].iter().any(|&n| n > 1);
    inside + usize::from(down)
}

fn log(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

fn folded(n: usize) -> usize {
    n.ilog2() as usize + if n.is_power_of_two() { 0 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cost, closed_form};
    use phalanx::schedule::{Algorithm as A, Request};

    const ALL: [A; 9] = [
        A::BC_HIER,
        A::RED_HIER,
        A::BAR_HIER,
        A::BAR_RADIX,
        A::AR_HIER,
        A::AR_RADIX,
        A::SCAN_HIER,
        A::AG_HIER,
        A::RS_HIER,
    ];

    /// Ranks, group sizes, degrees.
    const SHAPES: [(usize, &[usize], &[usize]); 14] = [
        (1, &[], &[]),
        (7, &[], &[]),
        (8, &[], &[2]),
        (8, &[2], &[]),
        (8, &[4], &[]),
        (12, &[3], &[]),
        (16, &[4, 2], &[]),
        (24, &[4, 2], &[]),
        (64, &[4, 4], &[]),
        (64, &[2, 4, 4], &[]),
        (7, &[3], &[]),
        (22, &[4, 2], &[]),
        (64, &[16, 2], &[2, 0]),
        (30, &[10], &[3, 2]),
    ];

    /// Every hierarchical id over every shape, exchange and some roots: its form is the count.
    /// An id without one is in this table, and nothing else:
    ///
    /// | id | has no form with | because |
    /// |---|---|---|
    /// | AG-HIER, RS-HIER | groups of different sizes | a round's longest message varies |
    /// | AG-HIER, RS-HIER | degrees | a child's message has its subtree, and subtrees differ |
    /// | all with a root | degrees and a root other than 0 | the tree grows to both sides |
    /// | AR-HIER-SPLIT, RED-HIER-SPLIT | any groups | pieces are cut as parts meet |
    #[test]
    fn hierarchical_algorithms_cost_what_their_forms_say() {
        let mut seen = std::collections::BTreeMap::new();
        for (p, sizes, degrees) in SHAPES {
            for exchange in [Exchange::Doubling, Exchange::Direct, Exchange::Tree] {
                let levels = Hierarchy::even(p, sizes).degrees(degrees);
                let levels = levels.exchanges(&vec![exchange; sizes.len() + 1]);
                let stars = degrees.iter().all(|&d| d == 0);
                let even =
                    sizes.iter().fold((true, p), |(even, n), s| (even && n % s == 0, n / s)).0;
                for algorithm in ALL {
                    for root in [0, p / 2, p - 1] {
                        let operation = algorithm.operations()[0];
                        let rooted = [A::BC_HIER, A::RED_HIER].contains(&algorithm);
                        let root = if rooted { root } else { 0 };
                        let call = Request::new(operation, p).root(root).levels(levels.clone());
                        let schedule = algorithm.schedule(&call).unwrap();
                        let blocks = [A::AG_HIER, A::RS_HIER].contains(&algorithm);
                        let none = !stars && root != 0 || blocks && !(stars && even);
                        let found = form(algorithm, &levels, root);
                        assert_eq!(found.is_none(), none, "{algorithm} {levels} root {root}");
                        let Some((ts, tw, formula)) = found else { continue };
                        let counted = Cost::of(&schedule);
                        let case = format!("{algorithm} {p} {levels} root {root}: {counted:?}");
                        assert_eq!((ts, tw), (counted.ts, counted.tw), "{case}");
                        assert_eq!(closed_form(algorithm, &call).unwrap().formula, formula);
                        *seen.entry(algorithm.id()).or_insert(0) += 1;
                    }
                }
            }
        }
        assert!(seen.len() == ALL.len() && seen.values().all(|&n| n > 20), "{seen:?}");
        let levels: Vec<A> = A::ALL.iter().copied().filter(|a| a.uses_levels()).collect();
        let known = |a: &A| ALL.contains(a) || [A::AR_HIER_SPLIT, A::RED_HIER_SPLIT].contains(a);
        assert!(levels.iter().all(known), "{levels:?}");
    }
}
