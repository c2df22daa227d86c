//! The examples that are products of their own: the NAS and PRK kernels, and the sparse solver.

mod nas;
mod prk;
mod solver;
