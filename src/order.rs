//! The order in which contributions are combined.

use std::cell::Cell;
use std::ops::Range;

/// A reduction's promise about the order of its operands, and with it about the last bits of a
/// floating-point result.
///
/// | same bits: | on every rank | in every run | for every algorithm and topology | for every p |
/// |---|---|---|---|---|
/// | [`Ranked`](Order::Ranked) | yes | same p, length, algorithm | no | no |
/// | [`Fixed`](Order::Fixed), element by element | yes | yes | yes | (as many operands as ranks) |
/// | [`fixed_sum`](crate::Comm::fixed_sum) and its relatives | yes | yes | yes | yes |
///
/// # Examples
/// ```
/// use phalanx::{Order, op};
/// // Contributions with a sum that depends on the order.
/// let x = [1e16, 1.0, -1e16, 1.0, 1.0];
/// let ring = phalanx::run(5, |comm| {
///     let mut s = [x[comm.rank()]];
///     comm.ring().with_order(Order::Fixed).all_reduce(&mut s, op::Sum);
///     s[0]
/// })?;
/// let cube = phalanx::run(5, |comm| {
///     let mut s = [x[comm.rank()]];
///     comm.hypercube().with_order(Order::Fixed).all_reduce(&mut s, op::Sum);
///     s[0]
/// })?;
/// assert_eq!(ring, cube);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// As the algorithm likes; operators that are not commutative in rank
    /// order. Every rank gets the same bits, and so does every run with the same
    /// number of ranks, length and algorithm.
    #[default]
    Ranked,
    /// By one balanced tree over the contributions, whatever the algorithm:
    /// operands `2k` and `2k + 1` are combined, then the results in the same
    /// way; one that is left over joins on the next level that has a partner for
    /// it.
    Fixed,
}

/// How many of `n > 1` operands the left half of the tree has: the largest
/// power of two below `n`.
///
/// That is the tree of [`Order::Fixed`]: pairs of neighbours level by level,
/// a vector that is left over moves up.
///
/// # Examples
/// ```
/// use phalanx::engine::left_half;
/// assert_eq!([2, 3, 4, 5].map(left_half), [1, 2, 2, 4]);
/// ```
#[inline(always)]
pub const fn left_half(n: usize) -> usize {
    debug_assert!(n > 1);
    1 << (n - 1).ilog2()
}

/// Joins the results of these operands by the tree; `known` has those of single operands, and of
/// subtrees that are not taken apart.
///
/// # Examples
/// ```
/// use phalanx::engine::by_halves;
/// let mut leaf = |of: std::ops::Range<usize>| (of.len() == 1).then(|| of.start.to_string());
/// let tree = by_halves(0..5, &mut leaf, &mut |a, b| format!("({a} {b})"));
/// assert_eq!(tree, "(((0 1) (2 3)) 4)");
/// ```
pub fn by_halves<V>(
    of: Range<usize>,
    known: &mut impl FnMut(Range<usize>) -> Option<V>,
    join: &mut impl FnMut(V, V) -> V,
) -> V {
    known(of.clone()).unwrap_or_else(|| {
        let half = of.start + left_half(of.len());
        let left = by_halves(of.start..half, known, join);
        let right = by_halves(half..of.end, known, join);
        join(left, right)
    })
}

/// Combines `n > 0` operands by the tree. `join` and `leaf` have the level, which is the number of
/// results that wait in the cells for their right neighbours: a value under that number is
/// kept until it is joined.
#[inline(always)]
pub(crate) fn by_levels<V: Copy>(
    n: usize,
    waiting: &[Cell<V>],
    leaf: impl Fn(usize, usize) -> V,
    join: impl Fn(usize, V, V) -> V,
) -> V {
    let (mut level, mut done) = (0, 0);
    loop {
        let mut result = leaf(level, done);
        done += 1;
        // As many as trees of one size have met; of the last operand all that wait.
        let joined = if done == n { level } else { done.trailing_zeros() as usize };
        for _ in 0..joined {
            level -= 1;
            result = join(level, waiting[level].get(), result);
        }
        if done == n {
            return result;
        }
        waiting[level].set(result);
        level += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition in words: level by level.
    fn as_defined(n: usize) -> String {
        let mut row: Vec<String> = (0..n).map(|i| i.to_string()).collect();
        while row.len() > 1 {
            row = row
                .chunks(2)
                .map(|c| if c.len() == 2 { format!("({} {})", c[0], c[1]) } else { c[0].clone() })
                .collect();
        }
        row.remove(0)
    }

    #[test]
    fn the_tree_is_the_one_of_the_definition() {
        for n in 1..300 {
            let waiting = [const { Cell::new("") }; 9];
            let leaf = |_, i: usize| &*i.to_string().leak();
            let tree = by_levels(n, &waiting, leaf, |_, a, b| format!("({a} {b})").leak());
            assert_eq!(tree, as_defined(n));
        }
    }
}
