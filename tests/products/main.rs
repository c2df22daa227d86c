//! The examples that are products of their own: the NAS and PRK kernels, and the sparse solver.

// Each example is compiled as it stands, with the file that several of them have.
#![allow(clippy::duplicate_mod, clippy::module_inception)]

mod nas;
mod prk;
mod solver;
