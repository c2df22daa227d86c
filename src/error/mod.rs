//! Errors, with the ranks and the source lines.

mod quit;
mod rank_report;
mod returned_error;
mod source_line;
mod try_error;

pub use rank_report::{Activity, RankReport};
pub use returned_error::ReturnedError;
pub(crate) use source_line::At;
pub use source_line::{ForeignCall, SourceLine};
pub use try_error::TryError;

pub(crate) use quit::{Quit, thrown};

use crate::machine::limits;
use std::any::Any;
use std::fmt;
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

/// A call as it appears in an error: the operation, its arguments, and the line.
///
/// # Examples
/// ```
/// let err = phalanx::run(2, |comm| {
///     let mut x = vec![0.0; 2 + comm.rank()];
///     comm.broadcast(&mut x, 0);
/// })
/// .unwrap_err();
/// let phalanx::Error::Mismatch { here, .. } = &err else { panic!("{err}") };
/// assert!(here.call.starts_with("broadcast of"));
/// assert!(here.at.file().ends_with(".rs"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The call in words, such as `all_reduce of 8 f64 with sum`. Where a rank waits for a message,
    /// the tagged ones that lie there follow: of other sources, or with other tags.
    pub call: String,
    /// Where the user's program made it.
    pub at: SourceLine,
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, unread) = self.call.split_at(self.call.find(UNREAD).unwrap_or(self.call.len()));
        write!(f, "{call} at {}{unread}", self.at)
    }
}

/// The words before the messages in a [`CallSite::call`].
pub(crate) const UNREAD: &str = " (a message of rank ";

/// One rank of a circle of waiting ranks. A circle may go through several teams, where a
/// thread is a rank of each: `site` then says which waits are in another team than that whose
/// error this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The rank that waits.
    pub rank: usize,
    /// For whom.
    pub peer: usize,
    /// In which call.
    pub site: Option<CallSite>,
}

