//! Logical topologies: extents, coordinates, neighbours, Gray codes, meshes.
//! Pure arithmetic; the lowest room beside `sync`.
//!
//! One view serves ring, mesh, torus and hypercube: a machine has *extents* `n_0, n_1, ..`, the
//! last dimension running fastest, as in a row-major array and in Cartesian grids. A ring is `[p]`,
//! a mesh of R rows and C columns `[R, C]`, a hypercube `[2, 2, .., 2]`.

mod cartesian;
mod extents;
mod gray;
mod mesh;

pub use cartesian::{BadGrid, Cartesian, balanced};
pub(crate) use extents::DisplayExtents;
pub use extents::{BadExtents, Extents};
pub use gray::{gray, gray_inverse};
pub use mesh::{meshes, squarest};
