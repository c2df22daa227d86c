//! Binding: from blocks to memory.
//!
//! A schedule says which blocks travel; binding decides, for one rank, where
//! each block is at every moment. It is a small register allocator over the
//! rank's own steps:
//!
//! - A block that the rank must end with goes to its final place (its *home*)
//!   as soon as that place is free; everything else lives in scratch memory,
//!   which is reused as blocks die.
//! - The user's input is never written.
//! - **Hazards.** What was posted by address may be read by the peer until the
//!   peer has acknowledged it. Before a place is written, every earlier post
//!   that overlaps it is settled. A post of the *same* step cannot be settled
//!   first (its reader may be waiting for us), so the new content goes
//!   elsewhere: that is where an exchange in place gets its second buffer.
//!
//! These rules are here and nowhere else; schedules cannot get them wrong. Why
//! a plan cannot block for ever: its posts and settles of step `k` wait only
//! for takes of steps before `k` at other ranks, and takes of step `k` only for
//! posts of step `k`; so the ranks that are least far can always go on.

use super::actions::{Action, Memory, Piece, Place, Plan, Target};
use crate::exec::Cut;
use crate::mailbox::EAGER;
use crate::schedule::{Contract, Mode, Operation, RESULT, Run, Schedule, Share, Step};
use std::collections::HashMap;

/// A post that its receiver may still be reading from.
struct Reader {
    piece: Piece,
    peer: usize,
    /// Number of the message to `peer`, counted from 1 within the plan.
    number: u32,
    step: usize,
}

/// What the rest of the schedule does with a block.
#[derive(Clone, Copy, Default)]
struct Future {
    wanted: bool,
    last_send: Option<usize>,
    last_combine: Option<usize>,
}

struct Binder<'a> {
    contract: &'a Contract,
    rank: usize,
    cut: Cut<'a>,
    element: usize,
    /// Where every block is that the rank holds.
    held: HashMap<usize, Place>,
    future: HashMap<usize, Future>,
    readers: Vec<Reader>,
    /// Messages posted so far, by peer.
    posted: HashMap<usize, u32>,
    /// Free scratch memory: offset and length, in order of offset.
    free: Vec<(usize, usize)>,
    plan: Plan,
}

/// Binds `rank`'s part of `schedule` to data cut by `cut`, of elements of
/// `element` bytes.
pub(crate) fn bind(schedule: &Schedule, rank: usize, cut: Cut<'_>, element: usize) -> Plan {
    let steps: Vec<Step> = (0..schedule.steps()).map(|k| schedule.step(k, rank)).collect();
    let mut binder = Binder {
        contract: schedule.contract(),
        rank,
        cut,
        element,
        held: HashMap::new(),
        future: HashMap::new(),
        readers: Vec::new(),
        posted: HashMap::new(),
        free: Vec::new(),
        plan: Plan {
            actions: Vec::new(),
            pieces: Vec::new(),
            targets: Vec::new(),
            scratch: 0,
            input: 0,
            output: 0,
        },
    };
    binder.foresee(&steps);
    binder.begin();
    for (k, step) in steps.iter().enumerate() {
        for (to, blocks) in posts(rank, step) {
            binder.post(k, to, blocks);
        }
        binder.bury(k, step, true);
        for recv in &step.recvs {
            binder.take(k, recv);
        }
        binder.bury(k, step, false);
    }
    binder.end(steps.len());
    binder.plan
}

/// What `rank` posts in a step: its messages, and what it keeps for itself
/// (only on paper: the schedules that do so are those of fused paths).
fn posts(rank: usize, step: &Step) -> impl Iterator<Item = (usize, &[Run])> {
    let own = step.recvs.iter().filter(move |recv| recv.from == rank);
    let sends = step.sends.iter().map(|send| (send.to, &send.blocks[..]));
    sends.chain(own.map(|recv| (recv.from, &recv.blocks[..])))
}

fn blocks(runs: &[Run]) -> impl Iterator<Item = usize> + '_ {
    runs.iter().flat_map(|run| run.range())
}

