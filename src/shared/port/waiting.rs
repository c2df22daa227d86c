//! Waits for a peer, and the ways in which a wait fails.

use super::super::comm_state::CommState;
use super::super::long_wait::LongWait;
use super::super::thread::{ANYBODY, Seen};
use super::super::unfit_receive::UnfitReceive;
use super::recording::Looked;
use super::{CLOSED, Peer, Phase, Port, PortState};
use crate::mailbox::{Header, RefusedMemory};
#[cfg(not(loom))]
use crate::wait::give_way;
use crate::wait::{
    Awaited, Backoff, Occasion, Pause, Question, SleepLevel, Spent, Wait, asleep, give_back,
};
use std::time::Duration;

/// Looks at the awaited word before anything else is considered; free, since nobody waits shorter
/// than one line transfer. Where a rank may spin it looks longer (one to two microseconds) before
/// the wait is announced: an announcement is a line that the awaited rank's own waits would read,
/// and so costs transfers on exchanges between distant cores.
pub(super) const FEW_LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 64 };
pub(super) const MANY_LOOKS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 1000 };
/// Looks at the awaited word at a started call, where ranks outnumber cores.
pub(super) const LOOKS_CROWDED: u32 = 4;

/// Turns of its core that a crowded rank leaves to the others before its wait is announced: most
/// waits are over by then.
#[cfg(not(loom))]
const TURNS: u32 = if cfg!(shuttle) { 1 } else { 4 };

/// The reason why a wait ended in vain. The caller must quiesce.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Another rank has ended the run.
    Poisoned,
    /// The awaited rank has left.
    Left { peer: usize },
    /// Ranks wait for each other, this one among them.
    Circle(Vec<Seen>),
    /// Another run that the thread is in has ended: world's id and run.
    Outer((u64, u64)),
    /// The peer's message belongs to another call than this rank's.
    Mismatch { peer: usize, expected: Header, got: Header, lens: Option<(usize, usize)> },
    /// The memory that the peer's message describes does not fit, in words.
    #[cfg_attr(loom, allow(dead_code))] // Made by communicators only.
    Differs { peer: usize, what: String },
    /// A tagged message and a receive match, and do not fit.
    Unfit(Box<UnfitReceive>),
    /// There is no memory for a new communicator.
    Refused(RefusedMemory),
}

/// The event that a rank waits for, and so the word by which it is to be woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum For {
    /// Something from the peer to this rank alone.
    Peer,
    /// The notices that everybody shows to everybody.
    All(Phase),
    /// The peer's notice, which all look at.
    Notice,
    /// The last of all to be done with this rank's memory; nobody else waits.
    Last,
    /// A message from any rank to this one; the wait's peer stands for none, it is this rank.
    Anybody,
}

impl For {
    fn occasion(self) -> Occasion {
        match self {
            For::Peer | For::Anybody => Occasion::Pair,
            _ => Occasion::Together,
        }
    }
}

/// Where a rank sleeps.
struct RankSleeper<'a> {
    shared: &'a CommState,
    rank: usize,
    /// Waits for this rank, so
    peer: usize,
    what: For,
    /// in this episode, or call,
    event: u64,
    crowded: bool,
}

