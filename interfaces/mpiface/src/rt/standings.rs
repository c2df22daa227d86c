//! Each rank's state, as the others see it; waiting; and the verdict that nobody can go on.
//!
//! Ranks wait in the library: its collectives wait by themselves, and a request or a meeting of
//! this package is a wait for a word that is not the library's (`phalanx::engine::wait`). So one
//! graph of waits has them all. A circle of waits for named ranks, or a wait for a rank that has
//! left, ends the run at once.
//!
//! Not all conditions are the library's. So the waiting rank judges now and then. A blocked rank's
//! request can be completed by another rank's call only: nothing works in the background. So
//! if every rank either has left or is blocked, and none of the awaited conditions holds, then none
//! ever will. The ranks' standings are read twice, with the number of their changes: if no number
//! changed in between, all were blocked at one instant. This is exact, and needs no deadline. (Of a
//! rank in a collective of the library: the awaited rank has not come to that collective, or the
//! library has confirmed that the word had not come when that rank was in its present wait.)
//!
//! A rank of a team that has returned rests until it is called again: it has left as far as others
//! can know, but not for the library, where that would be final. So every wait of this package
//! judges, and so does a rank that rests, for those in a collective of the library.

use super::awaits::Awaits;
use super::error::{Site, end};
use super::log::{KEPT, Log};
use super::mutex::lock;
use phalanx::engine::{self, Waits};
use std::any::Any;
use std::cell::{RefCell, RefMut};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// So long a rank waits before it judges again.
pub const JUDGED: Duration = Duration::from_millis(50);

/// So often a rank looks before it says to all that it waits: for longer than most answers take, as
/// to say so takes as long as several messages, which the others then wait for.
const LOOKS: u32 = 2000;
/// The same where ranks share cores.
const LOOKS_CROWDED: u32 = 8;
/// There it lets the others have so many turns of its core, too: most answers come within one or
/// two, and to say that it waits would lengthen each.
const TURNS_CROWDED: u32 = 4;
/// After so many looks, about a microsecond, it looks at a slower pace.
const LOOKS_EAGER: u32 = 400;

/// The event for which a blocked rank waits.
pub trait Condition: Send + Sync {
    /// Whether it has come true.
    fn holds(&self) -> bool;
    /// The awaited event, in words.
    fn describe(&self) -> String;
    /// The messages there already, in words behind those: of a wait for a message.
    fn beside(&self) -> String {
        String::new()
    }
}

/// The verdict's question to a communicator.
pub trait Meetings: Send + Sync {
    /// Its number.
    fn context(&self) -> u32;
    /// Its ranks in the world.
    fn members(&self) -> &[usize];
    /// Whether a rank of the world, if it is a member, has come to a meeting.
    fn has_come(&self, member: usize, number: u64) -> bool;
    /// The ranks that have not come to a meeting, in words.
    fn late(&self, number: u64) -> Option<String>;
    /// Whether those that a started collective awaits have shown its cards.
    fn have_shown(&self, number: u64, awaits: Awaits) -> bool;
}

enum State {
    Running,
    Blocked(Arc<dyn Condition>, Site),
    /// Why it makes no more calls, and the last that it made.
    Left(String, Site),
}

struct Standing {
    state: State,
    /// How often the state changed.
    changes: u64,
}

/// A communicator of the library, for its rank alone.
pub struct Own(RefCell<Option<phalanx::Comm>>);

// SAFETY: used by the rank that it belongs to only (`Standings::library`): its calls come one at a
// time, each after the one before (MPI_THREAD_SERIALIZED at most).
unsafe impl Sync for Own {}

opaque!(Own);

#[cold]
#[inline(never)]
fn late() -> String {
    "it was called after the rank had left".to_owned()
}

impl Own {
    /// Of this one.
    pub fn new(comm: phalanx::Comm) -> Own {
        Own(RefCell::new(Some(comm)))
    }

    /// The answer of `read`, while the rank has not left.
    pub fn read<R>(&self, read: impl FnOnce(&phalanx::Comm) -> R) -> Option<R> {
        self.0.borrow().as_ref().map(read)
    }

