//! A rank's hold on a communicator: private counters, and every operation
//! that may have to wait. One port per rank and communicator; it is used by
//! one thread at a time (`&mut`), and in a team's run only by the rank's own.

use super::sig::{Check, Kind, Sig};
use super::words::Fabric;
use crate::mailbox::{End, Header, Link, Notice};
use crate::sync::Arc;
use crate::wait::{Bed, Patience, Pause, Wait, is_crowded};
use std::panic::Location;

/// Looks at the awaited word before anything else is considered; free, since
/// nobody waits shorter than one line transfer. Then, unless ranks outnumber
/// cores, some more (one to two microseconds) before the wait is announced: an
/// announcement is a line that the awaited rank's own waits would read, and
/// so costs transfers on exchanges between distant cores.
#[cfg(not(loom))]
const FIRST_LOOKS: usize = 64;
#[cfg(not(loom))]
const MORE_LOOKS: usize = 1000;
#[cfg(loom)]
const FIRST_LOOKS: usize = 1;
#[cfg(loom)]
const MORE_LOOKS: usize = 0;

/// Why a wait ended without what it was for. The caller must quiesce.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Another rank has ended the run.
    Poisoned,
    /// The awaited rank has left.
    Left { peer: usize },
    /// Ranks (of the world) wait for each other, this one among them.
    Circle(Vec<(usize, usize)>),
    /// The peer's message belongs to another call than this rank's.
    Mismatch { peer: usize, expected: Header, got: Header, lens: Option<(usize, usize)> },
}

/// The payload of a message that describes memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Words {
    /// The slice ([`Kind::SLICE`]), or a list of [`Span`]s ([`Kind::LIST`]).
    pub(crate) at: *const u8,
    /// The number of spans of a list.
    pub(crate) count: usize,
    /// Elements in all.
    pub(crate) len: usize,
}

/// A slice of `len` elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Span {
    pub(crate) at: *const u8,
    pub(crate) len: usize,
}

/// What a call is told apart by, beside its [`Sig`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    pub(crate) len: usize,
    /// Root or distance, or [`Check::NO_PARAMETER`].
    pub(crate) parameter: usize,
    /// The algorithm's number, and in the bits from 7 on what tells extents
    /// of a mesh, or counts, apart.
    pub(crate) algorithm: u16,
}

/// See the module documentation.
pub(crate) struct Port {
    fabric: Arc<Fabric>,
    rank: usize,
    run: u64,
    wait: Wait,
    bed: Bed,
    ends: Box<[End]>,
    /// Pointers under way: peer and message number.
    debts: Vec<(usize, u32)>,
    /// Collective calls so far; equal on all ranks.
    calls: u64,
    /// The call that has a notice on this rank's board which peers may still
    /// be using, or in which this rank may be using theirs.
    open: Option<u64>,
    sig: &'static Sig,
    check: Check,
    /// Set by `quiesce`: the port refuses everything from then on.
    dead: bool,
    moved_in: bool,
}

static NO_CALL: Sig = Sig::of::<()>("no call", "", "");

impl Port {
    /// # Safety
    /// This is the only port of `rank` on `fabric`, in the fabric's lifetime,
    /// unless it is the continuation of one that [`Port::parts`] took apart.
    pub(crate) unsafe fn new(
        fabric: Arc<Fabric>,
        rank: usize,
        bed: Bed,
        run: u64,
        wait: Wait,
    ) -> Self {
        let ends = vec![End::default(); fabric.size()].into_boxed_slice();
        Port {
            fabric,
            rank,
            run,
            wait,
            bed,
            ends,
            debts: Vec::new(),
            calls: 0,
            open: None,
            sig: &NO_CALL,
            check: Check(0),
            dead: false,
            moved_in: false,
        }
    }

