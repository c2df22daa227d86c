//! The simulation before its optimisation: every message of a step in a list, and every rate
//! computed by itself. Tests compare the optimised one with it, to the last bit.

use std::collections::HashMap;

use super::effects::Effect;
use super::messages::CallSetup;
use super::run::Simulation;
use phalanx::schedule::{BlockRange, Step};

/// A message of the step in progress.
struct ReferenceMessage {
    from: u32,
    to: u32,
    /// Index of the level that the two meet at.
    class: u16,
    /// It is read from a board, by others as well.
    shared: bool,
    bytes: f64,
    posted: f64,
    /// Nanoseconds of one transfer of its line.
    hand_off: f64,
    /// Bytes of this pair's messages in the step so far, this one's included.
    queued: f64,
}

/// Where the ranks' clocks stand, and the room that a step needs.
pub(super) struct ReferenceClocks {
    pub(super) now: Vec<f64>,
    /// When the rank's own messages have arrived.
    sent: Vec<f64>,
    /// When the rank's last pull ended.
    pulled: Vec<f64>,
    /// Messages by level.
    pub(super) messages: Vec<usize>,
    parts: Vec<Step>,
    in_step: Vec<ReferenceMessage>,
    /// The messages of rank r are `order[first[r]..first[r + 1]]`.
    first: Vec<usize>,
    order: Vec<u32>,
    rates: Vec<f64>,
}

