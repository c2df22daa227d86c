//! The messages of one step: sender, receiver, level, bytes and rate.

use super::effects::Effect;
use super::error::SimulationError;
use super::run::Simulation;
use phalanx::schedule::{Operation, Schedule, StepTraffic};

/// Messages of one step from which on they are not kept, but made again whenever they are looked
/// at. (In tests a few, so that small schedules go both ways.)
const KEPT: usize = if cfg!(test) { 200 } else { 1 << 20 };

/// Messages of one step that are kept where nothing else will do. (In tests fewer.)
pub(super) const MOST_AT_ONCE: usize = if cfg!(test) { 1 << 16 } else { 1 << 22 };

/// A message of the step in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The uplink that the two meet at.
    meet: u32,
    /// Index of the level that they meet at.
    pub(super) class: u16,
    /// It is read from a board, by others as well.
    pub(super) shared: bool,
    /// Its call has direct access to memory.
    pub(super) boards: bool,
    /// It comes for memory that its receiver lends.
    pub(super) in_place: bool,
    /// It is the first of its sender's.
    pub(super) opens: bool,
    pub(super) bytes: f64,
    /// Bytes of this pair's messages in the step so far, this one's included.
    pub(super) queued: f64,
    /// Nanoseconds of one transfer of its line.
    pub(super) hand_off: f64,
    /// GB/s: its core's, or its share of the narrowest link. For those that fit their line, any.
    pub(super) rate: f64,
}

/// The facts that do not change from step to step.
pub(super) struct CallSetup<'a> {
    pub(super) schedule: &'a Schedule,
    /// Bytes of one block.
    pub(super) block: f64,
    /// Whether addresses are shown on boards.
    pub(super) boards: bool,
    /// Whether the data do not fit the caches.
    pub(super) from_memory: bool,
}

impl CallSetup<'_> {
    /// Message number `i` of `sends` that `from` sends in a step, to a rank that it sends nothing
    /// else.
    pub(super) fn message(
        &self,
        s: &Simulation,
        step: usize,
        (from, to): (usize, usize),
        (i, sends): (usize, usize),
        blocks: usize,
    ) -> Message {
        let bytes = blocks as f64 * self.block;
        let (meet, class) = s.layout.meets(from, to);
        Message {
            from: from as u32,
            to: to as u32,
            meet: meet as u32,
            class: class as u16,
            // One line shows the addresses to all.
            shared: self.boards && sends > 1,
            boards: self.boards,
            in_place: self.schedule.contract().operation == Operation::Shift,
            opens: i == 0,
            bytes,
            queued: bytes,
            hand_off: s.hand_off(class, from, to, step),
            rate: f64::INFINITY,
        }
    }
}

/// A step's messages, as far as they can be kept.
#[derive(Default)]
pub(super) struct StepMessages {
    /// By sender, in the order in which they are sent.
    pub(super) all: Vec<Message>,
    /// Receiver and message: by receiver, in the order in which they are taken.
    pub(super) takes: Vec<(u32, u32)>,
    /// How many each rank sends.
    pub(super) sends: Vec<u32>,
    /// More than are kept.
    pub(super) wide: bool,
    peers: StepTraffic,
    /// Messages of rank r in the order of `all`: `order[first[r]..first[r + 1]]`.
    first: Vec<u32>,
    order: Vec<u32>,
}

/// No message.
const NONE: u32 = u32::MAX;

impl StepMessages {
    /// The messages of a step, in place of those of the last. With more than so many, unless
    /// `whole`, only that there are.
    ///
    /// # Errors
    /// More than [`MOST_AT_ONCE`].
    pub(super) fn fill(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        step: usize,
        whole: bool,
    ) -> Result<(), SimulationError> {
        let p = s.ranks();
        self.all.clear();
        self.takes.clear();
        self.sends.clear();
        self.wide = false;
        for rank in 0..p {
            setup.schedule.peers(step, rank, &mut self.peers);
            let sends = self.peers.sends.len();
            self.sends.push(sends as u32);
            if self.all.len() + sends > if whole { MOST_AT_ONCE } else { KEPT } {
                self.wide = true;
                // All ranks like those so far.
                let messages = (self.all.len() + sends) / (rank + 1) * p;
                return match whole {
                    true => Err(SimulationError::Messages { messages, most: MOST_AT_ONCE }),
                    false => Ok(()),
                };
            }
            let own = self.all.len();
            for (i, &(to, blocks)) in self.peers.sends.iter().enumerate() {
                let mut message = setup.message(s, step, (rank, to), (i, sends), blocks);
                // With many messages each is to another rank.
                if i > 0 && sends <= 64 {
                    let same = self.all[own..].iter().rev().find(|l| l.to == message.to);
                    message.queued += same.map_or(0.0, |l| l.queued);
                }
                self.all.push(message);
            }
            let from = self.peers.recvs.iter().map(|&(from, _)| (rank as u32, from as u32));
            self.takes.extend(from);
        }
        self.pair(p);
        self.share(s, setup.from_memory);
        Ok(())
    }

    /// Where hand-offs spread, each time has its own.
    pub(super) fn spread(&mut self, s: &Simulation, step: usize) {
        for l in &mut self.all {
            l.hand_off = s.hand_off(l.class.into(), l.from as usize, l.to as usize, step);
        }
    }

