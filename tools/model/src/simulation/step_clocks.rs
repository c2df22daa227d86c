//! One step: the times at which ranks post messages and messages arrive.

use super::effects::Effect;
use super::error::SimulationError;
use super::messages::{CallSetup, Message, StepMessages};
use super::run::Simulation;
use phalanx::schedule::{BlockRange, Schedule};

/// Messages beyond which a schedule is not simulated: some seconds of work. (In tests fewer.)
pub(super) const MOST: usize = if cfg!(test) { 1 << 20 } else { 1 << 26 };

/// Where the ranks' clocks stand, and the room that a step needs.
pub(super) struct Clocks {
    pub(super) ranks: RankClocks,
    /// Messages so far.
    total: usize,
    in_step: StepMessages,
    posted: Vec<f64>,
}

/// The ranks' clocks.
pub(super) struct RankClocks {
    pub(super) now: Vec<f64>,
    /// When the rank's own messages have arrived.
    pub(super) sent: Vec<f64>,
    /// When the rank's last pull ended.
    pub(super) pulled: Vec<f64>,
    /// When the rank knows that its memory is no longer lent.
    returned: Vec<f64>,
    /// Messages by level.
    pub(super) messages: Vec<usize>,
    pub(super) seen: Seen,
}

/// The cost of a message for its two ends, without the way.
pub(super) struct EndCosts {
    /// Whether messages keep their ends busy.
    pub(super) occupied: bool,
    sharing: bool,
    pollers: f64,
    pub(super) turns: bool,
    pub(super) transfers: f64,
    pulls: f64,
    send: f64,
    send_share: f64,
    receive: f64,
    /// Beyond so many bytes a message is pulled.
    inline: f64,
    /// From so many bytes on it lends its sender's memory.
    lent_from: f64,
    /// Nanoseconds a byte that a shift in place copies once more.
    bounce: f64,
    /// GB/s at which a sender copies, by level.
    copies: Option<Vec<f64>>,
    near: f64,
    late: f64,
}

impl EndCosts {
    pub(super) fn new(s: &Simulation) -> Self {
        let (t, has) = (&s.transport, |effect| s.effects.has(effect));
        EndCosts {
            occupied: has(Effect::Occupancy),
            sharing: has(Effect::ReadSharing),
            pollers: if has(Effect::Pollers) { t.poller_ns } else { 0.0 },
            turns: has(Effect::Turnaround) && t.turnaround,
            transfers: t.transfers,
            pulls: t.pulls,
            send: t.send_ns,
            send_share: t.send_share,
            receive: t.receive_ns,
            inline: t.inline_bytes,
            bounce: t.bounce / s.nearest_rate(),
            lent_from: t.lent_from.filter(|_| has(Effect::Lending)).unwrap_or(f64::INFINITY),
            copies: t.sender_copies.then(|| (0..s.levels()).map(|c| s.core_rate(c)).collect()),
            near: s.near,
            late: 0.0,
        }
    }

    /// For a step with senders that wait until their messages are taken, or not.
    fn acknowledged(&mut self, s: &Simulation, asked: bool) {
        let waits = asked && s.effects.has(Effect::Acknowledgement);
        self.late = if waits { s.transport.acknowledge_ns } else { 0.0 };
    }

    /// Posts a message: when, and the sender's clock goes on.
    pub(super) fn post(&self, now: &mut f64, l: &Message) -> f64 {
        if !self.occupied {
            return *now;
        }
        // One line shows to all.
        if !l.shared || l.opens {
            *now += self.send;
        }
        let posted = *now;
        if !l.shared {
            *now += self.send_share * l.hand_off;
        }
        if let Some(rates) = &self.copies
            && self.heavy(l)
        {
            *now += l.bytes / rates[l.class as usize];
        }
        posted
    }

    /// Whether it does not fit its line.
    pub(super) fn heavy(&self, l: &Message) -> bool {
        l.bytes > self.inline
    }
}

