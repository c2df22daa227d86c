//! The compiler's wrapper `phalanx-mpicxx`.

use phalanx_mpi_abi::wrapper::{Language, main as wrap};

fn main() {
    wrap(Language::Cxx)
}
