//! Where the package's files lie: beside the programs after an installation, else where Cargo built
//! them.

use std::env;
use std::path::PathBuf;

/// The directory of libmpi_abi.so.0, entry.o and priv.o: PHALANX_MPI_HOME, `../lib/phalanx-mpi`
/// from the running program, or the build's.
pub fn libraries() -> PathBuf {
    if let Some(given) = env::var_os("PHALANX_MPI_HOME") {
        return PathBuf::from(given);
    }
    let program = env::current_exe().ok();
    let beside =
        program.as_ref().and_then(|it| it.parent()).map(|it| it.join("../lib/phalanx-mpi"));
    match beside {
        Some(beside) if beside.join("libmpi_abi.so.0").is_file() => beside,
        _ => PathBuf::from(env!("OUT_DIR")),
    }
}

/// The directory of mpi.h.
pub fn headers() -> PathBuf {
    libraries().join("include")
}