impl RankClocks {
    /// A message is taken by a rank with so many sends of its own, from one with so many.
    pub(super) fn take(
        &mut self,
        ends: &EndCosts,
        s: &Simulation,
        l: &Message,
        mut posted: f64,
        (own, senders): (u32, u32),
    ) {
        let (from, to, k) = (l.from as usize, l.to as usize, ends.transfers);
        self.messages[l.class as usize] += 1;
        let mut h = l.hand_off;
        if l.shared {
            posted += ends.pollers * f64::from(senders - 1);
            let group = s.layout.group(to);
            if ends.sharing && group != s.layout.group(from) {
                let when = self.seen.at(from, group);
                if when.is_nan() {
                    *when = posted + k * h;
                } else {
                    posted = posted.max(*when);
                    h = h.min(ends.near);
                }
            }
        }
        let body = |bytes: f64| if ends.heavy(l) { bytes / l.rate } else { 0.0 };
        if !ends.occupied {
            self.now[to] = self.now[to].max(posted + k * h + body(l.queued));
            return;
        }
        let start = match ends.turns && own > 0 {
            true => posted.max(self.sent[to]),
            false => posted,
        };
        let fetched = (start + k * h + ends.late).max(self.pulled[to] + h / ends.pulls);
        self.pulled[to] = fetched + body(l.bytes);
        self.now[to] = self.now[to].max(self.pulled[to]) + ends.receive;
        let told = self.now[to] + k * h;
        if ends.late > 0.0 {
            self.now[from] = self.now[from].max(told);
        }
        if l.bytes >= ends.lent_from && !l.boards {
            if l.in_place {
                self.now[to] += ends.bounce * l.bytes;
            }
            self.returned[from] = self.returned[from].max(told);
        }
    }

    /// The end of a call: those that have lent memory have it again.
    pub(super) fn settle(&mut self) {
        for (now, returned) in self.now.iter_mut().zip(&self.returned) {
            *now = now.max(*returned);
        }
    }

    /// When the last rank is done.
    fn last(&self) -> f64 {
        self.now.iter().copied().fold(0.0, f64::max)
    }
}

impl Clocks {
    pub(super) fn new(s: &Simulation) -> Self {
        let ranks = s.ranks();
        let ranks = RankClocks {
            now: vec![0.0; ranks],
            sent: vec![0.0; ranks],
            pulled: vec![0.0; ranks],
            returned: vec![0.0; ranks],
            messages: vec![0; s.levels()],
            seen: Seen::new(ranks, s.layout.uplinks()),
        };
        Clocks { ranks, total: 0, in_step: StepMessages::default(), posted: Vec::new() }
    }

    /// When the last rank is done.
    pub(super) fn last(&self) -> f64 {
        self.ranks.last()
    }

    /// The end of a call.
    pub(super) fn close(&mut self, s: &Simulation, setup: &CallSetup<'_>, ends: &EndCosts) {
        self.ranks.close(s, setup, ends);
        self.ranks.settle();
    }

    /// All wait for the last one.
    fn meet(&mut self) {
        let RankClocks { now, sent, pulled, .. } = &mut self.ranks;
        let last = now.iter().copied().fold(0.0, f64::max);
        for clock in [now, sent, pulled] {
            clock.fill(last);
        }
    }

    /// Carries out one step. One that repeats the step before has its messages still.
    ///
    /// # Errors
    /// More messages than are simulated.
    pub(super) fn step(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &mut EndCosts,
        step: usize,
    ) -> Result<(), SimulationError> {
        ends.acknowledged(s, setup.schedule.is_acknowledged(step));
        if !setup.schedule.repeats(step) {
            self.in_step.fill(s, setup, step, false)?;
        } else if s.effects.has(Effect::Spread) {
            self.in_step.spread(s, step);
        }
        if setup.boards {
            self.ranks.seen.clear();
        }
        if setup.stores(s, step) {
            let messages = self.ranks.store(s, setup, ends, step);
            self.end(s);
            return self.admit(messages, setup, step);
        }
        if setup.shows_more(s, step) {
            let began = self.ranks.now.clone();
            self.messages(s, setup, ends, step)?;
            self.ranks.show_more(s, setup, ends, &began);
            return Ok(());
        }
        self.messages(s, setup, ends, step)
    }