    /// The communicator itself, none if the rank has left: for closures that throw nothing, and
    /// wait for nobody for long.
    #[inline(always)]
    pub fn lend(&self) -> RefMut<'_, Option<phalanx::Comm>> {
        self.0.borrow_mut()
    }

    /// Makes calls on it as parts of the call at `site`. If the run has ended: the library's words
    /// for it, where they say more than that a rank has left or waits in a circle.
    #[inline(always)]
    pub fn attempt<R>(
        &self,
        site: Site,
        run: impl FnOnce(&mut phalanx::Comm) -> R,
    ) -> Result<R, String> {
        let mut comm = self.0.borrow_mut();
        let Some(comm) = comm.as_mut() else {
            return Err(late());
        };
        // SAFETY: the rank's threads make calls one after the other, as the standard asks of them;
        // the closure leaves the communicator in its place.
        let result = unsafe {
            engine::adopt(comm);
            engine::attempt(comm, Some(site.call()), run)
        };
        result.map_err(|payload| Own::why(comm, payload))
    }

    #[cold]
    fn why(comm: &mut phalanx::Comm, payload: Box<dyn Any + Send>) -> String {
        use phalanx::Error::{Dead, Deadlock, Left, Mismatch};
        // On a circle it names the ranks' last collectives, which may have ended: a rank that waits
        // for a message is in none.
        let in_circle = |what: &str| what.ends_with("they wait for each other");
        let is_circle =
            |it: &phalanx::Error| matches!(it, Mismatch { what, .. } if in_circle(what));
        let is_known = |it: &phalanx::Error| {
            matches!(it, Left { .. } | Deadlock { .. } | Dead) || is_circle(it)
        };
        match engine::first_cause(comm, payload, is_known) {
            (Some(false), text) => text,
            _ => String::new(),
        }
    }
}

/// A rank, as the others see it.
pub struct RankView {
    /// Its latest collectives.
    pub log: Log,
    /// The library's communicator of all ranks, for this one.
    pub library: Own,
    standing: Mutex<Standing>,
    thread: OnceLock<ThreadId>,
}

opaque!(RankView);

/// The state of each rank of a run, as the others see it.
pub struct Standings {
    /// The ranks.
    pub members: Vec<RankView>,
    is_crowded: bool,
    /// So often a rank looks before it waits.
    looks: u32,
    /// So often it lets others have its core before it waits.
    turns: u32,
    contexts: AtomicU32,
    /// By their numbers, for errors.
    comms: Mutex<HashMap<u32, Weak<dyn Meetings>>>,
    waits: Waits,
    judge: Mutex<()>,
    start: Instant,
}

opaque!(Standings);

/// Ends the process: the library has refused a communicator.
#[cold]
pub(super) fn refused<T>(error: phalanx::Error) -> T {
    end(1, &format!("phalanx: {error}"))
}

impl Standings {
    /// Of the ranks that have these communicators of the library.
    pub fn new(comms: Vec<phalanx::Comm>, is_recorded: bool) -> Standings {
        let is_crowded = comms.len() > crate::cores::available();
        let waits = Waits::of(&comms[0]);
        let member = |comm| RankView {
            log: Log::default(),
            library: Own::new(comm),
            standing: Mutex::new(Standing { state: State::Running, changes: 0 }),
            thread: OnceLock::new(),
        };
        Standings {
            members: comms.into_iter().map(member).collect(),
            is_crowded,
            // The library records waits: each that is one is its.
            looks: match (is_recorded, is_crowded) {
                (true, _) => 1,
                (false, true) => LOOKS_CROWDED,
                (false, false) => LOOKS,
            },
            turns: if is_crowded && !is_recorded { TURNS_CROWDED } else { 0 },
            contexts: AtomicU32::new(0),
            comms: Mutex::default(),
            waits,
            judge: Mutex::new(()),
            start: Instant::now(),
        }
    }

    /// The report of waits that last.
    pub fn set_stall_text(&self, text: impl Fn(&str) -> String + Send + Sync + 'static) {
        self.waits.set_stall_text(text);
    }

