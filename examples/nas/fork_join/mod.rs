//! The peer of Rayon: the same arithmetic, a parallel iterator for each step of it. (EP's is in `ep.rs`.)

pub mod cg;
pub mod ft;
pub mod is;
pub mod mg;