impl RankSleeper<'_> {
    fn patience(&self, wait: Wait) -> Backoff {
        let crowded = self.shared.world().is_crowded_now();
        Backoff::new(wait, crowded.then_some(self.what.occasion())).learning()
    }

    /// Sleeps until the awaited word may have come, unless `over`: the word is there, or never will
    /// be. For `nap`, which is longer where every peer sees that this rank sleeps; for `longest` at
    /// most.
    fn sleep(
        &self,
        patience: &mut Backoff,
        (nap, longest): (Duration, Duration),
        over: &mut dyn Question,
    ) {
        let &RankSleeper { shared, rank, peer, what, event, crowded } = self;
        let (seat, world) = (shared.seat(rank), shared.world());
        if !crowded {
            let awaited =
                if what == For::Anybody { Awaited::Everybody } else { Awaited::Rank(peer) };
            let is_seen = seat.mark().set();
            let unseen = if world.is_crowded_now() { nap.min(CARRYING_NAP) } else { nap };
            let nap = if is_seen { SEEN_NAP } else { unseen };
            asleep(|| seat.berth().sleep(awaited, Some(nap.min(longest)), over));
            if !is_seen {
                seat.mark().clear();
            }
            return;
        }
        let longest = nap.min(longest);
        let (me, own) = (shared.member(rank), shared.group(rank));
        let mut alone =
            |over: &mut dyn Question| patience.spin_alone(world.cores(), me, world.ranks(), over);
        let others = || (0..shared.size()).filter(|&other| other != rank);
        match what {
            For::Peer => {
                if shared.group(peer) != own && alone(over) {
                    return;
                }
                let _asleep = world.cores().sleep(me);
                seat.berth().sleep(Awaited::Rank(peer), Some(longest), over);
            }
            For::Anybody => {
                let _asleep = world.cores().sleep(me);
                seat.berth().sleep(Awaited::Everybody, Some(longest), over);
            }
            For::Notice => {
                if shared.group(peer) != own && alone(over) {
                    return;
                }
                let _asleep = world.cores().sleep(me);
                shared.events(Phase::Entered).sleep(
                    SleepLevel::Group(own),
                    event,
                    Some(longest),
                    over,
                );
            }
            For::Last => {
                let has_shown = |other| shared.has_shown(Phase::Finished, other, event);
                let mut over = || others().all(has_shown) || over.ask();
                if alone(&mut over) {
                    return;
                }
                let _asleep = world.cores().sleep(me);
                seat.berth().sleep(Awaited::Everybody, Some(longest), &mut over);
            }
            For::All(phase) => {
                let events = shared.events(phase);
                let has_shown = |other| shared.has_shown(phase, other, event);
                let near = others().filter(|&other| shared.group(other) == own);
                let level = SleepLevel::of(own, near.map(has_shown));
                let mut over = || others().all(has_shown) || over.ask();
                if level == SleepLevel::Top {
                    if alone(&mut over) {
                        return;
                    }
                    events.rouse(event);
                }
                let _asleep = world.cores().sleep(me);
                events.sleep(level, event, Some(longest), &mut over);
            }
        }
    }
}

/// Which rank waits, and how.
pub(super) struct Waiter<'a> {
    pub(super) shared: &'a CommState,
    pub(super) rank: usize,
    pub(super) run: u64,
    pub(super) wait: Wait,
    pub(super) crowded: bool,
}

/// The nap of a rank whose mark all peers see: for events that have no wake, a peer that leaves or
/// waits in a circle. Long, as a timer that is the processor's next costs a microsecond to set,
/// more in a virtual machine (`wait/lost_time.rs` has the measurement).
const SEEN_NAP: Duration = Duration::from_millis(10);
/// How long a rank naps at most that has started calls which others may wait for: nobody wakes it
/// for those.
const CARRYING_NAP: Duration = Duration::from_micros(100);

/// A look at the awaited word. (A trait of its own for the reason of [`Question`].)
pub(super) trait PeerLook {
    fn look(&mut self, peer: &mut Peer) -> bool;
}

impl<F: FnMut(&mut Peer) -> bool> PeerLook for F {
    fn look(&mut self, peer: &mut Peer) -> bool {
        self(peer)
    }
}

