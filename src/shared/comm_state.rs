//! The shared words of one communicator: a mailbox for every ordered pair of its ranks; a gate, a
//! board and [`RankSlots`] for every rank.

use super::counts::Said;
use super::recorder::Recorder;
use super::tagged_queue::TaggedQueue;
use super::team_state::TeamState;
use crate::mailbox::{
    Board, Channel, ChannelTable, EagerBuffer, Gate, NoticeTable, RefusedMemory, collect,
};
use crate::sync::diagnostic::{AtomicU64 as PlainU64, Ordering::Relaxed};
use crate::sync::{Arc, AtomicU32, Mutex, Site, consume, publish};
use crate::wait::{Berth, Events, Mark};
use crossbeam_utils::CachePadded;
use std::ptr::NonNull;

/// Where a rank sits: words that its peers look at when they have sent it
/// something, or have waited for it for a while.
pub(crate) struct RankSlots {
    /// Set while the rank may sleep and nobody is crowded.
    mark: Mark,
    berth: Berth,
    /// Not 0 once the rank has given up this communicator: `LEFT`, or
    /// `LEFT_IN_PANIC`.
    left: AtomicU32,
}

const LEFT: u32 = 1;
/// By unwinding, in a team's run: why, the run will say as soon as the rank's
/// closure has unwound (or has caught the panic and ended, or goes on).
const LEFT_IN_PANIC: u32 = 2;
impl RankSlots {
    /// Whether the rank may be asleep, as far as a rank needs to know that is not crowded.
    #[inline(always)]
    pub(crate) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Where the rank sleeps until its peers have something for it.
    pub(crate) fn berth(&self) -> &Berth {
        &self.berth
    }
}

/// The mark that crowded ranks have in place of every peer's: look closer.
pub(crate) static PERHAPS: Mark = Mark::new(true);

/// The events that all ranks of a communicator wait for together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// An episode of the gates.
    Gates,
    /// The notices of a call on the boards.
    Entered,
    /// That all are done with a call on the boards.
    Finished,
}

/// Owns a leaked `Box<EagerBuffer>` as a raw pointer, because peers hold its address (a `Box` would
/// assert unique access).
struct Leaked(NonNull<EagerBuffer>);

// SAFETY: stands for the box, and an eager buffer is `Send` and `Sync`.
unsafe impl Send for Leaked {}
// SAFETY: as above.
unsafe impl Sync for Leaked {}

