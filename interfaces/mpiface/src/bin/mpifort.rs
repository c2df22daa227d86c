//! The compiler's wrapper `phalanx-mpifort`.

use phalanx_mpi_abi::wrapper::{Language, main as wrap};

fn main() {
    wrap(Language::Fortran)
}