impl Port {
    /// Looks until `ready`, which gets this rank's data about `peer`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn wait(
        &mut self,
        peer: usize,
        what: For,
        mut ready: impl FnMut(&mut Peer) -> bool,
    ) -> Result<(), Stop> {
        let at = &mut self.peers[peer];
        let mut looks = self.looks;
        while looks > 0 {
            if ready(at) {
                return Ok(());
            }
            looks -= 1;
        }
        self.wait_more(peer, what, &mut ready)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn wait_more(
        &mut self,
        peer: usize,
        what: For,
        ready: &mut dyn PeerLook,
    ) -> Result<(), Stop> {
        let since = match self.look_recorded(peer, ready) {
            Looked::Ready => return Ok(()),
            Looked::Since(since) => Some(since),
            Looked::Unrecorded => None,
        };
        if since.is_none() && self.looks == 0 && self.fades(peer, ready) {
            return Ok(());
        }
        // Of two ranks everything is between the two.
        let what = if self.size() == 2 { For::Peer } else { what };
        let event = if what == For::All(Phase::Gates) { self.episode } else { self.calls };
        let &mut Port { ref shared, ref mut peers, rank, run, wait, crowded, .. } = self;
        let (waiter, at) = (Waiter { shared, rank, run, wait, crowded }, &mut peers[peer]);
        let result = waiter.wait_long(peer, (what, event), since, &mut || ready.look(at));
        self.yields = self.shared.world().is_crowded_now();
        if since.is_none() {
            self.set_looks();
        }
        result
    }

    /// The looks of a port that counts its waits, as its rank has slept. Whether the word came.
    fn fades(&mut self, peer: usize, ready: &mut dyn PeerLook) -> bool {
        let looks = self.usual_looks();
        let has_come = (0..looks).any(|_| ready.look(&mut self.peers[peer]));
        if has_come && !self.crowded {
            self.shared.seat(self.rank).mark().fade();
        }
        if has_come {
            self.set_looks();
        }
        has_come
    }

    /// Whether it counts its waits, as its rank has slept.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn counts_waits(&self) -> bool {
        self.looks == 0
    }

    /// Sets the budget of looks; 0 while the rank's mark is set, which costs its peers a fence for
    /// each message: so waits are counted until it is cleared.
    fn set_looks(&mut self) {
        let counts = !self.crowded && self.shared.seat(self.rank).mark().is_set();
        self.looks = if counts { 0 } else { self.usual_looks() };
    }
}

