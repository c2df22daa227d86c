//! The words of one communicator: a mailbox for every ordered pair of its
//! ranks, a board and a seat for every rank.

use super::world::World;
use crate::mailbox::{Block, Board, Channel};
use crate::sync::diagnostic::{AtomicU64 as PlainU64, Ordering::Relaxed};
use crate::sync::{Arc, AtomicU32, Ordering, Site, publish};
use crate::wait::{Alarm, Bed, make_bed};
use crossbeam_utils::CachePadded;

/// Where a rank sits: words that its peers look at when they have sent it
/// something, or have waited for it for a while.
struct Seat {
    /// Not 0 while the rank is parked. A hint (see `wait.rs`), so not part of
    /// any protocol.
    asleep: PlainU64,
    alarm: Alarm,
    /// Not 0 once the rank has given up this communicator: [`LEFT`], or
    /// [`UNWINDING`].
    left: AtomicU32,
}

/// The rank has given up the communicator in good order.
const LEFT: u32 = 1;
/// It was dropped by a panic that will end the rank's run, if nobody catches it:
/// then that is the cause to report, and not that the rank has left.
const UNWINDING: u32 = 2;

/// See the module documentation.
pub(crate) struct Fabric {
    id: u64,
    world: Arc<World>,
    /// The world's ranks, in the order of this communicator's.
    members: Box<[usize]>,
    /// That from `s` to `r` is number `s` of row `r`: a rank's inboxes are
    /// neighbours in memory.
    channels: Block,
    boards: Box<[Board]>,
    seats: Box<[CachePadded<Seat>]>,
}

static NEXT_ID: PlainU64 = PlainU64::new(1);

impl Fabric {
    /// The words of a communicator of the world's ranks `members`, and each
    /// member's bed. `apart`: the members sit in several memories, and each
    /// will [`move_in`](Fabric::move_in) before anybody sends.
    pub(crate) fn new(world: Arc<World>, members: Box<[usize]>, apart: bool) -> (Self, Vec<Bed>) {
        let p = members.len();
        let (beds, alarms): (Vec<Bed>, Vec<Alarm>) = (0..p).map(|_| make_bed()).unzip();
        let seat = |alarm| {
            CachePadded::new(Seat { asleep: PlainU64::new(0), alarm, left: AtomicU32::new(0) })
        };
        let fabric = Fabric {
            id: NEXT_ID.fetch_add(1, Relaxed),
            world,
            members,
            channels: Block::new(p, apart),
            boards: (0..p).map(|_| Board::new()).collect(),
            seats: alarms.into_iter().map(seat).collect(),
        };
        (fabric, beds)
    }

    /// A number that no other communicator of the process has.
    #[inline(always)]
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    #[inline(always)]
    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn world_arc(&self) -> &Arc<World> {
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

    /// Puts the inboxes of `rank`, on whose core this is called, into that
    /// core's memory, if members sit in several. Only while the communicator
    /// is new.
    pub(crate) fn move_in(&self, rank: usize) {
        if self.is_apart() {
            (0..self.size()).for_each(|from| self.channel(from, rank).touch());
        }
    }

    /// Whether members are to [`move_in`](Fabric::move_in).
    pub(crate) fn is_apart(&self) -> bool {
        self.channels.is_apart()
    }

    /// A sender, a receiver, and how many of its messages were not received.
    /// Only while no rank runs.
    #[cold]
    pub(crate) fn unreceived(&self) -> Option<(usize, usize, u32)> {
        let p = self.size();
        let pairs = (0..p).flat_map(|from| (0..p).map(move |to| (from, to)));
        pairs
            .map(|(from, to)| (from, to, self.channel(from, to).untaken()))
            .find(|&(_, _, messages)| messages != 0)
    }

    #[inline(always)]
    pub(crate) fn board(&self, rank: usize) -> &Board {
        &self.boards[rank]
    }

    /// Declares that `rank` touches nobody's memory in this communicator any
    /// more, ever. `unwinding`: because of a panic, and the run's end is near.
    pub(crate) fn leave(&self, rank: usize, unwinding: bool) {
        let how = if unwinding { UNWINDING } else { LEFT };
        // Ordering: pairs with the loads in `has_left` and `has_returned`.
        self.seats[rank].left.store(how, publish(Site::Left));
    }

    /// Whether waiting for `rank` is pointless: it has given up this
    /// communicator, and not because it is unwinding, or has left its run.
    pub(crate) fn has_returned(&self, rank: usize, run: u64) -> bool {
        // Ordering: pairs with the store in `leave`.
        self.seats[rank].left.load(Ordering::Acquire) == LEFT
            || self.world.has_left(self.members[rank], run)
    }

    /// Whether `rank` has given up this communicator, or its run.
    pub(crate) fn has_left(&self, rank: usize, run: u64) -> bool {
        // Ordering: pairs with the store in `leave`.
        self.seats[rank].left.load(Ordering::Acquire) != 0
            || self.world.has_left(self.members[rank], run)
    }

    /// Wakes `rank` if it is parked.
    #[inline(always)]
    pub(crate) fn wake(&self, rank: usize) {
        if self.seats[rank].asleep.load(Relaxed) != 0 {
            self.ring(rank);
        }
    }

    #[cold]
    fn ring(&self, rank: usize) {
        self.seats[rank].alarm.ring();
    }

    pub(crate) fn set_asleep(&self, rank: usize, asleep: bool) {
        self.seats[rank].asleep.store(u64::from(asleep), Relaxed);
    }
}
