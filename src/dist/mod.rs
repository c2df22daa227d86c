//! How data are shared out: blocks, cycles of blocks, arrays with halos. Pure
//! arithmetic; what is exchanged by it is in the communicator's room.

mod halo;
mod partial;

pub use halo::{Halo, MAX_DIMENSIONS};

pub(crate) use halo::Region;
pub(crate) use partial::{Partial, Products, Values};
