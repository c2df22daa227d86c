//! The ranks' shared state for their messages: a queue each, and rings from each to each. Waits
//! are below it (`standings.rs`).

use super::envelope::EAGER;
use super::p2p::Queue;
use super::record::Record;
use super::request::OpenAsk;
use super::short_message::{ROOM, ShortRing};
use super::standings::{Standings, refused};
use super::word::Word;
use phalanx::engine;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Up to so many ranks rings have room for messages of `EAGER` bytes: 288 MiB at most, of which a
/// page a room is touched where messages are shorter.
const ROOMY: usize = 64;
/// Slots of a ring: a program may start so many messages at once, and none waits for its receiver.
const SLOTS: usize = 64;
/// Up to so many ranks: with the memory of the slots, 18 MiB then.
const MANY_SLOTS: usize = 16;
/// Slots of a ring of a larger world.
const FEW: usize = 8;
/// So often a sender that finds its ring full looks for room: for less time than it takes to send
/// by the queue, which the receiver then has to look at, too.
const LOOKS_FOR_ROOM: u32 = 10;

/// One rank, as the others see it; on lines of its own, as its lock and `left` are written and read
/// at each message.
#[repr(align(128))]
pub struct Slot {
    /// The messages and receives that wait for this rank.
    pub queue: Mutex<Queue>,
    /// How many messages others have left in the queue.
    pub left: Word,
}

opaque!(Slot);

/// The state that the ranks of a run share.
#[derive(Debug)]
pub struct World {
    /// The ranks.
    pub slots: Vec<Slot>,
    /// Short messages: from each rank to each, made at the first.
    rings: Vec<OnceLock<Box<ShortRing>>>,
    /// Where calls are recorded, if they are.
    pub record: Option<Arc<Record>>,
    standings: Standings,
}

impl Deref for World {
    type Target = Standings;

    #[inline(always)]
    fn deref(&self) -> &Standings {
        &self.standings
    }
}

impl World {
    /// A world of `ranks` ranks, which say after `stall_warning` that they wait (else after the
    /// library's time). Ends the process if the library refuses it.
    pub fn new(ranks: usize, stall_warning: Option<Duration>) -> Arc<World> {
        let builder = phalanx::Team::builder().ranks(ranks);
        let builder = match stall_warning {
            Some(after) => builder.stall_warning(after),
            None => builder,
        };
        let comms = engine::external(builder);
        let comms = comms.unwrap_or_else(refused);
        let record = Record::of(&comms[0]);
        let slot = |_| Slot { queue: Mutex::default(), left: Word::default() };
        let world = Arc::new(World {
            slots: (0..ranks).map(slot).collect(),
            rings: (0..ranks * ranks).map(|_| OnceLock::new()).collect(),
            standings: Standings::new(comms, record.is_some()),
            record,
        });
        let of = Arc::downgrade(&world);
        world.standings.set_stall_text(move |wait| match of.upgrade() {
            Some(world) => world.stall_text(wait),
            None => wait.to_owned(),
        });
        world
    }

    /// The ring to a rank from another, if that has sent short messages.
    #[inline]
    pub fn ring(&self, to: usize, from: usize) -> Option<&ShortRing> {
        self.rings[to * self.slots.len() + from].get().map(|it| &**it)
    }

    /// The same, made if it is not there.
    #[inline]
    pub fn new_ring(&self, to: usize, from: usize) -> &ShortRing {
        let ring = &self.rings[to * self.slots.len() + from];
        match ring.get() {
            Some(ring) => ring,
            None => self.make(ring),
        }
    }

    #[cold]
    #[inline(never)]
    fn make<'a>(&self, ring: &'a OnceLock<Box<ShortRing>>) -> &'a ShortRing {
        let is_small = self.slots.len() <= MANY_SLOTS;
        ring.get_or_init(if is_small { ShortRing::new::<SLOTS> } else { ShortRing::new::<FEW> })
    }

    /// Whether `push` finds room in a ring that was full, soon.
    pub fn has_room_soon(&self, mut push: impl FnMut() -> bool) -> bool {
        let looks = if self.is_crowded() { 1 } else { LOOKS_FOR_ROOM };
        (0..looks).any(|_| {
            // Seldom: the receiver has to fetch the line back.
            (0..4).for_each(|_| std::hint::spin_loop());
            push()
        })
    }

    /// Whether messages for a rank lie in the ring of this one, or of any.
    #[inline]
    pub fn has_arrivals(&self, to: usize, from: Option<usize>) -> bool {
        let has = |from| self.ring(to, from).is_some_and(ShortRing::has_news);
        match from {
            Some(from) => has(from),
            None => (0..self.slots.len()).any(has),
        }
    }

    /// Up to so many bytes a message goes by a ring: with many ranks there are too many rings to
    /// have room for more each.
    #[inline]
    pub fn ring_bytes(&self) -> usize {
        if self.slots.len() <= ROOMY { EAGER } else { ROOM }
    }

    /// Whether the cards that a started collective awaits have been shown: its rank can go on.
    pub fn has_shown(&self, it: OpenAsk) -> bool {
        self.have_shown(it.context, it.number, it.awaits)
    }
}