impl Waiter<'_> {
    /// Where ranks outnumber cores: lets the others have some turns, and goes on with the calls
    /// that the thread has started. Whether `ready` was so after one of them.
    #[cfg(not(loom))]
    fn give_way(&self, occasion: Occasion, ready: &mut dyn Question) -> bool {
        let (world, me) = (self.shared.world(), self.shared.member(self.rank));
        if self.wait != Wait::Auto || !world.is_crowded_now() {
            return false;
        }
        for _ in 0..TURNS {
            world.carry_on(me);
            if !give_way(occasion) {
                break;
            }
            if ready.ask() {
                return true;
            }
        }
        false
    }

    /// Waits for `peer` until `ready`, in episode or call `event` if it is for all, and goes on
    /// with the calls that the thread has started. `since`: when the wait began, if it is recorded.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_long(
        &self,
        peer: usize,
        (what, event): (For, u64),
        since: Option<u64>,
        ready: &mut dyn Question,
    ) -> Result<(), Stop> {
        let Waiter { shared, rank, run, wait, crowded } = self;
        let sleeper = RankSleeper { shared, rank: *rank, peer, what, event, crowded: *crowded };
        let world = shared.world();
        let (me, it) = (shared.member(*rank), shared.member(peer));
        #[cfg(not(loom))]
        {
            world.perhaps_return();
            world.perhaps_look_at_cores(me, false);
            if since.is_none() && self.give_way(what.occasion(), ready) {
                return Ok(());
            }
        }
        let by_any = what == For::Anybody;
        let awaited = if by_any { ANYBODY } else { it };
        let mut carried = world.carry_on(me);
        let mut number = world.begin_wait(me, awaited);
        let edges = || match by_any {
            false => world.edges(me, std::iter::once(it)),
            true => {
                let others = (0..shared.size()).filter(|other| other != rank);
                let present = others.filter(|&other| !shared.has_left(other, *run));
                world.edges(me, present.map(|other| shared.member(other)))
            }
        };
        let mut patience = sleeper.patience(*wait);
        let (mut rounds, mut has_napped) = (0_u32, false);
        let result = loop {
            // The facts that would make waiting pointless are looked at first and the
            // word once more after it: a message sent before leaving counts.
            let poisoned = world.is_poisoned(*run);
            let are_alone = by_any && shared.have_others_left(*rank, *run);
            let left = shared.has_left(peer, *run);
            // Now and then: it costs more than a look. (In a model at once: that has few.)
            rounds = rounds.wrapping_add(1);
            let is_long =
                patience.is_long() && (has_napped || rounds.is_multiple_of(16) || FEW_LOOKS == 1);
            let seen = if is_long || cfg!(loom) { edges() } else { None };
            has_napped = false;
            if ready.ask() {
                break Ok(());
            }
            if world.is_of_parent() {
                break Err(Stop::Poisoned);
            }
            // Poison is stored before a failing rank leaves: whoever saw it
            // leave must see the poison.
            if poisoned || world.is_poisoned(*run) {
                break Err(Stop::Poisoned);
            }
            if left {
                break Err(Stop::Left { peer });
            }
            if are_alone {
                break Err(Stop::Left { peer: usize::from(*rank == 0) });
            }
            if let Some(outer) = world.outer_over(me) {
                break Err(Stop::Outer(outer));
            }
            // The models leave this out: it is looked at until it is seen, and publishes nothing.
            #[cfg(not(loom))]
            if world.hear_cancel(me, *run) {
                break Err(Stop::Poisoned);
            }
            let before = carried;
            carried = world.carry_on(me);
            if carried != before {
                // Others may have waited for it.
                number = world.begin_wait(me, awaited);
            } else if let (Some(thread), Some(edges)) = (world.thread(me), seen) {
                // The calls have found nothing, either.
                thread.confirm(number, edges);
                if is_long && let Some(circle) = world.circle(me) {
                    break Err(Stop::Circle(circle));
                }
            }
            if patience.is_over(world.deadline()) {
                world.give_up(me, it, *run);
                break Err(Stop::Poisoned);
            }
            if patience.stalls(world.stall_warning()) {
                world.warn_of_stall(LongWait::ForRank { rank: me, peer: it }, *run);
            }
            if let Pause::Nap(nap) = patience.pause() {
                has_napped = true;
                let longest = if carried.owing == 0 { Duration::MAX } else { CARRYING_NAP };
                let is_over = || {
                    #[cfg(not(loom))]
                    if world.is_cancelled(*run) {
                        return true;
                    }
                    world.is_poisoned(*run)
                };
                let mut over = || ready.ask() || is_over();
                #[cfg(not(loom))]
                {
                    world.perhaps_look_at_cores(me, true);
                    if !crowded && !world.is_crowded_now() {
                        world.perhaps_roam();
                    }
                }
                sleeper.sleep(&mut patience, (nap, longest), &mut over);
            }
        };
        world.end_wait(me);
        if !patience.end() && !crowded {
            shared.seat(*rank).mark().fade();
        }
        if let Some(since) = since {
            shared.record_wait(*rank, peer, since);
        }
        result
    }

    /// Waits until `is_done`, on behalf of a rank that must not leave before: whatever else
    /// happens.
    pub(super) fn wait_to_the_end(&self, peer: usize, is_done: &mut dyn Question) {
        let &Waiter { shared, rank, wait, crowded, .. } = self;
        let (world, member, it) = (shared.world(), shared.member(rank), shared.member(peer));
        let sleeper = RankSleeper { shared, rank, peer, what: For::Peer, event: 0, crowded };
        let mut patience = sleeper.patience(wait);
        // On the graph of waits, so that a rank that waits for this one elsewhere
        // finds the circle, and leaves. This one must stay.
        let mut number = None;
        loop {
            let edge = patience.is_long().then(|| world.edge(it));
            // In a child of a fork nobody comes, and nobody touches its copy of the memory.
            if is_done.ask() || world.is_of_parent() {
                break;
            }
            if let Some(edge) = edge {
                let number = *number.get_or_insert_with(|| world.begin_wait(member, it));
                if let Some(edge) = edge {
                    if let Some(thread) = world.thread(member) {
                        thread.confirm(number, vec![edge]);
                    }
                    // Says that it has found the circle, if there is one.
                    drop(world.circle(member));
                }
            }
            if patience.stalls(world.stall_warning()) {
                world.warn_of_stall(LongWait::ToLeave { rank: member, peer: it }, self.run);
            }
            if let Pause::Nap(nap) = patience.pause() {
                sleeper.sleep(&mut patience, (nap, Duration::MAX), is_done);
            }
        }
        if number.is_some() {
            world.end_wait(member);
        }
    }
}

