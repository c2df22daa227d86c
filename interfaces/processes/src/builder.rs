//! Attaching to a team: by name, or by the descriptor of its memory.

use crate::entry::Entry;
use crate::error::{Error, ErrorKind, Result};
use crate::head::{self, Segment, VERSION};
use crate::layout::{Layout, MAX_RANKS, SEAT};
use crate::mapping::Mapping;
use crate::patience::Patience;
use crate::presence::Presence;
use crate::rendezvous::{self, Host};
use crate::seat::Name;
use crate::shared::{Shared, seat, spoilt};
use crate::team::Team;
use std::time::Duration;

/// The longest pause between two looks at who is there.
const LONG: Duration = Duration::from_millis(5);

/// How a process attaches to a team: [`Team::builder`].
///
/// # Examples
/// ```
/// use phalanx_processes::Team;
/// use std::time::Duration;
/// let builder = Team::builder().timeout(Some(Duration::from_secs(10)));
/// let mut team = builder.join("a job of one", 0, 1)?;
/// team.barrier()?;
/// # Ok::<(), phalanx_processes::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    timeout: Option<Duration>,
    attach_timeout: Duration,
    memory: usize,
    interrupt: Option<fn() -> bool>,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            timeout: Some(Duration::from_secs(30 * 60)),
            attach_timeout: Duration::from_secs(60),
            memory: 256 << 20,
            interrupt: None,
        }
    }
}

impl Builder {
    /// How long a call waits for another rank: 30 minutes, if nothing is said; none: for ever. (A
    /// process that has died is noticed at once.) All ranks should say the same.
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long all ranks may take to attach: a minute, if nothing is said. When it is over, the
    /// ranks that are there hear of it, and all may try again.
    pub fn attach_timeout(mut self, timeout: Duration) -> Self {
        self.attach_timeout = timeout;
        self
    }

    /// Bytes of each rank for [`Team::symmetric`]: 256 MiB, if nothing is said. Only rank 0's word
    /// counts. It is address space, until it is used.
    pub fn memory(mut self, bytes_a_rank: usize) -> Self {
        self.memory = bytes_a_rank;
        self
    }

    /// Every wait asks `check` at least every 100 ms, also while this process attaches, and ends as
    /// [`Interrupted`](ErrorKind::Interrupted) when it says true: for interpreters, which handle
    /// signals there.
    pub fn interrupt(mut self, check: fn() -> bool) -> Self {
        self.interrupt = Some(check);
        self
    }

    /// Joins the team of a name as rank `rank` of `ranks`, when all of them have come.
    ///
    /// Rank 0 makes the memory and holds the name while it has the team. The name is one of the
    /// machine (strictly: of its network namespace), and ends with the process of rank 0.
    ///
    /// # Errors
    /// - [`Refused`](ErrorKind::Refused): there is a team of this name, or a process that has this
    ///   rank; another number of ranks, version or user.
    /// - [`Deadline`](ErrorKind::Deadline): not all have come in this rank's time, or in another's.
    ///   [`Died`](ErrorKind::Died), [`Left`](ErrorKind::Left): one has gone meanwhile.
    /// - [`System`](ErrorKind::System), [`Memory`](ErrorKind::Memory): what the system refuses.
    pub fn join(self, name: &str, rank: usize, ranks: usize) -> Result<Team> {
        check(rank, ranks)?;
        let mut patience = Patience::new(Some(self.attach_timeout)).with(self.interrupt);
        loop {
            let mut host = None;
            let segment = if rank > 0 {
                rendezvous::ask(name, (rank, ranks), VERSION, &mut patience)
            } else {
                host = Some(Host::new(name, ranks, &mut patience)?);
                Segment::create(ranks, self.memory)
            };
            let place = segment.and_then(|segment| place(segment, rank, ranks));
            let entered = place.and_then(|place| {
                self.enter(place, (rank, ranks), (true, &mut host), &mut patience)
            });
            let give_up = |e: &_| rendezvous::give_up(name, (rank, ranks), host.as_mut(), e);
            if let Some(team) = entered.inspect_err(give_up)? {
                return Ok(team);
            }
        }
    }

