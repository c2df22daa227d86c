//! A segment of memory that processes share: a `memfd`, sealed to its size, and its mapping.

use crate::error::{Error, ErrorKind, Result};
use crate::kept::above;
use crate::limits::{Limited, limit};
use std::ffi::c_void;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::{fs, io};

/// Nobody can make the file shorter, which would end processes that touch what is gone, or longer;
/// nor add seals.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A file of `bytes` bytes, all 0, that has no name and ends with the last process that has it.
pub(crate) fn create(bytes: usize) -> Result<OwnedFd> {
    // To pass it would end the process by a signal.
    if let Some(most) = limit(Limited::FileSize)
        && bytes as u64 > most
    {
        let text = format!(
            "the team's memory is a file of {bytes} bytes, most of which are never written: the \
             limit of files (`ulimit -f`) is {most} bytes"
        );
        return Err(Error::new(ErrorKind::Memory, text));
    }
    // SAFETY: the name is a string of C's; the result is looked at.
    let file = unsafe {
        libc::memfd_create(c"phalanx".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING)
    };
    if file < 0 {
        return Err(Error::last("memfd_create"));
    }
    // SAFETY: the system has just made it.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let file = above(file).map_err(|e| Error::system("dup", &e))?;
    // SAFETY: a descriptor and a number.
    while unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } != 0 {
        if !is_interrupted() {
            return Err(Error::last("ftruncate of the team's memory"));
        }
    }
    // SAFETY: as above.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
        return Err(Error::last("sealing the team's memory"));
    }
    Ok(file)
}

fn is_interrupted() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}

/// The bytes of a file that another process made, if it is sealed and this user's.
pub(crate) fn examine(file: BorrowedFd<'_>) -> Result<usize> {
    let refused = |text: String| Error::new(ErrorKind::Refused, text);
    // SAFETY: all bits 0 are a value of the type.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the system writes to `about` only.
    if unsafe { libc::fstat(file.as_raw_fd(), &raw mut about) } != 0 {
        return Err(Error::last("fstat of the team's memory"));
    }
    // SAFETY: has no arguments.
    let user = unsafe { libc::geteuid() };
    if about.st_uid != user {
        let owner = about.st_uid;
        return Err(refused(format!(
            "the memory belongs to user {owner}, and this process to user {user}"
        )));
    }
    // SAFETY: a descriptor.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    if seals < 0 || seals & SEALS != SEALS {
        return Err(refused("the file is no team's memory: it is not sealed".to_string()));
    }
    usize::try_from(about.st_size).map_err(|_| refused("the file has no size".to_string()))
}

/// A mapping of a segment: memory that other processes may write at any time. So nothing here gives
/// a reference into it.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    bytes: usize,
    file: OwnedFd,
}

// SAFETY: addresses of shared memory, which every thread may use alike.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(file: OwnedFd, bytes: usize) -> Result<Mapping> {
        // SAFETY: a new mapping, where the system likes.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            let why = io::Error::last_os_error();
            let hint = limit(Limited::Addresses).map_or(String::new(), |most| {
                format!(" (the limit of addresses, `ulimit -v`, is {most} bytes)")
            });
            let text = format!("mapping {bytes} bytes of the team's memory{hint}");
            return Err(Error::system(&text, &why));
        }
        Ok(Mapping { start: start.cast(), bytes, file })
    }

    /// The address of a place for `bytes` bytes.
    #[inline(always)]
    pub(crate) fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset <= self.bytes && bytes <= self.bytes - offset, "inside of the segment");
        self.start.wrapping_add(offset)
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Takes memory for these bytes now, so that none is missing when they are written (which would
    /// end the process).
    pub(crate) fn take(&self, offset: usize, bytes: usize) -> Result<()> {
        let (mut from, mut left, mut step) = (offset, bytes, bytes);
        while left > 0 {
            let length = step.min(left);
            // SAFETY: a descriptor and numbers.
            let failed = unsafe {
                libc::fallocate(
                    self.file.as_raw_fd(),
                    0,
                    from as libc::off_t,
                    length as libc::off_t,
                )
            };
            if failed == 0 {
                (from, left) = (from + length, left - length);
                continue;
            }
            let why = io::Error::last_os_error();
            match why.raw_os_error() {
                // Some systems do nothing then: less at once ends between two signals of a timer.
                Some(libc::EINTR) => step = (length / 2).max(4096),
                Some(libc::ENOSPC | libc::ENOMEM) => {
                    let text = format!("there is no memory for {bytes} bytes of the team's: {why}");
                    return Err(Error::new(ErrorKind::Memory, text));
                }
                _ => return Err(Error::system("fallocate of the team's memory", &why)),
            }
        }
        Ok(())
    }

    /// Gives the memory of these bytes back; they are 0 from then on.
    pub(crate) fn give_back(&self, offset: usize, bytes: usize) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (from, length) = (offset as libc::off_t, bytes as libc::off_t);
        // SAFETY: a descriptor and numbers; those that use the bytes have left.
        while unsafe { libc::fallocate(self.file.as_raw_fd(), mode, from, length) } != 0
            && is_interrupted()
        {}
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and used by nobody any more.
        unsafe { libc::munmap(self.start.cast::<c_void>(), self.bytes) };
    }
}

/// A file of `/proc`, if it can be read.
pub(crate) fn read_proc(path: &str) -> Option<String> {
    fs::read(path).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
}
