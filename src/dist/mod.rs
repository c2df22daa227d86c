//! Distributions of data: blocks, cyclic blocks, arrays with halos. Pure arithmetic; the exchanges
//! are in the communicator's room.

mod block;
mod half_vector;
mod halo;
mod open_block;
mod partial;

pub use block::{Block, BlockCyclic, Distribution};
pub use halo::{Halo, MAX_DIMENSIONS};

pub(crate) use block::chunk;
pub(crate) use half_vector::{CutBlock, HalfVector};
pub(crate) use halo::Region;
pub(crate) use partial::{BLOCK, LANES, Partial, Products, Values};
