//! Distributions of data: blocks, cyclic blocks, arrays with halos. Pure arithmetic; the exchanges
//! are in the communicator's room.

mod block;
mod cut_vector;
mod half_vector;
mod halo;
mod open_block;
mod partial;

pub use block::{Block, BlockCyclic, Distribution};
pub use halo::{Halo, MAX_DIMENSIONS};

pub(crate) use block::chunk;
pub(crate) use cut_vector::{FirstPart, SecondPart};
pub(crate) use half_vector::HalfVector;
pub(crate) use halo::Region;
pub(crate) use partial::{BLOCK, LANES, Partial, Products, Values};
