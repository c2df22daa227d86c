//! The options of a new team.

use super::handle::Team;
use crate::Comm;
use crate::error::Error;
use crate::placement::Placement;
use crate::tuning::{LevelModel, Profile, Tuning};
use crate::wait::Wait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a team; made by [`Team::builder`].
///
/// # Examples
/// ```
/// use phalanx::{Team, Wait, placement::Placement};
/// let team = Team::builder()
///     .ranks(2)
///     .placement(Placement::Compact)
///     .wait(Wait::Auto)
///     .build()?;
/// assert_eq!(team.size(), 2);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing before `build`"]
pub struct Builder {
    pub(super) ranks: Option<usize>,
    pub(super) placement: Placement,
    pub(super) wait: Wait,
    pub(super) deadline: Option<Duration>,
    pub(super) stall_warning: Option<Duration>,
    pub(super) record: Option<PathBuf>,
    pub(super) record_events: Option<usize>,
    pub(super) pin_caller: Option<bool>,
    pub(super) stack_size: Option<usize>,
    pub(super) profile: Option<Profile>,
    pub(super) tuning: Option<Tuning>,
    pub(super) model: Option<Arc<LevelModel>>,
    /// For tests of what is done on machines with several NUMA nodes.
    pub(super) always_apart: bool,
    /// For tests of counters that wrap.
    pub(crate) start: u32,
}

impl Builder {
    pub(super) fn new() -> Self {
        Builder {
            ranks: None,
            placement: Placement::default(),
            wait: Wait::Auto,
            deadline: None,
            stall_warning: None,
            record: None,
            record_events: None,
            pin_caller: None,
            stack_size: None,
            profile: None,
            tuning: None,
            model: None,
            always_apart: false,
            start: 0,
        }
    }

