//! The head of a segment: its version and size, and whether the team is over.

use crate::course::Course;
use crate::error::{Error, ErrorKind, Result};
use crate::kept::above;
use crate::layout::{Layout, PAGE};
use crate::mapping::{self, Mapping};
use crate::seat::printable;
use crate::sync::{AtomicU64, Ordering};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// "PHALANX" in a word.
const MAGIC: u64 = u64::from_le_bytes(*b"PHALANX1");

/// Bytes of the version's text.
pub(crate) const VERSION_BYTES: usize = 64;

/// Processes of one team have the same: a build of another release may put the words elsewhere.
pub(crate) const VERSION: &str = match (cfg!(target_endian = "little"), usize::BITS) {
    (true, 64) => concat!("phalanx-processes ", env!("CARGO_PKG_VERSION"), ", layout 2, 64 bits"),
    (true, _) => concat!("phalanx-processes ", env!("CARGO_PKG_VERSION"), ", layout 2, 32 bits"),
    (false, _) => concat!("phalanx-processes ", env!("CARGO_PKG_VERSION"), ", layout 2, big end"),
};

/// The version as it stands in a segment, and in a greeting.
pub(crate) fn version_bytes(version: &str) -> [u8; VERSION_BYTES] {
    let mut bytes = [0; VERSION_BYTES];
    for (to, from) in bytes.iter_mut().zip(version.bytes()) {
        *to = from;
    }
    bytes
}

/// That of such bytes.
pub(crate) fn version_of(bytes: &[u8]) -> String {
    printable(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
}

#[repr(C)]
pub(crate) struct TeamHead {
    magic: AtomicU64,
    version: [AtomicU64; VERSION_BYTES / 8],
    ranks: AtomicU64,
    part: AtomicU64,
    pub(crate) course: Course,
}

/// The memory of a team that is still to be attached to: for processes that hand over its file
/// descriptor themselves, as [`Builder::attach`](crate::Builder::attach) says.
#[derive(Debug)]
pub struct Segment(OwnedFd);

impl Segment {
    /// Of a team of so many ranks, with so many bytes of user memory
    /// ([`Team::symmetric`](crate::Team::symmetric)) for each: address space, until it is used.
    ///
    /// # Examples
    /// See [`Builder::attach`](crate::Builder::attach).
    ///
    /// # Errors
    /// The system has refused it, or it would be too large.
    pub fn create(ranks: usize, bytes_a_rank: usize) -> Result<Segment> {
        let wrong = || {
            let most = crate::layout::MAX_RANKS;
            let text = format!(
                "a team has 1 to {most} ranks, and as much memory as there are addresses: \
                 not {ranks} ranks with {bytes_a_rank} bytes each"
            );
            Error::new(ErrorKind::Argument, text)
        };
        let layout = Layout::new(ranks, bytes_a_rank).ok_or_else(wrong)?;
        let file = mapping::create(layout.total())?;
        let copy = file.try_clone().map_err(|e| Error::system("dup", &e))?;
        // The head alone, and the words of areas behind it.
        let page = Mapping::new(copy, 2 * PAGE)?;
        page.take(0, 2 * PAGE)?;
        // SAFETY: a page, aligned as such, which nobody else has yet; atomics.
        let head = unsafe { &*page.at(0, size_of::<TeamHead>()).cast::<TeamHead>() };
        for (word, bytes) in head.version.iter().zip(version_bytes(VERSION).chunks(8)) {
            let word_bytes = <[u8; 8]>::try_from(bytes).unwrap_or_default();
            word.store(u64::from_le_bytes(word_bytes), Ordering::Relaxed);
        }
        head.ranks.store(ranks as u64, Ordering::Relaxed);
        head.part.store(layout.part as u64, Ordering::Relaxed);
        // The file is handed over by a system call, after this.
        head.magic.store(MAGIC, Ordering::Release);
        Ok(Segment(file))
    }

    /// The segment behind a descriptor that was handed over: inherited, or `/proc/PID/fd/N` opened.
    ///
    /// # Examples
    /// See [`Builder::attach`](crate::Builder::attach).
    pub fn from_fd(file: OwnedFd) -> Segment {
        Segment(file)
    }

    /// The file without a name that has the memory.
    ///
    /// # Examples
    /// See [`Builder::attach`](crate::Builder::attach).
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// A copy of the descriptor that a program started from now on inherits, closed with the
    /// result.
    ///
    /// # Errors
    /// The process has too many descriptors.
    ///
    /// # Examples
    /// See [`Builder::attach`](crate::Builder::attach).
    pub fn inheritable(&self) -> Result<OwnedFd> {
        // SAFETY: a descriptor; the result is looked at.
        let copy = unsafe { libc::fcntl(self.fd(), libc::F_DUPFD, 3) };
        if copy < 0 {
            return Err(Error::last("dup"));
        }
        // SAFETY: the system has just made it.
        Ok(unsafe { std::os::fd::FromRawFd::from_raw_fd(copy) })
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub(crate) fn into_file(self) -> OwnedFd {
        self.0
    }
}

/// Maps the segment of a team of `ranks` ranks, if it is one. What its head says is copied once,
/// and compared with what the file has.
pub(crate) fn map(segment: Segment, ranks: usize) -> Result<(Mapping, Layout)> {
    let refused = |text: String| Error::new(ErrorKind::Refused, text);
    let bytes = mapping::examine(segment.file())?;
    if bytes < Layout::new(1, 0).map_or(usize::MAX, |least| least.total()) {
        return Err(refused("the file is no team's memory: it is too short".to_string()));
    }
    let file = above(segment.into_file()).map_err(|e| Error::system("dup", &e))?;
    let mapping = Mapping::new(file, bytes)?;
    let head = head(&mapping);
    if head.magic.load(Ordering::Acquire) != MAGIC {
        return Err(refused("the file is no team's memory: it does not begin as one".to_string()));
    }
    let version: Vec<u8> =
        head.version.iter().flat_map(|it| it.load(Ordering::Relaxed).to_le_bytes()).collect();
    if version != version_bytes(VERSION) {
        let other = version_of(&version);
        return Err(refused(format!("the team is of `{other}`, this process of `{VERSION}`")));
    }
    let (has, part) = (head.ranks.load(Ordering::Relaxed), head.part.load(Ordering::Relaxed));
    if has != ranks as u64 {
        return Err(refused(format!("the team has {has} ranks, this process expects {ranks}")));
    }
    let layout = usize::try_from(part).ok().and_then(|part| Layout::new(ranks, part));
    match layout {
        Some(layout) if layout.total() == bytes && layout.part as u64 == part => {
            Ok((mapping, layout))
        }
        _ => Err(refused("the team's memory has another size than its head says".to_string())),
    }
}

/// The head of a mapped segment.
#[inline(always)]
pub(crate) fn head(mapping: &Mapping) -> &TeamHead {
    // SAFETY: inside of the mapping, whose start is a page's; atomics.
    unsafe { &*mapping.at(0, size_of::<TeamHead>()).cast() }
}
