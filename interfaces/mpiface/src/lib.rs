//! Unmodified MPI programs, one rank a thread: the loader, the runtime, and the programs
//! `phalanx-mpirun`, `phalanx-mpicc`, `-mpicxx` and `-mpifort`. See the package's README.
//!
//! For Rust programs there is [`team`]: ranks inside an ordinary program. The other items may
//! change at any time.

mod begun_by;
pub mod cores;
mod embed;
mod faults;
mod heaps;
pub mod home;
pub mod launch;
pub mod load;
pub mod options;
pub mod rt;
pub mod stack;
mod static_tls;
pub mod team;
pub mod wrapper;