    /// The number of ranks: 1 to [`MAX_RANKS`](crate::MAX_RANKS). Default: one per physical core
    /// that this process may use, at most so many, and no more than can run all the time within the
    /// [quota](crate::machine::CpuQuota) of its control groups (a container's `--cpus`). More may
    /// be asked for: ranks that are stopped for a while [sleep soon](crate::guide::waiting).
    ///
    /// ```
    /// assert_eq!(phalanx::Team::builder().ranks(3).build()?.size(), 3);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = Some(ranks);
        self
    }

    /// Which rank runs on which core. Default: [`Placement::Auto`], within the
    /// affinity mask that the calling thread has, one rank per physical core
    /// before SMT siblings are used.
    ///
    /// Teams of one process that live at the same time take different cores, as long as there are
    /// free ones, then those with the fewest ranks; within them each is placed as asked for. Only
    /// [`Placement::List`] is followed whatever the others have.
    ///
    /// Ranks are only ever placed on [`Machine::this`](crate::machine::Machine::this),
    /// as it is when the team is built. Machines from files and synthetic strings are
    /// for [`assign`](crate::placement::assign) and its reports: nothing is bound for them.
    ///
    /// ```
    /// use phalanx::placement::Placement;
    /// let team = phalanx::Team::builder().ranks(2).placement(Placement::Unpinned).build()?;
    /// assert!(team.bindings().iter().all(|b| b.pu.is_none()));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// How ranks wait for each other. Default: [`Wait::Auto`].
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(4).wait(phalanx::Wait::Yield).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// The longest that a rank may wait for another in one call. Default: for
    /// ever, as errors, early returns and circles of waiting ranks are noticed
    /// without a clock; what is not noticed is a rank that is stuck in its own
    /// code. (That is said after a while: [`stall_warning`](Builder::stall_warning).)
    ///
    /// Each wait has a clock of its own, so the deadline must be longer than
    /// anything that a rank computes between two calls, or inside a view or an
    /// operator. It may be overrun by 10 ms (the longest nap of a parked rank). Of
    /// a stop of the process (SIGSTOP, a sleeping machine) one second counts.
    ///
    /// A wait that lasts longer ends the run with [`Error::Deadline`], which
    /// says who waits where for whom, with the last calls of every rank: each rank leaves
    /// its call, or the next one that it makes. The same text goes to the standard error at once,
    /// because [`Team::run`] returns only when all ranks have left their closures.
    ///
    /// **What a deadline cannot end** is a rank's own code: one that loops or sleeps for ever, or
    /// waits for a lock, a channel or a file, keeps `run` from returning until it makes a call or
    /// returns, as nothing stops a thread from outside. The text on the standard error names these
    /// ranks. (A lock that a rank holds across a call is given back when the deadline ends that
    /// call, unless a peer may still read the rank's memory: then `run` waits for the peer.) Who
    /// must go on after such a hang ends the process, or runs the team in one of its own.
    ///
    /// **Cost** none in calls whose waits are short: the clock is looked at only
    /// by a rank that has waited for some microseconds.
    ///
    /// ```
    /// use phalanx::{Activity, Error, Team};
    /// use std::time::Duration;
    ///
    /// let team = Team::builder().ranks(2).deadline(Duration::from_millis(100)).build()?;
    /// let error = team.run(|comm| {
    ///     if comm.rank() == 1 {
    ///         std::thread::sleep(Duration::from_millis(500)); // too long
    ///     }
    ///     comm.barrier();
    /// });
    /// let Err(Error::Deadline { rank: 0, peer: 1, ranks, .. }) = error else { panic!() };
    /// assert_eq!(ranks[0].doing, Activity::WaitsFor(1));
    /// assert_eq!(ranks[1].doing, Activity::Computes);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn deadline(mut self, longest: Duration) -> Self {
        self.deadline = Some(longest);
        self
    }

    /// After how long a rank that waits for another in one call says so on the standard error,
    /// and goes on waiting: which ranks wait for which, with the lines of their latest calls. Also
    /// after how long the caller of `run` says that a rank's closure has not ended. Once in a
    /// run, by the rank that comes first; threads of the user's own
    /// ([`external`](Builder::external)) have one run. Zero: never.
    ///
    /// Default: the seconds in the variable `PHALANX_STALL_WARNING` (`0.5`; `0`: never), else
    /// 30 s, or never where a [`deadline`](Builder::deadline) is set. Servers whose ranks wait for
    /// work inside a run turn it off. Workers between two runs never say it, nor does anybody if
    /// no rank is in a call.
    ///
    /// **Cost** none in calls whose waits are short, as for a deadline; no thread is started.
    ///
    /// ```
    /// use std::time::Duration;
    /// let builder = phalanx::Team::builder().ranks(2).stall_warning(Duration::from_millis(20));
    /// builder.build()?.run(|comm| {
    ///     if comm.rank() == 1 {
    ///         std::thread::sleep(Duration::from_millis(100));
    ///     }
    ///     comm.barrier(); // rank 0 says that it waits for rank 1, which is in its own code
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn stall_warning(mut self, after: Duration) -> Self {
        self.stall_warning = Some(after);
        self
    }

    /// Records every run of the team: what each rank called, when, from which line, and when it
    /// waited for whom. What was recorded is appended to the file when the run ends, well or not;
    /// `phalanx waits FILE` reads it. Default: the file that the variable `PHALANX_RECORD` names,
    /// else none.
    ///
    /// Each rank keeps its latest [`record_events`](Builder::record_events) events of a run in
    /// memory of its own (64 bytes each). Threads of the user's own
    /// ([`external`](Builder::external)) have one run, which is written when the last communicator
    /// is dropped. If the file cannot be written at the end, the standard error says so.
    ///
    /// **Cost** none where nothing is recorded. Else 11 to 13 ns a collective call, more a message
    /// or a wait; and at the end of each run the time of writing the file.
    ///
    /// ```
    /// let file = std::env::temp_dir().join(format!("record-{}.phx", std::process::id()));
    /// let team = phalanx::Team::builder().ranks(2).record(&file).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// assert!(std::fs::read(&file)?.starts_with(b"PHLXWAIT"));
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(mut self, file: impl Into<PathBuf>) -> Self {
        self.record = Some(file.into());
        self
    }

    /// How many events are kept of each rank, at least 1 and at most 2^24, where runs are
    /// [recorded](Builder::record). The oldest are lost, and counted. A rank has room for the next
    /// power of two. Default: the number in the variable `PHALANX_RECORD_EVENTS`, else 65 536
    /// (4 MiB a rank).
    ///
    /// ```
    /// let builder = phalanx::Team::builder().record_events(1 << 20);
    /// ```
    pub fn record_events(mut self, events: usize) -> Self {
        self.record_events = Some(events);
        self
    }

    /// Whether the thread that calls `run`, which takes part as rank 0, is bound to rank 0's core
    /// for good, or never. (The other ranks' threads are the team's own, and always bound, but for
    /// [ranks that roam](crate::Binding).)
    ///
    /// - **Not called**: it is bound in the first run that it makes of this team. After each run it
    ///   has the affinity mask that it had before. In later runs it stays on its core, as a rule,
    ///   but the system may move it; from a worker's core it comes back when it has waited there
    ///   for 7 to 40 us. On a machine with several memories it is kept in that of its core while it
    ///   writes to new memory of the library's (distributed arrays, windows, mailboxes). Costs six
    ///   system calls each time: in the first run, when it comes back, and for such memory.
    /// - **`true`**: it is bound from its first run until the team is dropped on it, or another
    ///   such team runs on it. Costs three system calls in its first run.
    /// - **`false`**: it runs where the system likes. Costs nothing.
    ///
    /// Threads inherit the binding of the thread that spawns them: after `pin_caller(true)` a pool
    /// that is started between two runs (Rayon's, tokio's, a BLAS's) has one core, for ever. Ask
    /// for it in programs that make many short runs and start no such pool. What is started *in* a
    /// rank's closure may inherit the rank's binding in any case.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use phalanx::machine::affinity::current_mask;
    /// let before = current_mask()?;
    /// let team = phalanx::Team::builder().ranks(2).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// assert_eq!(current_mask()?, before);
    ///
    /// let team = phalanx::Team::builder().ranks(2).pin_caller(true).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// assert_eq!(current_mask()?.len(), 1);
    /// drop(team);
    /// assert_eq!(current_mask()?, before);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pin_caller(mut self, pin: bool) -> Self {
        self.pin_caller = Some(pin);
        self
    }

    /// Bytes of stack for each worker. Default: the standard library's (2 MiB, or the bytes in
    /// `RUST_MIN_STACK`). A worker that overflows its stack ends the process with the standard
    /// library's words: `thread 'phalanx-1' has overflowed its stack`, for rank 1.
    ///
    /// A worker is bound to its core before it runs anything else, and a stack's
    /// pages are taken when they are first written: what a rank keeps on its
    /// stack is in its core's own memory. Rank 0 has the stack of the calling
    /// thread, wherever that was touched before.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).stack_size(8 << 20).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// The profile that the sizes come from at which collectives change their ways, instead of the
    /// process's own. Default: the file that the variable `PHALANX_PROFILE` names (set to nothing:
    /// none), else [`Profile::cache_path`]'s, as `phalanx calibrate` writes it; read once a
    /// process, by the first team. [`Team::profile`] says which it was.
    ///
    /// A profile of another machine is not followed: from a file it is refused
    /// (the report says why), handed in it is an error. The empty profile
    /// ([`Profile::default`]) asks for the library's own rules.
    ///
    /// ```
    /// use phalanx::{Team, tuning::{Profile, Tuning}};
    /// let mut tuning = Tuning::default();
    /// tuning.all_gather_fused = 0; // always
    /// let profile = Profile::default().with_tuning(3, tuning)?;
    /// let team = Team::builder().ranks(3).profile(profile).build()?;
    /// let all = team.run(|comm| {
    ///     let mut all = [0; 3];
    ///     comm.all_gather_into(&[comm.rank()], &mut all);
    ///     all
    /// })?;
    /// assert_eq!(all[0], [0, 1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// The sizes at which collectives change their ways, for all ranks and all
    /// their communicators, whatever a profile says. Default: those of the
    /// [`profile`](Builder::profile), else [`Tuning::of`] this machine and these ranks.
    ///
    /// ```
    /// use phalanx::{Team, machine::Machine, tuning::Tuning};
    /// let mut tuning = Tuning::of(&Machine::this()?, 2);
    /// tuning.stream_from = usize::MAX; // always through the caches
    /// let team = Team::builder().ranks(2).tuning(tuning).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = Some(tuning);
        self
    }

    /// What the levels of the machine cost, and which ranks are near each other: what the library
    /// chooses algorithms by, where ranks are not all equally near. Default: the machine that it
    /// runs on, with the costs of the machine in the table that is most like it.
    ///
    /// For costs that you have measured, and to try on a small machine what would be chosen on a
    /// large one; ranks are bound as without it.
    ///
    /// ```
    /// use phalanx::tuning::{LevelModel, MachineCosts};
    /// use phalanx::placement::{Placement, assign};
    /// let rome = MachineCosts::named("epyc-7742-2s-nps4")?;
    /// let machine = rome.machine()?;
    /// let there = assign(&Placement::Scatter, &machine, 8)?;
    /// let model = LevelModel::new(&machine, &there, rome)?.expect("two packages");
    /// let team = phalanx::Team::builder().ranks(8).model(model).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn model(mut self, model: LevelModel) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// Starts the workers and binds them to their cores.
    ///
    /// A core that cannot be bound is no error: see [`Team::bindings`].
    ///
    /// # Errors
    /// - [`Error::Ranks`] for 0 ranks or too many.
    /// - [`Error::Placement`] for a list of cores that cannot be had.
    /// - [`Error::Model`] for a model of another number of ranks.
    /// - [`Error::Profile`] if `PHALANX_PROFILE` names a file that cannot be
    ///   read, or the profile handed in is of another machine.
    /// - [`Error::Record`] if the file for a record cannot be opened.
    /// - [`Error::Variable`] if `PHALANX_STALL_WARNING` is no number of seconds.
    /// - [`Error::Memory`] if the system has not as much memory as so many ranks need.
    /// - [`Error::Spawn`] if the system refuses a thread.
    ///
    /// ```
    /// let err = phalanx::Team::builder().ranks(5000).build().unwrap_err();
    /// assert_eq!(err.to_string(), "5000 ranks asked for; a team has 1 to 1024");
    /// ```
    pub fn build(self) -> Result<Team, Error> {
        Team::start(self)
    }

    /// Communicators for threads that the caller already owns, as
    /// [`Team::external`], with these settings: the number of ranks, how they wait, the deadline,
    /// the time of the warning, the record, and the choice of algorithms. No threads are started
    /// and none is bound, so placement, stack size and `pin_caller` have no meaning here.
    ///
    /// **Which thread** The calls of a rank may come from any thread, one after the other: the
    /// communicator may be moved, or lent (`&mut comms[0]`). The end of a thread that is in no call
    /// ends nothing. A rank that has more communicators (by [`Comm::split`]) goes on to another
    /// thread only when the one that used them last has ended; else the call is refused with
    /// [`Error::Stale`], since that thread may be in a call of the rank.
    ///
    /// **What ends a rank** Its communicator's end (it is dropped), a panic that
    /// [`Comm::protect`] has seen or that drops the communicator, and a call that has failed: see
    /// the table in [`guide::errors`](crate::guide::errors). Where a thread panics or returns with
    /// a communicator that is only lent to it, outside of `protect`, or leaves it in a static or
    /// forgotten, its peers wait until the communicator is dropped, or for the
    /// [`deadline`](Builder::deadline), whose text names the rank that has no thread.
    ///
    /// # Errors
    /// [`Error::Ranks`] for 0 ranks or too many; [`Error::Variable`] and [`Error::Memory`] as
    /// [`build`](Builder::build).
    ///
    /// ```
    /// use std::time::Duration;
    /// let builder = phalanx::Team::builder().ranks(2).deadline(Duration::from_secs(10));
    /// let mut comms = builder.external()?;
    /// let mut second = comms.pop().unwrap();
    /// std::thread::scope(|s| {
    ///     s.spawn(move || second.barrier());
    ///     comms[0].barrier();
    /// });
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn external(self) -> Result<Vec<Comm>, Error> {
        super::external::external(&self, false)
    }

    /// See [`engine::external`](crate::engine::external).
    pub(crate) fn external_of_interface(self) -> Result<Vec<Comm>, Error> {
        super::external::external(&self, true)
    }
}
