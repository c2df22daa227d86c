//! Communicators: what a rank holds. One file per collective's public face;
//! what they have in common is here and in `route.rs`.

mod all_to_all;
mod barrier;
mod broadcast;
mod cart;
mod check;
mod choice;
mod ending;
mod fixed;
mod fixed_sum;
mod gather;
mod global;
mod halo;
mod message;
mod overlap;
mod reduce;
mod roster;
mod route;
mod scan;
mod scatter;
mod shift;
mod split;
mod views;
mod wide;

pub use cart::Cart;
pub use choice::{Choice, View};
pub use global::{Global, Spread};
pub use views::Peers;

pub(crate) use ending::{Account, compare, final_cause};
pub(crate) use roster::Roster;
pub(crate) use wide::{Job, LANES_FROM};

use crate::error::{CallSite, Error, Quit, Waiting, is_in_a_run, thrown};
use crate::exec::Workspace;
use crate::fabric::{
    Begun, Call, Check, Fabric, Params, Port, Shape, Sig, Stop, World, disagreement, in_words,
};
use crate::model::{Rules, Tuning};
use crate::order::Order;
use crate::schedule::Algorithm;
use crate::sync::{Arc, Instant, catch_unwind, panicking, resume_unwind, this_thread};
use crate::wait::Crowd;
use ending::Ending;
use route::Decisions;
use std::fmt;
use std::panic::Location;
use std::time::Duration;
use wide::Wide;

/// A rank's hold on a group of ranks: who it is, and the collectives.
///
/// Collectives must be called by all ranks of the communicator, in the same
/// order, with arguments that agree as each method says. A disagreement is
/// noticed before any memory is touched; it ends the run with an error that
/// names both ranks and both source lines. They take `&mut self`, so the
/// borrow checker rules out a second collective while one is under way.
///
/// **When something goes wrong** (a rank panics, leaves, or disagrees), the
/// methods do not return: they unwind to the end of the rank's closure, and
/// [`Team::run`](crate::Team::run) returns the first cause. Buffers may then
/// hold anything of their type. A rank never unwinds while a peer can still
/// reach its slices.
///
/// Every collective is a point of synchronisation only as far as its data
/// flow; [`barrier`](Comm::barrier) is one for all ranks.
///
/// # Examples
/// ```
/// let out = phalanx::run(3, |comm| {
///     let mut x = [comm.rank() as f64; 4];
///     comm.all_reduce(&mut x, phalanx::op::Sum);
///     x
/// })?;
/// assert_eq!(out[2], [3.0; 4]);
/// # Ok::<(), phalanx::Error>(())
/// ```
pub struct Comm {
    port: Port,
    /// The thread that the communicator belongs to; 0 for none yet.
    thread: usize,
    /// Whether a failure is thrown to `Team::run` (which has the cause), or to
    /// a thread that is the user's own.
    in_team: bool,
    choice: Choice,
    order: Order,
    /// The choice outside of views.
    usual: Choice,
    /// Whether `choice` is another than `Auto`, or the ranks are on several nodes.
    forced: bool,
    decisions: Decisions,
    work: Workspace,
    roster: Option<Arc<Roster>>,
    /// The same on all ranks: the sizes for this number of ranks, and what
    /// those of sub-communicators come from.
    tuning: Tuning,
    rules: Arc<Rules>,
    /// For threads of the user's own, which no run counts.
    _crowd: Option<Crowd>,
    /// A sub-communicator's end, which its ranks share.
    ending: Option<Arc<Ending>>,
    /// For ranks on several nodes: who is where. The port then is that of this
    /// node's ranks. Only ever looked at where `forced` is true.
    wide: Option<Box<Wide>>,
    /// What a step is told apart by that is a part of a call: of all nodes, or of one with
    /// counts of its own.
    salt: Option<Shape>,
    /// The job on several nodes that a failure ends.
    job: Option<Arc<Job>>,
}