impl Drop for Leaked {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak` (`new_eager_buffer`); dropped with the state,
        // which every port that has the address keeps.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// See the module documentation.
pub(crate) struct CommState {
    id: u64,
    world: Arc<TeamState>,
    /// The world's ranks, in the order of this communicator's.
    members: Box<[usize]>,
    /// That from `s` to `r` is number `s` of row `r`: a rank's inboxes are
    /// neighbours in memory.
    channels: ChannelTable,
    gates: Box<[Gate]>,
    boards: Box<[Board]>,
    /// For started calls.
    cards: NoticeTable,
    seats: Box<[CachePadded<RankSlots>]>,
    /// By receiver.
    tagged: Box<[CachePadded<TaggedQueue>]>,
    /// By phase: where crowded ranks sleep.
    events: [Events; 3],
    /// By rank: its group there, those of one core.
    groups: Box<[usize]>,
    /// Kept for as long as anybody may read from them.
    eager_buffers: Mutex<Vec<Leaked>>,
    /// Counts of varied blocks.
    counts: Said,
}

static NEXT_ID: PlainU64 = PlainU64::new(1); // It only grows.

impl CommState {
    /// The words of a communicator of the world's ranks `members`. `apart`: the
    /// members sit in several memories, and each will
    /// [`first_touch`](CommState::first_touch) before anybody sends.
    pub(crate) fn new(
        world: Arc<TeamState>,
        members: Box<[usize]>,
        apart: bool,
    ) -> Result<Self, RefusedMemory> {
        let p = members.len();
        let seat = |_| {
            let berth = Berth::new();
            CachePadded::new(RankSlots { mark: Mark::new(false), berth, left: AtomicU32::new(0) })
        };
        let (groups, count) = world.cores().groups(&members);
        let start = u64::from(world.start());
        let events = [0, start, start].map(|start| Events::new(count, start));
        let shared = CommState {
            id: NEXT_ID.fetch_add(1, Relaxed),
            world,
            members,
            channels: ChannelTable::new(p, apart)?,
            gates: collect(p, |_| Gate::after(0))?,
            boards: collect(p, |_| Board::new())?,
            cards: NoticeTable::new(p),
            seats: collect(p, seat)?,
            tagged: collect(p, |rank| CachePadded::new(TaggedQueue::new(rank, p)))?,
            events,
            groups,
            eager_buffers: Mutex::new(Vec::new()),
            counts: Said::default(),
        };
        if shared.world.start() != 0 {
            let pairs = (0..p).flat_map(|from| (0..p).map(move |to| (from, to)));
            pairs.for_each(|(from, to)| shared.channel(from, to).begin_after(shared.world.start()));
        }
        Ok(shared)
    }

    /// A number that no other communicator of the process has.
    #[inline(always)]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    #[inline(always)]
    pub(crate) fn world(&self) -> &TeamState {
        &self.world
    }

    pub(crate) fn world_arc(&self) -> &Arc<TeamState> {
        &self.world
    }

    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// The world's number of rank `rank`.
    #[inline(always)]
    pub(crate) fn member(&self, rank: usize) -> usize {
        self.members[rank]
    }

    #[inline(always)]
    pub(crate) fn channel(&self, from: usize, to: usize) -> &Channel {
        &self.channels[to * self.channels.pitch() + from]
    }

    /// Puts the inboxes of `rank`, which calls this on its core, into that core's memory, if
    /// members sit in several. Only while the communicator is new.
    pub(crate) fn first_touch(&self, rank: usize) {
        if self.is_apart() {
            (0..self.size()).for_each(|from| self.channel(from, rank).touch());
        }
    }

    /// As [`first_touch`](CommState::first_touch), where the others may have sent something
    /// already: the pages that they have touched come, too.
    #[cfg(not(loom))]
    pub(crate) fn bring_home(&self, rank: usize) {
        if self.is_apart() {
            self.first_touch(rank);
            self.channels.bring_home(rank);
        }
    }

    /// Where the inboxes of `rank` are, and how many bytes they are.
    #[cfg(not(loom))]
    pub(crate) fn inboxes(&self, rank: usize) -> (usize, usize) {
        let first = std::ptr::from_ref(self.channel(0, rank));
        (first.addr(), self.size() * size_of::<Channel>())
    }

    /// Whether members are to [`first_touch`](CommState::first_touch).
    pub(crate) fn is_apart(&self) -> bool {
        self.channels.is_apart()
    }

    /// A sender, a receiver, and how many of its messages were not received.
    /// Only while no rank runs.
    #[cold]
    pub(crate) fn unreceived(&self) -> Option<(usize, usize, u32)> {
        let p = self.size();
        let pairs = (0..p).flat_map(|from| (0..p).map(move |to| (from, to)));
        let tagged = |to: usize| self.tagged[to].unreceived().map(|(from, n)| (from, to, n));
        pairs
            .map(|(from, to)| (from, to, self.channel(from, to).untaken()))
            .find(|&(_, _, messages)| messages != 0)
            .or_else(|| (0..p).find_map(tagged))
    }

    /// The queue of `rank` for tagged messages.
    #[inline(always)]
    pub(crate) fn tagged(&self, rank: usize) -> &TaggedQueue {
        &self.tagged[rank]
    }

    /// Drops all tagged messages that nobody has received. Only while no rank runs.
    #[cfg_attr(loom, allow(dead_code))] // Of teams only.
    pub(crate) fn clear_tagged(&self) {
        self.tagged.iter().for_each(|queue| queue.clear());
    }

    #[inline(always)]
    pub(crate) fn gate(&self, rank: usize) -> &Gate {
        &self.gates[rank]
    }

    #[inline(always)]
    pub(crate) fn seat(&self, rank: usize) -> &RankSlots {
        &self.seats[rank]
    }

    /// A new eager buffer, which lives as long as the state. Once for each end of a
    /// channel, and for each gate, that ever posts a payload of that size.
    #[cold]
    pub(crate) fn new_eager_buffer(&self) -> NonNull<EagerBuffer> {
        let eager_buffer = EagerBuffer::new();
        // Not through the box, which moves.
        let at = NonNull::from(Box::leak(eager_buffer));
        self.keep_eager_buffer(Leaked(at));
        at
    }

    /// A function of its own, so that `.ci/tsan.supp` can name it and not the function that
    /// allocates eager buffers: that would hide races on them.
    #[inline(never)]
    fn keep_eager_buffer(&self, eager_buffer: Leaked) {
        self.eager_buffers.lock().unwrap_or_else(|e| e.into_inner()).push(eager_buffer);
    }

    pub(crate) fn counts(&self) -> &Said {
        &self.counts
    }

    #[inline(always)]
    pub(crate) fn board(&self, rank: usize) -> &Board {
        &self.boards[rank]
    }

    #[inline(always)]
    pub(crate) fn cards(&self) -> &NoticeTable {
        &self.cards
    }

    /// Declares that `rank` touches nobody's memory in this communicator any
    /// more, ever.
    pub(crate) fn leave(&self, rank: usize) {
        // Ordering: pairs with the loads in `has_left` and `is_gone`.
        self.seats[rank].left.store(LEFT, publish(Site::Left));
    }

    /// Declares that `rank` has [left](CommState::leave), while a panic unwinds in a team's run.
    pub(crate) fn leave_in_panic(&self, rank: usize) {
        // Ordering: as in `leave`.
        self.seats[rank].left.store(LEFT_IN_PANIC, publish(Site::Left));
    }

    /// Whether `rank` has given up this communicator, or its run, so that a rank that
    /// waits for it may say so. Not while it unwinds: the panic is the cause, and
    /// is made known only after the rank's communicators are dropped.
    pub(crate) fn has_left(&self, rank: usize, run: u64) -> bool {
        // Ordering: pairs with the store in `leave`.
        self.seats[rank].left.load(consume(Site::Left)) == LEFT
            || self.world.has_left(self.members[rank], run)
    }

    /// Whether all others than `rank` have done so.
    pub(crate) fn have_others_left(&self, rank: usize, run: u64) -> bool {
        (0..self.size()).all(|other| other == rank || self.has_left(other, run))
    }

    /// Whether `rank` touches nobody's memory in this communicator any more.
    pub(crate) fn is_gone(&self, rank: usize, run: u64) -> bool {
        // Ordering: pairs with the stores in `leave` and `leave_in_panic`.
        self.seats[rank].left.load(consume(Site::Left)) != 0
            || self.world.has_left(self.members[rank], run)
    }

    /// Where crowded ranks sleep that wait for all others in `phase`.
    #[inline(always)]
    pub(crate) fn events(&self, phase: Phase) -> &Events {
        &self.events[phase as usize]
    }

    /// The group of `rank` among them.
    #[inline(always)]
    pub(crate) fn group(&self, rank: usize) -> usize {
        self.groups[rank]
    }

    /// Whether `rank` has shown the word that is waited for in `phase`: episode, or call, `event`.
    pub(crate) fn has_shown(&self, phase: Phase, rank: usize, event: u64) -> bool {
        match phase {
            Phase::Gates => self.gates[rank].has_shown(event),
            Phase::Entered => self.boards[rank].look() >= event,
            Phase::Finished => self.boards[rank].has_finished(event),
        }
    }

    /// Wakes all ranks that sleep in this communicator: the run is over.
    pub(crate) fn wake_everybody(&self) {
        let crowded = self.world.is_crowded();
        if crowded {
            self.events.iter().for_each(Events::wake_everybody);
        }
        for seat in &self.seats {
            if crowded || seat.mark.is_set() {
                seat.berth.rouse();
            }
        }
    }
}

/// The shortest wait with an event of its own, in ticks of the recorder's clock: 60 to 200 ns.
const SHORT: u64 = 200;

impl CommState {
    /// The time, if calls are recorded.
    pub(crate) fn record_time(&self) -> Option<u64> {
        self.world().recorder().map(Recorder::now)
    }

    /// A wait of `rank`, the caller, for `peer` has ended that began at `since`. For itself: the
    /// rank has waited for any other.
    pub(crate) fn record_wait(&self, rank: usize, peer: usize, since: u64) {
        let Some(recorder) = self.world().recorder() else { return };
        let (me, now) = (self.member(rank), recorder.now());
        if now.saturating_sub(since) < SHORT {
            return recorder.reach(me, self.id(), now);
        }
        recorder.waited(me, self.id(), self.member(peer), (since, now));
    }
}
