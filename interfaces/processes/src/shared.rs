//! The state that all communicators of a rank share: the mapping, the seats, and a watch on the
//! other processes.

use crate::circle::Waiting;
use crate::error::{Error, ErrorKind, Result};
use crate::head::{self, TeamHead};
use crate::interrupt::Question;
use crate::kept::generation;
use crate::layout::{Layout, MAX_RANKS, SITE, SITES, WAITING};
use crate::mapping::{Mapping, read_proc};
use crate::presence::Presence;
use crate::rendezvous::Host;
use crate::seat::{Name, Seat, printable};
use crate::site::{Names, Place, Told};
use crate::sync::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// At so many ranks a wait looks at a time: each is a system call.
const LOOKS: usize = 16;
/// Between two looks at the cores of this process; and what a wait that lasts counts.
const RARELY: usize = 4096;
const LASTS: usize = 16;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) layout: Layout,
    pub(crate) rank: usize,
    pub(crate) timeout: Option<Duration>,
    /// Says whether the program ends a wait.
    pub(crate) interrupt: Question,
    /// Whether ranks outnumber cores, as this rank has seen last. Ranks may differ for a while: who
    /// tells something then may not see one that sleeps, which wakes by itself.
    crowded: AtomicBool,
    /// What has been counted since this rank has looked at its cores.
    unlooked: AtomicUsize,
    names: Vec<Name>,
    presence: Presence,
    /// The rank from which on is looked who is there.
    next: AtomicUsize,
    /// Holds the team's name, until this rank leaves.
    host: Mutex<Option<Host>>,
    generation: u32,
    /// Lines that have been written down, by the names of the call: their numbers.
    sites: Mutex<HashMap<(Place, u64), u32>>,
    /// Why the rank has ended the team, if it has: one of its threads writes that down.
    ending: Mutex<()>,
    /// Long waits of the rank until now.
    pub(crate) waits: AtomicU64,
    /// After how long a wait is told.
    pub(crate) stall: Option<Duration>,
}

/// How the process of a rank that is not there any more has gone.
pub(crate) fn end_of(name: &Name) -> (ErrorKind, String) {
    // The system takes a process's memory before its files.
    match name.stat() {
        Some(stat) if stat.bytes > 0 => {
            let program = read_proc(&format!("/proc/{}/comm", name.pid)).unwrap_or_default();
            let program = printable(program.trim_end().as_bytes());
            let text = format!("runs another program now (`{program}`), or has closed its files");
            (ErrorKind::Left, text)
        }
        _ => (ErrorKind::Died, "has died".to_string()),
    }
}

pub(crate) fn told(rank: usize, name: &Name) -> String {
    format!("rank {rank} (process {}, `{}`)", name.pid, name.program)
}

/// The seat of a rank in a mapping.
pub(crate) fn seat<'a>(mapping: &'a Mapping, layout: &Layout, rank: usize) -> &'a Seat {
    // SAFETY: inside of the mapping, aligned to a page; atomics.
    unsafe { &*mapping.at(layout.seat(rank), size_of::<Seat>()).cast() }
}

pub(crate) fn spoilt() -> Error {
    Error::new(ErrorKind::System, "the team's memory is spoilt")
}

pub(crate) fn forked() -> Error {
    let text = "the team belongs to the process that made this one by fork";
    Error::new(ErrorKind::Forked, text)
}

/// Why the team is over, if it is.
pub(crate) fn over(mapping: &Mapping, layout: &Layout) -> Option<Error> {
    let rank = head::head(mapping).course.over()?;
    if rank >= layout.ranks {
        return Some(spoilt());
    }
    let (kind, culprit, text) = seat(mapping, layout, rank).cause();
    let kind = ErrorKind::of_number(kind);
    Some(match culprit.filter(|it| *it < layout.ranks) {
        Some(culprit) => Error::of(kind, culprit, text),
        None => Error::new(kind, text),
    })
}

/// Whether there are more ranks than cores on which they may run.
fn are_crowded(mapping: &Mapping, layout: &Layout) -> bool {
    let seats = (0..layout.ranks).map(|rank| seat(mapping, layout, rank));
    layout.ranks > crate::seat::count_units(seats)
}

impl Shared {
    pub(crate) fn new(
        (mapping, layout): (Mapping, Layout),
        rank: usize,
        (names, presence): (Vec<Name>, Presence),
        host: Option<Host>,
        (timeout, interrupt): (Option<Duration>, Question),
    ) -> Shared {
        let crowded = AtomicBool::new(are_crowded(&mapping, &layout));
        Shared {
            mapping: Arc::new(mapping),
            layout,
            rank,
            timeout,
            interrupt,
            crowded,
            unlooked: AtomicUsize::new(0),
            names,
            presence,
            next: AtomicUsize::new(0),
            host: Mutex::new(host),
            generation: generation(),
            sites: Mutex::default(),
            ending: Mutex::new(()),
            waits: AtomicU64::new(0),
            stall: crate::stall::after(),
        }
    }

    #[inline(always)]
    pub(crate) fn head(&self) -> &TeamHead {
        head::head(&self.mapping)
    }

    pub(crate) fn seat(&self, rank: usize) -> &Seat {
        seat(&self.mapping, &self.layout, rank)
    }