// SAFETY: the raw pointers in `work` are left over from calls
// that have ended, and are never used again; those in the port are to words of
// the fabric and the world, which are `Sync` and which the port keeps; everything
// else is `Send`. That a
// team's communicators stay on their rank's thread is checked by `enter`.
unsafe impl Send for Comm {}

impl Comm {
    pub(crate) fn new(port: Port, roster: Option<Arc<Roster>>, rules: Arc<Rules>) -> Self {
        let tuning = rules.tuning(port.size());
        let crowd = roster.is_none().then(|| Crowd::enter(1));
        let model = roster.as_ref().and_then(|roster| roster.model.clone());
        let usual = model.map_or(Choice::Auto, Choice::Levels);
        Comm {
            port,
            thread: 0,
            in_team: roster.is_some(),
            forced: !matches!(usual, Choice::Auto),
            choice: usual.clone(),
            usual,
            order: Order::default(),
            decisions: Decisions::default(),
            work: Workspace::new(tuning.stream_from),
            roster,
            tuning,
            rules,
            _crowd: crowd,
            ending: None,
            wide: None,
            salt: None,
            job: None,
        }
    }

    /// A sub-communicator of this one.
    fn child(&self, port: Port, ending: Arc<Ending>) -> Self {
        let model = self.roster.as_ref().and_then(|roster| roster.model.as_ref());
        let members =
            || -> Vec<usize> { (0..port.size()).map(|rank| port.fabric().member(rank)).collect() };
        let model = model.and_then(|model| model.of_members(&members()));
        let usual = model.map_or(Choice::Auto, |model| Choice::Levels(Arc::new(model)));
        let tuning = self.rules.tuning(port.size());
        Comm {
            port,
            thread: self.thread,
            in_team: self.in_team,
            forced: !matches!(usual, Choice::Auto),
            choice: usual.clone(),
            usual,
            order: Order::default(),
            decisions: Decisions::default(),
            work: Workspace::new(tuning.stream_from),
            roster: self.roster.clone(),
            tuning,
            rules: self.rules.clone(),
            _crowd: None,
            ending: Some(ending),
            wide: None,
            salt: None,
            job: self.job.clone(),
        }
    }

    /// This rank's number, `0..size()`.
    ///
    /// ```
    /// assert_eq!(phalanx::run(3, |comm| comm.rank())?, [0, 1, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline(always)]
    pub fn rank(&self) -> usize {
        if self.is_wide() { self.wide_rank() } else { self.port.rank() }
    }

    /// The number of ranks.
    ///
    /// ```
    /// assert_eq!(phalanx::run(3, |comm| comm.size())?, [3, 3, 3]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[inline(always)]
    pub fn size(&self) -> usize {
        if self.is_wide() { self.wide_size() } else { self.port.size() }
    }

    /// Takes part in run `run`, on the calling thread.
    pub(crate) fn join_run(&mut self, run: u64) {
        self.thread = this_thread();
        self.port.join_run(run);
        if self.forced {
            self.wide = None;
            self.job = None;
            let usual = self.usual.clone();
            self.choose(usual);
        }
        self.order = Order::default();
    }

    /// Chooses another way of choosing; returns the one before.
    fn choose(&mut self, choice: Choice) -> Choice {
        self.forced = self.wide.is_some() || !matches!(choice, Choice::Auto);
        std::mem::replace(&mut self.choice, choice)
    }

    /// Whether the ranks are on several nodes.
    #[inline(always)]
    fn is_wide(&self) -> bool {
        self.forced && self.wide.is_some()
    }

    /// Whether the library chooses the algorithms, by its rules, on one node.
    #[inline(always)]
    fn is_auto(&self) -> bool {
        !self.forced
    }

    /// See [`Port::move_in`].
    pub(crate) fn move_in(&mut self) -> bool {
        self.port.move_in()
    }

    pub(crate) fn fabric(&self) -> &Fabric {
        self.port.fabric()
    }

    pub(crate) fn fabric_id(&self) -> u64 {
        self.port.id()
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.port.is_dead()
    }

