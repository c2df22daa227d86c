//! A rank's hold on a communicator: private counters, and every operation
//! that may have to wait. One port per rank and communicator; it is used by
//! one thread at a time (`&mut`), and in a team's run only by the rank's own.

use super::record::{Call, Records};
use super::sig::{Check, Kind, Params, Sig};
use super::words::{Fabric, Seat};
use super::world::Line;
#[allow(unused_imports)] // For the documentation.
use crate::mailbox::EAGER;
use crate::mailbox::{Board, Channel, End, Gate, Header, INLINE, Link, Notice, Place, Shelf};
use crate::sync::Arc;
use crate::wait::{Bed, Patience, Pause, Wait};
use std::panic::Location;
use std::ptr::NonNull;

/// Looks at the awaited word before anything else is considered; free, since
/// nobody waits shorter than one line transfer. Where a rank may spin it looks
/// longer (one to two microseconds) before the wait is announced: an
/// announcement is a line that the awaited rank's own waits would read, and
/// so costs transfers on exchanges between distant cores.
#[cfg(not(loom))]
const FEW_LOOKS: u32 = 64;
#[cfg(not(loom))]
const MANY_LOOKS: u32 = 1000;
#[cfg(loom)]
const FEW_LOOKS: u32 = 1;
#[cfg(loom)]
const MANY_LOOKS: u32 = 1;

/// What no rank's `present` is.
const CLOSED: u64 = u64::MAX;

/// Ranks up to which everybody looks at everybody's gate: one step, and `p - 1`
/// lines to pull. More do so where ranks outnumber cores: there the steps count,
/// since in each a rank waits until others have had the core.
const FEW: usize = 4;

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
    /// What the peer's message describes does not fit, in words.
    #[cfg_attr(loom, allow(dead_code))] // Made by communicators only.
    Differs { peer: usize, what: String },
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

