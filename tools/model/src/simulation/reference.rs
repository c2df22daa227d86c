//! The simulation as it was before it was made quick: every message of a step in a list, every rate
//! by itself. Tests hold the quick one against it, to the last bit.

use std::collections::HashMap;

use super::effects::Effect;
use super::letters::Course;
use super::run::Simulation;
use phalanx::schedule::{Run, Step};

/// A message of the step in progress.
struct Letter {
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

/// Where the ranks' clocks stand, and what a step needs room for.
pub(super) struct Clocks {
    pub(super) now: Vec<f64>,
    /// When the rank's own messages have arrived.
    sent: Vec<f64>,
    /// When the rank's last pull ended.
    pulled: Vec<f64>,
    /// Messages by level.
    pub(super) messages: Vec<usize>,
    parts: Vec<Step>,
    letters: Vec<Letter>,
    /// The letters of rank r are `order[first[r]..first[r + 1]]`.
    first: Vec<usize>,
    order: Vec<u32>,
    rates: Vec<f64>,
}

impl Clocks {
    pub(super) fn new(ranks: usize, levels: usize) -> Self {
        Clocks {
            now: vec![0.0; ranks],
            sent: vec![0.0; ranks],
            pulled: vec![0.0; ranks],
            messages: vec![0; levels],
            parts: Vec::with_capacity(ranks),
            letters: Vec::new(),
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
    pub(super) fn step(&mut self, s: &Simulation, course: &Course<'_>, step: usize) {
        self.parts = (0..s.ranks()).map(|rank| course.schedule.step(step, rank)).collect();
        self.post(s, course, step);
        self.share(s, course.from_memory);
        self.deliver(s, course.schedule.is_acknowledged(step));
        if !s.effects.has(Effect::Overlap) {
            self.meet();
        }
    }

    fn post(&mut self, s: &Simulation, course: &Course<'_>, step: usize) {
        let occupied = s.effects.has(Effect::Occupancy);
        let Clocks { now, parts, letters, .. } = self;
        letters.clear();
        for (from, part) in parts.iter().enumerate() {
            let own = letters.len();
            for (i, send) in part.sends.iter().enumerate() {
                let bytes = count(&send.blocks) as f64 * course.block;
                let to = send.to as u32;
                // With many messages each is to another rank.
                let earlier = (i > 0 && part.sends.len() <= 64)
                    .then(|| letters[own..].iter().rev().find(|l| l.to == to))
                    .flatten();
                let queued = bytes + earlier.map_or(0.0, |l| l.queued);
                // One line shows the addresses to all.
                let shared = course.boards && part.sends.len() > 1;
                if occupied && !(shared && i == 0) {
                    now[from] += s.transport.send_ns;
                }
                let class = s.layout.class(from, send.to);
                let hand_off = s.hand_off(class, from, send.to, step);
                let (from_, posted) = (from as u32, now[from]);
                letters.push(Letter {
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

    /// Letters by receiver, in the order in which they were posted.
    fn sort(&mut self) {
        let Clocks { letters, first, order, .. } = self;
        first.fill(0);
        letters.iter().for_each(|l| first[l.to as usize + 1] += 1);
        for r in 1..first.len() {
            first[r] += first[r - 1];
        }
        order.resize(letters.len(), 0);
        for (i, letter) in letters.iter().enumerate() {
            order[first[letter.to as usize]] = i as u32;
            first[letter.to as usize] += 1;
        }
        // Each now stands at its end, which is the next one's beginning.
        first.rotate_right(1);
        first[0] = 0;
    }

    /// GB/s of each letter: its core's, or its share of the narrowest door. For those that fit
    /// their line, any.
    fn share(&mut self, s: &Simulation, from_memory: bool) {
        let Clocks { letters, first, rates, .. } = self;
        let heavy = |l: &Letter| l.bytes > s.transport.inline_bytes;
        let saturates = s.effects.has(Effect::Saturation);
        rates.clear();
        if !letters.iter().any(heavy) {
            return;
        }
        // Flows through each door, out and in, and from each memory. A rank that takes several
        // letters in a step takes one after the other: each of them counts for its part of the
        // time.
        let mut out = vec![0.0f64; s.layout.doors()];
        let mut into = out.clone();
        let mut drawn = out.clone();
        if saturates {
            let mut takes = vec![0u32; first.len()];
            letters.iter().filter(|l| heavy(l)).for_each(|l| takes[l.to as usize] += 1);
            let in_turn = s.effects.has(Effect::Occupancy);
            for l in letters.iter().filter(|l| heavy(l)) {
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
        let rate = |l: &Letter| {
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
        rates.extend(letters.iter().map(rate));
    }

    fn deliver(&mut self, s: &Simulation, acknowledged: bool) {
        let has = |effect| s.effects.has(effect);
        let Clocks { now, sent, pulled, messages, parts, letters, first, order, rates } = self;
        let turns = has(Effect::Turnaround) && s.transport.turnaround;
        let (k, pulls, soft) = (s.transport.transfers, s.transport.pulls, s.transport.receive_ns);
        let late = match acknowledged && has(Effect::Acknowledgement) {
            true => s.transport.acknowledge_ns,
            false => 0.0,
        };
        if turns {
            for letter in letters.iter() {
                let busy = &mut sent[letter.from as usize];
                *busy = busy.max(letter.posted + k * letter.hand_off);
            }
        }
        let (sharing, polled) = (has(Effect::ReadSharing), has(Effect::Pollers));
        // When a group of cores first had a shared letter's line.
        let mut seen: HashMap<(u32, usize), f64> = HashMap::new();
        for (to, part) in parts.iter().enumerate() {
            let mut cursor = 0;
            let inbox = &order[first[to]..first[to + 1]];
            for recv in &part.recvs {
                let Some(at) = find(inbox, letters, recv.from, &mut cursor) else { continue };
                let letter = &letters[at];
                messages[letter.class as usize] += 1;
                let (mut h, mut posted) = (letter.hand_off, letter.posted);
                if letter.shared && polled {
                    let pollers = parts[letter.from as usize].sends.len() - 1;
                    posted += s.transport.poller_ns * pollers as f64;
                }
                if letter.shared && sharing {
                    let group = s.layout.group(to);
                    match seen.get(&(letter.from, group)) {
                        Some(&when) if group != s.layout.group(letter.from as usize) => {
                            posted = posted.max(when);
                            h = h.min(s.near);
                        }
                        _ => {
                            seen.insert((letter.from, group), posted + k * h);
                        }
                    }
                }
                let heavy = letter.bytes > s.transport.inline_bytes;
                let body = |bytes: f64| if heavy { bytes / rates[at] } else { 0.0 };
                if !has(Effect::Occupancy) {
                    now[to] = now[to].max(posted + k * h + body(letter.queued));
                    continue;
                }
                let start = match turns && !part.sends.is_empty() {
                    true => posted.max(sent[to]),
                    false => posted,
                };
                let fetched = (start + k * h + late).max(pulled[to] + h / pulls);
                pulled[to] = fetched + body(letter.bytes);
                now[to] = now[to].max(pulled[to]) + soft;
                if late > 0.0 {
                    let told = now[to] + k * h;
                    let sender = &mut now[letter.from as usize];
                    *sender = sender.max(told);
                }
            }
        }
    }
}

fn count(blocks: &[Run]) -> usize {
    blocks.iter().map(|r| r.count).sum()
}

/// The next letter from `from`, where letters of one pair come in order.
fn find(inbox: &[u32], letters: &[Letter], from: usize, cursor: &mut usize) -> Option<usize> {
    // Usually the one after the last; schedules take them in the order of ranks or just one.
    let n = inbox.len();
    for i in 0..n {
        let at = match *cursor + i {
            at if at < n => at,
            at => at - n,
        };
        let letter = inbox[at] as usize;
        if letters[letter].from as usize == from {
            *cursor = if at + 1 == n { 0 } else { at + 1 };
            return Some(letter);
        }
    }
    None
}
