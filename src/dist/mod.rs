//! Distributions of data: blocks, cyclic blocks, arrays with halos. Pure arithmetic; the exchanges
//! are in the communicator's room.
//!
//! What all distributions know (`count`, `owner`, `local`, `indices` ..) are methods of the trait
//! [`Distribution`], so it has to be imported where they are called: `use
//! phalanx::dist::{Block, Distribution}`. [`Block`] alone is enough for its own methods, such as
//! [`Block::range`], and to hand it to a call ([`Comm::ghosts`](crate::Comm::ghosts)).

mod block;
mod cut;
mod general_block;
mod halo;
pub(crate) mod partial;

pub use block::{Block, BlockCyclic, Distribution};
pub use cut::{Cut, Dynamic, dynamic};
pub use general_block::GeneralBlock;
pub use halo::{Halo, MAX_DIMENSIONS};

pub(crate) use block::chunk;
pub(crate) use cut::Blocks;
pub(crate) use halo::Region;
pub(crate) use partial::{BLOCK, Partial, Products, Values, Widened};
