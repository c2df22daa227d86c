//! Trees on a line of ranks: in each step the number of holders of the root's data doubles.

use super::rule_parts::ceil_log;

/// One message of a tree: `to` becomes the holder for the `count` positions
/// from `first` on (cyclic).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

/// A spanning tree of the positions `0..n` from `root`, in ceil(log n) steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TreeKind {
    /// Interval halving (G1): every holder's part is an interval of positions,
    /// so reversed it combines in rank order, and no link of a ring or linear
    /// array carries two messages of one step. With `n = 2^d` these are the
    /// messages of Alg. 4.2.
    Halving { n: usize, root: usize },
    /// The binomial tree on `(position - root) mod n`, clipped to n (G2): the
    /// root gives away exactly n-1 parts for any n.
    Clipped { n: usize, root: usize },
}

impl TreeKind {
    /// The tree for data that gets smaller on the way (scatter): halving where
    /// it is exact, otherwise the one whose root moves the least.
    pub(crate) fn for_scatter(n: usize, root: usize) -> TreeKind {
        if n.is_power_of_two() {
            TreeKind::Halving { n, root }
        } else {
            TreeKind::Clipped { n, root }
        }
    }

    pub(crate) fn steps(&self) -> usize {
        match *self {
            TreeKind::Halving { n, .. } | TreeKind::Clipped { n, .. } => ceil_log(n),
        }
    }

    /// The message of step `step` that `x` sends or receives.
    pub(crate) fn hop(&self, step: usize, x: usize) -> Option<TreeEdge> {
        let hop = match *self {
            TreeKind::Halving { n, root } => halving(n, root, step, x),
            TreeKind::Clipped { n, root } => clipped(n, root, step, x),
        };
        hop.filter(|h| h.from == x || h.to == x)
    }
}

fn halving(n: usize, root: usize, step: usize, x: usize) -> Option<TreeEdge> {
    let (mut lo, mut hi, mut holder) = (0, n, root);
    let levels = ceil_log(n);
    for level in 0..=step {
        let h = 1 << (levels - 1 - level);
        if hi - lo <= h {
            continue;
        }
        let mid = lo + h;
        let low_holds = holder < mid;
        let partner = if low_holds { (holder + h).min(hi - 1) } else { holder - h };
        if level == step {
            let (first, end) = if low_holds { (mid, hi) } else { (lo, mid) };
            return Some(TreeEdge { from: holder, to: partner, first, count: end - first });
        }
        if (x < mid) != low_holds {
            holder = partner;
        }
        if x < mid {
            hi = mid;
        } else {
            lo = mid;
        }
    }
    None
}

fn clipped(n: usize, root: usize, step: usize, x: usize) -> Option<TreeEdge> {
    let v = (x + n - root) % n;
    let h = 1 << (ceil_log(n) - 1 - step);
    let to = match v % (2 * h) {
        0 => v + h,
        rest if rest == h => v,
        _ => return None,
    };
    let real = |v: usize| (v + root) % n;
    (to < n).then(|| TreeEdge {
        from: real(to - h),
        to: real(to),
        first: real(to),
        count: h.min(n - to),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arcs(tree: TreeKind, n: usize) -> Vec<Vec<(usize, usize)>> {
        let step = |s| (0..n).filter_map(move |x| tree.hop(s, x).filter(|h| h.from == x));
        (0..tree.steps()).map(|s| step(s).map(|h| (h.from, h.to)).collect()).collect()
    }

    /// T6 and the arcs of root 3.
    #[test]
    fn the_trees_of_the_textbook() {
        let t = TreeKind::Halving { n: 8, root: 0 };
        assert_eq!(
            arcs(t, 8),
            [vec![(0, 4)], vec![(0, 2), (4, 6)], vec![(0, 1), (2, 3), (4, 5), (6, 7)]]
        );
        assert_eq!(arcs(t, 8), arcs(TreeKind::Clipped { n: 8, root: 0 }, 8));
        let t = TreeKind::Halving { n: 8, root: 3 };
        assert_eq!(
            arcs(t, 8),
            [vec![(3, 7)], vec![(3, 1), (7, 5)], vec![(1, 0), (3, 2), (5, 4), (7, 6)]]
        );
    }

    /// Halving: both ends see the same message, and no link of the linear
    /// array carries two messages of one step in one direction.
    #[test]
    fn halving_never_congests_an_array() {
        for n in 1..=40 {
            for root in 0..n {
                let t = TreeKind::Halving { n, root };
                for s in 0..t.steps() {
                    let mut load = vec![[0; 2]; n];
                    for h in (0..n).filter_map(|x| t.hop(s, x).filter(|h| h.from == x)) {
                        assert_eq!(t.hop(s, h.to), Some(h));
                        let (lo, hi) = (h.from.min(h.to), h.from.max(h.to));
                        (lo..hi).for_each(|l| load[l][usize::from(h.from > h.to)] += 1);
                    }
                    assert!(load.iter().flatten().all(|&l| l <= 1), "n {n} root {root}");
                }
            }
        }
    }
}
