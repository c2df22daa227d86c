//! Where the package's files lie: beside the programs after an installation, else where Cargo built
//! them.

use std::env;
use std::ffi::{CStr, OsStr, c_void};
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
    // The file that holds this code: a program, or the library that ordinary programs load.
    let own = whereabouts(libraries as *const () as usize).map(|it| it.1);
    let beside = own.and_then(|it| it.parent().map(Path::to_owned));
    let is_there = |it: &PathBuf| it.join("libmpi_abi.so.0").is_file();
    let found = beside.into_iter().chain(near_program).find(is_there);
    // Without `..`: it becomes part of programs.
    let found = found.and_then(|it| it.canonicalize().ok());
    found.unwrap_or_else(|| PathBuf::from(env!("OUT_DIR")))
}

/// This machine's name.
pub(crate) fn host() -> String {
    let mut name = [0; 256];
    // SAFETY: the buffer lives through the call, and its length is told; a zero stays at its end.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|it| *it == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// The directory of mpi.h.
pub fn headers() -> PathBuf {
    libraries().join("include")
}

/// The dynamic linker's knowledge of an address, and the path of the file in which that lies.
pub fn whereabouts(address: usize) -> Option<(libc::Dl_info, PathBuf)> {
    // SAFETY: a structure of pointers, for which zeros are valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives through the call; any address may be asked for.
    if unsafe { libc::dladdr(address as *const c_void, &raw mut info) } == 0 {
        return None;
    }
    // SAFETY: asks for a number: where the executable's program headers lie.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    // The executable goes by the name with which it was started, which may be found nowhere. Its
    // headers stand at its beginning.
    let path = if headers.wrapping_sub(info.dli_fbase as usize) < 4096 {
        env::current_exe().ok()?
    } else {
        // SAFETY: dladdr gave a text that ends in a zero.
        let path = unsafe { CStr::from_ptr(info.dli_fname) };
        PathBuf::from(OsStr::from_bytes(path.to_bytes()))
    };
    Some((info, path))
}