    /// The number of a new communicator: 0 is the first.
    pub fn next_context(&self) -> u32 {
        // A counter: nothing is published by it.
        self.contexts.fetch_add(1, Ordering::Relaxed)
    }

    /// Knows the communicator by its number from now on, as long as it is there.
    pub fn add(&self, comm: Weak<dyn Meetings>, context: u32) {
        let mut comms = lock(&self.comms);
        // Seldom: there may be very many.
        if comms.len() == comms.capacity() {
            comms.retain(|_, it| it.strong_count() > 0);
            let more = comms.len() + 1;
            comms.reserve(more);
        }
        comms.insert(context, comm);
    }

    /// Whether the cards that a started collective awaits have been shown.
    pub fn have_shown(&self, context: u32, number: u64, awaits: Awaits) -> bool {
        let shared = lock(&self.comms).get(&context).and_then(Weak::upgrade);
        shared.is_none_or(|shared| shared.have_shown(number, awaits))
    }

    /// The report of a wait that lasts.
    pub fn stall_text(&self, wait: &str) -> String {
        let (lines, ..) = self.standings();
        format!(
            "{wait}, and waits on:{lines}\n  This is said once in a run, after the seconds of \
             PHALANX_STALL_WARNING or `phalanx-mpirun --stall-warning` (0 is never). \
             MPIEXEC_TIMEOUT=SECONDS ends a run."
        )
    }

    /// Rank `rank`, the calling one, has tested in vain for `time`, at `site`.
    pub fn warn_of_tests(&self, rank: usize, time: Duration, site: Site) {
        self.waits.warn_of_tests(rank, time, || site.describe());
    }

    /// Seconds since the run began.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// So often a rank looks for a short message before it looks for all else, too.
    #[inline]
    pub fn eager_looks(&self) -> u32 {
        // Once where ranks share cores, or waits are recorded.
        if self.looks > LOOKS_EAGER { LOOKS_EAGER } else { 1 }
    }

    /// Whether ranks outnumber cores.
    pub fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    /// The calling thread is this rank's.
    pub fn enter(&self, rank: usize) {
        let _ = self.members[rank].thread.set(thread::current().id());
    }

    /// Whether the calling thread is this rank's first.
    pub fn is_on(&self, rank: usize) -> bool {
        self.members[rank].thread.get().is_some_and(|it| *it == thread::current().id())
    }

    /// The rank, which is the calling thread's, makes no more calls after its last.
    pub fn leave(&self, rank: usize, why: String, last: Site) {
        self.stand(rank, State::Left(why, last));
        let comm = self.members[rank].library.0.borrow_mut().take();
        comm.into_iter().for_each(engine::leave);
    }

    /// A team's rank makes no more calls until it comes back. The library is not told, for a rank
    /// that has left does not come back; so this rank judges while it waits.
    pub fn rest(&self, rank: usize, why: String, last: Site) {
        self.stand(rank, State::Left(why, last));
    }

    /// A rank that rests will make calls again: before the others may miss it.
    pub fn come_back(&self, rank: usize) {
        self.stand(rank, State::Running);
    }

    /// Wakes a rank that may await the condition which the calling one, `by`, has made true.
    #[inline]
    pub fn wake(&self, by: usize, rank: usize) {
        if let Some(comm) = self.members[by].library.0.borrow().as_ref() {
            engine::wake(comm, rank);
        }
    }

    /// The rank, which is the calling thread's, stands as blocked until `unblock`.
    pub fn block(&self, rank: usize, condition: Arc<dyn Condition>, site: Site) {
        self.stand(rank, State::Blocked(condition, site));
    }

    /// The rank goes on.
    pub fn unblock(&self, rank: usize) {
        self.stand(rank, State::Running);
    }

    fn stand(&self, rank: usize, state: State) {
        let mut standing = lock(&self.members[rank].standing);
        standing.state = state;
        standing.changes += 1;
    }

    /// Looks for something that comes soon.
    #[inline]
    pub fn look_for<R>(&self, mut found: impl FnMut() -> Option<R>) -> Option<R> {
        for look in 0..self.looks {
            if let Some(found) = found() {
                return Some(found);
            }
            if look > LOOKS_EAGER {
                std::hint::spin_loop();
            }
        }
        None
    }