/// Why a team could not be built, or a run did not succeed.
///
/// # Examples
/// ```
/// let err = phalanx::run(0, |_| ()).unwrap_err();
/// assert_eq!(err.to_string(), "0 ranks asked for; a team has 1 to 1024");
/// ```
#[non_exhaustive]
pub enum Error {
    /// A team of this many ranks is not possible.
    Ranks {
        /// How many were asked for.
        asked: usize,
        /// How many are possible.
        limit: usize,
    },
    /// The ranks could not be placed on cores.
    Placement(crate::placement::PlacementError),
    /// The machine could not be read.
    Machine(crate::machine::MachineError),
    /// A model of the levels for another number of ranks.
    Model {
        /// The ranks of the model.
        model: usize,
        /// The ranks of the team.
        ranks: usize,
    },
    /// A profile cannot be used: the file that `PHALANX_PROFILE` names, or one
    /// that was handed in.
    Profile(crate::tuning::ProfileError),
    /// The file that runs are to be recorded in
    /// ([`Builder::record`](crate::Builder::record), `PHALANX_RECORD`) cannot be opened.
    Record {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        what: String,
    },
    /// A variable of the environment has a value that cannot be used.
    Variable {
        /// The variable.
        name: &'static str,
        /// The fault, and the values that are accepted.
        what: String,
    },
    /// The system has refused the memory that a communicator of so many ranks needs, or an array
    /// for them ([`Team::distributed`](crate::Team::distributed)).
    Memory {
        /// The ranks of the team, or of the part of it.
        ranks: usize,
        /// So many bytes were asked for when it refused.
        bytes: usize,
        /// The part that takes it, and the system's limits at that moment.
        limits: String,
    },
    /// A worker thread could not be started.
    Spawn(std::io::Error),
    /// The team is running a closure already: another thread called `run`, or
    /// a rank called it from inside.
    Busy,
    /// The data to share out do not fit the number of ranks.
    Parts {
        /// The fault, and the line of the call.
        what: String,
    },
    /// A rank called a collective with arguments that cannot be right.
    Argument {
        /// The rank.
        rank: usize,
        /// The call.
        site: CallSite,
        /// The fault, and the values that are accepted.
        what: String,
    },
    /// Two ranks disagree about the call that they make together.
    Mismatch {
        /// The rank that noticed.
        rank: usize,
        /// The call that it made, and so expected of its peer.
        here: CallSite,
        /// The peer.
        peer: usize,
        /// The peer's call, where that is still known.
        there: Option<CallSite>,
        /// The fact that differs: expected and got.
        what: String,
    },
    /// A rank panicked.
    Panicked {
        /// The rank.
        rank: usize,
        /// The panic's message.
        message: String,
        /// The panic's payload; see [`Error::into_panic`].
        payload: Payload,
    },
    /// A rank returned while another waited for it.
    Left {
        /// The rank that waited.
        rank: usize,
        /// The call in which it waited.
        site: Option<CallSite>,
        /// The rank that had returned.
        peer: usize,
        /// The last call that it made in this run.
        last: Option<CallSite>,
        /// The error that its closure returned, if it was one.
        returned: Option<Box<ReturnedError>>,
    },
    /// Some ranks wait for each other in a circle.
    Deadlock {
        /// The circle.
        circle: Vec<Waiting>,
    },
    /// A rank has waited for another for as long as the team's deadline
    /// ([`Builder::deadline`](crate::Builder::deadline)) allows.
    ///
    /// The text has a line for each rank, with its latest calls; a call that
    /// was made several times in a row is shown once:
    /// ```text
    /// rank 0 has waited 2s for rank 1, the team's deadline
    ///   rank 0 waits for rank 1; latest calls: barrier at a.rs:9:14, before: .. at a.rs:7:14 (x6);
    ///     7 calls in this run
    ///   rank 1 is in its own code; latest calls: all_reduce of 8 f64 with sum at a.rs:7:14 (x6);
    ///     6 calls in this run
    /// ```
    /// (Here the lines are broken.) Where the run is recorded, it also says how often each rank has
    /// waited, and how long.
    Deadline {
        /// The rank that waited.
        rank: usize,
        /// The rank that it waited for; itself, if it was preparing a call's plan, or waited for a
        /// message from any rank.
        peer: usize,
        /// The deadline.
        limit: Duration,
        /// Every rank at that moment.
        ranks: Vec<RankReport>,
    },
    /// A message was sent, and the run ended before anybody received it.
    Unreceived {
        /// The sender.
        rank: usize,
        /// The rank that did not receive it.
        peer: usize,
        /// How many messages it was.
        messages: usize,
        /// The sender's last call that can have sent one.
        site: Option<CallSite>,
        /// The last call in this run of the rank that did not receive it.
        last: Option<CallSite>,
        /// The error that the peer's closure returned, if it was one.
        returned: Option<Box<ReturnedError>>,
    },
    /// An event outside of the process, which a layer above the library waits for, or is told of,
    /// has ended the run (as of the package `phalanx-nodes`: nodes are in different calls, the
    /// network has failed, or a deadline has passed).
    Outside {
        /// The rank that noticed.
        rank: usize,
        /// The call.
        site: Option<CallSite>,
        /// The fault.
        what: String,
    },
    /// The run was ended on purpose: by [`Comm::cancel`](crate::Comm::cancel), or through a
    /// [`Canceller`](crate::Canceller).
    Cancelled {
        /// The rank that called `cancel`; none if it was a `Canceller`.
        rank: Option<usize>,
    },
    /// The closure of a rank returned an error
    /// ([`Team::try_run`](crate::Team::try_run), which gives that error itself as
    /// [`TryError::Rank`]).
    Returned {
        /// The rank.
        rank: usize,
    },
    /// A communicator was used outside the run, or off the thread, that it
    /// belongs to.
    Stale {
        /// The fault.
        what: &'static str,
    },
    /// The process is a child of `fork`, and the team or the communicator is its parent's: the
    /// ranks' threads are not in the child. A team of its own works.
    Forked,
    /// The team has failed before and its communicators are dead.
    Dead,
}

impl Error {
    /// Of data that do not fit, in a call that the caller's caller made.
    #[cold]
    #[track_caller]
    pub(crate) fn parts(what: fmt::Arguments<'_>) -> Self {
        Error::Parts { what: format!("{what}, at {}", std::panic::Location::caller()) }
    }