    /// The step's messages, which are there or too many.
    fn messages(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &EndCosts,
        step: usize,
    ) -> Result<(), SimulationError> {
        if self.in_step.wide {
            let Some(messages) = super::streamed_step::count(s, setup, step) else {
                self.in_step.fill(s, setup, step, true)?;
                return self.kept(s, setup, ends, step);
            };
            self.admit(messages, setup, step)?;
            self.ranks.wide(s, setup, ends, step);
            self.end(s);
            return Ok(());
        }
        self.kept(s, setup, ends, step)
    }

    /// The step with these messages.
    fn kept(
        &mut self,
        s: &Simulation,
        setup: &CallSetup<'_>,
        ends: &EndCosts,
        step: usize,
    ) -> Result<(), SimulationError> {
        self.admit(self.in_step.all.len(), setup, step)?;
        let Clocks { ranks, in_step, posted, .. } = self;
        posted.clear();
        posted.extend(in_step.all.iter().map(|l| ends.post(&mut ranks.now[l.from as usize], l)));
        if ends.turns {
            for (l, posted) in in_step.all.iter().zip(posted.iter()) {
                let busy = &mut ranks.sent[l.from as usize];
                *busy = busy.max(posted + ends.transfers * l.hand_off);
            }
        }
        for &(to, at) in &in_step.takes {
            let l = &in_step.all[at as usize];
            let sends = (in_step.sends[to as usize], in_step.sends[l.from as usize]);
            ranks.take(ends, s, l, posted[at as usize], sends);
        }
        self.end(s);
        Ok(())
    }

    fn end(&mut self, s: &Simulation) {
        if !s.effects.has(Effect::Overlap) {
            self.meet();
        }
    }

    /// Whether so many more messages are still simulated.
    fn admit(
        &mut self,
        messages: usize,
        setup: &CallSetup<'_>,
        step: usize,
    ) -> Result<(), SimulationError> {
        let first = self.total == 0 && step == 0;
        self.total += messages;
        // The first step tells how the rest will be; if it does not, the count will.
        let all = if first { messages * setup.schedule.steps() } else { 0 };
        match all.max(self.total) {
            all if all > MOST => Err(SimulationError::Messages { messages: all, most: MOST }),
            _ => Ok(()),
        }
    }
}

/// When a group of cores first had a sender's shared line; NaN: not yet.
pub(super) struct Seen {
    groups: usize,
    /// The row of each sender that has shown something.
    row: Vec<u32>,
    when: Vec<f64>,
}

impl Seen {
    fn new(ranks: usize, groups: usize) -> Self {
        Seen { groups, row: vec![u32::MAX; ranks], when: Vec::new() }
    }

    fn clear(&mut self) {
        if !self.when.is_empty() {
            self.row.fill(u32::MAX);
            self.when.clear();
        }
    }

    /// A notice that a rank showed before counts no more: it shows something new.
    pub(super) fn forget(&mut self, from: usize) {
        if self.row[from] != u32::MAX {
            let row = self.row[from] as usize * self.groups;
            self.when[row..row + self.groups].fill(f64::NAN);
        }
    }

    fn at(&mut self, from: usize, group: usize) -> &mut f64 {
        if self.row[from] == u32::MAX {
            self.row[from] = (self.when.len() / self.groups) as u32;
            self.when.resize(self.when.len() + self.groups, f64::NAN);
        }
        &mut self.when[self.row[from] as usize * self.groups + group]
    }
}

/// Bytes of one rank's buffers: those at its start and those at its end.
pub(super) fn footprint(schedule: &Schedule, bytes: f64) -> f64 {
    let contract = schedule.contract();
    let block = bytes / contract.split.max(1) as f64;
    let of = |runs: Vec<BlockRange>| count(&runs) as f64 * block;
    of(contract.initial(contract.root)).max(of(contract.wanted(contract.root)))
}

fn count(blocks: &[BlockRange]) -> usize {
    blocks.iter().map(|r| r.count).sum()
}