impl Port {
    /// Does `work`, which may take long and waits for nobody: the preparation of a call that is on
    /// record. Reports say so meanwhile; the work asks now and then whether to
    /// go on, and gives up (by none) if the run is over or the deadline has passed.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn preparing<R>(
        &self,
        work: impl FnOnce(&mut dyn Question) -> Option<R>,
    ) -> Result<R, Stop> {
        let (world, me) = (self.shared.world(), self.shared.member(self.rank));
        let mut spent = world.deadline().map(|limit| (Spent::new(), limit));
        world.set_preparing(me, true);
        let result = work(&mut || {
            #[cfg(not(loom))]
            if world.hear_cancel(me, self.run) {
                return false;
            }
            if world.is_poisoned(self.run) {
                return false;
            }
            let over = spent.as_mut().is_some_and(|(spent, limit)| spent.time() >= *limit);
            if over {
                world.give_up(me, me, self.run);
            }
            !over
        });
        world.set_preparing(me, false);
        result.ok_or(Stop::Poisoned)
    }

    /// Gives up: ends the run for everybody, declares this rank gone, and returns when no peer can
    /// reach its memory any more. From then on the port is dead.
    ///
    /// This makes unwinding safe while peers hold addresses of this rank's slices. It waits for
    /// slow peers to reach a call or to return; `run` has to wait for them anyway.
    #[cold]
    pub(crate) fn quiesce(&mut self) {
        if self.state == PortState::Dead {
            return;
        }
        self.state = PortState::Dead;
        self.pass = CLOSED;
        let shared = self.shared.clone();
        if shared.world().is_of_parent() {
            return;
        }
        let member = shared.member(self.rank);
        drop(shared.world().poison(self.run, member, None));
        shared.leave(self.rank);
        let me = self.rank;
        if !shared.world().is_inside(member) {
            // No call of this rank is under way on another communicator
            // either: it touches nobody's memory any more, and `Comm::check_usable`
            // keeps it so. A peer that quiesces another communicator, where
            // it waits for this rank, must hear of it now: this rank may wait
            // for that very peer below.
            shared.world().leave(member, self.run);
        }
        shared.wake_everybody(self.crowded);
        self.withdraw_tickets();
        for peer in (0..self.size()).filter(|&q| q != me) {
            // Inline messages are the state's. A message that describes this rank's memory
            // is in `debts`, and a peer's latest settles those before it.
            let owed = self.debts.iter().rev().find(|debt| debt.0 == peer).map(|debt| debt.1);
            let call = self.open;
            let (rank, run, wait, crowded) = (me, self.run, self.wait, self.crowded);
            let waiter = Waiter { shared: &shared, rank, run, wait, crowded };
            let endpoint = &mut self.peers[peer];
            waiter.wait_to_the_end(peer, &mut || {
                // Left is looked at first: an acknowledgement given before
                // leaving then counts as well.
                let left = shared.is_gone(peer, self.run);
                let acked = owed.is_none_or(|n| endpoint.endpoint().is_acked(n));
                let finished = call.is_none_or(|c| shared.board(peer).has_finished(c));
                left || (acked && finished)
            });
        }
        self.open = None;
        self.debts.clear();
        give_back();
    }

    /// Declares the communicator given up, without ending the run: as dropping a communicator does.
    /// `in_panic`: a panic unwinds, and the run will hear of it.
    pub(crate) fn leave(&mut self, in_panic: bool) {
        // A rank that has quiesced has left already, and said how.
        if std::mem::replace(&mut self.state, PortState::Dead) == PortState::Dead {
            return;
        }
        self.pass = CLOSED;
        if self.shared.world().is_of_parent() {
            return;
        }
        self.end_recorded_run();
        self.withdraw_tickets();
        if in_panic {
            self.shared.leave_in_panic(self.rank);
        } else {
            self.shared.leave(self.rank);
        }
        give_back();
    }
}
