//! A rank's port to a communicator: private counters, and every operation that may have to wait.
//! There is one port per rank and communicator. One thread at a time uses it (`&mut`); in a team's
//! run, only the rank's own.

use super::call_log::{CallLog, CallRecord, RankState, run_pass};
use super::comm_hold::CommHold;
use super::comm_state::{CommState, PERHAPS, Phase, RankSlots};
use super::counts::OwnCounts;
use super::event_ring::EventRing;
use super::fingerprint::{CallParams, Fingerprint, PayloadKind, Signature};
use super::tagged_ring::TaggedRing;
use crate::mailbox::{
    Board, Channel, Cursor, EagerBuffer, EagerSlot, Endpoint, Gate, Header, LONG, RefusedMemory,
    collect, offset,
};
use crate::sync::Arc;
use crate::wait::{Mark, Wait, add_up_lost_time, has_woken_neighbour};
use std::panic::Location;
use std::ptr::NonNull;

mod cards;
mod collective;
mod given_counts;
mod matching;
mod parts;
mod point_to_point;
mod recording;
mod shown_blocks;
mod slot_layout;
mod waiting;

pub(crate) use cards::{ALL_MEET, Disagreement, Place, RankCards};
use matching::OpenTicket;
pub(crate) use matching::TaggedRequest;
pub use parts::GivenPart;
pub(crate) use shown_blocks::{OwnBlocks, ShownBlocks, copy_few};
pub(crate) use slot_layout::{Span, WordBytes};
pub(crate) use waiting::Stop;
use waiting::{FEW_LOOKS, LOOKS_CROWDED, MANY_LOOKS};

/// A number that no rank's `present` is.
const CLOSED: u64 = u64::MAX;

/// In the `pass` of a port with calls that are recorded: no rank's `present` has it, either.
const RECORDED: u64 = 1 << 63;

/// The way in which a port treats calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PortState {
    /// Carries them out.
    Plain,
    /// Records them, too (`recording.rs`).
    Recorded,
    /// Refuses everything, for good: set by `quiesce`.
    Dead,
}

/// Ranks up to which each looks at all gates: one step, and `p - 1`
/// lines to pull. More do so where ranks outnumber cores: there the steps count,
/// since in each a rank waits until others have had the core.
const FEW: usize = 4;

/// The data of a rank about one peer. The addresses are those of the state's words,
/// looked up once: on the way of a message each look-up counts.
#[derive(Clone)]
struct Peer {
    cursor: Cursor,
    /// To the peer and from it.
    out: NonNull<Channel>,
    inc: NonNull<Channel>,
    gate: NonNull<Gate>,
    board: NonNull<Board>,
    seat: NonNull<RankSlots>,
    /// Whether it may be asleep: the seat's mark, or [`PERHAPS`] where ranks are crowded.
    mark: NonNull<Mark>,
    /// Whether it has the same core as this rank, as far as is known.
    near: bool,
    /// This rank, for calls to the peer: not read unless it may be asleep.
    me: u32,
    /// For messages to the peer; none until the first that needs it.
    eager_buffer: Option<NonNull<EagerBuffer>>,
    /// For short tagged messages to the peer; none as far as is known.
    ring: Option<NonNull<TaggedRing>>,
}
/// See the module documentation.
pub(crate) struct Port {
    peers: Box<[Peer]>,
    rank: usize,
    /// The [`run_pass`] of the run, or [`CLOSED`] once the port is dead: the number that the rank's
    /// `present` must be.
    pass: u64,
    line: NonNull<RankState>,
    records: NonNull<CallLog>,
    /// The rank's events, if its calls are recorded.
    ring: Option<NonNull<EventRing>>,
    /// Looks before a wait counts as long.
    looks: u32,
    /// Whether ranks outnumber cores in this run: the same on all ranks.
    crowded: bool,
    /// Whether they do now: this rank's waits leave its core rather than spin.
    yields: bool,
    /// Whether small all-to-all exchanges go through the gates: the same on all ranks.
    gated: bool,
    /// The latest episode of the gates; equal on all ranks.
    episode: u64,
    shared: Arc<CommState>,
    /// Keeps the communicator's state for requests, which outlive a call of this port.
    hold: CommHold,
    /// The state's.
    id: u64,
    run: u64,
    wait: Wait,
    /// The own gate, and the words that belong to it.
    gate: NonNull<Gate>,
    eager_buffer: Option<NonNull<EagerBuffer>>,
    /// Pointers under way: peer and message number.
    debts: Vec<(usize, u32)>,
    /// Memory of this rank that waits in a queue with a tagged message.
    open_tickets: Vec<OpenTicket>,
    /// The address of the scope that has early receives of this rank, if one may; else 0.
    early: usize,
    /// Tagged messages left in queues less those taken from one, modulo 2^32.
    tagged_balance: u32,
    /// Collective calls so far; equal on all ranks.
    calls: u64,
    /// Calls started so far; equal on all ranks.
    requests: u64,
    /// Those up to this one have a free column, as far as this rank knows.
    free_columns: u64,
    /// The call that was started when this rank last went on with all others for their columns.
    #[cfg(not(loom))]
    columns_looked: u64,
    /// Sum over the calls that sent nothing; equal on all ranks.
    unsent: u64,
    /// Digest of the calls started so far; equal on all ranks.
    past: u64,
    /// Counts of varied blocks, as this rank gave them.
    counts: OwnCounts,
    /// The call that has a notice on this rank's board which peers may still
    /// be using, or in which this rank may be using theirs.
    open: Option<u64>,
    sig: &'static Signature,
    check: Fingerprint,
    state: PortState,
    touched: bool,
    /// Whether nothing is to be done before the rank's next run: all is touched, nothing recorded.
    ready: bool,
}