    /// Runs `f` with this communicator on a thread of the caller's own
    /// ([`Team::external`](crate::Team::external)) and returns as an error what
    /// would otherwise be thrown through the thread: a failed collective, or a
    /// panic of `f`, which is then passed on to the other ranks.
    ///
    /// # Errors
    /// As [`Team::run`](crate::Team::run); ranks other than the one with the
    /// first cause get [`Error::Dead`].
    ///
    /// # Examples
    /// ```
    /// let comms = phalanx::Team::external(2)?;
    /// let errors: Vec<_> = std::thread::scope(|s| {
    ///     let threads: Vec<_> = comms
    ///         .into_iter()
    ///         .map(|mut comm| s.spawn(move || {
    ///             comm.protect(|comm| {
    ///                 assert_eq!(comm.rank(), 0, "only rank 0 works");
    ///                 comm.barrier();
    ///             })
    ///         }))
    ///         .collect();
    ///     threads.into_iter().map(|t| t.join().unwrap().unwrap_err()).collect()
    /// });
    /// assert!(errors.iter().any(|e| matches!(e, phalanx::Error::Panicked { rank: 1, .. })));
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn protect<R>(&mut self, f: impl FnOnce(&mut Comm) -> R) -> Result<R, Error> {
        let of_a_team = std::mem::replace(&mut self.in_team, true);
        let (fabric, run, rank) = (self.port.fabric().clone(), self.port.run(), self.port.rank());
        let result = catch_unwind(std::panic::AssertUnwindSafe(|| f(self)));
        self.in_team = of_a_team;
        result.map_err(|payload| {
            let world = fabric.world();
            let Some(cause) = thrown(fabric.member(rank), payload) else {
                // In a team the cause is for `run` to report.
                let cause = if of_a_team { None } else { world.take_cause(run) };
                return cause.map_or(Error::Dead, |(error, _)| error);
            };
            if run != world.run() || ![0, this_thread()].contains(&self.thread) {
                return cause; // It has no say in the run that is going on.
            }
            let late = world.poison(run, fabric.member(rank), Some(cause));
            self.port.quiesce();
            // The error of this rank comes back to it, if it was not the first.
            let own = || if of_a_team { None } else { Some(world.take_cause(run)?.0) };
            late.or_else(own).unwrap_or(Error::Dead)
        })
    }

    /// Starts a collective call. If that is refused while a panic unwinds (see
    /// `quit`), it returns false, and the call must not go on.
    #[inline(always)]
    #[must_use]
    fn enter(&mut self, sig: &'static Sig, at: &'static Location<'static>, params: Params) -> bool {
        let admitted = self.admit(sig, at);
        if admitted {
            self.port.enter(sig, at, params);
        }
        admitted
    }

    /// [`enter`](Comm::enter), but for the record: the call is to
    /// [`note`](Port::note) itself. None as false there.
    #[inline(always)]
    #[must_use]
    fn begin(
        &mut self,
        sig: &'static Sig,
        at: &'static Location<'static>,
        params: Params,
    ) -> Option<Begun> {
        self.admit(sig, at).then(|| self.port.begin(sig, at, params))
    }

    /// Whether the communicator may be used, here and now. Returns false only
    /// while a panic unwinds.
    #[inline(always)]
    #[must_use]
    fn admit(&mut self, sig: &'static Sig, at: &'static Location<'static>) -> bool {
        self.is_good_here() || self.refuse(sig, at)
    }

    #[inline(always)]
    fn is_good_here(&self) -> bool {
        self.thread == this_thread() && self.port.is_open()
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, sig: &'static Sig, at: &'static Location<'static>) -> bool {
        if self.port.run() != self.port.fabric().world().run() {
            self.throw("the run that it belongs to is over", sig, at);
        }
        if self.thread == 0 {
            self.thread = this_thread();
        }
        if self.thread != this_thread() {
            let what =
                "it belongs to the thread that used it first (a team's: to its rank's thread)";
            self.throw(what, sig, at);
        }
        if self.port.is_dead() || self.port.has_left_run() {
            self.quit(&format!("{} at {at}: {}", sig.call, Error::Dead));
        }
        self.is_good_here()
    }