    #[inline(always)]
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded.load(Ordering::Relaxed)
    }

    /// This rank waits long; or it is crowded, and has told something. Now and then it looks on how
    /// many cores the ranks may run: a cpuset or a mask may have shrunk or grown.
    pub(crate) fn perhaps_count_cores(&self, waits: bool) {
        let unlooked = self.unlooked.load(Ordering::Relaxed) + if waits { LASTS } else { 1 };
        self.unlooked.store(unlooked % RARELY, Ordering::Relaxed);
        if unlooked >= RARELY {
            self.count_cores();
        }
    }

    #[cold]
    #[inline(never)]
    fn count_cores(&self) {
        self.seat(self.rank).set_units();
        self.crowded.store(are_crowded(&self.mapping, &self.layout), Ordering::Relaxed);
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
        self.generation != generation()
    }

    /// The name is free again, although symmetric memory may keep the mapping.
    pub(crate) fn release_name(&self) {
        drop(self.host.lock().unwrap_or_else(|e| e.into_inner()).take());
    }

    /// Writes down a line of this rank, and says its number.
    pub(crate) fn write_site(&self, names: &Names, at: Place) -> Result<u32> {
        let mut sites = self.sites.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(site) = sites.get(&(at, names.kind)) {
            return Ok(*site);
        }
        // The last place is that of all lines for which there is none.
        let site = sites.len().min(SITES - 1);
        let at_last =
            if site == SITES - 1 { Place::of("a line beyond the first 65535", 0) } else { at };
        self.mapping.take(self.layout.site(self.rank, site), SITE)?;
        let text = names.text(at_last, SITE - 1);
        let to = self.mapping.at(self.layout.site(self.rank, site), SITE);
        // SAFETY: so many bytes are there, which only this rank writes; a peer that reads them at
        // this moment gets some bytes. The rest of the place is 0.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to, text.len()) };
        if site < SITES - 1 {
            sites.insert((at, names.kind), site as u32);
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

    /// Whether the team is over.
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        self.head().course.over().is_some()
    }

    /// The words of a place where a member may wait, if there is such a place.
    pub(crate) fn waiting(&self, place: u64) -> Option<&Waiting> {
        let (area, member) = (place as usize / MAX_RANKS, place as usize % MAX_RANKS);
        if area >= self.layout.areas || member >= self.layout.ranks {
            return None;
        }
        let at = self.layout.area(area) + self.layout.desk(member) + WAITING;
        // SAFETY: inside of the mapping, aligned; atomics.
        Some(unsafe { &*self.mapping.at(at, size_of::<Waiting>()).cast() })
    }

    /// Why the team is over, if it is.
    pub(crate) fn over(&self) -> Option<Error> {
        over(&self.mapping, &self.layout)
    }

    /// The team is over: unless it is already.
    pub(crate) fn end(&self, error: &Error) {
        let _ending = self.ending.lock().unwrap_or_else(|e| e.into_inner());
        if self.is_over() {
            return;
        }
        let seat = self.seat(self.rank);
        seat.set_cause(error.kind().number(), error.rank(), error.text());
        self.head().course.set_over(self.rank);
    }

    /// The ranks that are not there any more, of those at which it is the turn to look.
    pub(crate) fn ended(&self) -> Vec<usize> {
        let ranks = self.layout.ranks;
        let from = self.next.fetch_add(LOOKS, Ordering::Relaxed);
        let some = (0..ranks.min(LOOKS)).map(|i| from.wrapping_add(i) % ranks);
        some.filter(|rank| *rank != self.rank && !self.presence.is_there(*rank)).collect()
    }

    /// How the process of a rank that is not there has gone.
    pub(crate) fn end_of(&self, rank: usize) -> (ErrorKind, String) {
        end_of(&self.names[rank])
    }

    /// Whether the process of a rank is stopped: by a signal, or a debugger.
    pub(crate) fn is_stopped(&self, rank: usize) -> bool {
        self.names[rank].stat().is_some_and(|it| matches!(it.state, 'T' | 't'))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Team, op};
    use phalanx::machine::affinity;
    use std::time::{Duration, Instant};

    /// The mask of all ranks shrinks to one core, and grows again.
    #[test]
    fn a_crowd_comes_and_goes_with_the_cores() {
        let all = affinity::current_mask().unwrap();
        if all.len() < 2 {
            return eprintln!("skipped: one core");
        }
        let name = format!("crowd {}", std::process::id());
        let rank = |rank: usize| {
            let mut team = Team::join(&name, rank, 2).unwrap();
            assert!(!team.shared.is_crowded());
            // A seat says that its rank waits, as long as that is so.
            let since = Instant::now();
            while rank == 1 && team.shared.seat(0).wait().is_none() {
                assert!(since.elapsed() < Duration::from_secs(60), "rank 0 does not wait");
                std::thread::yield_now();
            }
            team.barrier().unwrap();
            assert!(rank == 1 || team.shared.seat(0).wait().is_none());
            for is_crowded in [true, false, true, false] {
                let mask = if is_crowded { &all[..1] } else { &all };
                affinity::restore(mask).unwrap();
                let since = Instant::now();
                let mut agree = [0];
                while agree[0] == 0 {
                    assert!(since.elapsed() < Duration::from_secs(60), "{is_crowded}");
                    (0..100).for_each(|_| team.barrier().unwrap());
                    agree = [u32::from(team.shared.is_crowded() == is_crowded)];
                    team.all_reduce(&mut agree, op::Min).unwrap();
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| rank(1));
            scope.spawn(|| rank(0));
        });
    }
}
