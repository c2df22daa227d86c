//! Started calls: what a rank shows on a lane, and what it sees of its peers there. Nothing here
//! waits but for a lane that is still in use, and where [`LaneCall::wait`] says so. The protocol is
//! in `src/mailbox/README.md`, "Lanes".

use super::super::comm_hold::CommHold;
use super::super::comm_state::CommState;
use super::super::fingerprint::{Fingerprint, PayloadKind, Signature};
#[cfg(not(loom))]
use super::super::thread::Thread;
use super::waiting::{For, Waiter};
use super::{Peer, Port, StartedCall, Stop, has_woken_neighbour};
use crate::error::CallSite;
use crate::mailbox::{Board, Header, LANES, Notice};
use crate::sync::Arc;
use crate::sync::diagnostic::Ordering::Relaxed;
use crate::wait::Wait;
use std::panic::Location;

/// How far this rank is with a call that it has started on a lane.
#[derive(Clone, Copy)]
pub(crate) struct LaneProgress {
    /// The number of the request in its communicator, equal on all ranks.
    number: u64,
    header: Header,
    sig: &'static Signature,
    at: &'static Location<'static>,
    len: usize,
    /// So many ranks, from this one on, have started the call, too.
    begun: usize,
    /// So many have finished it.
    finished: usize,
    /// Whether this one has.
    has_finished: bool,
}

/// A rank, and the lanes of its communicator.
#[derive(Clone, Copy)]
pub(crate) struct LaneEnd<'a> {
    fabric: &'a CommState,
    rank: usize,
}

/// A call that this rank has started, with what it takes to go on with it anywhere.
pub(crate) struct LaneCall {
    fabric: CommHold,
    rank: usize,
    run: u64,
    wait: Wait,
    crowded: bool,
    progress: LaneProgress,
}

/// Where a rank can wait for what a peer is to publish for a request.
pub(crate) struct Place {
    pub(super) fabric: CommHold,
    pub(super) rank: usize,
    pub(super) run: u64,
    pub(super) wait: Wait,
    pub(super) crowded: bool,
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
        match self.fabric.size() {
            1 | 2 => self,
            _ => Place { peer: self.rank, by_any: true, ..self },
        }
    }

    /// Waits until `ready`, which goes on with the request. `own`: so many of the thread's calls
    /// that others may wait for are this one; None if other calls are awaited, too. `since`: when
    /// the wait began, if it is recorded.
    pub(crate) fn wait(
        &self,
        own: Option<usize>,
        since: Option<u64>,
        ready: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stop> {
        let &Place { ref fabric, rank, run, wait, crowded, peer, by_any } = self;
        let waiter = Waiter { fabric, rank, run, wait, crowded };
        let what = if by_any { For::Anybody } else { For::Peer };
        waiter.wait_long(peer, (what, 0), own.filter(|_| !by_any), since, ready)
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
    /// Waits until the next request's lane is free: every rank has finished the request that had
    /// it before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn claim_lane(&mut self) -> Result<(), Stop> {
        self.requests += 1;
        if self.requests <= self.free_lanes { Ok(()) } else { self.claim_more() }
    }

    /// The same, of a request that is not known to have a free lane: looks at those of the next
    /// ones, too, as their words are in the same lines.
    #[cold]
    fn claim_more(&mut self) -> Result<(), Stop> {
        /// Words in a line.
        const TOGETHER: u64 = 8;
        const ALL: u64 = LANES as u64;
        self.fabric.lanes().make(self.rank);
        #[cfg(not(loom))]
        if self.requests.is_multiple_of(ALL) {
            // Peers may wait for lanes, too, and this rank may make no other calls than starts.
            Thread::here().go_on();
        }
        if self.requests <= ALL {
            self.free_lanes = ALL;
            return Ok(());
        }
        self.await_lane(self.requests - ALL)?;
        let has_finished = |rank, before| self.fabric.lanes().has_finished(rank, before);
        let are_done = |before| (0..self.size()).all(|rank| has_finished(rank, before));
        let mut free = self.requests;
        while !(free + 1).is_multiple_of(TOGETHER) && are_done(free + 1 - ALL) {
            free += 1;
        }
        self.free_lanes = free;
        Ok(())
    }

    fn await_lane(&mut self, before: u64) -> Result<(), Stop> {
        let Port { fabric, rank, run, wait, crowded, .. } = self;
        let waiter = Waiter { fabric, rank: *rank, run: *run, wait: *wait, crowded: *crowded };
        let has_finished = |rank: usize| fabric.lanes().has_finished(rank, before);
        let p = fabric.size();
        // The own request ends by what `wait_long` goes on with.
        for peer in (0..p).map(|d| (*rank + d) % p) {
            if !has_finished(peer) {
                let of = if peer == *rank { (*rank + 1) % p } else { peer };
                let since = fabric.record_time();
                waiter.wait_long(of, (For::Peer, 0), None, since, &mut || has_finished(peer))?;
            }
        }
        Ok(())
    }

    /// Starts the call `begun`, of `len` elements, on the lane that was claimed: shows the memory
    /// `at`, and what `fill` writes to the room beside the notice. Who sleeps until then is to be
    /// [told](Port::tell).
    ///
    /// # Safety
    /// The lane was [claimed](Port::claim_lane), and no call started on it since.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn start(
        &mut self,
        begun: StartedCall,
        len: usize,
        at: *mut u8,
        fill: impl FnOnce(*mut u8),
    ) -> LaneProgress {
        let (number, header) = (self.requests, self.header(PayloadKind::SLICE));
        let line = std::ptr::from_ref(begun.at).cast_mut().cast();
        let notice = Notice { header, a: at, b: line, len };
        let board = self.lane_end().board(self.rank, number).expect("made when it was claimed");
        // SAFETY: this is the owner, and by the contract nobody reads the board now.
        unsafe {
            board.write_brief(fill);
            board.show(number, notice);
        }
        self.log_call(begun);
        let StartedCall { sig, at, .. } = begun;
        let (begun, finished, has_finished) = (1, 1, false);
        LaneProgress { number, header, sig, at, len, begun, finished, has_finished }
    }

    /// Where this rank may copy the input of the call that starts on the lane that was claimed.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn copy_room(&self) -> *mut u8 {
        self.fabric.lanes().copy_room(self.rank, self.requests)
    }

    /// Wakes all who sleep until this rank, or any, publishes something for a request.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tell(&self) {
        let (before, rest) = self.peers.split_at(self.rank);
        before.iter().chain(&rest[1..]).for_each(Peer::wake_for_any);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn lane_end(&self) -> LaneEnd<'_> {
        LaneEnd { fabric: &self.fabric, rank: self.rank }
    }
}

