//! The compiler's wrapper `phalanx-mpicxx`.

use phalanx_mpi_abi::wrapper::{Language, main as wrap};

fn main() {
    wrap(Language {
        wrapper: "phalanx-mpicxx",
        compiler: "c++",
        variable: "PHALANX_MPICXX",
        is_cxx: true,
        is_fortran: false,
    })
}