    /// The payload of the panic that ended the run, if it was one.
    ///
    /// # Examples
    /// ```
    /// let err = phalanx::run(2, |comm| {
    ///     if comm.rank() == 1 {
    ///         std::panic::resume_unwind(Box::new(42));
    ///     }
    ///     comm.barrier();
    /// })
    /// .unwrap_err();
    /// let payload = err.into_panic().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&42));
    /// ```
    pub fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        match self {
            Error::Panicked { payload, .. } => payload.0.into_inner().ok().flatten(),
            _ => None,
        }
    }

    pub(crate) fn refused(ranks: usize, bytes: usize) -> Self {
        let limits = limits::in_words();
        let limits = format!("each pair of ranks takes 1152 bytes of address space; {limits}");
        Error::Memory { ranks, bytes, limits }
    }

    pub(crate) fn deadline(
        rank: usize,
        peer: usize,
        limit: Duration,
        ranks: Vec<RankReport>,
    ) -> Self {
        Error::Deadline { rank, peer, limit, ranks }
    }

    /// With the value that the closure of a rank has returned that the others have missed;
    /// `returned` knows it of those that have returned.
    pub(crate) fn with_returned(mut self, returned: impl Fn(usize) -> Option<String>) -> Self {
        let of = |rank| returned(rank).map(|what| ReturnedError { rank, what });
        match &mut self {
            Error::Left { peer, returned: it, .. }
            | Error::Unreceived { peer, returned: it, .. } => *it = of(*peer).map(Box::new),
            Error::Mismatch { rank, peer, what, .. } => {
                what.extend([*rank, *peer].into_iter().filter_map(of).map(|it| format!("; {it}")));
            }
            _ => {}
        }
        self
    }

    pub(crate) fn panicked(rank: usize, payload: Box<dyn Any + Send>) -> Self {
        let message = message_of(&*payload);
        Error::Panicked { rank, message, payload: Payload(Mutex::new(Some(payload))) }
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    if let Some(s) = payload.downcast_ref::<&str>() {
        (*s).to_string()
    } else if let Some(s) = payload.downcast_ref::<String>() {
        s.clone()
    } else {
        "(the payload is no text)".to_string()
    }
}

/// Says the text on the standard error at once; nothing can be done where that is
/// closed.
pub(crate) fn say(what: &str) {
    // Not `fork::inside`: the standard error has a lock, and a thread that has it may fork.
    let _: Result<_, _> = writeln!(std::io::stderr(), "phalanx: {what}");
}

