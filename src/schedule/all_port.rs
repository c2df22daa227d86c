//! All-port variants of the cube and the mesh (book 4.7.2): every block is
//! cut in parts, and part k runs the one-port algorithm over the dimensions in
//! an order of its own, so that in each step every part uses another dimension.

use super::grid::{fastest_first, slowest_first};
use super::rule_parts::{Boxed, Sliced, Together};
use super::{all_to_all, gather, scatter};
use crate::topology::Extents;

/// Cuts every block in `split` and runs `part(k)` on the k-th pieces, all at
/// the same time.
fn parts(split: usize, part: impl Fn(usize) -> Boxed) -> Boxed {
    let slice = |k| Box::new(Sliced { rule: part(k), part: k, split }) as Boxed;
    Box::new(Together((0..split).map(slice).collect()))
}

/// The bits k, k+1, .. of a rank on a d-cube, cyclic, as dimensions.
fn rotation(cube: &Extents, k: usize) -> Vec<usize> {
    let mut order = fastest_first(cube);
    order.rotate_left(k);
    order
}

/// AG-AP-HCUBE: d steps, t_w m (p-1) / d.
pub(crate) fn all_gather(cube: &Extents) -> Boxed {
    parts(cube.dimensions(), |k| gather::by_dimension(cube, &rotation(cube, k)))
}

/// SC-AP-HCUBE: d rotated trees, t_w m (p-1) / d.
pub(crate) fn scatter(cube: &Extents, root: usize) -> Boxed {
    parts(cube.dimensions(), |k| scatter::by_dimension(cube, &rotation(cube, k), root))
}

/// TX-AP-HCUBE: d steps, t_w m p / 2, which meets the bisection bound.
pub(crate) fn total_exchange(cube: &Extents) -> Boxed {
    parts(cube.dimensions(), |k| all_to_all::by_dimension(cube, &rotation(cube, k)))
}

/// AG-AP-MESH: half of every block rows first, the other half columns first.
pub(crate) fn all_gather_mesh(mesh: &Extents) -> Boxed {
    parts(2, |k| gather::in_lockstep(mesh, &order(mesh, k)))
}

/// TX-AP-MESH: the same with the total exchange.
pub(crate) fn total_exchange_mesh(mesh: &Extents) -> Boxed {
    parts(2, |k| all_to_all::in_lockstep(mesh, &order(mesh, k)))
}

fn order(mesh: &Extents, k: usize) -> Vec<usize> {
    if k == 0 { fastest_first(mesh) } else { slowest_first(mesh) }
}
