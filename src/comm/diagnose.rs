//! Diagnosis of a failed call: finds the cause, puts it into words, and ends the run with it.

use super::Comm;
use super::arguments::CallAt;
use super::holder::Claim;
use crate::error::{CallSite, Error, ForeignCall, Quit, Waiting};
use crate::schedule::Algorithm;
use crate::shared::{
    BeginningCall, CallRecord, Fingerprint, Seen, Signature, Stop, TeamState, Thread, UnfitReceive,
    disagreement, disagreement_with_waiting, in_words,
};
use crate::sorted::Listed;
use crate::sync::{Instant, panicking, resume_unwind, yield_now};
use std::panic::Location;
use std::time::Duration;

impl Comm {
    /// Why the communicator cannot be used, or that it can. A call that would have been
    /// the first to hear that the run has failed goes on record all the same, if it is collective:
    /// the ranks' votes are counted when all have ended.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&mut self, (sig, at): CallAt, call: BeginningCall) -> bool {
        // The calls that the thread has started move in each call: another rank may wait for one,
        // and this one may make no call in which it waits. An operator may fail there, and so end
        // the run.
        if self.port.line().mark().has_started() && self.is_admitted() {
            Thread::here().go_on();
        }
        // In a frame of its own: a call that is recorded, or beside others, comes here each time.
        if self.is_admitted() {
            if self.port.is_recorded() {
                self.record_call((sig, at), &call);
            }
            return true;
        }
        self.refuse_or_not((sig, at), call)
    }

    #[cold]
    #[inline(never)]
    fn refuse_or_not(&mut self, (sig, at): CallAt, call: BeginningCall) -> bool {
        const OVER: &str = "the run that it belongs to is over";
        if self.port.shared().world().is_of_parent() {
            self.port.quiesce();
            self.unwind(Some(Error::Forked), in_call(sig, at, &Error::Forked));
            return false;
        }
        let (shared, run) = (self.port.shared().clone(), self.port.run());
        let (world, member) = (shared.world(), self.port.member());
        if run != world.run() {
            self.throw(OVER, (sig, at));
        }
        let may_call = match self.is_held_here() {
            // A run's own thread holds it after the run, too.
            true if self.roster.is_none() || Thread::here().is_in(world, run) => Claim::Holds,
            true => Claim::Over,
            false => {
                let claim = self.claim();
                // Of the thread's other communicators.
                Thread::here().go_on();
                claim
            }
        };
        match may_call {
            Claim::Holds | Claim::Borrows => {}
            Claim::Over => self.throw(OVER, (sig, at)),
            Claim::Refused(what) => self.throw(what, (sig, at)),
        }
        if self.port.is_dead() || self.port.has_left_run() {
            self.unwind(None, in_call(sig, at, &Error::Dead));
            return false;
        }
        loop {
            if world.is_poisoned(run) || world.hear_cancel(member, run) {
                // For the rank's other communicators, if this has opened them.
                world.shut(member, run);
                if let BeginningCall::Collective(params) = call {
                    self.port.enter(sig, at, params);
                }
                self.stop(Stop::Poisoned);
                return false;
            }
            if let Some(outer) = world.outer_over(member) {
                self.stop(Stop::Outer(outer));
                return false;
            }
            if self.port.is_open_at_all() {
                if self.port.is_recorded() {
                    self.record_call((sig, at), &call);
                }
                return true;
            }
            // A failure elsewhere, which is none of this run's; or a rank waits until this one has
            // looked for its message (`Port::post_tagged`), or has seen it off its core.
            world.reopen(member, run);
            world.look_at_cores(member, member);
            Thread::here().publish();
        }
    }

    #[inline(always)]
    fn record_call(&self, (sig, at): CallAt, call: &BeginningCall) {
        #[cfg(feature = "tracing")]
        super::spans::call(self.port.member(), self.port.id(), sig, at, call);
        self.port.record_call(sig, at, call);
    }

    /// [`belongs_to_thread_and_run`](Comm::belongs_to_thread_and_run), also where calls are
    /// recorded, or beside others, and so come to [`refuse`](Comm::refuse).
    pub(super) fn is_admitted(&self) -> bool {
        self.is_held_here() && self.port.is_open_at_all()
    }

    /// Ends the run because of an argument of this rank's.
    #[cold]
    #[inline(never)]
    pub(super) fn wrong(&mut self, (sig, at): CallAt, len: usize, what: String) {
        if !self.check_usable((sig, at)) {
            return;
        }
        let member = self.port.member();
        let noted = || self.port.shared().world().records(member).foreign_call();
        let foreign = ForeignCall::of(at).or_else(noted);
        let call = sig.words_as(foreign.map_or(sig.call, |it| it.function), len, None);
        let site = CallSite { call, at: foreign.map_or(at.into(), Into::into) };
        self.end_run(Error::Argument { rank: member, site, what }, None);
    }

    /// Ends the run after a wait that ended badly.
    #[cold]
    #[inline(never)]
    pub(super) fn stop(&mut self, stop: Stop) {
        let (shared, me) = (self.port.shared(), self.port.member());
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
        // The failure that this rank has met may be the consequence of something else.
        let first = match stop {
            Stop::Poisoned => None,
            _ => disagree(shared.world(), shared.id(), me),
        };
        let comm = shared.id();
        match first.or_else(|| self.explain(stop)) {
            Some(error) => self.end_run(error, Some(comm)),
            None => {
                self.port.quiesce();
                let (world, run) = (self.port.shared().world(), self.port.run());
                // A rank that fails makes its memory safe, and so ends the run, before it says
                // why. Only a panic of this thread needs the text: a catcher takes the error.
                let start = Instant::now();
                let mut cause = world.cause(run);
                while cause.is_none()
                    && !Thread::here().catches(world, run)
                    && start.elapsed() < RECORD_COMES
                {
                    crate::sync::yield_now();
                    cause = world.cause(run);
                }
                self.unwind(None, cause.unwrap_or_else(|| Error::Dead.to_string()));
            }
        }
    }

    /// Leaves a wait because another run that the thread is in, `of`, has ended.
    pub(super) fn go_out(&mut self, of: (u64, u64)) {
        let what = "another run that its thread is in has ended with an error";
        let text = Error::Stale { what }.to_string();
        self.poison_as_stale(what);
        self.port.quiesce();
        if !panicking() {
            resume(of, None, text);
        }
    }

    fn poison_as_stale(&self, what: &'static str) {
        let (world, run) = (self.port.shared().world(), self.port.run());
        drop(world.poison(run, self.port.member(), Some(Error::Stale { what })));
    }

    /// Records the cause, makes this rank's memory safe, and unwinds. `comm`: the
    /// ranks of that communicator disagree.
    pub(super) fn end_run(&mut self, error: Error, comm: Option<u64>) {
        let message = error.to_string();
        let world = self.port.shared().world();
        let me = self.port.member();
        let late = world.poison(self.port.run(), me, Some(error));
        if let (None, Some(comm)) = (late, comm) {
            world.suspect(self.port.run(), me, comm);
        }
        self.port.quiesce();
        self.unwind(None, message);
    }

    /// Unwinds because the communicator does not belong here.
    pub(super) fn throw(&self, what: &'static str, (sig, at): CallAt) {
        self.throw_text(what, in_call(sig, at, &Error::Stale { what }));
    }

    /// Unwinds with `text`, because the communicator does not belong here.
    #[cold]
    #[inline(never)]
    pub(super) fn throw_text(&self, what: &'static str, text: String) {
        if panicking() {
            return;
        }
        let here = Thread::here();
        let (world, run) = (self.port.shared().world(), self.port.run());
        if self.roster.is_some() || here.catches(world, run) {
            // The run that it belongs to must not end well without this call. (If
            // it is over, this does nothing.)
            self.poison_as_stale(what);
            if here.is_in_a_run() || here.catches(world, run) {
                resume((world.id(), run), Some(Error::Stale { what }), text);
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
        self.throw_text(WHAT, format!("{error} (by a {what})"));
        false
    }

    /// Leaves the closure: with an error of this rank's, if there is one, on a thread that may
    /// catch it; else with the text. In a `Drop` that runs while a panic unwinds there is nowhere
    /// to go (a second panic would abort), so the call returns, having done nothing.
    #[cold]
    #[inline(never)]
    fn unwind(&self, error: Option<Error>, text: String) {
        if panicking() {
            return;
        }
        let (world, run) = (self.port.shared().world(), self.port.run());
        if Thread::here().catches(world, run) {
            resume((world.id(), run), error, text);
        }
        panic!("{text}");
    }

    /// The record of member `peer` of the call that is `mine` here. A halo exchange posts its small
    /// messages before it goes on record: the record comes soon, if the rank does not leave.
    #[inline(never)]
    fn same_call_of(&self, peer: usize, mine: &CallRecord) -> Option<CallRecord> {
        const SOON: Duration = Duration::from_secs(1);
        let (shared, since) = (self.port.shared(), Instant::now());
        let records = shared.world().records(peer);
        loop {
            let is_it = |it: &CallRecord| (it.comm, it.call) == (mine.comm, mine.call);
            let there = records.latest_of_run(&is_it);
            let is_late = since.elapsed() >= SOON || mine.call == 0;
            if there.is_some() || is_late || shared.world().has_left(peer, self.port.run()) {
                return there;
            }
            yield_now();
        }
    }

    /// The latest call of a member.
    #[inline(never)]
    fn latest(&self, member: usize) -> Option<CallRecord> {
        self.port.shared().world().records(member).latest()
    }

    /// This rank's call. (Its latest may be one in another communicator, by an operator.)
    #[inline(never)]
    fn own_call(&self) -> Option<CallRecord> {
        self.port.record().or_else(|| self.latest(self.port.member()))
    }

    /// The error that a stop stands for; none if another rank has one.
    #[inline(never)]
    pub(super) fn explain(&self, stop: Stop) -> Option<Error> {
        let (shared, me) = (self.port.shared(), self.port.member());
        let world = shared.world();
        Some(match stop {
            Stop::Poisoned | Stop::Outer(_) => return None,
            Stop::Left { peer } => {
                let peer = shared.member(peer);
                let last = site_of(&world.records(peer).latest_of_run(&|_| true));
                Error::Left {
                    rank: me,
                    site: self.own_call().map(|call| world.waiting_site(me, &call)),
                    peer,
                    last,
                    returned: None,
                }
            }
            Stop::Mismatch { peer, expected, got, lens } => {
                let peer = shared.member(peer);
                let differs = self.port.call().difference(got.sig);
                let (expected, got) = (Fingerprint(expected.check), Fingerprint(got.check));
                let there = world.records(peer).find(shared.id(), got.record());
                let there = there.or_else(|| self.latest(peer));
                let here = self.own_call()?;
                let calls = match &there {
                    Some(there) if expected.is_same_call(got) => Some((here.len, there.len)),
                    _ => None,
                };
                let what = match (differs, calls, lens) {
                    (Some(differs), ..) => differs,
                    (None, Some((mine, theirs)), _) if mine != theirs && !here.own_len => {
                        format!("length: expected {mine}, got {theirs}")
                    }
                    (None, _, Some((here, there))) => {
                        format!("message length: expected {here}, got {there}")
                    }
                    _ => expected.difference(got, here.sig.element_size, &algorithm_name),
                };
                mismatch((me, &here), (peer, &there), what)
            }
            Stop::Differs { peer, what } => {
                let peer = shared.member(peer);
                let mine = self.latest(me)?;
                let there = self.same_call_of(peer, &mine).or_else(|| self.latest(peer));
                mismatch((me, &mine), (peer, &there), what)
            }
            Stop::Unfit(unfit) => {
                let UnfitReceive { peer, there, what } = *unfit;
                let peer = shared.member(peer);
                let there = Some(world.records(peer).refined(there));
                Error::Mismatch { rank: me, here: self.own_call()?.site(), peer, there, what }
            }
            Stop::Refused(refused) => Error::refused(shared.size(), refused.bytes),
            Stop::Circle(circle) if circle.iter().any(|it| it.world != world.id()) => {
                Error::Deadlock { circle: circle.into_iter().map(|it| across(it, world)).listed() }
            }
            Stop::Circle(circle) => {
                for it in &circle {
                    if let Some(call) = self.latest(it.rank)
                        && let Some(error) = disagree(world, call.comm, me)
                    {
                        return Some(error);
                    }
                }
                if let Some((rank, peer)) = self.odd_pair(&circle)
                    && let Some(here) = self.latest(rank)
                    && let Some(got) = &self.latest(peer)
                {
                    let words = in_words(world, (rank, &here), (peer, got), &algorithm_name);
                    let words = words.unwrap_or_else(|| "two communicators".to_string());
                    let what = format!("{words}; they wait for each other");
                    return Some(Error::Mismatch {
                        rank,
                        here: world.waiting_site(rank, &here),
                        peer,
                        there: Some(world.waiting_site(peer, got)),
                        what,
                    });
                }
                let mut waits = Vec::new();
                for &Seen { rank, peer, .. } in &circle {
                    let site = self.latest(rank).map(|call| world.waiting_site(rank, &call));
                    waits.push(Waiting { rank, peer, site });
                }
                Error::Deadlock { circle: waits }
            }
        })
    }

    /// Two ranks of a circle that are in calls which cannot be parts of one.
    #[inline(never)]
    fn odd_pair(&self, circle: &[Seen]) -> Option<(usize, usize)> {
        let are_odd = |a: &CallRecord, b: usize| self.latest(b).is_some_and(|b| !alike(a, &b));
        // A rank that waits for a message waits for one rank alone: if that is in another call, the
        // two differ, and all others on the circle wait in consequence.
        for it in circle {
            if let Some(waits) = self.latest(it.rank)
                && waits.call == 0
                && are_odd(&waits, it.peer)
            {
                return Some((it.rank, it.peer));
            }
        }
        // None, if it has only waited so far, for words that are not the library's.
        let me = self.port.member();
        let here = self.latest(me)?;
        for it in circle {
            if it.rank != me && are_odd(&here, it.rank) {
                return Some((me, it.rank));
            }
        }
        None
    }
}

/// Unwinds as a failed call of that run does.
#[inline(never)]
fn resume(of: (u64, u64), error: Option<Error>, text: String) -> ! {
    resume_unwind(Box::new(Quit { of, error, text }))
}

/// Why a call cannot be made.
#[inline(never)]
fn in_call(sig: &Signature, at: &Location<'_>, why: &Error) -> String {
    format!("{} at {at}: {why}", sig.call)
}

#[inline(never)]
fn site_of(call: &Option<CallRecord>) -> Option<CallSite> {
    call.as_ref().map(CallRecord::site)
}

#[inline(never)]
fn mismatch(
    (rank, here): (usize, &CallRecord),
    (peer, there): (usize, &Option<CallRecord>),
    what: String,
) -> Error {
    Error::Mismatch { rank, here: here.site(), peer, there: site_of(there), what }
}

/// A wait of a circle through several teams, in the words of one of `world`.
fn across(Seen { world: its, rank, peer, site }: Seen, world: &TeamState) -> Waiting {
    let elsewhere = |mut site: CallSite| {
        if its != world.id() {
            site.call += ", in another team";
        }
        site
    };
    Waiting { rank, peer, site: site.map(elsewhere) }
}

/// Whether two ranks' latest calls could be parts of one.
#[inline(never)]
fn alike(a: &CallRecord, b: &CallRecord) -> bool {
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
#[inline(never)]
pub(super) fn disagree(world: &TeamState, comm: u64, me: usize) -> Option<Error> {
    let (rank, here, peer, there) = disagreement(world, comm, me)?;
    let what = in_words(world, (rank, &here), (peer, &there), &algorithm_name)?;
    Some(mismatch((rank, &here), (peer, &Some(there)), what))
}

/// The error in the words of rank `me`, the calling one, if it does not agree with `peer`, which
/// waits, about a call.
pub(super) fn disagree_with_waiting(
    world: &TeamState,
    comm: u64,
    me: usize,
    peer: usize,
) -> Option<Error> {
    let (here, there) = disagreement_with_waiting(world, comm, me, peer)?;
    disagree(world, comm, me).or_else(|| {
        let what = in_words(world, (me, &here), (peer, &there), &algorithm_name)?;
        Some(mismatch((me, &here), (peer, &Some(there)), what))
    })
}
