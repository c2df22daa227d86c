//! Attaching to a team: by name, or by the descriptor of its memory.

use crate::error::{Error, ErrorKind};
use crate::head::{self, Segment, VERSION};
use crate::layout::{MAX_RANKS, SEAT};
use crate::rendezvous::{self, Host};
use crate::seat::Name;
use crate::shared::{Shared, has_concluded, seat, watch};
use crate::team::Team;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

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
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            timeout: Some(Duration::from_secs(30 * 60)),
            attach_timeout: Duration::from_secs(60),
            memory: 256 << 20,
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

    /// How long all ranks may take to attach: a minute, if nothing is said.
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

    /// Joins the team of a name as rank `rank` of `ranks`, when all of them have come.
    ///
    /// Rank 0 makes the memory and holds the name while it lives. The name is one of the machine
    /// (strictly: of its network namespace), and ends with the process of rank 0.
    ///
    /// # Errors
    /// - [`Refused`](ErrorKind::Refused): there is a team of this name, or a process that has this
    ///   rank; another number of ranks, version or user.
    /// - [`Deadline`](ErrorKind::Deadline): not all have come. [`Died`](ErrorKind::Died): one has
    ///   died meanwhile.
    pub fn join(self, name: &str, rank: usize, ranks: usize) -> Result<Team, Error> {
        check(rank, ranks)?;
        let deadline = Instant::now() + self.attach_timeout;
        if rank > 0 {
            let segment = rendezvous::ask(name, (rank, ranks), VERSION, deadline)?;
            return self.enter(segment, (rank, ranks), None, deadline);
        }
        let host = Host::new(name, ranks)?;
        let segment = Segment::create(ranks, self.memory)?;
        self.enter(segment, (rank, ranks), Some(host), deadline)
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
    pub fn attach(self, segment: Segment, rank: usize, ranks: usize) -> Result<Team, Error> {
        check(rank, ranks)?;
        let deadline = Instant::now() + self.attach_timeout;
        self.enter(segment, (rank, ranks), None, deadline)
    }

    fn enter(
        self,
        segment: Segment,
        (rank, ranks): (usize, usize),
        host: Option<Host>,
        deadline: Instant,
    ) -> Result<Team, Error> {
        let copy = segment.file().try_clone_to_owned();
        let file = copy.map_err(|e| Error::system("dup", &e))?;
        let (mapping, layout) = head::map(segment, ranks)?;
        mapping.take(layout.seat(rank), SEAT)?;
        let own = seat(&mapping, &layout, rank);
        if !own.take() {
            let name = own.name().map_or(0, |name| name.pid);
            let text = format!("rank {rank} of the team is process {name} already");
            return Err(Error::of(ErrorKind::Refused, rank, text));
        }
        let pid = |rank: usize| {
            let is_rank = rank < ranks;
            is_rank.then(|| seat(&mapping, &layout, rank).name()).flatten().map(|name| name.pid)
        };
        let look = |rank: usize, name: &Name| match watch(rank, name) {
            // A short program may be through before this rank looks.
            Err(error) if error.kind() == ErrorKind::Died => {
                if has_concluded(&mapping, &layout, rank) { Ok(None) } else { Err(error) }
            }
            outcome => outcome,
        };
        let mut watches: Vec<Option<OwnedFd>> = (0..ranks).map(|_| None).collect();
        let mut names: Vec<Option<Name>> = vec![None; ranks];
        let mut pause = Duration::from_micros(50);
        loop {
            for rank in 0..ranks {
                if names[rank].is_none()
                    && let Some(name) = seat(&mapping, &layout, rank).name()
                {
                    watches[rank] = look(rank, &name)?;
                    names[rank] = Some(name);
                    pause = Duration::from_micros(50);
                }
            }
            let missing: Vec<usize> = (0..ranks).filter(|rank| names[*rank].is_none()).collect();
            if missing.is_empty() {
                break;
            }
            if Instant::now() >= deadline {
                let text = format!(
                    "rank {rank} has waited {} s for all ranks to attach: {} missing",
                    self.attach_timeout.as_secs_f32(),
                    list(&missing)
                );
                return Err(Error::of(ErrorKind::Deadline, missing[0], text));
            }
            match &host {
                Some(host) => host.serve(file.as_fd(), pause, &pid),
                None => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(Duration::from_millis(5));
            if pause.as_millis() >= 2 {
                for (rank, name) in names.iter().enumerate() {
                    name.as_ref().map_or(Ok(None), |name| look(rank, name))?;
                }
            }
        }
        if let Some(host) = &host {
            host.shut();
        }
        let names = names.into_iter().flatten().collect();
        let shared = Shared::new((mapping, layout), rank, (names, watches), host, self.timeout);
        Team::of_all(shared)
    }
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
    pub fn join(name: &str, rank: usize, ranks: usize) -> Result<Team, Error> {
        Team::builder().join(name, rank, ranks)
    }
}

/// `ranks 1, 2 are`.
fn list(ranks: &[usize]) -> String {
    let all: Vec<String> = ranks.iter().map(usize::to_string).collect();
    match all.as_slice() {
        [one] => format!("rank {one} is"),
        all => format!("ranks {} are", all.join(", ")),
    }
}

fn check(rank: usize, ranks: usize) -> Result<(), Error> {
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
        let deadline = Instant::now() + Duration::from_secs(30);
        std::thread::scope(|scope| {
            let host = scope.spawn(|| Team::join(&name, 0, 2)?.barrier());
            let other = rendezvous::ask(&name, (1, 2), "phalanx-processes 9.9", deadline);
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