/// A call that has begun, and is not on record yet.
#[derive(Clone, Copy)]
#[must_use = "a call goes on record"]
pub(crate) struct StartedCall {
    number: u64,
    call: u64,
    sig: &'static Signature,
    at: &'static Location<'static>,
    params: CallParams,
}

static NO_CALL: Signature = Signature::of::<()>("no call", "");

impl Port {
    /// # Safety
    /// This is the only port of `rank` on `shared`, in the state's lifetime.
    pub(crate) unsafe fn new(
        shared: Arc<CommState>,
        rank: usize,
        run: u64,
        wait: Wait,
    ) -> Result<Self, RefusedMemory> {
        let start = shared.world().start();
        let peer = |peer| Peer {
            cursor: Cursor::after(start),
            out: NonNull::from(shared.channel(rank, peer)),
            inc: NonNull::from(shared.channel(peer, rank)),
            gate: NonNull::from(shared.gate(peer)),
            board: NonNull::from(shared.board(peer)),
            seat: NonNull::from(shared.seat(peer)),
            mark: NonNull::from(shared.seat(peer).mark()),
            near: shared.group(peer) == shared.group(rank),
            me: rank as u32,
            eager_buffer: None,
            ring: None,
        };
        let peers = collect(shared.size(), peer)?;
        let member = shared.member(rank);
        let line = NonNull::from(shared.world().line(member));
        let records = NonNull::from(shared.world().records(member));
        let gate = NonNull::from(shared.gate(rank));
        let mut port = Port {
            gate,
            peers,
            rank,
            pass: run_pass(run),
            line,
            records,
            ring: None,
            looks: FEW_LOOKS,
            crowded: false,
            yields: false,
            gated: false,
            episode: 0,
            id: shared.id(),
            hold: CommHold::new(shared.clone()),
            shared,
            run,
            wait,
            eager_buffer: None,
            debts: Vec::new(),
            open_tickets: Vec::new(),
            early: 0,
            tagged_balance: 0,
            calls: u64::from(start),
            requests: 0,
            free_columns: 0,
            #[cfg(not(loom))]
            columns_looked: 0,
            unsent: 0,
            past: 0,
            counts: OwnCounts::default(),
            open: None,
            sig: &NO_CALL,
            check: Fingerprint(0),
            state: PortState::Plain,
            touched: false,
            ready: false,
        };
        port.refresh_for_run();
        if port.shared.world().recorder().is_some() {
            port.be_recorded();
        }
        Ok(port)
    }

