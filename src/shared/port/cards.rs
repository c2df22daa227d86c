//! Started calls: the cards that a rank shows on a column, and those of its peers. Nothing here
//! waits but for a column that is still in use, and where [`Place::wait`] says so. The protocol is
//! in `src/mailbox/README.md`, "Cards".

use super::super::comm_hold::CommHold;
use super::super::comm_state::CommState;
use super::super::fingerprint::{Fingerprint, PayloadKind, Signature};
use super::super::rank_place::RankPlace;
use super::super::started_progress::StartedProgress;
#[cfg(not(loom))]
use super::super::thread::Thread;
use super::waiting::{For, Waiter};
use super::{Port, StartedCall, Stop};
use crate::error::CallSite;
use crate::mailbox::{COLUMNS, CardFacts, FoundCard, NoticeCard, NoticeRow, Tray};
use crate::sync::{fetch, fetch_to_write};
use crate::wait::{Question, Wait};

/// In one call in so many a rank meets all others, also those that give it no input: so it hears
/// of calls that differ while they are on record.
pub(crate) const ALL_MEET: u64 = 16;

/// A rank, and the cards of its communicator.
#[derive(Clone, Copy)]
pub(crate) struct RankCards<'a> {
    shared: &'a CommState,
    rank: usize,
}

/// The place where a rank can wait for the words that a peer is to publish for a request.
pub(crate) struct Place {
    pub(super) shared: CommHold,
    pub(super) rank: usize,
    pub(super) run: u64,
    pub(super) wait: Wait,
    pub(super) peer: usize,
    /// Any rank may publish it; `peer` is none of the others.
    pub(super) by_any: bool,
}

impl Place {
    /// Where to wait for this or for something else that a rank of this communicator is to publish
    /// for a request.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn for_any(self) -> Self {
        // Of two ranks it is the other one.
        match self.shared.size() {
            1 | 2 => self,
            _ => Place { peer: self.rank, by_any: true, ..self },
        }
    }

    /// Waits until `ready`, which goes on with the request. `since`: when the wait began, if it is
    /// recorded.
    pub(crate) fn wait(&self, since: Option<u64>, ready: &mut dyn Question) -> Result<(), Stop> {
        let &Place { ref shared, rank, run, wait, peer, by_any } = self;
        let waiter = Waiter { shared, rank, run, wait };
        let what = if by_any { For::Anybody } else { For::Peer };
        waiter.wait_long(peer, (what, 0), since, ready)
    }
}

/// Two ranks that have started different calls.
#[derive(Debug)]
#[cfg_attr(loom, allow(dead_code))] // Read by communicators only.
pub(crate) struct Disagreement {
    pub(crate) peer: usize,
    pub(crate) here: CallSite,
    pub(crate) there: CallSite,
    pub(crate) what: String,
}

impl Port {
    /// Waits until the next request's column is free: every rank has finished the request that had
    /// it before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn claim_column(&mut self) -> Result<(), Stop> {
        self.requests += 1;
        if self.requests <= self.free_columns { Ok(()) } else { self.claim_more() }
    }

    /// Waits for the column of a request that is not known to be free: asks how far all are.
    #[cold]
    fn claim_more(&mut self) -> Result<(), Stop> {
        const ALL: u64 = COLUMNS as u64;
        self.shared.cards().make(self.rank);
        #[cfg(not(loom))]
        if self.requests - self.columns_looked > ALL {
            // Peers may wait for columns, too, and this rank may make no other calls than starts.
            self.columns_looked = self.requests;
            Thread::here().go_on();
        }
        self.await_column(self.requests.saturating_sub(ALL))?;
        let done = (0..self.size()).map(|rank| done(&self.shared, rank)).min();
        self.free_columns = ALL + done.unwrap_or(0);
        Ok(())
    }

    fn await_column(&mut self, before: u64) -> Result<(), Stop> {
        let &mut Port { ref shared, rank, run, wait, .. } = self;
        let waiter = Waiter { shared, rank, run, wait };
        let has_finished = |rank: usize| done(shared, rank) >= before;
        let p = shared.size();
        // The own request ends by a call that `wait_long` goes on with.
        for peer in (0..p).map(|d| (rank + d) % p) {
            if !has_finished(peer) {
                let of = if peer == rank { (rank + 1) % p } else { peer };
                let since = shared.record_time();
                waiter.wait_long(of, (For::Peer, 0), since, &mut || has_finished(peer))?;
            }
        }
        Ok(())
    }

    /// Starts the call `begun` on the column that was claimed: shows the memory that `fill`
    /// returns, which writes to the room on the card, or to that of the column, of which it uses so
    /// many `bytes`. A rank that sleeps until then is to be [told](Port::tell).
    ///
    /// # Safety
    /// The column was [claimed](Port::claim_column), and no call started on it since.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn start(
        &mut self,
        begun: StartedCall,
        bytes: usize,
        fill: impl FnOnce(*mut u8, *mut u8) -> *mut u8,
    ) {
        let (number, header) = (self.requests, self.header(PayloadKind::SLICE));
        self.past = Fingerprint(header.check).added_to(self.past, self.sig);
        let (past, len) = (self.past, begun.params.len);
        let row = self.shared.cards().row(self.rank).expect("made when a column was claimed");
        let show = |card: &mut NoticeCard| {
            let a = fill(card.brief_mut(), row.beside().room(number));
            card.at = Some(begun.at);
            card.facts = CardFacts { header, a, past, len };
        };
        // SAFETY: this is the owner, and by the contract nobody reads the card now.
        unsafe { row.tray(number).show(number, show) };
        // The lines that are written two calls on, from the peers that have read there.
        if cfg!(not(loom)) {
            fetch_to_write(std::ptr::from_ref(row.tray(number + 2)).cast(), 1);
            fetch_to_write(row.beside().room(number + 2), bytes);
        }
        self.log_call(begun);
    }

    /// Of the call that starts on the column that was claimed.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn started_progress(&self) -> StartedProgress {
        StartedProgress::new(self.requests)
    }

    /// Wakes all ranks that sleep until this rank, or any, publishes something for a request.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tell(&self) {
        for (rank, peer) in self.peers.iter().enumerate() {
            if rank != self.rank {
                peer.wake_for_any();
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn rank_cards(&self) -> RankCards<'_> {
        RankCards { shared: &self.shared, rank: self.rank }
    }
}

