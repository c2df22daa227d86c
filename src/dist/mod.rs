//! How data are shared out: blocks, cycles of blocks, arrays with halos. Pure
//! arithmetic; what is exchanged by it is in the communicator's room.

mod halo;

pub use halo::{Halo, MAX_DIMENSIONS};

pub(crate) use halo::Region;