    /// Ends the run because of an argument of this rank's.
    #[cold]
    #[inline(never)]
    fn wrong(
        &mut self,
        sig: &'static Sig,
        at: &'static Location<'static>,
        len: usize,
        what: String,
    ) {
        if !self.admit(sig, at) {
            return;
        }
        let site = CallSite { call: sig.words(len, None), at };
        let member = self.port.fabric().member(self.port.rank());
        let rank = if self.is_wide() { self.rank() } else { member };
        self.end_run(Error::Argument { rank, site, what }, None);
    }

    /// Ends the run after a wait that ended badly.
    #[cold]
    #[inline(never)]
    fn stop(&mut self, stop: Stop) {
        let fabric = self.port.fabric();
        let me = fabric.member(self.port.rank());
        if let Stop::Mismatch { peer, got, .. } = stop {
            // The peer may have sent its word just now; its record follows without its
            // waiting for anything.
            let start = Instant::now();
            while !self.port.is_on_record(peer, got) && start.elapsed() < RECORD_COMES {
                crate::sync::yield_now();
            }
        }
        // What this rank has met may be the consequence of something else.
        let first = match stop {
            Stop::Poisoned => None,
            _ => disagree(fabric.world(), fabric.id(), me),
        };
        let comm = fabric.id();
        match first.or_else(|| self.explain(stop)) {
            Some(error) => self.end_run(error, Some(comm)),
            None => {
                self.end_job(None);
                self.port.quiesce();
                self.quit(&Error::Dead);
            }
        }
    }

    /// Records the cause, makes this rank's memory safe, and unwinds. `comm`: the
    /// ranks of that communicator disagree.
    fn end_run(&mut self, error: Error, comm: Option<u64>) {
        let message = error.to_string();
        self.end_job(Some(&message));
        let world = self.port.fabric().world();
        let me = self.port.fabric().member(self.port.rank());
        let late = world.poison(self.port.run(), me, Some(error));
        if let (None, Some(comm)) = (late, comm) {
            world.suspect(self.port.run(), me, comm);
        }
        self.port.quiesce();
        self.quit(&message);
    }

    /// Unwinds because the communicator does not belong here.
    fn throw(&self, what: &'static str, sig: &'static Sig, at: &'static Location<'static>) {
        let stale = || Error::Stale { what };
        let message = format!("{} at {at}: {}", sig.call, stale());
        if !self.in_team || panicking() {
            return self.quit(&message);
        }
        self.end_job(Some(&message));
        // The run that it belongs to must not end well without this call. (If
        // it is over, this does nothing.)
        let (fabric, run) = (self.port.fabric(), self.port.run());
        drop(fabric.world().poison(run, fabric.member(self.port.rank()), Some(stale())));
        if is_in_a_run() {
            resume_unwind(Box::new(Quit(Some(stale()))));
        }
        // No rank's thread: nobody catches a silent exit.
        panic!("{message}");
    }

    /// Leaves the closure. In a `Drop` that runs while a panic unwinds there
    /// is nowhere to go (a second panic would abort), so the call returns,
    /// having done nothing.
    fn quit(&self, message: &dyn fmt::Display) {
        if panicking() {
            return;
        }
        if self.in_team {
            resume_unwind(Box::new(Quit(None)));
        }
        panic!("{message}");
    }

