//! A file as it was read: its bytes, and its pages, which copies share.

use super::elf::{Elf, Segment};
use std::ffi::c_void;
use std::fs;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A file that was read, and its state at that time.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) file: fs::File,
    state: [i64; 5],
}

impl Source {
    /// Opens a file and reads it.
    pub(super) fn read(path: &Path) -> std::io::Result<(Vec<u8>, Source)> {
        let mut file = fs::File::open(path)?;
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

/// Whether a debugger follows this process: it may have written breakpoints into a copy's code.
pub(super) fn is_traced() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|it| it.strip_prefix("TracerPid:").is_some_and(|by| by.trim() != "0"))
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
