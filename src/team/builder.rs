//! How a team is asked for.

use super::crew::Team;
use crate::error::Error;
use crate::model::Profile;
use crate::model::Tuning;
use crate::placement::Placement;
use crate::wait::Wait;

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
    pub(super) pin_caller: bool,
    pub(super) stack_size: Option<usize>,
    pub(super) profile: Option<Profile>,
    pub(super) tuning: Option<Tuning>,
    /// For tests of what is done on machines with several NUMA nodes.
    pub(super) always_apart: bool,
}

impl Builder {
    pub(super) fn new() -> Self {
        Builder {
            ranks: None,
            placement: Placement::default(),
            wait: Wait::Auto,
            pin_caller: true,
            stack_size: None,
            profile: None,
            tuning: None,
            always_apart: false,
        }
    }

    /// The number of ranks: 1 to [`MAX_RANKS`](crate::MAX_RANKS). Default: one
    /// per physical core that this process may use.
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

    /// Whether the thread that calls `run`, which takes part as rank 0, is
    /// bound to rank 0's core. Default: yes, from its first `run` until the
    /// team is dropped on that thread; threads that it spawns meanwhile
    /// inherit the binding.
    ///
    /// ```
    /// let team = phalanx::Team::builder().ranks(2).pin_caller(false).build()?;
    /// team.run(|comm| comm.barrier())?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn pin_caller(mut self, pin: bool) -> Self {
        self.pin_caller = pin;
        self
    }

    /// Bytes of stack for each worker. Default: the standard library's.
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

    /// The profile that the sizes come from at which collectives change their
    /// ways, instead of the process's own.
    /// Default: the file that the variable `PHALANX_PROFILE` names (set to nothing: none),
    /// else [`Profile::cache_path`]'s, as `phalanx calibrate` writes it; read
    /// once a process, by the first team. [`Team::profile`] says which it was.
    ///
    /// A profile of another machine is not followed: from a file it is refused
    /// (the report says why), handed in it is an error. The empty profile
    /// ([`Profile::default`]) asks for the library's own rules.
    ///
    /// ```
    /// use phalanx::{Team, model::{Profile, Tuning}};
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
    /// use phalanx::{Team, machine::Machine, model::Tuning};
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

    /// Starts the workers and binds them to their cores.
    ///
    /// A core that cannot be bound is no error: see [`Team::bindings`].
    ///
    /// # Errors
    /// - [`Error::Ranks`] for 0 ranks or too many.
    /// - [`Error::Placement`] for a list of cores that cannot be had.
    /// - [`Error::Profile`] if `PHALANX_PROFILE` names a file that cannot be
    ///   read, or the profile handed in is of another machine.
    /// - [`Error::Spawn`] if the system refuses a thread.
    ///
    /// ```
    /// let err = phalanx::Team::builder().ranks(5000).build().unwrap_err();
    /// assert_eq!(err.to_string(), "5000 ranks asked for; a team has 1 to 1024");
    /// ```
    pub fn build(self) -> Result<Team, Error> {
        Team::start(self)
    }
}