impl<'a> LaneEnd<'a> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn board(self, rank: usize, number: u64) -> Option<&'a Board> {
        self.fabric.lanes().board(rank, number)
    }

    /// The rank `distance` places further.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn peer(self, distance: usize) -> usize {
        let (rank, p) = (self.rank + distance, self.fabric.size());
        if rank < p { rank } else { rank - p }
    }
}

impl LaneProgress {
    /// Whether all ranks have started the call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn have_all_begun(&mut self, own: LaneEnd<'_>) -> Result<bool, Box<Disagreement>> {
        while self.begun < own.fabric.size() {
            let peer = own.peer(self.begun);
            let Some(board) = own.board(peer, self.number) else { return Ok(false) };
            if board.look() < self.number {
                return Ok(false);
            }
            // SAFETY: this rank is in the request, has seen its number, and has not finished it.
            // (No peer shows a later one there before that.)
            let notice = unsafe { board.notice() };
            let agrees = notice.len == self.len
                && Fingerprint(self.header.check).agrees(Fingerprint(notice.header.check))
                && self.sig.agrees(notice.header.sig);
            if !agrees {
                // Of a copy: what this is stays in registers.
                return Err({ *self }.disagreement(peer, notice));
            }
            self.begun += 1;
        }
        Ok(true)
    }

    #[cold]
    fn disagreement(&self, peer: usize, there: Notice) -> Box<Disagreement> {
        let (own, other) = (Fingerprint(self.header.check), Fingerprint(there.header.check));
        let name = |_| "none".to_string();
        let what = match self.sig.difference(there.header.sig) {
            Some(differs) => differs,
            None if self.len != there.len => {
                format!("length: expected {}, got {}", self.len, there.len)
            }
            None => own.difference(other, self.sig.element_size, name),
        };
        self.differs(peer, there, what)
    }

    #[cold]
    fn differs(&self, peer: usize, there: Notice, what: String) -> Box<Disagreement> {
        // SAFETY: `start` has made them of a `&'static` each.
        let (sig, at) = unsafe {
            (&*there.header.sig.cast::<Signature>(), &*there.b.cast::<Location<'static>>())
        };
        let parameter = Fingerprint(there.header.check).parameter();
        let there = CallSite { call: sig.words(there.len, parameter), at: at.into() };
        let parameter = Fingerprint(self.header.check).parameter();
        let here = CallSite { call: self.sig.words(self.len, parameter), at: self.at.into() };
        Box::new(Disagreement { peer, here, there, what })
    }

    /// What `rank` has shown: what its notice says, or, `beside` it, the copy there.
    ///
    /// # Safety
    /// [All have begun](LaneProgress::have_all_begun), and this rank has not finished.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn address(&self, own: LaneEnd<'_>, beside: bool, rank: usize) -> *mut u8 {
        let board = own.board(rank, self.number).expect("it has begun");
        // SAFETY: passed on.
        unsafe { if beside { board.brief() } else { board.notice().a } }
    }

    /// Declares this rank done with everybody's memory in this call. Who sleeps until then is to be
    /// told.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish(&mut self, own: LaneEnd<'_>) {
        self.has_finished = true;
        own.fabric.lanes().finish(own.rank, self.number);
    }
}

