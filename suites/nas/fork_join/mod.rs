//! The peer of Rayon: the same arithmetic, a parallel iterator for each step of it. (EP's is in
//! `ep.rs`.)

pub(crate) mod cg;
pub(crate) mod ft;
pub(crate) mod is;
pub(crate) mod mg;
