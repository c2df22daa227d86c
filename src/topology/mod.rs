//! Logical topologies: extents, coordinates, neighbours, Gray codes, meshes.
//! Pure arithmetic; the lowest room beside `sync`.
//!
//! One view serves ring, mesh, torus and hypercube: a machine has *extents*
//! `n_0, n_1, ..` and rank `r = c_0 + n_0 (c_1 + n_1 (c_2 + ..))`, dimension 0
//! running fastest. A ring is `[p]`, a mesh of R rows and C columns `[C, R]`,
//! a hypercube `[2, 2, .., 2]`.

mod cartesian;
mod extents;
mod gray;
mod mesh;

pub use cartesian::{BadGrid, Cartesian, balanced};
pub(crate) use extents::DisplayExtents;
pub use extents::{BadExtents, Extents};
pub use gray::{gray, gray_inverse};
pub use mesh::{meshes, squarest};
