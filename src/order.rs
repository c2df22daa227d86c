//! The order in which contributions are combined.

/// What a reduction promises about the order of its operands, and with it
/// about the last bits of a floating-point result.
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
/// // Contributions whose sum depends on the order.
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
/// what is left over moves up.
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

/// Combines operands `first..first + n`, `n > 0`, by the tree.
#[cfg(test)]
pub(crate) fn by_tree<V>(
    first: usize,
    n: usize,
    leaf: &mut impl FnMut(usize) -> V,
    join: &mut impl FnMut(V, V) -> V,
) -> V {
    by_levels(first, n, 0, leaf, &mut |_, left, right| join(left, right))
}

/// Combines operands `first..first + n`, `n > 0`, by the tree. `join` has the number of right
/// turns, from `level` on, before each join: what is kept under that number is kept until the join
/// is made.
pub(crate) fn by_levels<V>(
    first: usize,
    n: usize,
    level: usize,
    leaf: &mut impl FnMut(usize) -> V,
    join: &mut impl FnMut(usize, V, V) -> V,
) -> V {
    if n == 1 {
        return leaf(first);
    }
    let half = left_half(n);
    let left = by_levels(first, half, level, leaf, join);
    let right = by_levels(first + half, n - half, level + 1, leaf, join);
    join(level, left, right)
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
            let tree = by_tree(0, n, &mut |i| i.to_string(), &mut |a, b| format!("({a} {b})"));
            assert_eq!(tree, as_defined(n));
        }
    }
}