impl ReferenceClocks {
    pub(super) fn new(ranks: usize, levels: usize) -> Self {
        ReferenceClocks {
            now: vec![0.0; ranks],
            sent: vec![0.0; ranks],
            pulled: vec![0.0; ranks],
            messages: vec![0; levels],
            parts: Vec::with_capacity(ranks),
            in_step: Vec::new(),
            first: vec![0; ranks + 1],
            order: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// When the last rank is done.
    pub(super) fn last(&self) -> f64 {
        self.now.iter().copied().fold(0.0, f64::max)
    }

    /// All wait for the last one.
    fn meet(&mut self) {
        let last = self.last();
        for clock in [&mut self.now, &mut self.sent, &mut self.pulled] {
            clock.fill(last);
        }
    }

    /// Carries out one step.
    pub(super) fn step(&mut self, s: &Simulation, setup: &CallSetup<'_>, step: usize) {
        self.parts = (0..s.ranks()).map(|rank| setup.schedule.step(step, rank)).collect();
        self.post(s, setup, step);
        self.share(s, setup.from_memory);
        self.deliver(s, setup.schedule.is_acknowledged(step));
        if !s.effects.has(Effect::Overlap) {
            self.meet();
        }
    }

    fn post(&mut self, s: &Simulation, setup: &CallSetup<'_>, step: usize) {
        let occupied = s.effects.has(Effect::Occupancy);
        let ReferenceClocks { now, parts, in_step, .. } = self;
        in_step.clear();
        for (from, part) in parts.iter().enumerate() {
            let own = in_step.len();
            for (i, send) in part.sends.iter().enumerate() {
                let bytes = count(&send.blocks) as f64 * setup.block;
                let to = send.to as u32;
                // With many messages each is to another rank.
                let earlier = (i > 0 && part.sends.len() <= 64)
                    .then(|| in_step[own..].iter().rev().find(|l| l.to == to))
                    .flatten();
                let queued = bytes + earlier.map_or(0.0, |l| l.queued);
                // One line shows the addresses to all.
                let shared = setup.boards && part.sends.len() > 1;
                if occupied && (!shared || i == 0) {
                    now[from] += s.transport.send_ns;
                }
                let class = s.layout.class(from, send.to);
                let hand_off = s.hand_off(class, from, send.to, step);
                let (from_, posted) = (from as u32, now[from]);
                in_step.push(ReferenceMessage {
                    from: from_,
                    to,
                    class: class as u16,
                    shared,
                    bytes,
                    posted,
                    hand_off,
                    queued,
                });
                if occupied && !shared {
                    now[from] += s.transport.send_share * hand_off;
                }
                if occupied && s.transport.sender_copies && bytes > s.transport.inline_bytes {
                    now[from] += bytes / s.core_rate(class);
                }
            }
        }
        self.sort();
    }

    /// Messages by receiver, in the order in which they were posted.
    fn sort(&mut self) {
        let ReferenceClocks { in_step, first, order, .. } = self;
        first.fill(0);
        in_step.iter().for_each(|l| first[l.to as usize + 1] += 1);
        for r in 1..first.len() {
            first[r] += first[r - 1];
        }
        order.resize(in_step.len(), 0);
        for (i, message) in in_step.iter().enumerate() {
            order[first[message.to as usize]] = i as u32;
            first[message.to as usize] += 1;
        }
        // Each now stands at its end, which is the next one's beginning.
        first.rotate_right(1);
        first[0] = 0;
    }

    /// GB/s of each message: its core's, or its share of the narrowest link. For those that fit
    /// their line, any.
    fn share(&mut self, s: &Simulation, from_memory: bool) {
        let ReferenceClocks { in_step, first, rates, .. } = self;
        let heavy = |l: &ReferenceMessage| l.bytes > s.transport.inline_bytes;
        let saturates = s.effects.has(Effect::Saturation);
        rates.clear();
        if !in_step.iter().any(heavy) {
            return;
        }
        // Flows through each uplink, out and in, and from each memory. A rank that takes several
        // messages in a step takes one after the other: each of them counts for its part of the
        // time.
        let mut out = vec![0.0f64; s.layout.uplinks()];
        let mut into = out.clone();
        let mut drawn = out.clone();
        if saturates {
            let mut takes = vec![0u32; first.len()];
            in_step.iter().filter(|l| heavy(l)).for_each(|l| takes[l.to as usize] += 1);
            let in_turn = s.effects.has(Effect::Occupancy);
            for l in in_step.iter().filter(|l| heavy(l)) {
                let (from, to) = (l.from as usize, l.to as usize);
                let part = if in_turn { 1.0 / f64::from(takes[to]) } else { 1.0 };
                let (meet, _) = s.layout.meets(from, to);
                s.layout.way(from, meet).for_each(|d| out[d] += part);
                s.layout.way(to, meet).for_each(|d| into[d] += part);
                if from_memory && let Some(d) = s.layout.memory(from) {
                    drawn[d] += part;
                }
            }
        }
        let rate = |l: &ReferenceMessage| {
            let mut rate = s.core_rate(l.class as usize);
            if from_memory && let Some(one) = s.memory.0 {
                rate = rate.min(one);
            }
            if !saturates || !heavy(l) {
                return rate;
            }
            let (from, to) = (l.from as usize, l.to as usize);
            let (meet, _) = s.layout.meets(from, to);
            for d in s.layout.way(from, meet) {
                rate = rate.min(s.layout.rate(d).0 / out[d].max(1.0));
            }
            for d in s.layout.way(to, meet) {
                rate = rate.min(s.layout.rate(d).0 / into[d].max(1.0));
            }
            if from_memory
                && let Some(d) = s.layout.memory(from)
                && let Some(all) = s.layout.rate(d).1
            {
                rate = rate.min(all / drawn[d].max(1.0));
            }
            rate
        };
        rates.extend(in_step.iter().map(rate));
    }

    fn deliver(&mut self, s: &Simulation, acknowledged: bool) {
        let has = |effect| s.effects.has(effect);
        let ReferenceClocks { now, sent, pulled, messages, parts, in_step, first, order, rates } =
            self;
        let turns = has(Effect::Turnaround) && s.transport.turnaround;
        let (k, pulls, soft) = (s.transport.transfers, s.transport.pulls, s.transport.receive_ns);
        let late = match acknowledged && has(Effect::Acknowledgement) {
            true => s.transport.acknowledge_ns,
            false => 0.0,
        };
        if turns {
            for message in in_step.iter() {
                let busy = &mut sent[message.from as usize];
                *busy = busy.max(message.posted + k * message.hand_off);
            }
        }
        let (sharing, polled) = (has(Effect::ReadSharing), has(Effect::Pollers));
        // When a group of cores first had a shared message's line.
        let mut seen: HashMap<(u32, usize), f64> = HashMap::new();
        for (to, part) in parts.iter().enumerate() {
            let mut cursor = 0;
            let inbox = &order[first[to]..first[to + 1]];
            for recv in &part.recvs {
                let Some(at) = find(inbox, in_step, recv.from, &mut cursor) else { continue };
                let message = &in_step[at];
                messages[message.class as usize] += 1;
                let (mut h, mut posted) = (message.hand_off, message.posted);
                if message.shared && polled {
                    let pollers = parts[message.from as usize].sends.len() - 1;
                    posted += s.transport.poller_ns * pollers as f64;
                }
                if message.shared && sharing {
                    let group = s.layout.group(to);
                    match seen.get(&(message.from, group)) {
                        Some(&when) if group != s.layout.group(message.from as usize) => {
                            posted = posted.max(when);
                            h = h.min(s.near);
                        }
                        _ => {
                            seen.insert((message.from, group), posted + k * h);
                        }
                    }
                }
                let heavy = message.bytes > s.transport.inline_bytes;
                let body = |bytes: f64| if heavy { bytes / rates[at] } else { 0.0 };
                if !has(Effect::Occupancy) {
                    now[to] = now[to].max(posted + k * h + body(message.queued));
                    continue;
                }
                let start = match turns && !part.sends.is_empty() {
                    true => posted.max(sent[to]),
                    false => posted,
                };
                let fetched = (start + k * h + late).max(pulled[to] + h / pulls);
                pulled[to] = fetched + body(message.bytes);
                now[to] = now[to].max(pulled[to]) + soft;
                if late > 0.0 {
                    let told = now[to] + k * h;
                    let sender = &mut now[message.from as usize];
                    *sender = sender.max(told);
                }
            }
        }
    }
}

fn count(blocks: &[BlockRange]) -> usize {
    blocks.iter().map(|r| r.count).sum()
}

/// The next message from `from`, where messages of one pair come in order.
fn find(
    inbox: &[u32],
    in_step: &[ReferenceMessage],
    from: usize,
    cursor: &mut usize,
) -> Option<usize> {
    // Usually the one after the last; schedules take them in the order of ranks or just one.
    let n = inbox.len();
    for i in 0..n {
        let at = match *cursor + i {
            at if at < n => at,
            at => at - n,
        };
        let message = inbox[at] as usize;
        if in_step[message].from as usize == from {
            *cursor = if at + 1 == n { 0 } else { at + 1 };
            return Some(message);
        }
    }
    None
}
