//! The compiler's wrapper `phalanx-mpicc`.

use phalanx_mpi_abi::wrapper::{Language, main as wrap};

fn main() {
    wrap(Language {
        wrapper: "phalanx-mpicc",
        compiler: "cc",
        variable: "PHALANX_MPICC",
        is_cxx: false,
        is_fortran: false,
    })
}
