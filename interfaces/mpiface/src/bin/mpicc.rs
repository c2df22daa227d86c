//! The compiler's wrapper `phalanx-mpicc`.

use phalanx_mpi_abi::wrapper::{Language, main as wrap};

fn main() {
    wrap(Language::C)
}