    /// The same of the condition of `rank`, the calling one: where ranks share cores, the others
    /// have their turns meanwhile.
    #[inline]
    pub fn soon<R>(&self, rank: usize, mut found: impl FnMut() -> Option<R>) -> Option<R> {
        let mut result = self.look_for(&mut found);
        if result.is_none() && self.turns > 0 {
            self.give_way(rank, &mut || {
                result = found();
                result.is_some()
            });
        }
        result
    }

    /// Lets others have this core until `found`, for some turns.
    #[cold]
    #[inline(never)]
    fn give_way(&self, rank: usize, found: &mut dyn FnMut() -> bool) {
        let has_given_way = || {
            let library = self.members[rank].library.0.borrow();
            library.as_ref().is_some_and(engine::give_way)
        };
        for _ in 0..self.turns {
            if !has_given_way() || found() {
                break;
            }
        }
    }

    /// Waits until `holds`, which the rank `peer` makes true, or any; `condition` is the same for
    /// others to look at, made only for a long wait.
    #[inline]
    pub fn wait(
        &self,
        rank: usize,
        site: Site,
        peer: Option<usize>,
        holds: impl Fn() -> bool,
        condition: impl FnOnce() -> Arc<dyn Condition>,
    ) {
        if self.soon(rank, || holds().then_some(())).is_some() {
            return;
        }
        self.wait_long(rank, site, peer.filter(|it| *it != rank), &holds, condition());
    }