    /// Attaches to memory whose descriptor this process was handed: it has inherited it, or got it
    /// by a socket of its own, or opens `/proc/PID/fd/N`.
    ///
    /// # Examples
    /// ```
    /// use phalanx_processes::{Segment, Team, op};
    /// let segment = Segment::create(1, 0)?;
    /// let copy = segment.inheritable()?; // in another process: a number in an argument
    /// let mut team = Team::builder().attach(Segment::from_fd(copy), 0, 1)?;
    /// let mut x = [1.5_f32];
    /// team.all_reduce(&mut x, op::Sum)?;
    /// assert_eq!(x, [1.5]);
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`join`](Builder::join); and [`Refused`](ErrorKind::Refused): the file is no team's
    /// memory.
    pub fn attach(self, segment: Segment, rank: usize, ranks: usize) -> Result<Team> {
        check(rank, ranks)?;
        let mut patience = Patience::new(Some(self.attach_timeout)).with(self.interrupt);
        let place = place(segment, rank, ranks)?;
        let entered = self.enter(place, (rank, ranks), (false, &mut None), &mut patience)?;
        entered.ok_or_else(|| Error::new(ErrorKind::System, "the team is not by name"))
    }

    /// None if the team of this name has ended before this rank came.
    fn enter(
        &self,
        (mapping, layout, presence): (Mapping, Layout, Presence),
        (rank, ranks): (usize, usize),
        (by_name, host): (bool, &mut Option<Host>),
        patience: &mut Patience,
    ) -> Result<Option<Team>> {
        let mut entry = Entry::new(&mapping, &layout, &presence, rank);
        if !entry.arrive(by_name, patience)? {
            return Ok(None);
        }
        let mut pause = Duration::from_micros(50);
        while !entry.is_complete() {
            let outcome = if let Some(error) = entry.trouble(pause >= LONG) {
                Err(error)
            } else if let Err(error) = patience.heed(rank) {
                Err(error)
            } else if patience.is_over() {
                let missing: Vec<usize> =
                    (0..ranks).filter(|rank| !entry.is_there(*rank)).collect();
                let text = format!(
                    "rank {rank} has waited {} for all ranks to attach: {} missing",
                    patience.told(),
                    list(&missing)
                );
                Err(Error::of(ErrorKind::Deadline, *missing.first().unwrap_or(&rank), text))
            } else if let Some(host) = host {
                host.serve(Some(mapping.file()), pause, &|rank| entry.reply(rank))
            } else {
                std::thread::sleep(pause);
                Ok(())
            };
            pause = (pause * 2).min(LONG);
            if let Err(error) = outcome
                && let Some(error) = entry.give_up(error)
            {
                return Err(error);
            }
        }
        if let Some(host) = host {
            host.shut();
        }
        let names = (0..ranks).map(|rank| seat(&mapping, &layout, rank).name());
        let names = names.collect::<Option<Vec<Name>>>().ok_or_else(spoilt)?;
        let waits = (self.timeout, self.interrupt);
        let shared = Shared::new((mapping, layout), rank, (names, presence), host.take(), waits);
        Team::of_all(shared).map(Some)
    }
}

/// The memory of a team as a rank uses it, and the rank's presence there.
fn place(segment: Segment, rank: usize, ranks: usize) -> Result<(Mapping, Layout, Presence)> {
    let (mapping, layout) = head::map(segment, ranks)?;
    mapping.take(layout.seat(rank), SEAT)?;
    let presence = Presence::new(mapping.file())?;
    Ok((mapping, layout, presence))
}

impl Team {
    /// How to attach to a team.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Joins the team of a name: [`Builder::join`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Examples
    /// See [`Team`].
    pub fn join(name: &str, rank: usize, ranks: usize) -> Result<Team> {
        Team::builder().join(name, rank, ranks)
    }
}

/// `ranks 1, 2 are`.
fn list(ranks: &[usize]) -> String {
    let all: Vec<String> = ranks.iter().map(usize::to_string).collect();
    match all.as_slice() {
        [] => "nobody is".to_string(),
        [one] => format!("rank {one} is"),
        all => format!("ranks {} are", all.join(", ")),
    }
}

fn check(rank: usize, ranks: usize) -> Result<()> {
    let wrong = |text: String| Err(Error::new(ErrorKind::Argument, text));
    match (rank, ranks) {
        (_, 0) => wrong("a team has one rank at least".to_string()),
        (_, ranks) if ranks > MAX_RANKS => {
            wrong(format!("{ranks} ranks: a team of processes has {MAX_RANKS} at most"))
        }
        (rank, ranks) if rank >= ranks => {
            let s = if ranks == 1 { "" } else { "s" };
            wrong(format!("rank {rank} is none of a team of {ranks} rank{s}: ranks count from 0"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is told both versions, and does no harm to the others.
    #[test]
    fn a_process_of_another_version_is_refused() {
        let name = format!("phalanx/test version {}", std::process::id());
        let mut patience = Patience::new(Some(Duration::from_secs(30)));
        std::thread::scope(|scope| {
            let host = scope.spawn(|| Team::join(&name, 0, 2)?.barrier());
            let other = rendezvous::ask(&name, (1, 2), "phalanx-processes 9.9", &mut patience);
            let error = other.map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Refused);
            let text = error.to_string();
            assert!(text.contains(&format!("is of `{VERSION}`")), "{text}");
            assert!(text.contains("this process of `phalanx-processes 9.9`"), "{text}");
            let second = Team::join(&name, 1, 2).and_then(|mut team| team.barrier());
            assert_eq!((host.join().unwrap(), second), (Ok(()), Ok(())));
        });
    }
}