/// What a rank has of one peer. The addresses are those of the fabric's words,
/// looked up once: on the way of a message each look-up counts.
#[derive(Clone)]
struct Peer {
    end: End,
    /// To the peer and from it.
    out: NonNull<Channel>,
    inc: NonNull<Channel>,
    gate: NonNull<Gate>,
    board: NonNull<Board>,
    seat: NonNull<Seat>,
    /// For messages to the peer; none until the first that needs it.
    shelf: Option<NonNull<Shelf>>,
}
/// See the module documentation.
pub(crate) struct Port {
    peers: Box<[Peer]>,
    rank: usize,
    /// The run, or [`CLOSED`] once the port is dead: what the rank's `present` must be.
    pass: u64,
    line: NonNull<Line>,
    records: NonNull<Records>,
    /// Looks before a wait counts as long.
    looks: u32,
    /// Whether small all-to-all exchanges go through the gates: the same on all
    /// ranks.
    gated: bool,
    /// The latest episode of the gates; equal on all ranks.
    episode: u64,
    fabric: Arc<Fabric>,
    run: u64,
    wait: Wait,
    bed: Bed,
    /// The own gate, and what belongs to it.
    gate: NonNull<Gate>,
    shelf: Option<NonNull<Shelf>>,
    /// Pointers under way: peer and message number.
    debts: Vec<(usize, u32)>,
    /// Collective calls so far; equal on all ranks.
    calls: u64,
    /// Sum over the calls that sent nothing; equal on all ranks.
    unsent: u64,
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
        let start = fabric.world().start();
        let peer = |peer| Peer {
            end: End::after(start),
            out: NonNull::from(fabric.channel(rank, peer)),
            inc: NonNull::from(fabric.channel(peer, rank)),
            gate: NonNull::from(fabric.gate(peer)),
            board: NonNull::from(fabric.board(peer)),
            seat: NonNull::from(fabric.seat(peer)),
            shelf: None,
        };
        let peers = (0..fabric.size()).map(peer).collect();
        let member = fabric.member(rank);
        let line = NonNull::from(fabric.world().line(member));
        let records = NonNull::from(fabric.world().records(member));
        let gate = NonNull::from(fabric.gate(rank));
        let mut port = Port {
            gate,
            peers,
            rank,
            pass: run,
            line,
            records,
            looks: FEW_LOOKS,
            gated: false,
            episode: 0,
            fabric,
            run,
            wait,
            bed,
            shelf: None,
            debts: Vec::new(),
            calls: u64::from(start),
            unsent: 0,
            open: None,
            sig: &NO_CALL,
            check: Check(0),
            dead: false,
            moved_in: false,
        };
        port.look_round();
        port
    }

    /// Takes in what holds for this run.
    fn look_round(&mut self) {
        let crowded = self.fabric.world().is_crowded();
        let may_spin = match self.wait {
            Wait::Spin => true,
            Wait::Auto => !crowded,
            Wait::Yield | Wait::Park => false,
        };
        self.looks = if may_spin { MANY_LOOKS } else { FEW_LOOKS };
        self.gated = crowded || self.size() <= FEW;
    }

    #[inline(always)]
    fn line(&self) -> &Line {
        // SAFETY: a word of the world, which the fabric keeps.
        unsafe { self.line.as_ref() }
    }

    /// Whether the port can be used: its rank is in the run that it belongs to,
    /// and has left neither that nor the communicator.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.line().present() == self.pass
    }

    /// Whether small exchanges of all with all are to go through
    /// [`show_all`](Port::show_all): the same answer on all ranks.
    #[inline(always)]
    pub(crate) fn is_gated(&self) -> bool {
        self.gated
    }

    #[inline(always)]
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
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
        self.line().go_in();
    }

    /// The end of what `go_in` began.
    #[inline(always)]
    pub(crate) fn come_out(&self) {
        self.line().come_out();
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
        self.peers = self.peers.clone();
        true
    }

    /// Takes part in run `run` from now on.
    pub(crate) fn join_run(&mut self, run: u64) {
        self.fabric.world().join(self.fabric.member(self.rank), run);
        self.run = run;
        if !self.dead {
            self.pass = run;
        }
        self.look_round();
    }

    /// Messages posted less messages taken, summed over the peers, modulo
    /// 2^32: the sum over all ranks is 0 exactly if every message was received.
    pub(crate) fn balance(&self) -> u32 {
        self.peers.iter().fold(0, |sum, p| sum.wrapping_add(p.end.tx).wrapping_sub(p.end.rx))
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

    /// The record of the call in progress, or of the one before.
    pub(crate) fn record(&self) -> Option<Call> {
        let records = self.fabric.world().records(self.fabric.member(self.rank));
        records.find(self.fabric.id(), self.check.record())
    }

    /// A collective call that sends no message, and so is compared with
    /// nobody's: at the end of the run the sums of these are.
    pub(crate) fn keep_in_mind(&mut self) {
        let digest = self.record().map_or(0, |call| call.digest());
        self.unsent = self.unsent.wrapping_mul(31).wrapping_add(digest);
    }

    /// What [`keep_in_mind`](Port::keep_in_mind) was told so far.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent
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
        // SAFETY: the world's, which the fabric keeps.
        let records = unsafe { self.records.as_ref() };
        let record = records.note(self.fabric.id(), call, sig, at, &params);
        self.sig = sig;
        self.check =
            Check::new(call, if call == 0 { &const { Params::of(0) } } else { &params }, record);
    }

    #[inline(always)]
    fn header(&self, kind: Kind) -> Header {
        Header { sig: std::ptr::from_ref(self.sig).cast(), check: self.check.with(kind).0 }
    }

    /// Posts a message of `kind` to `peer`; `fill` writes the payload.
    #[inline(always)]
    fn post(&mut self, peer: usize, kind: Kind, fill: impl FnOnce(*mut u8)) -> Result<u32, Stop> {
        let header = self.header(kind);
        self.await_room(peer)?;
        let peer = &mut self.peers[peer];
        let n = peer.link().post(header, fill);
        peer.wake();
        Ok(n)
    }

    /// Posts `len` elements of `size` bytes, [`EAGER`] bytes at most, written by
    /// `fill`. They are copied; nothing needs to be settled.
    #[inline(always)]
    pub(crate) fn post_copy(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        fill: impl FnOnce(*mut u8),
    ) -> Result<(), Stop> {
        let bytes = len * size;
        let kind = Kind::copied(bytes);
        if bytes <= Kind::BRIEF {
            return self.post(peer, kind, fill).map(drop);
        }
        if bytes <= LONG {
            // SAFETY: a body has room for the length and `LONG` bytes.
            return self.post(peer, kind, |body| unsafe { long(body, len, fill) }).map(drop);
        }
        self.await_room(peer)?;
        let header = self.header(kind);
        let Port { peers, fabric, .. } = self;
        let peer = &mut peers[peer];
        let shelf = *peer.shelf.get_or_insert_with(|| fabric.new_shelf());
        // SAFETY: the fabric keeps it as long as the channels.
        let shelf = unsafe { shelf.as_ref() };
        let mut link = peer.link();
        // SAFETY: the shelf was made for this end alone.
        let place = unsafe { link.place(shelf, fill) };
        // SAFETY: a body has room for the two words.
        link.post(header, |body| unsafe { body.cast::<Shelved>().write(Shelved { len, place }) });
        peer.wake();
        Ok(())
    }

    /// Posts words that describe memory of this rank (as [`Kind::SLICE`] or
    /// [`Kind::LIST`]). That memory must stay as it is until
    /// [`settle`](Port::settle) or [`settle_all`](Port::settle_all), and
    /// [`quiesce`](Port::quiesce) must run before it is freed in any other way.
    #[inline(always)]
    pub(crate) fn post_words(&mut self, peer: usize, kind: Kind, words: Words) -> Result<(), Stop> {
        let n = self.post(peer, kind, |body| {
            // SAFETY: the body has INLINE = 104 bytes, aligned to 8.
            unsafe { body.cast::<Words>().write(words) }
        })?;
        self.debts.push((peer, n));
        Ok(())
    }

    /// Takes the next message from `peer`, which must be of the call in
    /// progress and have `len` elements of `size` bytes that were copied; `take`
    /// gets them, aligned to 8, those of more than [`LONG`] bytes to [`EAGER`].
    #[inline(always)]
    pub(crate) fn take_copy<R>(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        let own = Own { header: self.header(Kind::copied(len * size)), sig: self.sig, len };
        self.await_message(peer)?;
        let at = &mut self.peers[peer];
        let mut link = at.link();
        let taken = link.read(|got, body| {
            // SAFETY: a message of this kind was written by `post_copy`, and
            // is not consumed yet.
            unsafe { own.unpack(peer, len * size, got, body, take) }
        })?;
        link.consume();
        at.wake();
        Ok(taken)
    }

    /// The same for a message of any kind, which `take` is told: for senders
    /// who alone know how much they have to say.
    #[inline(always)]
    #[cfg_attr(loom, allow(dead_code))] // `take_copy` is what is modelled.
    pub(crate) fn take_any<R>(
        &mut self,
        peer: usize,
        take: impl FnOnce(Kind, *const u8) -> R,
    ) -> Result<R, Stop> {
        self.await_message(peer)?;
        let own = self.check;
        let sig = self.sig;
        let at = &mut self.peers[peer];
        let mut link = at.link();
        let taken = link.read(|got, body| {
            let kind = Check(got.check).kind();
            let expected = Header { sig: std::ptr::from_ref(sig).cast(), check: own.with(kind).0 };
            if Check(expected.check).agrees(Check(got.check)) && sig.agrees(got.sig) {
                Ok(take(kind, body))
            } else {
                Err(Stop::Mismatch { peer, expected, got, lens: None })
            }
        })?;
        link.consume();
        at.wake();
        Ok(taken)
    }

    /// Shows `len` elements of `size` bytes, [`EAGER`] bytes at most, written by
    /// `fill`, to all peers, each of which does the same and
    /// [`look`](Port::look)s at everybody's: the gates. Does not wait. They are
    /// copied; nothing needs to be settled.
    #[inline(always)]
    pub(crate) fn show_all(&mut self, len: usize, size: usize, fill: impl FnOnce(*mut u8)) {
        self.episode += 1;
        let bytes = len * size;
        let header = self.header(Kind::copied(bytes));
        let Port { gate, fabric, shelf, episode, .. } = self;
        // SAFETY: a word of the fabric, which is kept.
        let gate = unsafe { gate.as_ref() };
        // SAFETY: this is the owner; whoever shows something has looked at all
        // peers in the episode before, or the port is dead. A body has room
        // for what goes there, and the shelf was made for this gate alone, and
        // is kept by the fabric.
        unsafe {
            if bytes <= Kind::BRIEF {
                gate.show(*episode, header, fill);
            } else if bytes <= LONG {
                gate.show(*episode, header, |body| long(body, len, fill));
            } else {
                let shelf = *shelf.get_or_insert_with(|| fabric.new_shelf());
                let place = gate.place(shelf.as_ref(), *episode, fill);
                let shelved = Shelved { len, place };
                gate.show(*episode, header, |body| body.cast::<Shelved>().write(shelved));
            }
        }
        self.wake_all();
    }

    /// Waits for what `peer` shows in this episode; `take` gets it, as from
    /// [`take_copy`](Port::take_copy). It stays where it is until this rank shows
    /// something again.
    #[inline(always)]
    pub(crate) fn look<R>(
        &mut self,
        peer: usize,
        len: usize,
        size: usize,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        let own = Own { header: self.header(Kind::copied(len * size)), sig: self.sig, len };
        let episode = self.episode;
        let gate = self.peers[peer].gate;
        // SAFETY: a word of the fabric, which is kept.
        let gate = unsafe { gate.as_ref() };
        if !gate.has_shown_within(episode, self.looks) {
            self.wait_more(peer, &mut |peer| peer.gate().has_shown(episode))?;
        }
        // SAFETY: this rank is in that episode, and has seen its word; the body
        // was written by `show_all`.
        unsafe { gate.read(episode, |got, body| own.unpack(peer, len * size, got, body, take)) }
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
        let at = &mut self.peers[peer];
        let mut link = at.link();
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
        at.wake();
        Ok(taken)
    }

    #[inline(always)]
    fn await_message(&mut self, peer: usize) -> Result<(), Stop> {
        if self.peers[peer].link().poll_for(self.looks) {
            return Ok(());
        }
        self.wait_more(peer, &mut |peer| peer.link().poll())
    }

    #[inline(always)]
    fn await_room(&mut self, peer: usize) -> Result<(), Stop> {
        if self.peers[peer].link().has_room() {
            return Ok(());
        }
        self.await_more_room(peer)
    }

    #[cold]
    #[inline(never)]
    fn await_more_room(&mut self, peer: usize) -> Result<(), Stop> {
        // Not so often that the peer has to fetch the line back for each
        // message that it acknowledges.
        #[cfg(not(loom))]
        for _ in 0..self.looks / 16 {
            if self.peers[peer].link().can_post() {
                return Ok(());
            }
            (0..3).for_each(|_| crate::sync::spin_loop());
        }
        self.wait(peer, |peer| peer.link().can_post())
    }

    /// The last message posted to `peer`.
    #[inline(always)]
    pub(crate) fn posted(&self, peer: usize) -> u32 {
        self.peers[peer].end.tx
    }

    /// Waits until `peer` is done with message `n`.
    #[inline(always)]
    pub(crate) fn settle(&mut self, peer: usize, n: u32) -> Result<(), Stop> {
        self.wait(peer, |peer| peer.link().is_settled(n))
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
        unsafe { self.peers[self.rank].board().show(self.calls, notice) };
        self.wake_all();
    }

    /// Waits for `peer`'s notice of this call. `len` is compared unless `None`.
    #[inline(always)]
    pub(crate) fn notice(&mut self, peer: usize, len: Option<usize>) -> Result<Notice, Stop> {
        let call = self.calls;
        // A peer that shows a *later* call never showed this one to us.
        self.wait(peer, |peer| peer.board().look() >= call)?;
        let expected = self.header(Kind::SLICE);
        let board = self.peers[peer].board();
        if board.look() != call {
            let check = Check::new(board.look(), &const { Params::of(0) }, 0);
            let got = Header { sig: expected.sig, check: check.0 };
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
        self.peers[self.rank].board().finish(self.calls);
        self.wake_all();
    }

    /// Wakes every peer that is parked.
    #[inline(always)]
    fn wake_all(&self) {
        // The own seat does no harm: this rank is awake.
        self.peers.iter().for_each(Peer::wake);
    }

    /// Waits until `peer` has finished this call.
    #[inline(always)]
    pub(crate) fn await_finished(&mut self, peer: usize) -> Result<(), Stop> {
        let call = self.calls;
        self.wait(peer, |peer| peer.board().has_finished(call))
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

    /// Looks until `ready`, which gets what this rank has of `peer`.
    #[inline(always)]
    fn wait(&mut self, peer: usize, mut ready: impl FnMut(&mut Peer) -> bool) -> Result<(), Stop> {
        let at = &mut self.peers[peer];
        let mut looks = self.looks;
        while looks > 0 {
            if ready(at) {
                return Ok(());
            }
            looks -= 1;
        }
        self.wait_more(peer, &mut ready)
    }

    #[cold]
    #[inline(never)]
    fn wait_more(
        &mut self,
        peer: usize,
        ready: &mut dyn FnMut(&mut Peer) -> bool,
    ) -> Result<(), Stop> {
        let Port { fabric, peers, rank, run, wait, bed, .. } = self;
        let (fabric, at) = (&**fabric, &mut peers[peer]);
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
            if ready(at) {
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
            if patience.is_over(world.deadline()) {
                world.give_up(me, it, *run);
                break Err(Stop::Poisoned);
            }
            if let Pause::Nap(longest) = patience.pause() {
                fabric.set_asleep(*rank, true);
                let come = ready(at);
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
        self.pass = CLOSED;
        let fabric = self.fabric.clone();
        let member = fabric.member(self.rank);
        drop(fabric.world().poison(self.run, member, None));
        fabric.leave(self.rank);
        let me = self.rank;
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
            // Inline messages are the fabric's. What describes this rank's memory
            // is in `debts`, and a peer's latest settles those before it.
            let owed = self.debts.iter().rev().find(|debt| debt.0 == peer).map(|debt| debt.1);
            let call = self.open;
            let mut patience = Patience::new(self.wait);
            loop {
                // Left is looked at first: an acknowledgement given before
                // leaving then counts as well.
                let left = fabric.is_gone(peer, self.run);
                let link = &mut self.peers[peer];
                let settled = owed.is_none_or(|n| link.link().is_settled(n));
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
    /// dropping a communicator does. `in_panic`: a panic unwinds, and the run
    /// will hear of it.
    pub(crate) fn leave(&mut self, in_panic: bool) {
        // Who has quiesced has left already, and said how.
        if std::mem::replace(&mut self.dead, true) {
            return;
        }
        self.pass = CLOSED;
        if in_panic {
            self.fabric.leave_in_panic(self.rank);
        } else {
            self.fabric.leave(self.rank);
        }
    }
}

impl Peer {
    /// Both directions between this rank and the peer.
    #[inline(always)]
    fn link(&mut self) -> Link<'_> {
        // SAFETY: the fabric keeps the channels, and the port keeps the
        // fabric. This is the rank's only port (`Port::new`), which is borrowed
        // exclusively, so no other thread acts for this end; the counters are
        // only used here and began with the channels.
        unsafe { Link::new(self.out.as_ref(), self.inc.as_ref(), &mut self.end) }
    }

    #[inline(always)]
    fn gate(&self) -> &Gate {
        // SAFETY: as above.
        unsafe { self.gate.as_ref() }
    }

    #[inline(always)]
    fn board(&self) -> &Board {
        // SAFETY: as above.
        unsafe { self.board.as_ref() }
    }

    /// Wakes the peer if it is parked.
    #[inline(always)]
    fn wake(&self) {
        // SAFETY: as above.
        unsafe { self.seat.as_ref() }.wake();
    }
}

/// Bytes that go to a slot behind their length.
const LONG: usize = INLINE - size_of::<usize>();

/// What is in a slot where the payload is not.
#[repr(C)]
struct Shelved {
    len: usize,
    place: *const Place,
}

/// Writes a length and a payload behind it.
///
/// # Safety
/// `body` is valid for writes of a word, aligned for it, and of the payload.
#[inline(always)]
unsafe fn long(body: *mut u8, len: usize, fill: impl FnOnce(*mut u8)) {
    // SAFETY: by the contract.
    unsafe { body.cast::<usize>().write(len) };
    fill(body.wrapping_add(size_of::<usize>()));
}

/// What this rank expects of a message.
struct Own {
    header: Header,
    sig: &'static Sig,
    len: usize,
}

impl Own {
    /// Gives `take` the payload of a message of `bytes` bytes if its header and
    /// length agree.
    ///
    /// # Safety
    /// If the header agrees, `post_copy` or `show_all` wrote the body, and does
    /// not write it or its place again now.
    #[inline(always)]
    unsafe fn unpack<R>(
        &self,
        peer: usize,
        bytes: usize,
        got: Header,
        body: *const u8,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        if !Check(self.header.check).agrees(Check(got.check)) || !self.sig.agrees(got.sig) {
            return Err(Stop::Mismatch { peer, expected: self.header, got, lens: None });
        }
        if bytes <= Kind::BRIEF {
            return Ok(take(body));
        }
        // SAFETY: what is longer begins with its length.
        let len = unsafe { body.cast::<usize>().read() };
        if len != self.len {
            let lens = Some((self.len, len));
            return Err(Stop::Mismatch { peer, expected: self.header, got, lens });
        }
        if bytes <= LONG {
            return Ok(take(body.wrapping_add(size_of::<usize>())));
        }
        // SAFETY: of the same length, so the sender has come to the same
        // branch; shelves live as long as the fabric.
        Ok(unsafe { (*body.cast::<Shelved>().read().place).read(take) })
    }
}
