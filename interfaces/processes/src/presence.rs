//! Signs of life: each rank holds a lock on a byte of the team's memory, by an open file of its
//! own. The system takes the lock away when the process ends, or starts another program in its
//! place; it does so in whatever namespace the process is, and whatever ends it. (A lock of POSIX's
//! would go with any descriptor of the file that the process closes.)

use crate::error::{Error, ErrorKind, Result};
use crate::kept::Kept;
use crate::layout::MAX_RANKS;
use crate::patience::Patience;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind as Io};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Behind the bytes of the ranks: who has it may change who is there.
const DOOR: usize = MAX_RANKS;

pub(crate) fn no_proc() -> Error {
    let text = "/proc is not mounted, or does not show this process: a team needs /proc/self/fd";
    Error::new(ErrorKind::System, text)
}

/// This process's open file.
#[derive(Debug)]
pub(crate) struct Presence(Kept);

/// As long as it lives, nobody else arrives or gives up.
pub(crate) struct Door<'a>(&'a Presence);

impl Drop for Door<'_> {
    fn drop(&mut self) {
        let _ = self.0.lock(libc::F_OFD_SETLK, libc::F_UNLCK, DOOR);
    }
}

impl Presence {
    /// Opens the file once more: locks belong to the open file, not to the process or a descriptor.
    pub(crate) fn new(file: BorrowedFd<'_>) -> Result<Presence> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let opened = opened.map_err(|e| match e.kind() {
            Io::NotFound | Io::NotADirectory => no_proc(),
            _ => Error::system(&format!("opening {path}"), &e),
        })?;
        Ok(Presence(Kept::new(opened.into()).map_err(|e| Error::system("dup", &e))?))
    }

    /// The lock that is in the way; or that there is none, and it is done.
    fn lock(&self, command: i32, kind: i32, byte: usize) -> io::Result<i32> {
        // SAFETY: all bits 0 are a value of the type.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as _;
        lock.l_whence = libc::SEEK_SET as _;
        lock.l_start = byte as _;
        lock.l_len = 1;
        loop {
            // SAFETY: a descriptor, and a lock that the system reads or writes.
            if unsafe { libc::fcntl(self.0.fd(), command, &raw mut lock) } == 0 {
                return Ok(i32::from(lock.l_type));
            }
            let error = io::Error::last_os_error();
            if error.kind() != Io::Interrupted {
                return Err(error);
            }
        }
    }

    fn try_lock(&self, byte: usize) -> Result<bool> {
        match self.lock(libc::F_OFD_SETLK, libc::F_WRLCK, byte) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == Io::WouldBlock => Ok(false),
            Err(e) => Err(Error::system("locking a byte of the team's memory", &e)),
        }
    }

    /// Takes the place of a rank; whether it was free.
    pub(crate) fn take(&self, rank: usize) -> Result<bool> {
        self.try_lock(rank)
    }

    /// Leaves the place of a rank.
    pub(crate) fn leave(&self, rank: usize) {
        let _ = self.lock(libc::F_OFD_SETLK, libc::F_UNLCK, rank);
    }

    /// Whether another one has the place of this rank, as far as the system says.
    pub(crate) fn is_there(&self, rank: usize) -> bool {
        let found = self.lock(libc::F_OFD_GETLK, libc::F_WRLCK, rank);
        !matches!(found, Ok(libc::F_UNLCK))
    }

    /// The door, when it is free.
    pub(crate) fn door(&self, rank: usize, patience: &mut Patience) -> Result<Door<'_>> {
        while !self.try_lock(DOOR)? {
            patience.heed(rank)?;
            if patience.is_over() {
                let text = format!(
                    "a process that attaches to the team, and is stopped perhaps, has kept this \
                     one waiting for {}",
                    patience.told()
                );
                return Err(Error::new(ErrorKind::Deadline, text));
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(Door(self))
    }
}
