//! Which blocks a sub-grid of a mesh covers: the arithmetic behind every
//! algorithm that runs once per dimension.

use super::Run;
use super::combine::Runs;
use crate::topology::Extents;

/// What of one dimension belongs to the sub-grid.
#[derive(Clone, Copy)]
pub(crate) enum Pick {
    One(usize),
    /// So many positions from the first on, round the torus.
    Cyclic(usize, usize),
    All,
}

/// The ranks of the sub-grid, ascending, in as few runs as there can be.
pub(crate) fn pick(extents: &Extents, choice: impl Fn(usize) -> Pick) -> Vec<Run> {
    let mut runs = vec![Run::one(0)];
    for j in 0..extents.dimensions() {
        let (n, stride) = (extents.extent(j), extents.stride(j));
        let (first, count) = match choice(j) {
            Pick::One(x) => (x, 1),
            Pick::Cyclic(first, count) => (first % n, count),
            Pick::All => (0, n),
        };
        let wrapped = (first + count).saturating_sub(n);
        let mut next = Runs::default();
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

/// The dimensions of `extents`, ascending (rows first on a mesh).
pub(crate) fn ascending(extents: &Extents) -> Vec<usize> {
    (0..extents.dimensions()).collect()
}

/// The dimensions of `extents`, descending (columns first on a mesh).
pub(crate) fn descending(extents: &Extents) -> Vec<usize> {
    (0..extents.dimensions()).rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_one_run_and_columns_are_strided() {
        let e = Extents::mesh(3, 4);
        let row = pick(&e, |j| if j == 0 { Pick::All } else { Pick::One(1) });
        assert_eq!(row, [Run { first: 4, count: 4 }]);
        let column = pick(&e, |j| if j == 0 { Pick::One(1) } else { Pick::All });
        assert_eq!(column, [Run::one(1), Run::one(5), Run::one(9)]);
        let wrap = pick(&e, |j| if j == 0 { Pick::All } else { Pick::Cyclic(2, 2) });
        assert_eq!(wrap, [Run { first: 0, count: 4 }, Run { first: 8, count: 4 }]);
    }
}
