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

use crate::error::{CallSite, Error, Quit, Waiting, thrown};
use crate::exec::Workspace;
use crate::fabric::{
    Begun, Call, Check, Fabric, Params, Port, Seen, Shape, Sig, Stop, Thread, World, disagreement,
    discard, in_words,
};
use crate::order::Order;
use crate::schedule::Algorithm;
use crate::sync::{Arc, Instant, catch_unwind, panicking, resume_unwind, this_thread};
use crate::tuning::{Rules, Tuning};
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
    #[inline(always)]
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
        let of_a_team = self.roster.is_some();
        if self.thread == 0 {
            self.settle_here();
        }
        let (fabric, run, rank) = (self.port.fabric().clone(), self.port.run(), self.port.rank());
        let (world, member, here) = (fabric.world(), fabric.member(rank), Thread::here());
        let f = std::panic::AssertUnwindSafe(|| f(self));
        let result = here.within(world, run, false, || catch_unwind(f));
        result.map_err(|payload| {
            let Some(cause) = thrown((world.id(), run), member, payload) else {
                // In a team the cause is for `run` to report.
                let cause = if of_a_team { None } else { world.take_cause(run) };
                return cause.map_or(Error::Dead, |(error, _)| error);
            };
            let is_over = run != world.run() || (of_a_team && !here.is_in(world, run));
            if is_over || ![0, this_thread()].contains(&self.thread) {
                return cause; // It has no say in the run that is going on.
            }
            let late = world.poison(run, member, Some(cause));
            if self.port.id() == fabric.id() {
                self.port.quiesce();
            } else if !world.is_inside(member) {
                // `f` has put another communicator in its place, which has nothing to do
                // with this failure. The one that was here owes nobody anything: `f` was
                // in no call of it, or that has quiesced it.
                world.leave(member, run);
            }
            // The error of this rank comes back to it, if it was not the first.
            let own = || if of_a_team { None } else { Some(world.take_cause(run)?.0) };
            late.or_else(own).unwrap_or(Error::Dead)
        })
    }

    /// From now on the communicator belongs to this thread. One of a thread of the
    /// user's own is given up when that ends, wherever the communicator then is: it may
    /// be lent.
    #[cold]
    fn settle_here(&mut self) {
        self.thread = this_thread();
        if self.roster.is_none() {
            let fabric = self.port.fabric();
            let member = fabric.member(self.port.rank());
            Thread::here().put_on(fabric.world_arc(), member, self.port.run());
        }
    }

    /// Starts a collective call. If that is refused while a panic unwinds (see
    /// `quit`), it returns false, and the call must not go on.
    #[inline(always)]
    #[must_use]
    fn enter(&mut self, sig: &'static Sig, at: &'static Location<'static>, params: Params) -> bool {
        if !self.is_good_here() && !self.refuse(sig, at, Some(params)) {
            return false;
        }
        self.port.enter(sig, at, params);
        true
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
        if !self.is_good_here() && !self.refuse(sig, at, Some(params)) {
            return None;
        }
        Some(self.port.begin(sig, at, params))
    }

    /// Whether the communicator may be used, here and now. Returns false only
    /// while a panic unwinds.
    #[inline(always)]
    #[must_use]
    fn admit(&mut self, sig: &'static Sig, at: &'static Location<'static>) -> bool {
        self.is_good_here() || self.refuse(sig, at, None)
    }

    #[inline(always)]
    fn is_good_here(&self) -> bool {
        self.thread == this_thread() && self.port.is_open()
    }

    /// Why the communicator cannot be used, or that it can. A call that would have been
    /// the first to hear that the run has failed goes on record all the same (`params`):
    /// the ranks' votes are counted when all have ended.
    #[cold]
    #[inline(never)]
    fn refuse(
        &mut self,
        sig: &'static Sig,
        at: &'static Location<'static>,
        params: Option<Params>,
    ) -> bool {
        const OVER: &str = "the run that it belongs to is over";
        let (fabric, run) = (self.port.fabric().clone(), self.port.run());
        let (world, member) = (fabric.world(), fabric.member(self.port.rank()));
        if run != world.run() {
            self.throw(OVER, sig, at);
        }
        if self.thread == 0 {
            self.settle_here();
        }
        if self.thread != this_thread() {
            let what =
                "it belongs to the thread that used it first (a team's: to its rank's thread)";
            self.throw(what, sig, at);
        }
        if self.roster.is_some() && !Thread::here().is_in(world, run) {
            self.throw(OVER, sig, at);
        }
        if self.port.is_dead() || self.port.has_left_run() {
            if self.roster.is_none() && !world.is_poisoned(run) {
                self.throw("the thread that used it first has ended", sig, at);
            }
            self.quit(&format!("{} at {at}: {}", sig.call, Error::Dead));
            return false;
        }
        loop {
            if world.is_poisoned(run) {
                // For the rank's other communicators, if this has opened them.
                world.shut(member, run);
                if let Some(params) = params {
                    self.port.enter(sig, at, params);
                }
                self.stop(Stop::Poisoned);
                return false;
            }
            if let Some(outer) = world.outer_over(member) {
                self.stop(Stop::Outer(outer));
                return false;
            }
            if self.is_good_here() {
                return true;
            }
            // A failure elsewhere, which is none of this run's.
            world.reopen(member, run);
        }
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
        if let Stop::Outer(of) = stop {
            return self.go_out(of);
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
                let cause = self.port.fabric().world().cause(self.port.run());
                self.quit(&cause.unwrap_or_else(|| Error::Dead.to_string()));
            }
        }
    }

    /// Leaves a wait because another run that the thread is in, `of`, has ended.
    fn go_out(&mut self, of: (u64, u64)) {
        let what = "another run that its thread is in has ended with an error";
        let text = Error::Stale { what }.to_string();
        self.end_job(Some(&text));
        let fabric = self.port.fabric();
        let member = fabric.member(self.port.rank());
        drop(fabric.world().poison(self.port.run(), member, Some(Error::Stale { what })));
        self.port.quiesce();
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(Quit { of, error: None, text }));
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
        self.throw_text(what, &format!("{} at {at}: {}", sig.call, Error::Stale { what }));
    }

    /// The same with a text of its own.
    #[cold]
    fn throw_text(&self, what: &'static str, text: &str) {
        if panicking() {
            return;
        }
        let here = Thread::here();
        let (fabric, run) = (self.port.fabric(), self.port.run());
        let world = fabric.world();
        if self.roster.is_some() || here.catches(world, run) {
            self.end_job(Some(text));
            // The run that it belongs to must not end well without this call. (If
            // it is over, this does nothing.)
            let member = fabric.member(self.port.rank());
            drop(world.poison(run, member, Some(Error::Stale { what })));
            if here.is_in_a_run() || here.catches(world, run) {
                let (of, error) = ((world.id(), run), Some(Error::Stale { what }));
                resume_unwind(Box::new(Quit { of, error, text: text.to_string() }));
            }
        }
        // No rank's thread: nobody catches a silent exit.
        panic!("{text}");
    }

    /// Ends the run because this communicator stands where a `what` has borrowed another.
    /// Returns (false) only while a panic unwinds.
    #[cold]
    pub(super) fn is_swapped(&self, what: &str) -> bool {
        const WHAT: &str = "it was put in the place of another that is borrowed";
        let error = Error::Stale { what: WHAT };
        self.throw_text(WHAT, &format!("{error} (by a {what})"));
        false
    }

    /// Leaves the closure. In a `Drop` that runs while a panic unwinds there
    /// is nowhere to go (a second panic would abort), so the call returns,
    /// having done nothing.
    fn quit(&self, message: &dyn fmt::Display) {
        if panicking() {
            return;
        }
        let (world, run) = (self.port.fabric().world(), self.port.run());
        if Thread::here().catches(world, run) {
            let (of, text) = ((world.id(), run), message.to_string());
            resume_unwind(Box::new(Quit { of, error: None, text }));
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
            Stop::Poisoned | Stop::Outer(_) => return None,
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
            Stop::Circle(circle) if circle.iter().any(|it| it.world != world.id()) => {
                Error::Deadlock { circle: circle.into_iter().map(|it| across(it, world)).collect() }
            }
            Stop::Circle(circle) => {
                let here = latest(me)?;
                if let Some(error) =
                    circle.iter().find_map(|it| disagree(world, latest(it.rank)?.comm, me))
                {
                    return Some(error);
                }
                let odd = circle.iter().map(|it| it.rank).find(|&rank| {
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
                            .map(|Seen { rank, peer, .. }| Waiting {
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

/// A wait of a circle through several teams, in the words of one of `world`.
fn across(Seen { world: its, rank, peer, site }: Seen, world: &World) -> Waiting {
    let elsewhere = |mut site: CallSite| {
        if its != world.id() {
            site.call += ", in another team";
        }
        site
    };
    Waiting { rank, peer, site: site.map(elsewhere) }
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
            // else would say that the run is over. If it is not yet, or this rank has ended
            // it and not said why, that is the cause.
            let what = "a thread that owns its communicator has panicked";
            self.end_job(Some(what));
            let (fabric, run) = (self.port.fabric(), self.port.run());
            let (world, member) = (fabric.world(), fabric.member(self.port.rank()));
            let is_its = !world.is_poisoned(run) || world.is_ended_by(run, member);
            let protected = Thread::here().catches(world, run);
            let its = "its thread has panicked (the standard error has what it said)";
            let cause = (is_its && !protected).then(|| Error::panicked(member, Box::new(its)));
            discard(world.poison(run, member, cause));
        }
        // In a team's run the rank says what has happened when the panic has
        // reached the end of its closure.
        self.port.leave(unwinding && Thread::here().is_in_a_run());
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
