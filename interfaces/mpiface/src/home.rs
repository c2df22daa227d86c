//! Where the package's files lie: beside the programs after an installation, else where Cargo built
//! them.

use std::env;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The directory of libmpi_abi.so.0, entry.o and priv.o: PHALANX_MPI_HOME, where this code's file
/// lies, `../lib/phalanx-mpi` from the running program, or the build's.
pub fn libraries() -> PathBuf {
    if let Some(given) = env::var_os("PHALANX_MPI_HOME") {
        return PathBuf::from(given);
    }
    let program = env::current_exe().ok();
    let near_program =
        program.as_ref().and_then(|it| it.parent()).map(|it| it.join("../lib/phalanx-mpi"));
    let beside = own_file().and_then(|it| it.parent().map(Path::to_owned));
    let is_there = |it: &PathBuf| it.join("libmpi_abi.so.0").is_file();
    let found = beside.into_iter().chain(near_program).find(is_there);
    // Without `..`: it becomes part of programs.
    let found = found.and_then(|it| it.canonicalize().ok());
    found.unwrap_or_else(|| PathBuf::from(env!("OUT_DIR")))
}

/// The file that holds this code: a program, or the library that ordinary programs load.
fn own_file() -> Option<PathBuf> {
    // SAFETY: a structure of pointers, for which zeros are valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let address = own_file as *const () as *const std::ffi::c_void;
    // SAFETY: the structure lives through the call.
    if unsafe { libc::dladdr(address, &raw mut info) } == 0 {
        return None;
    }
    // SAFETY: dladdr gave a text that ends in a zero.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}

/// The directory of mpi.h.
pub fn headers() -> PathBuf {
    libraries().join("include")
}