    /// Refreshes the settings of the run: the budget of looks, and the use of gates.
    fn refresh_for_run(&mut self) {
        let crowded = self.shared.world().is_crowded();
        if crowded != self.crowded {
            self.crowded = crowded;
            self.looks = 1;
            for peer in &mut self.peers {
                // SAFETY: a word of the state, which is kept.
                let seat = unsafe { peer.seat.as_ref() };
                peer.mark = NonNull::from(if crowded { &PERHAPS } else { seat.mark() });
            }
        }
        self.yields = crowded;
        // A port that counts its waits (`fades`) goes on.
        if self.looks > 0 {
            self.looks = self.usual_looks();
        }
        self.gated = crowded || self.size() <= FEW;
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn line(&self) -> &RankState {
        // SAFETY: a word of the world, which the state keeps.
        unsafe { self.line.as_ref() }
    }

    /// Whether the port can be used: its rank is in the run that it belongs to,
    /// which has not failed, and has left neither that nor the communicator.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_open(&self) -> bool {
        self.line().present() == self.pass
    }

    /// Whether small exchanges of all with all are to go through
    /// [`show_all`](Port::show_all): the same answer on all ranks.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_gated(&self) -> bool {
        self.gated
    }

    /// Whether calls are recorded.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_recorded(&self) -> bool {
        self.state == PortState::Recorded
    }

    /// The latest call has come to its end, or near to it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn record_end(&self) {
        if self.is_recorded() {
            self.record_end_now();
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn shared(&self) -> &Arc<CommState> {
        &self.shared
    }

    /// The state's id.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// Looks at a started call before a wait counts as long, recorded or not. Where ranks outnumber
    /// cores few: each is a look at several words, and the awaited word comes with a turn.
    pub(crate) fn looks(&self) -> u32 {
        self.usual_looks().min(if self.yields { LOOKS_CROWDED } else { u32::MAX })
    }

    /// Whether ranks outnumber cores.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded
    }

    pub(crate) fn wait_policy(&self) -> Wait {
        self.wait
    }

    /// Whether the port has given up its communicator.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_dead(&self) -> bool {
        self.state == PortState::Dead
    }

    /// Whether the rank has left its run, here or in another communicator.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn has_left_run(&self) -> bool {
        self.shared.world().has_left(self.shared.member(self.rank), self.run)
    }

    /// Declares that user code may run from now on, until `leave_user_code`: if it
    /// fails in a call on another communicator, the rank is not done yet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn enter_user_code(&self) {
        self.line().enter_user_code();
    }

    /// The end of user code that `enter_user_code` began.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn leave_user_code(&self) {
        self.line().leave_user_code();
    }

    /// Puts the data of this rank into the memory of the core that it runs on, before the
    /// communicator is used for the first time. Returns whether there was anything to do.
    pub(crate) fn first_touch(&mut self) -> bool {
        self.ready = !self.is_recorded();
        let is_first = !std::mem::replace(&mut self.touched, true)
            && (self.shared.is_apart() || self.is_recorded());
        if is_first {
            self.touch_first();
        }
        is_first
    }

    /// See the field.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready
    }

    #[cold]
    #[inline(never)]
    fn touch_first(&mut self) {
        self.touch_ring();
        if !self.shared.is_apart() {
            return;
        }
        #[cfg(not(loom))]
        let _near = self.keep_near();
        self.shared.first_touch(self.rank);
        // Allocated, and so written, here.
        self.peers = self.peers.clone();
    }

    /// See `TeamState::keep_near`.
    #[cfg(not(loom))]
    pub(crate) fn keep_near(&self) -> Option<impl Sized + use<>> {
        self.shared.world().keep_near(self.shared.member(self.rank))
    }

    /// As [`first_touch`](Port::first_touch) on a thread of the user's own, which comes when it
    /// likes: the others may have sent it something already.
    #[cfg(not(loom))]
    pub(crate) fn bring_home(&mut self) {
        if !std::mem::replace(&mut self.touched, true) && self.shared.is_apart() {
            self.shared.bring_home(self.rank);
            self.peers = self.peers.clone();
        }
    }

    /// Takes part in run `run` from now on.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn join_run(&mut self, run: u64) {
        self.shared.world().join(self.shared.member(self.rank), run);
        self.run = run;
        self.refresh_for_run();
        if self.state == PortState::Plain {
            self.pass = run_pass(run);
        } else {
            self.join_other_run();
        }
    }

    /// Messages posted less messages taken, summed over the peers, modulo
    /// 2^32: the sum over all ranks is 0 exactly if every message was received.
    pub(crate) fn balance(&self) -> u32 {
        let settled = self.shared.tagged(self.rank).settled();
        let balance =
            |sum: u32, it: &Peer| sum.wrapping_add(it.cursor.tx).wrapping_sub(it.cursor.rx);
        self.peers.iter().fold(self.tagged_balance, balance).wrapping_sub(settled)
    }

    /// Collective calls so far, modulo 2^32: equal on all ranks after a run that went well.
    pub(crate) fn calls(&self) -> u32 {
        self.calls as u32
    }

    /// The fingerprint of the call in progress.
    pub(crate) fn call(&self) -> &'static Signature {
        self.sig
    }

    /// The record of the call in progress, or of the one before.
    pub(crate) fn record(&self) -> Option<CallRecord> {
        let records = self.shared.world().records(self.shared.member(self.rank));
        records.find(self.shared.id(), self.check.record())
    }

    /// A collective call that sends no message, and so is compared with
    /// nobody's: at the end of the run the sums of these are.
    pub(crate) fn count_silent_call(&mut self) {
        let digest = self.record().map_or(0, |call| call.digest());
        self.unsent = self.unsent.wrapping_mul(31).wrapping_add(digest);
    }

    /// A digest of the calls that [`count_silent_call`](Port::count_silent_call) was told so far,
    /// and of those that were started.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent.wrapping_add(self.past)
    }

    /// Starts a collective call, and puts it on record.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn enter(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        params: CallParams,
    ) {
        let begun = self.begin(sig, at, params);
        self.log_call(begun);
    }

    /// Starts a collective call. It is to be [logged](Port::log_call).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn begin(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        params: CallParams,
    ) -> StartedCall {
        self.calls += 1;
        let (call, number) = (self.calls, self.next_record());
        self.sig = sig;
        self.check = Fingerprint::new(call, &params, number);
        StartedCall { number, call, sig, at, params }
    }

    /// Starts a point-to-point call, of which `sig` goes on record; the message that travels is
    /// compared with `wire`, the same for send and receive. It is to be [logged](Port::log_call).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn begin_p2p(
        &mut self,
        sig: &'static Signature,
        wire: &'static Signature,
        at: &'static Location<'static>,
        params: CallParams,
    ) -> StartedCall {
        let number = self.next_record();
        self.sig = wire;
        self.check = Fingerprint::new(0, &const { CallParams::of(0) }, number);
        StartedCall { number, call: 0, sig, at, params }
    }

    /// The rank's records, which live as long as the port's team.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn records(&self) -> NonNull<CallLog> {
        self.records
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_record(&self) -> u64 {
        // SAFETY: the world's, which the state keeps.
        unsafe { self.records.as_ref() }.next()
    }

    /// Puts the call that was begun last on record. Before this rank waits for anybody in it; but
    /// after it has shown or posted something, if that does not wait: a fifth of the instructions
    /// between one exchange and the next. A peer that finds a mismatch before the record waits for
    /// that ([`is_on_record`](Port::is_on_record)).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn log_call(&self, begun: StartedCall) {
        let StartedCall { number, call, sig, at, params } = begun;
        // SAFETY: the world's, which the state keeps.
        unsafe { self.records.as_ref() }.log(number, self.id, call, sig, at, &params);
    }

    /// Whether the call that `peer`'s header is of is on record, if it ever will be.
    #[cfg_attr(loom, allow(dead_code))] // Of diagnostics.
    pub(crate) fn is_on_record(&self, peer: usize, got: Header) -> bool {
        let records = self.shared.world().records(self.shared.member(peer));
        !records.is_next(Fingerprint(got.check).record())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn header(&self, kind: PayloadKind) -> Header {
        Header { sig: std::ptr::from_ref(self.sig).cast(), check: self.check.with(kind).0 }
    }
}

