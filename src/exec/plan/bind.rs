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
//! - **Hazards.** Memory that was posted by address may be read by the peer until the
//!   peer has acknowledged it. Before a place is written, every earlier post
//!   that overlaps it is settled. A post of the *same* step cannot be settled
//!   first (its reader may be waiting for us), so the new content goes
//!   elsewhere: that is where an exchange in place gets its second buffer.
//!
//! These rules are here and nowhere else; schedules cannot get them wrong. Why
//! a plan cannot block for ever: its posts and settles of step `k` wait only
//! for takes of steps before `k` at other ranks, and takes of step `k` only for
//! posts of step `k`; so the ranks that are least far can always go on.

use super::actions::{Action, Destination, Location, Memory, Plan, PlanPiece};
use super::block_layout::BlockLayout;
use super::regions::{Free, PartUse, PendingReader, Regions};
use super::search_tree::SearchTree;
use crate::exec::Partition;
use crate::mailbox::EAGER;
use crate::schedule::{BlockRange, Contract, Mode, RESULT, Schedule, Share, Step, blocks};
use crate::wait::Question;

/// A block, and the use that the rest of the schedule makes of it.
#[derive(Clone, Copy, Default)]
struct BlockUse {
    /// Where it is, if the rank holds it.
    at: Option<Location>,
    wanted: bool,
    last_send: Option<usize>,
    last_combine: Option<usize>,
}

/// The messages posted to a peer so far, and the latest of those that is known to have been read.
#[derive(Clone, Copy, Default)]
struct PeerPosts {
    posted: u32,
    settled: u32,
    /// The latest that must have been read before the next action; 0: none.
    due: u32,
}

struct Binder<'a> {
    contract: &'a Contract,
    rank: usize,
    layout: BlockLayout<'a>,
    element: usize,
    uses: SearchTree<BlockUse>,
    output: Regions<PartUse>,
    scratch: Regions<PartUse>,
    /// By rank.
    peers: Vec<PeerPosts>,
    /// Free scratch memory..
    free: Free,
    /// ..and memory that will be free when the step is over: it was posted in it.
    free_later: Vec<(usize, usize)>,
    /// Blocks handled.
    blocks: u64,
    plan: &'a mut Plan,
}

/// The work before somebody is asked whether to go on: a millisecond's work.
const UNASKED: u64 = 10_000;

/// Binds `rank`'s part of `schedule` to data cut by `cut`, of elements of
/// `element` bytes.
pub(crate) fn bind(schedule: &Schedule, rank: usize, cut: Partition<'_>, element: usize) -> Plan {
    bind_while(schedule, rank, cut, element, &mut || true).expect("nobody has stopped it")
}

/// Binds as [`bind`] does, for as long as `go_on` says so, which is asked now and then. In
/// O(n log n) for n blocks sent and received.
pub(crate) fn bind_while(
    schedule: &Schedule,
    rank: usize,
    cut: Partition<'_>,
    element: usize,
    go_on: &mut dyn Question,
) -> Option<Plan> {
    bind_counted(schedule, rank, cut, element, go_on).map(|(plan, _)| plan)
}

/// Binds as [`bind_while`] does; returns the steps of work that it took, too.
fn bind_counted(
    schedule: &Schedule,
    rank: usize,
    cut: Partition<'_>,
    element: usize,
    go_on: &mut dyn Question,
) -> Option<(Plan, u64)> {
    let mut plan = Plan::default();
    let mut binder = Binder {
        contract: schedule.contract(),
        rank,
        layout: BlockLayout::new(schedule.contract(), rank, cut),
        element,
        uses: SearchTree::default(),
        output: Regions::default(),
        scratch: Regions::default(),
        peers: vec![PeerPosts::default(); schedule.contract().ranks],
        free: Free::default(),
        free_later: Vec::new(),
        blocks: 0,
        plan: &mut plan,
    };
    let mut steps = Vec::with_capacity(schedule.steps());
    // In a function of its own, which ends without destructors.
    let work = binder.bind(schedule, &mut steps, go_on);
    drop(binder);
    Some((plan, work?))
}

