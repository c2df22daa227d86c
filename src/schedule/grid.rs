//! The blocks of a sub-grid of a mesh: the arithmetic of every algorithm that runs once per
//! dimension.

use super::BlockRange;
use super::rule_parts::BlockRanges;
use crate::topology::Extents;

/// What of one dimension belongs to the sub-grid.
#[derive(Clone, Copy)]
pub(crate) enum DimensionPart {
    One(usize),
    /// So many positions from the first on, round the torus.
    Cyclic(usize, usize),
    All,
}

/// The ranks of the sub-grid, ascending, in as few runs as there can be.
pub(crate) fn pick(extents: &Extents, choice: impl Fn(usize) -> DimensionPart) -> Vec<BlockRange> {
    let mut runs = vec![BlockRange::one(0)];
    for j in (0..extents.dimensions()).rev() {
        let (n, stride) = (extents.extent(j), extents.stride(j));
        let (first, count) = match choice(j) {
            DimensionPart::One(x) => (x, 1),
            DimensionPart::Cyclic(first, count) => (first % n, count),
            DimensionPart::All => (0, n),
        };
        let wrapped = (first + count).saturating_sub(n);
        let mut next = BlockRanges::default();
        for x in (0..wrapped).chain(first..(first + count).min(n)) {
            for r in &runs {
                next.push(r.first + x * stride, r.count);
            }
        }
        runs = next.0;
    }
    runs
}

/// Whether `a` and `b` agree in the dimensions `dims`.
pub(crate) fn agree(extents: &Extents, dims: &[usize], a: usize, b: usize) -> bool {
    dims.iter().all(|&j| extents.coordinate(a, j) == extents.coordinate(b, j))
}

/// The dimensions of `extents`, the fastest first (along the rows of a mesh, then the columns).
pub(crate) fn fastest_first(extents: &Extents) -> Vec<usize> {
    (0..extents.dimensions()).rev().collect()
}

/// The dimensions of `extents`, the slowest first (along the columns of a mesh, then the rows).
pub(crate) fn slowest_first(extents: &Extents) -> Vec<usize> {
    (0..extents.dimensions()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_one_run_and_columns_are_strided() {
        let e = Extents::mesh(3, 4);
        let row = pick(&e, |j| if j == 1 { DimensionPart::All } else { DimensionPart::One(1) });
        assert_eq!(row, [BlockRange { first: 4, count: 4 }]);
        let column = pick(&e, |j| if j == 1 { DimensionPart::One(1) } else { DimensionPart::All });
        assert_eq!(column, [BlockRange::one(1), BlockRange::one(5), BlockRange::one(9)]);
        let wrap =
            pick(&e, |j| if j == 1 { DimensionPart::All } else { DimensionPart::Cyclic(2, 2) });
        assert_eq!(wrap, [BlockRange { first: 0, count: 4 }, BlockRange { first: 8, count: 4 }]);
    }
}