    #[inline(always)]
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.fabric.size()
    }

    #[inline(always)]
    pub(crate) fn fabric(&self) -> &Arc<Fabric> {
        &self.fabric
    }

    #[inline(always)]
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    pub(crate) fn wait_policy(&self) -> Wait {
        self.wait
    }

    /// Whether the port has given up its communicator.
    #[inline(always)]
    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    /// Whether the rank has left its run, here or in another communicator.
    #[inline(always)]
    pub(crate) fn has_left_run(&self) -> bool {
        self.fabric.world().has_left(self.fabric.member(self.rank), self.run)
    }

    /// Declares that user code may run from now on, until `come_out`: if it
    /// fails in a call on another communicator, the rank is not done yet.
    #[inline(always)]
    pub(crate) fn go_in(&self) {
        self.fabric.world().go_in(self.fabric.member(self.rank));
    }

    /// The end of what `go_in` began.
    #[inline(always)]
    pub(crate) fn come_out(&self) {
        self.fabric.world().come_out(self.fabric.member(self.rank));
    }

    /// Puts what belongs to this rank into the memory of the core that it runs
    /// on, before the communicator is used for the first time. Returns whether
    /// there was anything to do.
    pub(crate) fn move_in(&mut self) -> bool {
        if std::mem::replace(&mut self.moved_in, true) || !self.fabric.is_apart() {
            return false;
        }
        self.fabric.move_in(self.rank);
        // Allocated, and so written, here.
        self.ends = self.ends.clone();
        true
    }

    /// Takes part in run `run` from now on.
    pub(crate) fn join_run(&mut self, run: u64) {
        self.run = run;
    }

    /// Messages posted less messages taken, summed over the peers, modulo
    /// 2^32: the sum over all ranks is 0 exactly if every message was received.
    pub(crate) fn balance(&self) -> u32 {
        self.ends.iter().fold(0, |sum, e| sum.wrapping_add(e.tx).wrapping_sub(e.rx))
    }

    /// Collective calls so far, modulo 2^32: equal on all ranks after a run that
    /// went well.
    pub(crate) fn calls(&self) -> u32 {
        self.calls as u32
    }

    /// The fingerprint of the call in progress.
    pub(crate) fn call(&self) -> &'static Sig {
        self.sig
    }

    /// Starts a collective call.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        sig: &'static Sig,
        at: &'static Location<'static>,
        params: Params,
    ) {
        self.calls += 1;
        self.begin(self.calls, sig, at, params);
    }

    /// Starts a point-to-point call, of which `sig` goes on record; what
    /// travels is compared with `wire`, the same for send and receive.
    #[inline(always)]
    pub(crate) fn enter_p2p(
        &mut self,
        sig: &'static Sig,
        wire: &'static Sig,
        at: &'static Location<'static>,
        params: Params,
    ) {
        self.begin(0, sig, at, params);
        self.sig = wire;
    }

    #[inline(always)]
    fn begin(
        &mut self,
        call: u64,
        sig: &'static Sig,
        at: &'static Location<'static>,
        params: Params,
    ) {
        let Params { len, parameter, algorithm } = params;
        let records = self.fabric.world().records(self.fabric.member(self.rank));
        let record = records.note(self.fabric.id(), sig, at, len, parameter);
        self.sig = sig;
        let (parameter, len) = if call == 0 { (Check::NO_PARAMETER, 0) } else { (parameter, len) };
        self.check = Check::new(call, parameter, algorithm, len, record);
    }

    #[inline(always)]
    fn header(&self, kind: Kind) -> Header {
        Header { sig: std::ptr::from_ref(self.sig).cast(), check: self.check.with(kind).0 }
    }

    #[inline(always)]
    fn link(&mut self, peer: usize) -> Link<'_> {
        link(&self.fabric, self.rank, peer, &mut self.ends[peer])
    }

    /// Posts a message of `kind` to `peer`; `fill` writes the payload.
    #[inline(always)]
    fn post(&mut self, peer: usize, kind: Kind, fill: impl FnOnce(*mut u8)) -> Result<u32, Stop> {
        let rank = self.rank;
        self.wait(peer, |fabric, end| link(fabric, rank, peer, end).can_post())?;
        let header = self.header(kind);
        let n = self.link(peer).post(header, fill);
        self.fabric.wake(peer);
        Ok(n)
    }

    /// Posts `bytes <= INLINE` bytes, written by `fill`. They are gone; nothing
    /// needs to be settled.
    #[inline(always)]
    pub(crate) fn post_inline(
        &mut self,
        peer: usize,
        bytes: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), Stop> {
        self.post(peer, Kind::inline(bytes), fill).map(drop)
    }

    /// Posts words that describe memory of this rank (as [`Kind::SLICE`] or
    /// [`Kind::LIST`]). That memory must stay as it is until
    /// [`settle`](Port::settle) or [`settle_all`](Port::settle_all), and
    /// [`quiesce`](Port::quiesce) must run before it is freed in any other way.
    #[inline(always)]
    pub(crate) fn post_words(&mut self, peer: usize, kind: Kind, words: Words) -> Result<(), Stop> {
        let n = self.post(peer, kind, |body| {
            // SAFETY: the body has INLINE = 40 bytes, aligned to 8.
            unsafe { body.cast::<Words>().write(words) }
        })?;
        self.debts.push((peer, n));
        Ok(())
    }

    /// Takes the next message from `peer`, which must be of the call in
    /// progress and of `kind`; `take` gets its payload. Only after `take` is
    /// the sender told that its memory is its own again.
    #[inline(always)]
    pub(crate) fn take<R>(
        &mut self,
        peer: usize,
        kind: Kind,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        self.await_message(peer)?;
        let expected = self.header(kind);
        let sig = self.sig;
        let mut link = self.link(peer);
        let taken = link.read(|got, body| {
            if Check(expected.check).agrees(Check(got.check)) && sig.agrees(got.sig) {
                Ok(take(body))
            } else {
                Err(Stop::Mismatch { peer, expected, got, lens: None })
            }
        })?;
        link.consume();
        self.fabric.wake(peer);
        Ok(taken)
    }

    /// The same for a message that describes memory of `len` elements: `take`
    /// gets the three words once the length agrees.
    #[inline(always)]
    pub(crate) fn take_words<R>(
        &mut self,
        peer: usize,
        len: usize,
        take: impl FnOnce(Kind, Words) -> R,
    ) -> Result<R, Stop> {
        self.await_message(peer)?;
        let (slice, list) = (self.header(Kind::SLICE), self.header(Kind::LIST));
        let sig = self.sig;
        let mut link = self.link(peer);
        let taken = link.read(|got, body| {
            let is_slice = Check(slice.check).agrees(Check(got.check));
            let fits = is_slice || Check(list.check).agrees(Check(got.check));
            if !(fits && sig.agrees(got.sig)) {
                return Err(Stop::Mismatch { peer, expected: slice, got, lens: None });
            }
            // SAFETY: a message of these kinds was written by `post_words`.
            let words = unsafe { body.cast::<Words>().read() };
            if words.len != len {
                let lens = Some((len, words.len));
                return Err(Stop::Mismatch { peer, expected: slice, got, lens });
            }
            Ok(take(if is_slice { Kind::SLICE } else { Kind::LIST }, words))
        })?;
        link.consume();
        self.fabric.wake(peer);
        Ok(taken)
    }

    #[inline(always)]
    fn await_message(&mut self, peer: usize) -> Result<(), Stop> {
        let rank = self.rank;
        self.wait(peer, |fabric, end| link(fabric, rank, peer, end).poll())
    }

    /// The last message posted to `peer`.
    #[inline(always)]
    pub(crate) fn posted(&self, peer: usize) -> u32 {
        self.ends[peer].tx
    }

    /// Waits until `peer` is done with message `n`.
    #[inline(always)]
    pub(crate) fn settle(&mut self, peer: usize, n: u32) -> Result<(), Stop> {
        let rank = self.rank;
        self.wait(peer, |fabric, end| link(fabric, rank, peer, end).is_settled(n))
    }

    /// Waits until no peer can reach this rank's memory by a message.
    #[inline(always)]
    pub(crate) fn settle_all(&mut self) -> Result<(), Stop> {
        while let Some(&(peer, n)) = self.debts.last() {
            self.settle(peer, n)?;
            self.debts.pop();
        }
        Ok(())
    }

    /// Shows two places of `len` elements in this rank's memory to all peers,
    /// until [`close`](Port::close).
    #[inline(always)]
    pub(crate) fn show(&mut self, a: *mut u8, b: *mut u8, len: usize) {
        self.open = Some(self.calls);
        let notice = Notice { header: self.header(Kind::SLICE), a, b, len };
        // SAFETY: this is the owner; and `close` (or `quiesce`, after which
        // the port is dead) has waited for everyone to be done with the
        // notice before this one.
        unsafe { self.fabric.board(self.rank).show(self.calls, notice) };
        for peer in (0..self.size()).filter(|&q| q != self.rank) {
            self.fabric.wake(peer);
        }
    }

    /// Waits for `peer`'s notice of this call. `len` is compared unless `None`.
    #[inline(always)]
    pub(crate) fn notice(&mut self, peer: usize, len: Option<usize>) -> Result<Notice, Stop> {
        let call = self.calls;
        // A peer that shows a *later* call never showed this one to us.
        self.wait(peer, |fabric, _| fabric.board(peer).look() >= call)?;
        let expected = self.header(Kind::SLICE);
        let board = self.fabric.board(peer);
        if board.look() != call {
            let got = Header { sig: expected.sig, check: Check::new(board.look(), 0, 0, 0, 0).0 };
            return Err(Stop::Mismatch { peer, expected, got, lens: None });
        }
        // SAFETY: this rank is in call `call`, has seen that number, and
        // finishes it only in `finish`.
        let notice = unsafe { board.notice() };
        let got = notice.header;
        if !Check(expected.check).agrees(Check(got.check)) || !self.sig.agrees(got.sig) {
            return Err(Stop::Mismatch { peer, expected, got, lens: None });
        }
        match len {
            Some(len) if len != notice.len => {
                Err(Stop::Mismatch { peer, expected, got, lens: Some((len, notice.len)) })
            }
            _ => Ok(notice),
        }
    }

    /// Why a call ends in which `peer`'s notice, of this call, stands for
    /// another number of elements than this rank expects.
    #[cold]
    pub(crate) fn unequal(&self, peer: usize, expected: usize, got: usize) -> Stop {
        // Its header agrees with this rank's own but for the record's number.
        // SAFETY: as in `notice`, which the caller has had it from.
        let header = unsafe { self.fabric.board(peer).notice() }.header;
        let lens = Some((expected, got));
        Stop::Mismatch { peer, expected: self.header(Kind::SLICE), got: header, lens }
    }

    /// Declares this rank done with all foreign memory of this call.
    #[inline(always)]
    pub(crate) fn finish(&mut self) {
        self.fabric.board(self.rank).finish(self.calls);
        for peer in (0..self.size()).filter(|&q| q != self.rank) {
            self.fabric.wake(peer);
        }
    }

    /// Waits until `peer` has finished this call.
    #[inline(always)]
    pub(crate) fn await_finished(&mut self, peer: usize) -> Result<(), Stop> {
        let call = self.calls;
        self.wait(peer, |fabric, _| fabric.board(peer).has_finished(call))
    }

    /// Waits until all peers have finished this call: the board is free again.
    #[inline(always)]
    pub(crate) fn close(&mut self) -> Result<(), Stop> {
        for d in 1..self.size() {
            self.await_finished((self.rank + d) % self.size())?;
        }
        self.open = None;
        Ok(())
    }

    /// Looks until `ready`, which gets the counters for `peer`.
    #[inline(always)]
    fn wait(
        &mut self,
        peer: usize,
        mut ready: impl FnMut(&Fabric, &mut End) -> bool,
    ) -> Result<(), Stop> {
        let (fabric, end) = (&*self.fabric, &mut self.ends[peer]);
        for _ in 0..FIRST_LOOKS {
            if ready(fabric, end) {
                return Ok(());
            }
        }
        self.wait_more(peer, &mut ready)
    }

    #[inline(never)]
    fn wait_more(
        &mut self,
        peer: usize,
        ready: &mut dyn FnMut(&Fabric, &mut End) -> bool,
    ) -> Result<(), Stop> {
        let Port { fabric, ends, rank, run, wait, bed, .. } = self;
        let (fabric, end) = (&**fabric, &mut ends[peer]);
        if matches!(wait, Wait::Spin) || (matches!(wait, Wait::Auto) && !is_crowded()) {
            for _ in 0..MORE_LOOKS {
                if ready(fabric, end) {
                    return Ok(());
                }
            }
        }
        let world = fabric.world();
        let (me, it) = (fabric.member(*rank), fabric.member(peer));
        let number = world.begin_wait(me, it);
        let mut patience = Patience::new(*wait);
        let result = loop {
            // What would make waiting pointless is looked at first and the
            // word once more after it: a message sent before leaving counts.
            let poisoned = world.is_poisoned(*run);
            let left = fabric.has_left(peer, *run);
            let peer_wait = world.wait_of(it);
            if ready(fabric, end) {
                break Ok(());
            }
            // Poison is stored before a failing rank leaves: whoever saw it
            // leave must see the poison.
            if poisoned || world.is_poisoned(*run) {
                break Err(Stop::Poisoned);
            }
            if left {
                break Err(Stop::Left { peer });
            }
            if let Some((peer_number, _)) = peer_wait {
                world.confirm(me, number, peer_number);
                if patience.is_long()
                    && let Some(circle) = world.circle(me)
                {
                    break Err(Stop::Circle(circle));
                }
            }
            if let Pause::Nap(longest) = patience.pause() {
                fabric.set_asleep(*rank, true);
                let come = ready(fabric, end);
                if !come {
                    bed.nap(longest);
                }
                fabric.set_asleep(*rank, false);
                if come {
                    break Ok(());
                }
            }
        };
        world.end_wait(me);
        result
    }

    /// Gives up: ends the run for everybody, declares this rank gone, and
    /// returns when no peer can reach its memory any more. From then on the
    /// port is dead.
    ///
    /// This is what makes unwinding safe while peers hold addresses of this
    /// rank's slices. It waits for slow peers to reach a call or to return;
    /// `run` has to wait for them anyway.
    #[cold]
    pub(crate) fn quiesce(&mut self) {
        if self.dead {
            return;
        }
        self.dead = true;
        let fabric = self.fabric.clone();
        drop(fabric.world().poison(self.run, None));
        fabric.leave(self.rank);
        let me = self.rank;
        let member = fabric.member(me);
        if !fabric.world().is_inside(member) {
            // No call of this rank is under way on another communicator
            // either: it touches nobody's memory any more, and `Comm::admit`
            // keeps it so. A peer that quiesces another communicator, where
            // it waits for this rank, must hear of it now: this rank may wait
            // for that very peer below.
            fabric.world().leave(member, self.run);
        }
        for peer in (0..self.size()).filter(|&q| q != me) {
            fabric.wake(peer);
            let tx = self.ends[peer].tx;
            let call = self.open;
            let mut patience = Patience::new(self.wait);
            loop {
                // Left is looked at first: an acknowledgement given before
                // leaving then counts as well.
                let left = fabric.has_left(peer, self.run);
                let settled = self.link(peer).is_settled(tx);
                let finished = call.is_none_or(|c| fabric.board(peer).has_finished(c));
                if left || (settled && finished) {
                    break;
                }
                if let Pause::Nap(longest) = patience.pause() {
                    fabric.set_asleep(self.rank, true);
                    self.bed.nap(longest);
                    fabric.set_asleep(self.rank, false);
                }
            }
        }
        self.open = None;
        self.debts.clear();
    }

    /// Declares the communicator given up, without ending the run: what
    /// dropping a communicator does.
    pub(crate) fn leave(&mut self) {
        self.dead = true;
        self.fabric.leave(self.rank);
    }
}

/// Both directions between `rank` and `peer`.
#[inline(always)]
fn link<'a>(fabric: &'a Fabric, rank: usize, peer: usize, end: &'a mut End) -> Link<'a> {
    debug_assert_ne!(peer, rank);
    // SAFETY: called by the rank's only port (`Port::new`), which is borrowed
    // exclusively, so no other thread acts for this end; the counters are only
    // used here and began with the channels.
    unsafe { Link::new(fabric.channel(rank, peer), fabric.channel(peer, rank), end) }
}