impl<'a> RankCards<'a> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn of(at: &'a RankPlace) -> Self {
        RankCards { shared: &at.hold, rank: at.rank }
    }

    /// This rank.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn rank(self) -> usize {
        self.rank
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn row(self, rank: usize) -> Option<&'a NoticeRow> {
        self.shared.cards().row(rank)
    }

    /// The tray of a rank that has started request `number`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tray(self, rank: usize, number: u64) -> &'a Tray<NoticeCard> {
        self.row(rank).expect("it has begun").tray(number)
    }

    /// The rank `distance` places behind `first`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn peer(self, first: usize, distance: usize) -> usize {
        let (rank, p) = (first + distance, self.shared.size());
        if rank < p { rank } else { rank - p }
    }

    /// The other rank of number `index`, if there are so many: each rank begins with its successor.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn other(self, index: usize) -> Option<usize> {
        (index + 1 < self.shared.size()).then(|| self.peer(self.rank + 1, index))
    }

    /// Whether `peer` has started request `number`, too. If it has, the two calls are compared.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn meets(self, number: u64, peer: usize) -> Result<bool, Box<Disagreement>> {
        let (Some(mine), Some(theirs)) = (self.row(self.rank), self.row(peer)) else {
            return Ok(false);
        };
        let tray = theirs.tray(number);
        if tray.shown() < number {
            return Ok(false);
        }
        // SAFETY: this rank alone writes the one, and nothing else before the call is complete. It
        // is in the request, has seen the number of the other, and has not finished it. (No peer
        // shows a later one there before that.)
        let (here, there) = unsafe { (facts(mine.tray(number)), facts(tray)) };
        let agrees = there.len == here.len
            && there.past == here.past
            && Fingerprint(here.header.check).agrees(Fingerprint(there.header.check))
            && signature(&here).agrees(there.header.sig);
        if !agrees {
            // SAFETY: as above.
            return Err(unsafe { disagreement((mine.tray(number), (peer, tray))) });
        }
        // Where this rank has shown the next call the peer has, too, as a rule.
        let next = number + 1;
        if cfg!(not(loom)) && mine.tray(next).shown() == next {
            fetch(std::ptr::from_ref(theirs.tray(next)).cast());
        }
        Ok(true)
    }

    /// The facts of this rank's card.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn own_facts(self, number: u64) -> CardFacts {
        // SAFETY: this rank alone writes it, and nothing else before the call is complete.
        unsafe { facts(self.tray(self.rank, number)) }
    }

    /// Where the memory is that this rank has shown, and that of each of its `sources`: a first
    /// rank, and how many. `beside`: not the memory of the cards' facts, but their rooms.
    ///
    /// # Safety
    /// They have [started](RankCards::meets) it, and this rank has not [ended](RankCards::end).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn addresses(
        self,
        number: u64,
        beside: bool,
        (first, count): (usize, usize),
        all: &mut [*mut u8],
    ) {
        let address = |card: &NoticeCard| if beside { card.brief() } else { card.facts.a };
        // SAFETY: passed on; its own is this rank's.
        let of = |rank: usize| unsafe { self.tray(rank, number).read(address) };
        all[self.rank] = of(self.rank);
        for distance in 0..count {
            let rank = self.peer(first, distance);
            all[rank] = of(rank);
        }
    }

    /// Declares this rank done with everybody's cards, and memory, in this call. Ranks that sleep
    /// until then are to be told.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn end(self, number: u64) {
        self.row(self.rank).expect("it has begun").end(number);
    }
}

