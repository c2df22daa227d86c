//! The compiler's wrapper `phalanx-mpifort`.

use phalanx_mpi_abi::wrapper::{Language, main as wrap};

fn main() {
    wrap(Language {
        wrapper: "phalanx-mpifort",
        compiler: "gfortran",
        variable: "PHALANX_MPIFC",
        is_cxx: false,
        is_fortran: true,
    })
}