/// The content of a slot without a payload.
#[repr(C)]
struct EagerAddress {
    len: usize,
    place: *const EagerSlot,
}

/// The facts that this rank expects of a message.
struct Expected {
    header: Header,
    sig: &'static Signature,
    len: usize,
}

impl Expected {
    /// By value, in registers: a reference would put them on the stack in each call.
    #[cold]
    #[inline(never)]
    fn mismatch(expected: Header, peer: usize, got: Header, lens: Option<(usize, usize)>) -> Stop {
        Stop::Mismatch { peer, expected, got, lens }
    }

    /// Gives `take` the payload of a message of `bytes` bytes if its header and
    /// length agree.
    ///
    /// # Safety
    /// If the header agrees, `post_copy` or `show_all` wrote the body, and does
    /// not write it or its place again now.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn unpack<R>(
        &self,
        peer: usize,
        bytes: usize,
        got: Header,
        body: *const u8,
        take: impl FnOnce(*const u8) -> R,
    ) -> Result<R, Stop> {
        if !Fingerprint(self.header.check).agrees(Fingerprint(got.check))
            || !self.sig.agrees(got.sig)
        {
            return Err(Self::mismatch(self.header, peer, got, None));
        }
        if bytes > PayloadKind::BRIEF {
            // SAFETY: longer ones begin with its length.
            let len = unsafe { body.cast::<usize>().read() };
            if len != self.len {
                return Err(Self::mismatch(self.header, peer, got, Some((self.len, len))));
            }
        }
        if bytes <= LONG {
            return Ok(take(body.wrapping_add(offset(bytes))));
        }
        // SAFETY: of the same length, so the sender has come to the same
        // branch; eager buffers live as long as the state.
        Ok(unsafe { (*body.cast::<EagerAddress>().read().place).read(take) })
    }
}