    #[cold]
    #[inline(never)]
    fn wait_long(
        &self,
        rank: usize,
        site: Site,
        peer: Option<usize>,
        holds: &dyn Fn() -> bool,
        condition: Arc<dyn Condition>,
    ) {
        self.stand(rank, State::Blocked(condition, site));
        if self.members.len() == 1 && !holds() {
            self.fail(rank, "there is no other rank");
        }
        let mut looks = 0_u32;
        let mut judged = Instant::now();
        let mut ready = || {
            if holds() {
                return true;
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(16) && judged.elapsed() > JUDGED {
                self.judge();
                judged = Instant::now();
            }
            false
        };
        let wait = |comm: &mut phalanx::Comm| engine::wait(comm, peer, &mut ready);
        let ended = keep_errno(|| self.members[rank].library.attempt(site, wait));
        if let Err(why) = ended {
            self.fail(rank, &why);
        }
        self.stand(rank, State::Running);
    }

    /// Ends the process: this rank cannot go on. `why`: in the library's words.
    #[cold]
    #[inline(never)]
    pub fn fail(&self, rank: usize, why: &str) -> ! {
        let waits =
            || self.all_waits().map(|it| if why.is_empty() { it } else { it + "\n  " + why });
        let text = self.disagreement().or_else(waits);
        end(1, &text.unwrap_or_else(|| format!("phalanx: rank {rank} cannot go on: {why}")))
    }

    /// Two calls of one collective that differ: of one that goes on, or of one shortly before, from
    /// which ranks have gone on (a short broadcast waits for nobody at its root).
    fn disagreement(&self) -> Option<String> {
        self.members.iter().find_map(|slot| {
            let (_, of) = slot.log.current()?;
            let shared = lock(&self.comms).get(&of.context)?.upgrade()?;
            let first = of.number.saturating_sub(KEPT as u64);
            (first..=of.number).find_map(|number| self.differ(&*shared, number))
        })
    }

    /// The first call of a meeting, and the first that differs from it.
    pub fn differ(&self, shared: &dyn Meetings, number: u64) -> Option<String> {
        let call =
            |rank: &usize| Some((*rank, self.members[*rank].log.find(shared.context(), number)?));
        let mut calls = shared.members().iter().filter_map(call);
        let (one, first) = calls.next()?;
        let (other, second) = calls.find(|(_, it)| !it.agrees(&first))?;
        let (first, second) = (first.describe(), second.describe());
        let head = "phalanx: calls of one collective differ:";
        Some(format!("{head}\n  rank {one}: {first}\n  rank {other}: {second}"))
    }

    /// Ends the process: it has taken as long as it may.
    pub fn time_is_up(&self, seconds: u64) -> ! {
        let (lines, ..) = self.standings();
        end(124, &format!("phalanx: the time is up ({seconds} s by MPIEXEC_TIMEOUT):{lines}"))
    }

    /// The event for which each rank waits; none if none does.
    fn all_waits(&self) -> Option<String> {
        let (lines, waits, runs) = self.standings();
        let head = if runs { "some ranks cannot go on" } else { "no rank can go on" };
        waits.then(|| format!("phalanx: {head}:{lines}"))
    }

    /// The state of each rank; whether any waits, and whether any runs.
    fn standings(&self) -> (String, bool, bool) {
        let (mut lines, mut waits, mut runs) = (String::new(), false, false);
        for (rank, slot) in self.members.iter().enumerate() {
            let line = match &lock(&slot.standing).state {
                State::Blocked(condition, site) => {
                    waits = true;
                    let (text, beside) = (condition.describe(), condition.beside());
                    format!("waits in {}: {text}{beside}", site.describe())
                }
                State::Left(why, last) if last.address() == 0 => format!("has left: {why}"),
                State::Left(why, last) => format!("has left: {why}; last: {}", last.describe()),
                State::Running => match slot.log.current() {
                    Some((_, it)) => {
                        waits = true;
                        let comms = lock(&self.comms);
                        let shared = comms.get(&it.context).and_then(Weak::upgrade);
                        let late = shared.and_then(|shared| shared.late(it.number));
                        let late = late.unwrap_or_else(|| "the others' data".to_owned());
                        format!("waits in {}: {late}", it.site.describe())
                    }
                    None => {
                        runs = true;
                        match slot.log.latest() {
                            Some(it) => {
                                format!("runs; its latest collective: {}", it.site.describe())
                            }
                            None => "runs".to_owned(),
                        }
                    }
                },
            };
            lines.push_str(&format!("\n  rank {rank} {line}"));
        }
        (lines, waits, runs)
    }

    /// Ends the run if nobody can go on.
    pub fn judge(&self) {
        let Ok(_one) = self.judge.try_lock() else { return };
        let Some(first) = self.stuck() else { return };
        // The text of that instant: a rank that only tests stands as blocked for a moment.
        let text = self.disagreement().or_else(|| self.all_waits());
        if self.stuck() != Some(first) {
            return;
        }
        if let Some(text) = text {
            end(1, &text)
        }
    }

    /// The numbers of changes, if all have left or are blocked without hope.
    fn stuck(&self) -> Option<Vec<u64>> {
        let mut changes = Vec::with_capacity(2 * self.members.len());
        for (rank, slot) in self.members.iter().enumerate() {
            let standing = lock(&slot.standing);
            match &standing.state {
                State::Blocked(condition, _) if condition.holds() => return None,
                State::Blocked(..) | State::Left(..) => changes.push(standing.changes),
                State::Running => {
                    let (made, it) = slot.log.current()?;
                    let shared = lock(&self.comms).get(&it.context)?.upgrade()?;
                    let wait = self.waits.of_rank(rank)?;
                    let is_late = |peer| !shared.has_come(peer, it.number);
                    if !wait.is_confirmed && !wait.peer.is_some_and(is_late) {
                        return None;
                    }
                    changes.extend([standing.changes, made, u64::from(wait.number)]);
                }
            }
        }
        // A team that rests waits for nothing.
        let is_resting = |slot: &RankView| matches!(lock(&slot.standing).state, State::Left(..));
        (!self.members.iter().all(is_resting)).then_some(changes)
    }
}

/// A program may look at its errno after a call of MPI.
#[inline(always)]
pub fn keep_errno<R>(run: impl FnOnce() -> R) -> R {
    // SAFETY: a function of the C library that only says where this thread's errno is.
    let at = unsafe { libc::__errno_location() };
    // SAFETY: the address is valid as long as the thread, which runs here.
    let errno = unsafe { *at };
    let result = run();
    // SAFETY: as above.
    unsafe { *at = errno };
    result
}