impl Binder<'_> {
    /// Offset and length of block `b` in the memory in which its kind of block
    /// is laid out.
    fn extent(&self, b: usize, home: bool) -> (usize, usize) {
        let split = self.contract.split;
        let (coarse, part) = (b / split, b % split);
        let (offset, len) = self.coarse_extent(coarse, home);
        let (from, to) = (len * part / split, len * (part + 1) / split);
        (offset + from, to - from)
    }

    fn coarse_extent(&self, b: usize, home: bool) -> (usize, usize) {
        let p = self.contract.ranks;
        let op = self.contract.operation;
        // The number of the block within a buffer of all blocks.
        let (index, len) = match (op, self.cut) {
            (Operation::AllToAll, cut) => {
                let (origin, destination) = (b / p, b % p);
                let index = if home { origin } else { destination };
                match cut {
                    Cut::Equal(m) => return (index * m, m),
                    Cut::Pairs { send, recv } => {
                        let counts = if home { recv } else { send };
                        return (counts[..index].iter().sum(), counts[index]);
                    }
                    _ => unreachable!("an all-to-all is cut into pairs"),
                }
            }
            (_, Cut::Vector(m)) => return (0, m),
            (_, Cut::Equal(m)) => (b, m),
            (_, Cut::Varied(counts)) => (b, counts[b]),
            (_, Cut::Pairs { .. }) => unreachable!("pairs are for the all-to-all"),
        };
        let share = if home { op.output(true) } else { op.input(true) };
        let whole = share == Share::Blocks;
        let offset = match self.cut {
            _ if !whole => 0,
            Cut::Varied(counts) => counts[..index].iter().sum(),
            _ => index * len,
        };
        (offset, len)
    }

    fn len(&self, b: usize) -> usize {
        // A forwarded all-to-all block has one length everywhere; for the
        // others both views agree.
        match (self.contract.operation, self.cut) {
            (Operation::AllToAll, Cut::Pairs { .. }) => {
                let home = b % self.contract.ranks == self.rank;
                self.extent(b, home).1
            }
            _ => self.extent(b, false).1,
        }
    }

    /// Where block `b` belongs in the end, if the rank must end with it.
    fn home(&self, b: usize) -> Option<Place> {
        self.future
            .get(&b)
            .is_some_and(|f| f.wanted)
            .then(|| Place { memory: Memory::Output, offset: self.extent(b, true).0 })
    }

    /// Whether the operation works in place, so that blocks begin where others
    /// (or they themselves) have their home.
    fn in_place(&self) -> bool {
        let operation = self.contract.operation;
        let is_root = self.rank == self.contract.root;
        operation.is_in_place() && operation.output(is_root) != Share::Nothing
    }

    fn foresee(&mut self, steps: &[Step]) {
        for b in blocks(&self.contract.wanted(self.rank)) {
            self.future.entry(b).or_default().wanted = true;
        }
        for (k, step) in steps.iter().enumerate() {
            for b in posts(self.rank, step).flat_map(|(_, runs)| blocks(runs)) {
                self.future.entry(b).or_default().last_send = Some(k);
            }
            for recv in &step.recvs {
                let also = recv.also.iter().copied();
                for (b, mode) in blocks(&recv.blocks).map(|b| (b, recv.mode)).chain(also) {
                    if mode != Mode::Store {
                        self.future.entry(b).or_default().last_combine = Some(k);
                    }
                }
            }
        }
    }

    fn begin(&mut self) {
        let memory = if self.in_place() { Memory::Output } else { Memory::Input };
        for b in blocks(&self.contract.initial(self.rank)) {
            let offset = self.extent(b, false).0;
            self.held.insert(b, Place { memory, offset });
        }
        // What already has its final content goes home at once, so that it is
        // next to what joins it there, and messages stay in one piece.
        if !self.in_place() && !self.contract.operation.combines() {
            for b in blocks(&self.contract.initial(self.rank)) {
                if let Some(home) = self.home(b) {
                    self.copy(b, home);
                }
            }
        }
    }

    fn end(&mut self, steps: usize) {
        for b in blocks(&self.contract.wanted(self.rank)) {
            let Some(home) = self.home(b) else { continue };
            if self.held.get(&b) != Some(&home) && self.held.contains_key(&b) {
                self.settle_before_writing(Piece { at: home, len: self.len(b) }, steps);
                self.copy(b, home);
            }
        }
        self.plan.output = self.reach(Memory::Output);
        self.plan.input = self.reach(Memory::Input);
    }

    /// One past the last element of `memory` that the plan touches.
    fn reach(&self, memory: Memory) -> usize {
        let mut reach = 0;
        let mut see = |at: Place, len: usize| {
            if at.memory == memory && len > 0 {
                reach = reach.max(at.offset + len);
            }
        };
        self.plan.pieces.iter().for_each(|p| see(p.at, p.len));
        for t in &self.plan.targets {
            see(t.to, t.len);
            see(t.own, t.len);
        }
        for action in &self.plan.actions {
            if let Action::Copy { from, to, len } = action {
                see(*from, *len);
                see(*to, *len);
            }
        }
        reach
    }

    fn copy(&mut self, b: usize, to: Place) {
        let (from, len) = (self.held[&b], self.len(b));
        if let Some(Action::Copy { from: f, to: t, len: l }) = self.plan.actions.last_mut()
            && f.plus(*l) == from
            && t.plus(*l) == to
        {
            *l += len;
        } else if len > 0 {
            self.plan.actions.push(Action::Copy { from, to, len });
        }
        self.held.insert(b, to);
    }

    fn post(&mut self, step: usize, peer: usize, runs: &[Run]) {
        let first = self.plan.pieces.len();
        let mut total = 0;
        for b in blocks(runs) {
            let len = self.len(b);
            let at = *self.held.get(&b).unwrap_or_else(|| {
                panic!("rank {} sends block {b} in step {step} and does not hold it", self.rank)
            });
            total += len;
            match self.plan.pieces[first..].last_mut() {
                Some(last) if last.at.plus(last.len) == at => last.len += len,
                _ if len == 0 => {}
                _ => self.plan.pieces.push(Piece { at, len }),
            }
        }
        let number = self.posted.entry(peer).or_default();
        *number += 1;
        let number = *number;
        if total * self.element > EAGER {
            let pieces = self.plan.pieces[first..].iter();
            self.readers.extend(pieces.map(|&piece| Reader { piece, peer, number, step }));
        }
        let pieces = first..self.plan.pieces.len();
        self.plan.actions.push(Action::Post { peer, pieces, len: total });
    }

    fn take(&mut self, step: usize, recv: &crate::schedule::Incoming) {
        let first = self.plan.targets.len();
        let total: usize = blocks(&recv.blocks).map(|b| self.len(b)).sum();
        let mut skip = 0;
        let mut room = self.room(step, recv, total);
        for b in blocks(&recv.blocks) {
            let len = self.len(b);
            self.target(step, b, skip, len, recv.mode, &mut room);
            skip += len;
        }
        for &(b, mode) in &recv.also {
            let len = self.len(b);
            let mut room = None;
            self.target(step, b, 0, len, mode, &mut room);
        }
        self.merge_targets(first);
        let targets = first..self.plan.targets.len();
        self.plan.actions.push(Action::Take { peer: recv.from, targets, len: total });
    }

    /// Scratch memory for the blocks of a message that are only passed on, all
    /// in one piece.
    fn room(
        &mut self,
        step: usize,
        recv: &crate::schedule::Incoming,
        total: usize,
    ) -> Option<usize> {
        let passing = recv.mode == Mode::Store
            && blocks(&recv.blocks).filter(|&b| self.home(b).is_none()).count() > 1;
        passing.then(|| self.allocate(step, total))
    }

    fn target(
        &mut self,
        step: usize,
        b: usize,
        skip: usize,
        len: usize,
        mode: Mode,
        room: &mut Option<usize>,
    ) {
        let f = self.future.get(&b).copied().unwrap_or_default();
        let later = |last: Option<usize>| last.is_some_and(|k| k > step);
        if !f.wanted && !later(f.last_send) && !later(f.last_combine) {
            // Nobody will ask for it: a scan's total after its last step.
            return;
        }
        let own = if mode == Mode::Store { None } else { self.held.get(&b).copied() };
        let mode = if own.is_some() { mode } else { Mode::Store };
        let old = self.held.get(&b).copied();
        let home = self.home(b).filter(|&h| self.may_write(step, b, h, len));
        let here = own.filter(|&o| o.memory == Memory::Scratch && self.may_write(step, b, o, len));
        let to = match (home, here) {
            (Some(home), _) => home,
            (None, Some(here)) => here,
            (None, None) => {
                let offset = match room {
                    Some(room) => {
                        let at = *room;
                        *room += len;
                        at
                    }
                    None => self.allocate(step, len),
                };
                Place { memory: Memory::Scratch, offset }
            }
        };
        self.settle_before_writing(Piece { at: to, len }, step);
        if len > 0 {
            self.plan.targets.push(Target { skip, len, to, own: own.unwrap_or(to), mode });
        }
        self.held.insert(b, to);
        if let Some(old) = old.filter(|&o| o != to) {
            self.release(old, len);
        }
    }

    /// Neighbouring targets become one.
    fn merge_targets(&mut self, first: usize) {
        let merged = self.plan.targets.split_off(first);
        for t in merged {
            match self.plan.targets[first..].last_mut() {
                Some(last)
                    if last.mode == t.mode
                        && last.skip + last.len == t.skip
                        && last.to.plus(last.len) == t.to
                        && last.own.plus(last.len) == t.own
                        && (last.own == last.to) == (t.own == t.to) =>
                {
                    last.len += t.len;
                }
                _ => self.plan.targets.push(t),
            }
        }
    }

    /// Whether block `b` may be written to `at` in step `step`, perhaps after
    /// settling earlier posts.
    fn may_write(&self, step: usize, b: usize, at: Place, len: usize) -> bool {
        let piece = Piece { at, len };
        let posted_now = self.readers.iter().any(|r| r.step == step && r.piece.overlaps(&piece));
        let occupied = self.in_place()
            && at.memory == Memory::Output
            && self.held.iter().any(|(&other, &place)| {
                other != b && Piece { at: place, len: self.len(other) }.overlaps(&piece)
            });
        !posted_now && !occupied
    }

    fn settle_before_writing(&mut self, piece: Piece, step: usize) {
        let mut last: HashMap<usize, u32> = HashMap::new();
        for r in self.readers.iter().filter(|r| r.step < step && r.piece.overlaps(&piece)) {
            let n = last.entry(r.peer).or_default();
            *n = r.number.max(*n);
        }
        let mut last: Vec<_> = last.into_iter().collect();
        last.sort_unstable();
        for (peer, number) in last {
            let back = self.posted[&peer] - number;
            self.plan.actions.push(Action::Settle { peer, back });
            self.readers.retain(|r| r.peer != peer || r.number > number);
        }
    }

    /// Forgets the blocks that nothing needs any more after the sends
    /// (`sent`), or after the whole, of step `k`.
    fn bury(&mut self, k: usize, step: &Step, sent: bool) {
        let touched: Vec<usize> = if sent {
            posts(self.rank, step).flat_map(|(_, runs)| blocks(runs)).collect()
        } else {
            let recvs = step.recvs.iter();
            recvs.flat_map(|r| blocks(&r.blocks).chain(r.also.iter().map(|a| a.0))).collect()
        };
        for b in touched {
            let f = self.future.get(&b).copied().unwrap_or_default();
            let to_send = f.last_send.is_some_and(|s| s > k);
            let to_combine = f.last_combine.is_some_and(|c| c > k || (sent && c == k));
            if !f.wanted
                && !to_send
                && !to_combine
                && let Some(place) = self.held.remove(&b)
            {
                self.release(place, self.len(b));
            }
        }
    }

    fn allocate(&mut self, step: usize, len: usize) -> usize {
        let fits = self.free.iter().position(|&(offset, room)| {
            let piece = Piece { at: Place { memory: Memory::Scratch, offset }, len };
            room >= len && !self.readers.iter().any(|r| r.step == step && r.piece.overlaps(&piece))
        });
        match fits {
            Some(i) => {
                let (offset, room) = self.free[i];
                if room == len {
                    self.free.remove(i);
                } else {
                    self.free[i] = (offset + len, room - len);
                }
                let at = Place { memory: Memory::Scratch, offset };
                self.settle_before_writing(Piece { at, len }, step);
                offset
            }
            None => {
                let offset = self.plan.scratch;
                self.plan.scratch += len;
                offset
            }
        }
    }

    fn release(&mut self, place: Place, len: usize) {
        if place.memory != Memory::Scratch || len == 0 {
            return;
        }
        let still_used = self.held.iter().any(|(&b, &p)| {
            let piece = Piece { at: place, len };
            Piece { at: p, len: self.len(b) }.overlaps(&piece)
        });
        if still_used {
            return;
        }
        let i = self.free.partition_point(|&(offset, _)| offset < place.offset);
        self.free.insert(i, (place.offset, len));
        if i + 1 < self.free.len() && self.free[i].0 + self.free[i].1 == self.free[i + 1].0 {
            self.free[i].1 += self.free[i + 1].1;
            self.free.remove(i + 1);
        }
        if i > 0 && self.free[i - 1].0 + self.free[i - 1].1 == self.free[i].0 {
            self.free[i - 1].1 += self.free[i].1;
            self.free.remove(i);
        }
    }
}

/// The block that a scan ends with; named here so that the layout above and
/// the schedules cannot drift apart unnoticed.
const _: () = assert!(RESULT == 1);
