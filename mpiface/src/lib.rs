//! Unmodified MPI programs, one rank a thread: the loader, the runtime, and what the programs
//! `phalanx-mpirun`, `phalanx-mpicc`, `-mpicxx` and `-mpifort` do. See the package's README.
//!
//! This is no library for Rust programs: its items may change at any time.

pub mod home;
pub mod launch;
pub mod load;
pub mod rt;
pub mod wrapper;