    /// The error that a stop stands for; none if another rank has one.
    fn explain(&self, stop: Stop) -> Option<Error> {
        let fabric = self.port.fabric();
        let world = fabric.world();
        let me = fabric.member(self.port.rank());
        let site = |call: Call| call.site();
        let latest = |rank: usize| world.records(rank).latest();
        // The latest call may be one in another communicator, by an operator.
        let here = || self.port.record().or_else(|| latest(me));
        Some(match stop {
            Stop::Poisoned => return None,
            Stop::Left { peer } => {
                let peer = fabric.member(peer);
                let last = world.records(peer).latest_of_run(|_| true).map(site);
                Error::Left { rank: me, site: here().map(site), peer, last }
            }
            Stop::Mismatch { peer, expected, got, lens } => {
                let peer = fabric.member(peer);
                let differs = self.port.call().difference(got.sig);
                let (expected, got) = (Check(expected.check), Check(got.check));
                let there = world.records(peer).find(fabric.id(), got.record());
                let there = there.or_else(|| latest(peer));
                let here = here()?;
                let calls = there.filter(|_| expected.is_same_call(got));
                let calls = calls.map(|there| (here.len, there.len));
                let what = match (differs, calls, lens) {
                    (Some(differs), ..) => differs,
                    (None, Some((mine, theirs)), _) if mine != theirs && !here.own_len => {
                        format!("length: expected {mine}, got {theirs}")
                    }
                    (None, _, Some((here, there))) => {
                        format!("message length: expected {here}, got {there}")
                    }
                    _ => expected.difference(got, algorithm_name),
                };
                Error::Mismatch { rank: me, here: site(here), peer, there: there.map(site), what }
            }
            Stop::Differs { peer, what } => {
                let peer = fabric.member(peer);
                let there = latest(peer).map(site);
                Error::Mismatch { rank: me, here: site(latest(me)?), peer, there, what }
            }
            Stop::Circle(circle) => {
                let here = latest(me)?;
                if let Some(error) =
                    circle.iter().find_map(|&(rank, _)| disagree(world, latest(rank)?.comm, me))
                {
                    return Some(error);
                }
                let odd = circle.iter().map(|&(rank, _)| rank).find(|&rank| {
                    rank != me && latest(rank).is_some_and(|call| !alike(&here, &call))
                });
                match odd.and_then(|peer| Some((peer, latest(peer)?))) {
                    Some((peer, there)) => {
                        let words = in_words(world, (me, &here), (peer, &there), algorithm_name);
                        let words = words.unwrap_or_else(|| "two communicators".to_string());
                        let what = format!("{words}; they wait for each other");
                        let (here, there) = (site(here), Some(site(there)));
                        Error::Mismatch { rank: me, here, peer, there, what }
                    }
                    None => Error::Deadlock {
                        circle: circle
                            .into_iter()
                            .map(|(rank, peer)| Waiting {
                                rank,
                                peer,
                                site: latest(rank).map(site),
                            })
                            .collect(),
                    },
                }
            }
        })
    }
}

/// Whether two ranks' latest calls could be parts of one.
fn alike(a: &Call, b: &Call) -> bool {
    // Of two messages neither is wrong by itself: the circle is.
    a.comm == b.comm && ((a.call == 0 && b.call == 0) || a.is_one_with(b))
}

fn algorithm_name(index: u16) -> String {
    Algorithm::from_index(index).map_or("none".into(), |a| a.to_string())
}

/// How long a rank that has shown a word may take to put the call on record: a few
/// instructions, but the system may give its core to somebody else in between.
const RECORD_COMES: Duration = Duration::from_millis(100);

/// The first collective call on communicator `comm` that its ranks do not agree
/// about, as an error in the words of rank `me` if it is not the odd one.
fn disagree(world: &World, comm: u64, me: usize) -> Option<Error> {
    let (rank, here, peer, there) = disagreement(world, comm, me)?;
    let what = in_words(world, (rank, &here), (peer, &there), algorithm_name)?;
    Some(Error::Mismatch { rank, here: here.site(), peer, there: Some(there.site()), what })
}

impl Drop for Comm {
    fn drop(&mut self) {
        let unwinding = panicking();
        if let Some(ending) = &self.ending {
            ending.settle(self);
        }
        if unwinding && self.roster.is_none() {
            // A thread of the user's own, which may not be `protect`ed: nobody
            // else would say that the run is over. The cause, if anyone has
            // it, is taken later, too.
            self.end_job(Some("a thread that owns its communicator has panicked"));
            let (fabric, run) = (self.port.fabric(), self.port.run());
            drop(fabric.world().poison(run, fabric.member(self.port.rank()), None));
        }
        // In a team's run the rank says what has happened when the panic has
        // reached the end of its closure.
        self.port.leave(unwinding && is_in_a_run());
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Comm")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
