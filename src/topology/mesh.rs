//! The meshes that a number of ranks can form.

use super::Extents;
use crate::sorted::Arrange;

/// The mesh of `ranks` ranks nearest to a square, as (rows, columns) with
/// rows <= columns.
///
/// # Examples
/// ```
/// use phalanx::topology::squarest;
/// assert_eq!(squarest(12), (3, 4));
/// assert_eq!(squarest(7), (1, 7));
/// ```
pub fn squarest(ranks: usize) -> (usize, usize) {
    let rows = (1..=ranks.isqrt()).rev().find(|r| ranks.is_multiple_of(*r)).unwrap_or(1);
    (rows, ranks / rows)
}

/// Every way to write `ranks` as a mesh with extents above 1, in every order
/// (`2x3` and `3x2` are two meshes). The ring `ranks` itself comes first.
///
/// # Examples
/// ```
/// use phalanx::topology::meshes;
/// let all: Vec<String> = meshes(12).iter().map(|m| m.to_string()).collect();
/// assert_eq!(all, ["12", "2x6", "3x4", "4x3", "6x2", "2x2x3", "2x3x2", "3x2x2"]);
/// ```
pub fn meshes(ranks: usize) -> Vec<Extents> {
    fn extend(rest: usize, so_far: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
        for n in (2..=rest).filter(|n| rest.is_multiple_of(*n)) {
            so_far.push(n);
            if n == rest {
                out.push(so_far.clone());
            } else {
                extend(rest / n, so_far, out);
            }
            so_far.pop();
        }
    }
    if ranks <= 1 {
        return vec![Extents::ring(1)];
    }
    let mut all = Vec::new();
    extend(ranks, &mut Vec::new(), &mut all);
    all.arrange_by_key(Vec::len);
    all.into_iter().filter_map(|e| Extents::new(e).ok()).collect()
}
