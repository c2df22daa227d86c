//! A file as it was read: its bytes, and its pages, which copies share.

use super::elf::{Elf, Segment};
use std::ffi::{c_int, c_void};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A file that was read, and its state at that time.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: fs::File,
    state: [i64; 5],
}

impl Source {
    /// Opens a file and reads it.
    pub(super) fn read(path: &Path) -> std::io::Result<(Vec<u8>, Source)> {
        let mut file = beyond_streams(fs::File::open(path)?)?;
        // Before it is read: so writes in the meantime are noticed.
        let state = Source::state(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok((bytes, Source { file, state }))
    }

    fn state(file: &fs::File) -> std::io::Result<[i64; 5]> {
        let it = file.metadata()?;
        Ok([it.size().cast_signed(), it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec()])
    }

    /// Maps these pages over those of a copy that begins at `base`: the same bytes. A file that has
    /// been written since, or that cannot be mapped (its file system may forbid programs), changes
    /// nothing.
    ///
    /// # Safety
    /// A copy of this file lies there, in which no byte of the parts was changed.
    pub(super) unsafe fn map(&self, parts: &[Segment], base: usize) {
        if Source::state(&self.file).ok() != Some(self.state) {
            return;
        }
        for part in parts {
            let (protection, kind) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE);
            let Ok(offset) = libc::off_t::try_from(part.offset) else { continue };
            // SAFETY: these pages hold the same code of the copy (the caller's promise), which is
            // mapped as long as the dynamic linker keeps it: its threads see no difference.
            // That holds as long as nobody writes into the file: a promise of the user (README,
            // "How"), as for every shared library, and which the system does not enforce.
            unsafe {
                libc::mmap(
                    (base + part.address as usize) as *mut c_void,
                    part.length as usize,
                    protection,
                    kind | libc::MAP_FIXED,
                    self.file.as_raw_fd(),
                    offset,
                );
            }
        }
    }
}

/// The file, with none of the standard streams' descriptors: a program that was started without
/// them would read and write it.
pub(super) fn beyond_streams(file: fs::File) -> std::io::Result<fs::File> {
    const FIRST: c_int = 3;
    if file.as_raw_fd() >= FIRST {
        return Ok(file);
    }
    // SAFETY: the file is open, and gets a second descriptor.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST) } {
        -1 => Err(std::io::Error::last_os_error()),
        // SAFETY: made above, and nobody else has it.
        again => Ok(unsafe { fs::File::from_raw_fd(again) }),
    }
}

/// Whether a debugger follows this process: it may have written breakpoints into a copy's code.
pub(super) fn is_traced() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|it| it.strip_prefix("TracerPid:").is_some_and(|by| by.trim() != "0"))
}

/// Names a directory in which copies are files that stay: for core dumps and profilers.
pub(super) const COPIES: &str = "PHALANX_MPI_COPIES";

/// Where copies are files rather than memory: if asked; under Valgrind, which finds lines in files
/// only; and where /proc is not mounted, so that memory has no name (they are removed once they are
/// loaded).
pub(super) fn directory() -> Option<PathBuf> {
    let is_valgrind = || env::var("LD_PRELOAD").is_ok_and(|it| it.contains("vgpreload"));
    let is_needed = || is_valgrind() || !Path::new("/proc/self/fd").exists();
    let asked = env::var_os(COPIES).map(PathBuf::from);
    asked.or_else(|| is_needed().then(env::temp_dir))
}

/// Bytes of a page.
pub(super) fn page() -> u64 {
    // SAFETY: asks for a number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A file as it is parsed, before it is prepared.
pub(super) type Parsed = (Elf, Source);

pub(super) fn parse(path: &Path) -> Result<Parsed, String> {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let (bytes, source) = Source::read(path).map_err(|error| named(&error))?;
    Ok((Elf::parse(bytes).map_err(|error| named(&error))?, source))
}