impl LaneCall {
    /// One that is still to be started, by `sig` and at the line `at`.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn new(
        port: &Port,
        sig: &'static Signature,
        at: &'static Location<'static>,
    ) -> Self {
        let (number, header, len) = (0, port.header(PayloadKind::SLICE), 0);
        let (begun, finished, has_finished) = (1, 1, false);
        let none = LaneProgress { number, header, sig, at, len, begun, finished, has_finished };
        LaneCall::of(port, none)
    }

    /// One of `port` that has come so far.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn of(port: &Port, progress: LaneProgress) -> Self {
        let &Port { ref hold, rank, run, wait, crowded, .. } = port;
        LaneCall { fabric: hold.clone(), rank, run, wait, crowded, progress }
    }

    /// It was started again.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn start(&mut self, progress: LaneProgress) {
        self.progress = progress;
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end(&self) -> LaneEnd<'_> {
        LaneEnd { fabric: &self.fabric, rank: self.rank }
    }

    /// As [`Port::tell`].
    pub(crate) fn tell(&self) {
        for peer in (0..self.fabric.size()).filter(|&peer| peer != self.rank) {
            wake(&self.fabric, (self.rank, peer), self.crowded);
        }
    }

    /// Calls `f` with how far this is.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn go_on<R>(&mut self, f: impl FnOnce(&mut LaneProgress, LaneEnd<'_>) -> R) -> R {
        f(&mut self.progress, LaneEnd { fabric: &self.fabric, rank: self.rank })
    }

    /// As [`LaneProgress::have_all_begun`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn have_all_begun(&mut self) -> Result<bool, Box<Disagreement>> {
        self.go_on(LaneProgress::have_all_begun)
    }

    /// The peer, which is in the same call, gives `got` elements where `expected` are expected.
    ///
    /// # Safety
    /// As [`addresses`](LaneCall::addresses).
    #[cold]
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) unsafe fn unequal(
        &self,
        (peer, expected, got): (usize, usize, usize),
    ) -> Box<Disagreement> {
        let board = self.end().board(peer, self.progress.number).expect("it has begun");
        // SAFETY: passed on.
        let there = unsafe { board.notice() };
        let what = format!("message length: expected {expected}, got {got}");
        self.progress.differs(peer, there, what)
    }

    /// Makes this the call in progress of `port`, for errors.
    pub(crate) fn blame(&self, port: &mut Port) {
        port.sig = self.progress.sig;
        port.check = Fingerprint(self.progress.header.check);
    }

    /// What was called.
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) fn sig(&self) -> &'static Signature {
        self.progress.sig
    }

    /// What every rank has shown, in rank order: what its notice says, or the copy beside it.
    ///
    /// # Safety
    /// As [`LaneProgress::address`].
    pub(crate) unsafe fn addresses(&self, beside: bool, all: &mut Vec<*mut u8>) {
        let own = self.end();
        all.clear();
        all.extend((0..self.fabric.size()).map(|rank| {
            // SAFETY: passed on.
            unsafe { self.progress.address(own, beside, rank) }
        }));
    }

    /// The rooms beside the notices, which follow in `all`.
    ///
    /// # Safety
    /// As [`addresses`](LaneCall::addresses).
    #[cfg_attr(loom, allow(dead_code))] // Of communicators only.
    pub(crate) unsafe fn add_rooms(&self, all: &mut Vec<*mut u8>) {
        all.extend((0..self.fabric.size()).map(|rank| {
            // SAFETY: passed on.
            unsafe { self.progress.address(self.end(), true, rank) }
        }));
    }

    /// Declares this rank done with everybody's memory in this call.
    pub(crate) fn finish(&mut self) {
        self.go_on(LaneProgress::finish);
        self.tell();
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_peer_finished(&self, peer: usize) -> bool {
        self.fabric.lanes().has_finished(peer, self.progress.number)
    }

    /// Whether all ranks are.
    #[inline]
    pub(crate) fn have_all_finished(&mut self) -> bool {
        while self.progress.finished < self.fabric.size() {
            if !self.has_peer_finished(self.end().peer(self.progress.finished)) {
                return false;
            }
            self.progress.finished += 1;
        }
        true
    }

    /// The first rank that is missing.
    pub(crate) fn awaited(&self) -> usize {
        let LaneProgress { begun, finished, has_finished, .. } = self.progress;
        self.end().peer(if has_finished { finished } else { begun })
    }

    /// Where to wait for that rank.
    pub(crate) fn place(&self) -> Place {
        let &LaneCall { ref fabric, rank, run, wait, crowded, .. } = self;
        Place {
            fabric: fabric.clone(),
            rank,
            run,
            wait,
            crowded,
            peer: self.awaited(),
            by_any: false,
        }
    }

    /// The rank that is awaited, if it has left: it never comes.
    pub(crate) fn left(&self) -> Option<usize> {
        let peer = self.awaited();
        self.fabric.has_left(peer, self.run).then_some(peer)
    }

    fn waiter(&self) -> Waiter<'_> {
        let &LaneCall { ref fabric, rank, run, wait, crowded, .. } = self;
        Waiter { fabric, rank, run, wait, crowded }
    }

    pub(crate) fn fabric(&self) -> &Arc<CommState> {
        &self.fabric
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// Whether this rank has declared that it touches nobody's memory any more.
    pub(crate) fn has_left(&self) -> bool {
        self.fabric.is_gone(self.rank, self.run)
    }

    /// Calls `f`, which may run an operator of the user's: if that fails in a call on another
    /// communicator, the rank is not done yet.
    pub(crate) fn in_user_code<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Out<'a>(&'a LaneCall);
        impl Drop for Out<'_> {
            fn drop(&mut self) {
                let fabric = &self.0.fabric;
                fabric.world().line(fabric.member(self.0.rank)).leave_user_code();
            }
        }
        self.fabric.world().line(self.fabric.member(self.rank)).enter_user_code();
        let _out = Out(self);
        f()
    }

    /// Ends the run, whose cause is to follow, and declares that this rank touches nobody's memory
    /// in the communicator any more: it never goes on with the call.
    pub(crate) fn give_up(&self) {
        give_up(&self.fabric, self.rank, self.run, self.crowded);
    }

    /// Waits until no rank touches what this one has shown, after [`give_up`](LaneCall::give_up).
    pub(crate) fn quiesce(&self) {
        for peer in (1..self.fabric.size()).map(|d| self.end().peer(d)) {
            self.waiter().wait_to_the_end(peer, &mut || {
                // Left is looked at first: what was finished before leaving counts as well.
                let left = self.fabric.is_gone(peer, self.run);
                left || self.has_peer_finished(peer)
            });
        }
    }
}

/// Rank `rank` has published something for `peer`, which may sleep until any rank does.
pub(crate) fn wake(fabric: &CommState, (rank, peer): (usize, usize), crowded: bool) {
    let seat = fabric.seat(peer);
    // Relaxed: a hint (`wait/berth.rs`).
    let may_sleep = crowded || seat.hint().load(Relaxed) != 0;
    let is_near = || fabric.group(peer) == fabric.group(rank);
    if may_sleep && seat.berth().call(rank, || true) && is_near() {
        has_woken_neighbour();
    }
}

/// See [`LaneCall::give_up`].
pub(crate) fn give_up(fabric: &CommState, rank: usize, run: u64, crowded: bool) {
    let member = fabric.member(rank);
    drop(fabric.world().poison(run, member, None));
    fabric.leave(rank);
    // As in `Port::quiesce`.
    let is_inside = fabric.world().is_inside(member);
    if !is_inside {
        fabric.world().leave(member, run);
    }
    fabric.wake_everybody(crowded);
}
