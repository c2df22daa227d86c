//! The state that all communicators of a rank share: the mapping, the seats, and a watch on the
//! other processes.

use crate::error::{Error, ErrorKind};
use crate::head::{self, TeamHead};
use crate::layout::{LEFT, Layout, SITE, SITES};
use crate::mapping::Mapping;
use crate::rendezvous::Host;
use crate::seat::{Name, Seat, stat};
use crate::site::{Names, Place, Told};
use crate::sync::{AtomicU64, Ordering};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::sync::{Mutex, Once};
use std::time::Duration;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mapping: Mapping,
    pub(crate) layout: Layout,
    pub(crate) rank: usize,
    pub(crate) timeout: Option<Duration>,
    /// Whether ranks outnumber cores.
    pub(crate) crowded: bool,
    names: Vec<Name>,
    /// A descriptor for the process of each rank, but for ranks of this process and those that had
    /// [concluded](has_concluded) when this rank came to look.
    watches: Vec<Option<OwnedFd>>,
    /// Holds the team's name.
    #[expect(dead_code, reason = "the name is free again when it is dropped")]
    host: Option<Host>,
    generation: u32,
    /// Lines that have been written down.
    sites: AtomicUsize,
    /// Which they are, for the communicators of several threads.
    writing: Mutex<()>,
}

/// Forks, counted in each child.
static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// A descriptor that says when a process has ended; none for this one.
pub(crate) fn watch(rank: usize, name: &Name) -> Result<Option<OwnedFd>, Error> {
    if name.pid == std::process::id() {
        return Ok(None);
    }
    // SAFETY: numbers; the result is looked at.
    let file = unsafe { libc::syscall(libc::SYS_pidfd_open, name.pid as libc::pid_t, 0) };
    let is_gone = || {
        let text = format!(
            "{} has died, or is in a process namespace that this process does not see",
            told(rank, name)
        );
        Error::of(ErrorKind::Died, rank, text)
    };
    if file < 0 {
        let error = std::io::Error::last_os_error();
        let is_missing = error.raw_os_error() == Some(libc::ESRCH);
        return Err(if is_missing { is_gone() } else { Error::system("pidfd_open", &error) });
    }
    // SAFETY: the system has just made it.
    let file = unsafe { OwnedFd::from_raw_fd(file as i32) };
    // Not another process, which has got the number meanwhile.
    match stat(name.pid) {
        Some((_, start)) if start == name.start => Ok(Some(file)),
        _ => Err(is_gone()),
    }
}

fn told(rank: usize, name: &Name) -> String {
    format!("rank {rank} (process {}, `{}`)", name.pid, name.program)
}

/// The seat of a rank in a mapping.
pub(crate) fn seat<'a>(mapping: &'a Mapping, layout: &Layout, rank: usize) -> &'a Seat {
    // SAFETY: inside of the mapping, aligned to a page; atomics.
    unsafe { &*mapping.at(layout.seat(rank), size_of::<Seat>()).cast() }
}

/// Whether a rank whose process has ended is missed by nobody: it has left the team in order, or
/// the team is over and every call says why.
pub(crate) fn has_concluded(mapping: &Mapping, layout: &Layout, rank: usize) -> bool {
    let left = layout.area(0) + layout.desk(rank) + LEFT;
    // SAFETY: inside of the mapping, aligned; atomics.
    let left: &AtomicU64 = unsafe { &*mapping.at(left, 8).cast() };
    // Ordering: pairs with the store in the drop of `Team`: all that it published is visible.
    left.load(Ordering::Acquire) != 0 || head::head(mapping).over().is_some()
}

impl Shared {
    pub(crate) fn new(
        (mapping, layout): (Mapping, Layout),
        rank: usize,
        (names, watches): (Vec<Name>, Vec<Option<OwnedFd>>),
        host: Option<Host>,
        timeout: Option<Duration>,
    ) -> Shared {
        static ASKED: Once = Once::new();
        // SAFETY: the handler only adds to a static.
        ASKED.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
        let seats = (0..layout.ranks).map(|rank| seat(&mapping, &layout, rank));
        let crowded = layout.ranks > crate::seat::count_units(seats);
        Shared {
            mapping,
            layout,
            rank,
            timeout,
            crowded,
            names,
            watches,
            host,
            generation: GENERATION.load(Ordering::Relaxed),
            sites: AtomicUsize::new(0),
            writing: Mutex::new(()),
        }
    }