    /// Finds for each that is taken its message, in place of its sender.
    fn pair(&mut self, p: usize) {
        let StepMessages { all, takes, first, order, .. } = self;
        // Mostly nobody gets more than one.
        first.clear();
        first.resize(p + 1, NONE);
        let mut crowded = false;
        for (i, l) in all.iter().enumerate() {
            let place = &mut first[l.to as usize];
            crowded |= *place != NONE;
            *place = i as u32;
        }
        if !crowded {
            takes.retain_mut(|(to, other)| {
                let at = first[*to as usize];
                let found = at != NONE && all[at as usize].from == *other;
                *other = at;
                found
            });
            return;
        }
        first.fill(0);
        all.iter().for_each(|l| first[l.to as usize + 1] += 1);
        for r in 1..first.len() {
            first[r] += first[r - 1];
        }
        order.resize(all.len(), 0);
        for (i, message) in all.iter().enumerate() {
            order[first[message.to as usize] as usize] = i as u32;
            first[message.to as usize] += 1;
        }
        // Each now stands at its end, which is the next one's beginning.
        first.rotate_right(1);
        first[0] = 0;
        let (mut rank, mut cursor) = (NONE, 0);
        takes.retain_mut(|(to, other)| {
            if rank != *to {
                (rank, cursor) = (*to, 0);
            }
            let inbox = &order[first[*to as usize] as usize..first[*to as usize + 1] as usize];
            let found = find(inbox, all, *other, &mut cursor);
            *other = found.unwrap_or(NONE);
            found.is_some()
        });
    }

    /// The rates of those that do not fit their line.
    fn share(&mut self, s: &Simulation, from_memory: bool) {
        let heavy = |l: &Message| l.bytes > s.transport.inline_bytes;
        if !self.all.iter().any(heavy) {
            return;
        }
        let mut takes = vec![0; s.ranks()];
        self.all.iter().filter(|l| heavy(l)).for_each(|l| takes[l.to as usize] += 1);
        let mut flows = UplinkFlows::new(s, from_memory, takes);
        self.all.iter().filter(|l| heavy(l)).for_each(|l| flows.pass(l));
        self.all.iter_mut().filter(|l| heavy(l)).for_each(|l| l.rate = flows.rate(l));
    }
}

/// Flows through each uplink, out and in, and from each memory. A rank that takes several messages
/// in a step takes one after the other: each of them counts for its part of the time.
pub(super) struct UplinkFlows<'a> {
    s: &'a Simulation,
    from_memory: bool,
    /// How many each rank takes; of stores, how many each rank sends.
    takes: Vec<u32>,
    stores: bool,
    out: Vec<f64>,
    into: Vec<f64>,
    drawn: Vec<f64>,
}

impl<'a> UplinkFlows<'a> {
    pub(super) fn new(s: &'a Simulation, from_memory: bool, takes: Vec<u32>) -> Self {
        let none = vec![0.0; s.layout.uplinks()];
        UplinkFlows {
            s,
            from_memory,
            takes,
            stores: false,
            out: none.clone(),
            into: none.clone(),
            drawn: none,
        }
    }

    /// The same where senders store one after the other: the counts are theirs.
    pub(super) fn of_stores(self) -> Self {
        UplinkFlows { stores: true, ..self }
    }

    /// One more that does not fit its line.
    pub(super) fn pass(&mut self, l: &Message) {
        if !self.s.effects.has(Effect::Saturation) {
            return;
        }
        let layout = &self.s.layout;
        let (from, to, meet) = (l.from as usize, l.to as usize, l.meet as usize);
        let in_turn = self.s.effects.has(Effect::Occupancy);
        let busy = if self.stores { from } else { to };
        let part = if in_turn { 1.0 / f64::from(self.takes[busy]) } else { 1.0 };
        layout.way(from, meet).for_each(|d| self.out[d] += part);
        layout.way(to, meet).for_each(|d| self.into[d] += part);
        if self.from_memory
            && let Some(d) = layout.memory(from)
        {
            self.drawn[d] += part;
        }
    }

    /// GB/s of one, after all have passed: its core's, or its share of the narrowest link.
    pub(super) fn rate(&self, l: &Message) -> f64 {
        let (s, layout) = (self.s, &self.s.layout);
        let mut rate = s.core_rate(l.class as usize);
        if self.from_memory
            && let Some(one) = s.memory.0
        {
            rate = rate.min(one);
        }
        if !s.effects.has(Effect::Saturation) {
            return rate;
        }
        let (from, to, meet) = (l.from as usize, l.to as usize, l.meet as usize);
        for d in layout.way(from, meet) {
            rate = rate.min(layout.rate(d).0 / self.out[d].max(1.0));
        }
        for d in layout.way(to, meet) {
            rate = rate.min(layout.rate(d).0 / self.into[d].max(1.0));
        }
        if self.from_memory
            && let Some(d) = layout.memory(from)
            && let Some(all) = layout.rate(d).1
        {
            rate = rate.min(all / self.drawn[d].max(1.0));
        }
        rate
    }
}

/// The next message from `from`, where messages of one pair come in order.
fn find(inbox: &[u32], messages: &[Message], from: u32, cursor: &mut usize) -> Option<u32> {
    // Usually the one after the last; schedules take them in the order of ranks or just one.
    let n = inbox.len();
    for i in 0..n {
        let at = match *cursor + i {
            at if at < n => at,
            at => at - n,
        };
        if messages[inbox[at] as usize].from == from {
            *cursor = if at + 1 == n { 0 } else { at + 1 };
            return Some(inbox[at]);
        }
    }
    None
}