/// A port in a call that peers may reach this rank's memory through. Whatever
/// ends the call without [`disarm`](Guard::disarm), an error or a panic in an
/// operator, quiesces the port before the stack unwinds further.
pub(crate) struct Guard<'a> {
    pub(crate) port: &'a mut Port,
    user_code: bool,
}

impl<'a> Guard<'a> {
    /// For a call in which no user code runs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(port: &'a mut Port) -> Self {
        Guard { port, user_code: false }
    }

    /// For a call that runs an operator or a view's closure, which may use
    /// other communicators of the rank.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn around_user_code(port: &'a mut Port) -> Self {
        port.enter_user_code();
        Guard { port, user_code: true }
    }

    /// The call has ended well: nobody reaches our memory any more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn disarm(self) {
        if self.user_code {
            self.port.leave_user_code();
        }
        std::mem::forget(self);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // The user code has unwound, or was never reached.
        if self.user_code {
            self.port.leave_user_code();
        }
        self.port.quiesce();
    }
}

impl Peer {
    /// Both directions between this rank and the peer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn endpoint(&mut self) -> Endpoint<'_> {
        // SAFETY: the state keeps the channels, and the port keeps the
        // state. This is the rank's only port (`Port::new`), which is borrowed
        // exclusively, so no other thread acts for this end; the counters are
        // only used here and began with the channels.
        unsafe { Endpoint::new(self.out.as_ref(), self.inc.as_ref(), &mut self.cursor) }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn gate(&self) -> &Gate {
        // SAFETY: as above.
        unsafe { self.gate.as_ref() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn board(&self) -> &Board {
        // SAFETY: as above.
        unsafe { self.board.as_ref() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn seat(&self) -> &RankSlots {
        // SAFETY: as above.
        unsafe { self.seat.as_ref() }
    }

    /// This rank has published something for the peer: wakes it if it sleeps until then.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn wake(&self) {
        // SAFETY: a word of the state, as above, or a static one.
        if unsafe { self.mark.as_ref() }.is_set() {
            self.call();
        }
    }

    #[cold]
    fn call(&self) {
        self.woken(self.seat().berth().call(self.me as usize, || false));
    }

    /// Wakes the peer, if it sleeps and may have awaited this from any rank.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn wake_for_any(&self) {
        // SAFETY: as in `wake`.
        if unsafe { self.mark.as_ref() }.is_set() {
            self.call_for_any();
        }
    }

    #[cold]
    fn call_for_any(&self) {
        self.woken(self.seat().berth().call(self.me as usize, || true));
    }

    /// This rank has woken the peer, or not.
    fn woken(&self, was_asleep: bool) {
        if was_asleep && self.near {
            has_woken_neighbour();
        }
        if was_asleep {
            add_up_lost_time();
        }
    }
}