    #[inline(always)]
    pub(crate) fn head(&self) -> &TeamHead {
        head::head(&self.mapping)
    }

    pub(crate) fn seat(&self, rank: usize) -> &Seat {
        seat(&self.mapping, &self.layout, rank)
    }

    /// The words of areas: 0, or how many members have not left yet.
    pub(crate) fn area_word(&self, area: usize) -> &AtomicU64 {
        assert!(area < self.layout.areas);
        // SAFETY: a page of words, of which there are that many; atomics.
        unsafe { &*self.mapping.at(self.layout.area_words() + 8 * area, 8).cast() }
    }

    /// `rank 2 (process 71, `train`)`.
    pub(crate) fn told(&self, rank: usize) -> String {
        told(rank, &self.names[rank])
    }

    /// Whether this process is the child of the one that attached.
    #[inline(always)]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != GENERATION.load(Ordering::Relaxed)
    }

    /// Writes down a line of this rank, and says its number.
    pub(crate) fn write_site(&self, names: &Names, at: Place) -> Result<u32, Error> {
        let _writing = self.writing.lock().unwrap_or_else(|e| e.into_inner());
        let site = self.sites.fetch_add(1, Ordering::Relaxed) % SITES;
        self.mapping.take(self.layout.site(self.rank, site), SITE)?;
        let text = names.text(at);
        // Its beginning may be the path of a registry: of a long one the end counts.
        let bytes = text.as_bytes();
        let bytes = &bytes[..bytes.len().min(SITE - 1)];
        let to = self.mapping.at(self.layout.site(self.rank, site), SITE);
        // SAFETY: so many bytes are there, which only this rank writes; a peer that reads them at
        // this moment gets some bytes. The rest of the place is 0, or of a line before.
        unsafe {
            to.write_bytes(0, SITE);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Ok(site as u32)
    }

    /// The call that a rank has written down.
    pub(crate) fn site(&self, rank: usize, site: usize) -> Told {
        let from = self.mapping.at(self.layout.site(rank, site % SITES), SITE);
        let mut bytes = [0_u8; SITE];
        // SAFETY: so many bytes are there; whatever a peer writes meanwhile, bytes are bytes.
        unsafe { std::ptr::copy_nonoverlapping(from.cast_const(), bytes.as_mut_ptr(), SITE) };
        Told::of(&bytes)
    }

    /// Why the team is over, if it is.
    pub(crate) fn over(&self) -> Option<Error> {
        let rank = self.head().over()?;
        if rank >= self.layout.ranks {
            return Some(Error::new(ErrorKind::System, "the team's memory is spoilt"));
        }
        let (kind, culprit, text) = self.seat(rank).cause();
        let (kind, culprit) =
            (ErrorKind::of_number(kind), culprit.filter(|it| *it < self.layout.ranks));
        Some(match culprit {
            Some(culprit) => Error::of(kind, culprit, text),
            None => Error::new(kind, text),
        })
    }

    /// The team is over: unless it is already.
    pub(crate) fn end(&self, error: &Error) {
        if self.head().over().is_some() {
            return;
        }
        let seat = self.seat(self.rank);
        seat.set_cause(error.kind().number(), error.rank(), error.text());
        self.head().set_over(self.rank);
    }

    /// The ranks whose processes have ended.
    pub(crate) fn ended(&self) -> Vec<usize> {
        let watched = self.watches.iter().enumerate();
        let watched = watched.filter_map(|(rank, file)| Some((rank, file.as_ref()?.as_raw_fd())));
        let (ranks, mut files): (Vec<usize>, Vec<libc::pollfd>) = watched
            .map(|(rank, fd)| (rank, libc::pollfd { fd, events: libc::POLLIN, revents: 0 }))
            .unzip();
        // SAFETY: so many elements.
        let found = unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, 0) };
        if found <= 0 {
            return Vec::new();
        }
        let ended = ranks.into_iter().zip(files).filter(|(_, file)| file.revents != 0);
        ended.map(|(rank, _)| rank).collect()
    }

    /// Whether the process of a rank is stopped: by a signal, or a debugger.
    pub(crate) fn is_stopped(&self, rank: usize) -> bool {
        stat(self.names[rank].pid).is_some_and(|it| matches!(it.0, 'T' | 't'))
    }
}
