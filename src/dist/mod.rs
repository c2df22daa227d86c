//! Distributions of data: blocks, cyclic blocks, arrays with halos. Pure arithmetic; the exchanges
//! are in the communicator's room.

mod block;
mod halo;
mod partial;

pub use block::{Block, BlockCyclic, Distribution};
pub use halo::{Halo, MAX_DIMENSIONS};

pub(crate) use block::chunk;
pub(crate) use halo::Region;
pub(crate) use partial::{Partial, Products, Values};