impl Binder<'_> {
    #[inline(never)]
    fn bind(
        &mut self,
        schedule: &Schedule,
        steps: &mut Vec<Step>,
        go_on: &mut dyn Question,
    ) -> Option<u64> {
        let mut asked = 0;
        let mut may_go_on = |work: u64| {
            if work < asked + UNASKED {
                return true;
            }
            asked = work;
            go_on.ask()
        };
        let (rank, mut made) = (self.rank, 0);
        for k in 0..schedule.steps() {
            steps.push(schedule.step(k, rank).with_own_sent(rank));
            made += 1;
            if !may_go_on(made) {
                return None;
            }
        }
        self.foresee(steps);
        self.begin();
        for (k, step) in steps.iter().enumerate() {
            for send in &step.sends {
                self.post(k, send.to, &send.blocks);
            }
            self.bury(k, step, true);
            for recv in &step.recvs {
                self.take(k, recv);
            }
            self.bury(k, step, false);
            while let Some((offset, len)) = self.free_later.pop() {
                self.free.give(offset..offset + len);
            }
            if !may_go_on(made + self.work()) {
                return None;
            }
        }
        self.end(steps.len());
        Some(made + self.work())
    }

    /// Blocks handled, and parts of memory looked at.
    fn work(&self) -> u64 {
        self.blocks + self.output.looks + self.scratch.looks + self.free.looks
    }

    /// The memory of `at`, if it is one that the plan writes.
    fn room_of(&mut self, memory: Memory) -> Option<&mut Regions<PartUse>> {
        match memory {
            Memory::Input => None,
            Memory::Output => Some(&mut self.output),
            Memory::Scratch => Some(&mut self.scratch),
        }
    }

    #[inline(never)]
    fn use_of(&self, b: usize) -> BlockUse {
        self.uses.get((b, 0)).copied().unwrap_or_default()
    }

    /// Block `b` is at `at` from now on.
    #[inline(never)]
    fn hold(&mut self, b: usize, at: Location) {
        let len = self.layout.len(b);
        let old = self.uses.entry((b, 0)).at.replace(at);
        if old == Some(at) {
            return;
        }
        if let Some(old) = old {
            self.vacate(old, len);
        }
        if let Some(room) = self.room_of(at.memory) {
            let (mut from, end) = room.cut_out(at.offset, len);
            while from < end {
                room.enter(&mut from, end).held += 1;
            }
        }
    }

    /// A block that was there is gone.
    #[inline(never)]
    fn vacate(&mut self, at: Location, len: usize) {
        if let Some(room) = self.room_of(at.memory) {
            let (mut from, end) = room.span(at.offset, len);
            while let Some((start, part)) = room.next(&mut from, end) {
                part.held -= 1;
                if !part.is_used() {
                    room.forget(start);
                }
            }
        }
    }

    /// Where block `b` belongs in the end, if the rank must end with it.
    #[inline(never)]
    fn home(&self, b: usize) -> Option<Location> {
        let home = || Location { memory: Memory::Output, offset: self.layout.extent(b, true).0 };
        self.use_of(b).wanted.then(home)
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
            self.uses.entry((b, 0)).wanted = true;
        }
        for (k, step) in steps.iter().enumerate() {
            for send in &step.sends {
                for b in blocks(&send.blocks) {
                    self.uses.entry((b, 0)).last_send = Some(k);
                }
            }
            for recv in &step.recvs {
                if recv.mode != Mode::Store {
                    for b in blocks(&recv.blocks) {
                        self.uses.entry((b, 0)).last_combine = Some(k);
                    }
                }
                for &(b, mode) in &recv.also {
                    if mode != Mode::Store {
                        self.uses.entry((b, 0)).last_combine = Some(k);
                    }
                }
            }
        }
    }

    fn begin(&mut self) {
        let memory = if self.in_place() { Memory::Output } else { Memory::Input };
        let initial = self.contract.initial(self.rank);
        for b in blocks(&initial) {
            let offset = self.layout.extent(b, false).0;
            self.hold(b, Location { memory, offset });
        }
        // A block that already has its final content goes home at once, so that it is
        // next to the blocks that join it there, and messages stay in one piece.
        if !self.in_place() && !self.contract.operation.combines() {
            for b in blocks(&initial) {
                if let Some(home) = self.home(b) {
                    self.copy(b, home);
                }
            }
        }
    }

    fn end(&mut self, steps: usize) {
        for b in blocks(&self.contract.wanted(self.rank)) {
            let (home, at) = (self.home(b), self.use_of(b).at);
            if let Some(home) = home
                && at.is_some_and(|at| at != home)
            {
                self.settle_before_writing(PlanPiece { at: home, len: self.layout.len(b) }, steps);
                self.copy(b, home);
            }
        }
        self.plan.output = self.reach(Memory::Output);
        self.plan.input = self.reach(Memory::Input);
    }

    /// One past the last element of `memory` that the plan touches.
    #[inline(never)]
    fn reach(&self, memory: Memory) -> usize {
        let mut reach = 0;
        let mut see = |at: Location, len: usize| {
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

    #[inline(never)]
    fn copy(&mut self, b: usize, to: Location) {
        let Some(from) = self.use_of(b).at else { return };
        let len = self.layout.len(b);
        if let Some(Action::Copy { from: f, to: t, len: l }) = self.plan.actions.last_mut()
            && f.plus(*l) == from
            && t.plus(*l) == to
        {
            *l += len;
        } else if len > 0 {
            self.plan.actions.push(Action::Copy { from, to, len });
        }
        self.hold(b, to);
    }

    #[inline(never)]
    fn post(&mut self, step: usize, peer: usize, runs: &[BlockRange]) {
        let first = self.plan.pieces.len();
        let mut total = 0;
        for b in blocks(runs) {
            self.blocks += 1;
            let len = self.layout.len(b);
            let at = self.use_of(b).at.unwrap_or_else(|| {
                panic!("rank {} sends block {b} in step {step} and does not hold it", self.rank)
            });
            total += len;
            match self.plan.pieces[first..].last_mut() {
                Some(last) if last.at.plus(last.len) == at => last.len += len,
                _ if len == 0 => {}
                _ => self.plan.pieces.push(PlanPiece { at, len }),
            }
        }
        let posts = &mut self.peers[peer];
        posts.posted += 1;
        let number = posts.posted;
        if total * self.element > EAGER {
            for i in first..self.plan.pieces.len() {
                let PlanPiece { at, len } = self.plan.pieces[i];
                if let Some(room) = self.room_of(at.memory) {
                    let reader = PendingReader { peer, number, step };
                    let (mut from, end) = room.cut_out(at.offset, len);
                    while from < end {
                        room.enter(&mut from, end).readers.push(reader);
                    }
                }
            }
        }
        let pieces = first..self.plan.pieces.len();
        self.plan.actions.push(Action::Post { peer, pieces, len: total });
    }

    fn take(&mut self, step: usize, recv: &crate::schedule::Incoming) {
        let first = self.plan.targets.len();
        let (mut total, mut homeless) = (0, 0);
        for b in blocks(&recv.blocks) {
            total += self.layout.len(b);
            homeless += usize::from(!self.use_of(b).wanted);
        }
        let mut skip = 0;
        // Scratch memory for the blocks of a message that are only passed on, all in one piece.
        let passing = recv.mode == Mode::Store && homeless > 1;
        let mut room = passing.then(|| self.allocate(step, total));
        for b in blocks(&recv.blocks) {
            self.blocks += 1;
            let len = self.layout.len(b);
            self.target(step, b, skip, len, recv.mode, &mut room);
            skip += len;
        }
        for &(b, mode) in &recv.also {
            let len = self.layout.len(b);
            let mut room = None;
            self.target(step, b, 0, len, mode, &mut room);
        }
        self.merge_targets(first);
        let targets = first..self.plan.targets.len();
        self.plan.actions.push(Action::Take { peer: recv.from, targets, len: total });
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
        let f = self.use_of(b);
        let later = |last: Option<usize>| last.is_some_and(|k| k > step);
        if !f.wanted && !later(f.last_send) && !later(f.last_combine) {
            // Nobody will ask for it: a scan's total after its last step.
            return;
        }
        let old = f.at;
        let own = if mode == Mode::Store { None } else { old };
        let mode = if own.is_some() { mode } else { Mode::Store };
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
                Location { memory: Memory::Scratch, offset }
            }
        };
        self.settle_before_writing(PlanPiece { at: to, len }, step);
        if len > 0 {
            self.plan.targets.push(Destination { skip, len, to, own: own.unwrap_or(to), mode });
        }
        self.hold(b, to);
        if let Some(old) = old.filter(|&o| o != to) {
            self.release(step, old, len);
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
    #[inline(never)]
    fn may_write(&mut self, step: usize, b: usize, at: Location, len: usize) -> bool {
        let in_place = self.in_place();
        let own = self.use_of(b).at.filter(|own| own.memory == at.memory).map(|own| own.offset);
        let own = own.map_or(0..0, |own| own..own + len);
        let Some(room) = self.room_of(at.memory) else { return false };
        let shared = in_place && at.memory == Memory::Output;
        let (mut from, end) = room.span(at.offset, len);
        while let Some((start, part)) = room.next(&mut from, end) {
            if part.is_posted_in(step) || shared && part.held > u32::from(own.contains(&start)) {
                return false;
            }
        }
        true
    }

    #[inline(never)]
    fn settle_before_writing(&mut self, piece: PlanPiece, step: usize) {
        let Binder { output, scratch, peers, plan, .. } = self;
        let room = match piece.at.memory {
            Memory::Input => return,
            Memory::Output => output,
            Memory::Scratch => scratch,
        };
        // A settled post leaves the list here, each post once for each of its parts.
        let mut due = Vec::new();
        let mut seen = 0;
        let (mut from, end) = room.span(piece.at.offset, piece.len);
        while let Some((start, part)) = room.next(&mut from, end) {
            seen += part.readers.len() as u64;
            // In the order of posts: those of this step are the last.
            let before = part.readers.partition_point(|r| r.step < step);
            for r in part.readers.drain(..before) {
                let posts = &mut peers[r.peer];
                if r.number > posts.settled.max(posts.due) {
                    if posts.due == 0 {
                        due.push(r.peer);
                    }
                    posts.due = r.number;
                }
            }
            if !part.is_used() {
                room.forget(start);
            }
        }
        room.looks += seen;
        for peer in due {
            let posts = &mut peers[peer];
            posts.settled = std::mem::take(&mut posts.due);
            plan.actions.push(Action::Settle { peer, back: posts.posted - posts.settled });
        }
    }

    /// Forgets the blocks that nothing needs any more after the sends
    /// (`sent`), or after the whole, of step `k`.
    fn bury(&mut self, k: usize, step: &Step, sent: bool) {
        if sent {
            for send in &step.sends {
                self.bury_all(k, &send.blocks, true);
            }
            return;
        }
        for recv in &step.recvs {
            self.bury_all(k, &recv.blocks, false);
            for &(b, _) in &recv.also {
                self.bury_all(k, &[BlockRange::one(b)], false);
            }
        }
    }

    #[inline(never)]
    fn bury_all(&mut self, k: usize, runs: &[BlockRange], sent: bool) {
        for b in blocks(runs) {
            let f = self.uses.entry((b, 0));
            let to_send = f.last_send.is_some_and(|s| s > k);
            let to_combine = f.last_combine.is_some_and(|c| c > k || (sent && c == k));
            if !f.wanted
                && !to_send
                && !to_combine
                && let Some(place) = f.at.take()
            {
                let len = self.layout.len(b);
                self.vacate(place, len);
                self.release(k, place, len);
            }
        }
    }

    #[inline(never)]
    fn allocate(&mut self, step: usize, len: usize) -> usize {
        match self.free.take(len) {
            Some(offset) => {
                let at = Location { memory: Memory::Scratch, offset };
                self.settle_before_writing(PlanPiece { at, len }, step);
                offset
            }
            None => {
                let offset = self.plan.scratch;
                self.plan.scratch += len;
                offset
            }
        }
    }

    /// No block is at `place` any more, unless another one is.
    #[inline(never)]
    fn release(&mut self, step: usize, place: Location, len: usize) {
        if place.memory != Memory::Scratch || len == 0 {
            return;
        }
        let (mut from, end) = self.scratch.span(place.offset, len);
        let mut is_posted = false;
        while let Some((_, part)) = self.scratch.next(&mut from, end) {
            if part.held > 0 {
                return;
            }
            is_posted |= part.is_posted_in(step);
        }
        // A post of this step cannot be settled in it.
        if is_posted {
            self.free_later.push((place.offset, len));
        } else {
            self.free.give(place.offset..place.offset + len);
        }
    }
}

/// The block that a scan ends with; named here so that the layout above and
/// the schedules cannot drift apart unnoticed.
const _: () = assert!(RESULT == 1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Algorithm, Operation, Request};

    /// Blocks that `rank` sends and receives, and the work of binding them.
    fn counted(
        algorithm: Algorithm,
        request: &Request,
        rank: usize,
        cut: Partition<'_>,
    ) -> (u64, u64) {
        let schedule = algorithm.schedule(request).unwrap();
        let handled = |step: Step| {
            let mut count = 0;
            for send in &step.sends {
                count += blocks(&send.blocks).count();
            }
            for recv in &step.recvs {
                count += blocks(&recv.blocks).count() + recv.also.len();
            }
            count
        };
        let n: usize = (0..schedule.steps())
            .map(|k| handled(schedule.step(k, rank).with_own_sent(rank)))
            .sum();
        // Elements so large that nothing is copied by its sender.
        let element = crate::mailbox::EAGER + 1;
        let (_, work) = bind_counted(&schedule, rank, cut, element, &mut || true).unwrap();
        (n as u64, work)
    }

    /// The work for a block, and a little for each rank, is bounded; it does not grow with the
    /// number of blocks.
    #[test]
    fn work_grows_with_the_blocks() {
        let mut looked = 0;
        for &algorithm in Algorithm::ALL {
            for &operation in algorithm.operations() {
                for p in [16, 64, 256] {
                    let request = Request::new(operation, p).root(p / 3).shift(1);
                    if algorithm.schedule(&request).is_err() {
                        continue;
                    }
                    let cut = match operation.has_blocks() {
                        true => Partition::Equal(2),
                        false => Partition::Vector(3 * p),
                    };
                    for rank in [0, p / 3, p - 1] {
                        let (n, work) = counted(algorithm, &request, rank, cut);
                        looked += 1;
                        let most = 12 * (n + p as u64);
                        assert!(work <= most, "{algorithm} p={p} {rank}: {work} for {n} blocks");
                    }
                }
            }
        }
        assert!(looked > 300, "{looked}");
    }

    /// A pipelined chain with a segment for each element, which took minutes.
    #[test]
    fn twice_as_many_segments_are_twice_the_work() {
        for (algorithm, operation) in
            [(Algorithm::BC_CHAIN, Operation::Broadcast), (Algorithm::RED_CHAIN, Operation::Reduce)]
        {
            for rank in 0..4 {
                let work = |segments: usize| {
                    let request = Request::new(operation, 4).segments(segments);
                    counted(algorithm, &request, rank, Partition::Vector(segments)).1
                };
                let (once, twice) = (work(4_000), work(8_000));
                assert!(twice <= 2 * once + once / 10, "{algorithm}: {once}, {twice}");
                assert!(once < 4_000 * 20, "{algorithm}: {once}");
            }
        }
    }

    /// Whoever binds asks now and then, and ends when told so.
    #[test]
    fn binding_can_be_stopped() {
        let request = Request::new(Operation::Broadcast, 4).segments(30_000);
        let schedule = Algorithm::BC_CHAIN.schedule(&request).unwrap();
        let mut asked = 0;
        let mut bind = |answers: usize| {
            asked = 0;
            let go_on = &mut || {
                asked += 1;
                asked <= answers
            };
            (bind_while(&schedule, 1, Partition::Vector(30_000), 2000, go_on).is_some(), asked)
        };
        assert_eq!((bind(0), bind(3)), ((false, 1), (false, 4)));
        let (done, asked) = bind(usize::MAX);
        assert!(done && asked > 6, "asked {asked} times");
    }
}