#[cfg_attr(loom, allow(dead_code))] // Of communicators only.
impl<'a> RankCards<'a> {
    /// Fetches the next card of `peer`, and its copy of so many `bytes`: that of call `number` was
    /// there at the first look, and the peer needs nothing of this rank, so it is ahead. But not
    /// where it waits for all.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn fetch_next(self, number: u64, peer: usize, bytes: usize) {
        let Some(row) = self.row(peer).filter(|_| !number.is_multiple_of(ALL_MEET)) else { return };
        fetch(std::ptr::from_ref(row.tray(number + 1)).cast());
        let room = row.beside().room(number + 1);
        (0..bytes).step_by(64).for_each(|behind| fetch(room.wrapping_add(behind)));
    }

    /// As [`StartedPart::card`](super::super::StartedPart::card).
    pub(crate) fn card(self, number: u64, rank: usize) -> FoundCard<'a, NoticeCard> {
        FoundCard::Here(self.tray(rank, number))
    }

    /// The peer, which is in the same call, gives `got` elements where `expected` are expected.
    ///
    /// # Safety
    /// As [`addresses`](RankCards::addresses).
    #[cold]
    pub(crate) unsafe fn unequal(
        self,
        number: u64,
        (peer, expected, got): (usize, usize, usize),
    ) -> Box<Disagreement> {
        let what = format!("message length: expected {expected}, got {got}");
        // SAFETY: passed on.
        unsafe { differs((self.tray(self.rank, number), (peer, self.tray(peer, number))), what) }
    }

    /// The operation of a call that has begun.
    pub(crate) fn sig(self, number: u64) -> &'static Signature {
        signature(&self.own_facts(number))
    }

    fn is_over(self, number: u64, peer: usize) -> bool {
        self.row(peer).is_some_and(|row| row.tray(number).is_over(number))
    }

    /// Where to wait for `peer`, at `at`.
    pub(crate) fn place(at: &RankPlace, peer: usize) -> Place {
        let &RankPlace { ref hold, rank, run, wait } = at;
        Place { shared: hold.clone(), rank, run, wait, peer, by_any: false }
    }

    /// Waits until no rank touches the memory that this one, at `at`, has shown in request
    /// `number`, after [`RankPlace::give_up`].
    pub(crate) fn quiesce(at: &RankPlace, number: u64) {
        let &RankPlace { ref hold, rank, run, wait } = at;
        let waiter = Waiter { shared: hold, rank, run, wait };
        let own = RankCards::of(at);
        for peer in (0..).map_while(|index| own.other(index)) {
            waiter.wait_to_the_end(peer, &mut || {
                // Left is looked at first: a call that was finished before leaving counts as well.
                let left = hold.is_gone(peer, run);
                left || own.is_over(number, peer)
            });
        }
    }
}

impl Port {
    /// Makes request `number` the call in progress, for errors.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn blame(&mut self, number: u64) {
        let here = self.rank_cards().own_facts(number);
        self.sig = signature(&here);
        self.check = Fingerprint(here.header.check);
    }
}

/// Up to which request a rank is done with all.
fn done(shared: &CommState, rank: usize) -> u64 {
    shared.cards().row(rank).map_or(0, NoticeRow::done)
}

/// The facts of a card.
///
/// # Safety
/// As [`Tray::read`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn facts(tray: &Tray<NoticeCard>) -> CardFacts {
    // SAFETY: passed on.
    unsafe { tray.read(|card| card.facts) }
}

/// The operation of a card's call.
#[cfg_attr(not(debug_assertions), inline(always))]
fn signature(facts: &CardFacts) -> &'static Signature {
    // SAFETY: `Port::start` has made it of a `&'static`.
    unsafe { &*facts.header.sig.cast() }
}

/// The own card, and that of a peer.
type BothCards<'a> = (&'a Tray<NoticeCard>, (usize, &'a Tray<NoticeCard>));

/// # Safety
/// As [`Tray::read`].
#[cold]
unsafe fn disagreement(of: BothCards<'_>) -> Box<Disagreement> {
    // SAFETY: passed on.
    let (here, there) = unsafe { (facts(of.0), facts(of.1.1)) };
    let (own, other) = (Fingerprint(here.header.check), Fingerprint(there.header.check));
    let sig = signature(&here);
    let what = match sig.difference(there.header.sig) {
        Some(differs) => differs,
        None if here.len != there.len => {
            format!("length: expected {}, got {}", here.len, there.len)
        }
        None if own.agrees(other) => "a call before, longer ago than is on record".to_string(),
        None => own.difference(other, sig.element_size, &|_| "none".to_string()),
    };
    // SAFETY: passed on.
    unsafe { differs(of, what) }
}

/// # Safety
/// As [`Tray::read`].
unsafe fn differs((here, (peer, there)): BothCards<'_>, what: String) -> Box<Disagreement> {
    // SAFETY: passed on.
    let site = |tray: &Tray<NoticeCard>| unsafe {
        tray.read(|card| {
            let parameter = Fingerprint(card.facts.header.check).parameter();
            let call = signature(&card.facts).words(card.facts.len, parameter);
            CallSite { call, at: card.at.expect("shown with it").into() }
        })
    };
    Box::new(Disagreement { peer, here: site(here), there: site(there), what })
}