/// A panic's payload, kept for whoever wants to resume it.
pub struct Payload(Mutex<Option<Box<dyn Any + Send>>>);

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Payload")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Ranks { asked, limit } => {
                write!(f, "{asked} ranks asked for; a team has 1 to {limit}")
            }
            Error::Placement(e) => write!(f, "ranks cannot be placed: {e}"),
            Error::Machine(e) => write!(f, "the machine cannot be read: {e}"),
            Error::Model { model, ranks } => {
                write!(f, "the model of the levels is for {model} ranks, the team has {ranks}")
            }
            Error::Profile(e) => e.fmt(f),
            Error::Record { path, what } => {
                write!(f, "runs cannot be recorded in '{}': {what}", path.display())
            }
            Error::Variable { name, what } => write!(f, "{name}: {what}"),
            Error::Memory { ranks, bytes, limits } => {
                write!(f, "{bytes} bytes of memory for {ranks} ranks were refused; {limits}")
            }
            Error::Spawn(e) => write!(f, "a worker thread cannot be started: {e}"),
            Error::Busy => f.write_str(
                "the team is running already (a team runs one closure at a time, \
                 and a rank cannot start a run of its own team)",
            ),
            Error::Parts { what } => f.write_str(what),
            Error::Argument { rank, site, what } => write!(f, "rank {rank}, {site}: {what}"),
            Error::Mismatch { rank, here, peer, there, what } => {
                write!(f, "ranks {rank} and {peer} disagree: rank {rank} called {here}; ")?;
                match there {
                    Some(there) => write!(f, "rank {peer} called {there}")?,
                    None => write!(f, "of rank {peer} no call is on record")?,
                }
                write!(f, " ({what})")
            }
            Error::Panicked { rank, message, .. } => write!(f, "rank {rank} panicked: {message}"),
            Error::Left { rank, site, peer, last, returned } => {
                write!(f, "rank {peer} returned while rank {rank} waited for it")?;
                if let Some(site) = site {
                    write!(f, " in {site}")?;
                }
                last_call(f, *peer, last)?;
                returned.iter().try_for_each(|it| write!(f, "; {it}"))
            }
            Error::Deadlock { circle } => {
                f.write_str("ranks wait for each other in a circle:")?;
                for (i, w) in circle.iter().enumerate() {
                    let sep = if i == 0 { "" } else { ";" };
                    write!(f, "{sep} rank {} waits for rank {}", w.rank, w.peer)?;
                    if let Some(site) = &w.site {
                        write!(f, " in {site}")?;
                    }
                }
                Ok(())
            }
            Error::Deadline { rank, peer, limit, ranks } => {
                let waits_for_any =
                    |it: &RankReport| it.rank == *rank && it.doing == Activity::WaitsForAny;
                match rank == peer {
                    true if ranks.iter().any(waits_for_any) => {
                        write!(f, "rank {rank} has waited {limit:?} for a message from any rank")?;
                    }
                    true => write!(f, "rank {rank} has prepared the plan of a call for {limit:?}")?,
                    false => write!(f, "rank {rank} has waited {limit:?} for rank {peer}")?,
                }
                f.write_str(", the team's deadline")?;
                ranks.iter().try_for_each(|standing| write!(f, "\n  {standing}"))
            }
            Error::Unreceived { rank, peer, messages, site, last, returned } => {
                write!(
                    f,
                    "rank {rank} sent {messages} message(s) to rank {peer} that were never received"
                )?;
                if let Some(site) = site {
                    write!(f, ", the last in {site}")?;
                }
                last_call(f, *peer, last)?;
                returned.iter().try_for_each(|it| write!(f, "; {it}"))
            }
            Error::Outside { rank, site: Some(site), what } => {
                write!(f, "rank {rank}, {site}: {what}")
            }
            Error::Outside { rank, site: None, what } => {
                write!(f, "rank {rank}: {what}")
            }
            Error::Cancelled { rank: Some(rank) } => write!(f, "rank {rank} cancelled the run"),
            Error::Cancelled { rank: None } => {
                f.write_str("the run was cancelled from outside, by a Canceller of its team")
            }
            Error::Returned { rank } => write!(f, "rank {rank} returned an error"),
            Error::Stale { what } => write!(f, "communicator refused: {what}"),
            Error::Forked => f.write_str(
                "the team was made by the process that this one was forked from: the threads of \
                 its ranks are not here (a child of fork makes a team of its own)",
            ),
            Error::Dead => f.write_str("the communicator's team has failed before"),
        }
    }
}

fn last_call(f: &mut fmt::Formatter<'_>, rank: usize, last: &Option<CallSite>) -> fmt::Result {
    match last {
        Some(last) => write!(f, "; the last call of rank {rank} was {last}"),
        None => write!(f, "; rank {rank} had made no call"),
    }
}

crate::error_type!(debug Error:
    Self::Ranks { asked, limit }, Self::Placement(it), Self::Machine(it),
    Self::Model { model, ranks }, Self::Profile(it), Self::Record { path, what },
    Self::Variable { name, what }, Self::Memory { ranks, bytes, limits }, Self::Spawn(it),
    Self::Busy, Self::Parts { what }, Self::Argument { rank, site, what },
    Self::Mismatch { rank, here, peer, there, what }, Self::Panicked { rank, message, payload },
    Self::Left { rank, site, peer, last, returned }, Self::Deadlock { circle },
    Self::Deadline { rank, peer, limit, ranks },
    Self::Unreceived { rank, peer, messages, site, last, returned },
    Self::Outside { rank, site, what }, Self::Cancelled { rank }, Self::Returned { rank },
    Self::Stale { what }, Self::Forked, Self::Dead,
);

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Placement(e) => Some(e),
            Error::Machine(e) => Some(e),
            Error::Profile(e) => Some(e),
            Error::Spawn(e) => Some(e),
            _ => None,
        }
    }
}
