//! The work of a collective call on data: what a rank gives, combines and takes.
//!
//! Two ways. In *one step* every rank shows its whole input at the gate (in the slot, or up to
//! 16 KiB beside it), and takes what it needs. *In pieces* ([`pieces`]) the inputs
//! go through two slots a rank; in a reduction each rank combines a part of every piece.
//!
//! Nothing that a peer writes becomes an address or a length: places are computed from the call's
//! own arguments, which all heads have agreed with.

use crate::error::{Error, ErrorKind, Result};
use crate::gate::INLINE;
use crate::layout::{EAGER, PIECE};
use crate::pieces::{self, Members, Parts, Position, Progress, Work};
use crate::team::{Begun, Team};
use phalanx::engine::{FoldKernel, Operation, copy};
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Up to so many bytes of all ranks together each rank reads all inputs of a reduction.
const READ_BY_ALL: usize = 32 << 10;

/// Bytes of a cache line: parts of a piece begin with one.
const LINE: usize = 64;

/// A collective call: the operation, and the rank's own memory.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) operation: Operation,
    /// Elements of the vector, or of a block.
    pub(crate) length: usize,
    /// Bytes of an element.
    pub(crate) size: usize,
    /// The rank that gives, or takes, if only one does.
    pub(crate) root: usize,
    /// The vector, or the blocks; null where the rank gives nothing.
    pub(crate) input: *const u8,
    /// Likewise; may be the input.
    pub(crate) output: *mut u8,
    /// How elements combine, and whether that is the library's own operator: only those are given
    /// addresses of memory that peers can write.
    pub(crate) fold: Option<(&'a FoldKernel<'a>, bool)>,
}

impl Job<'_> {
    fn is_blocked(&self) -> bool {
        use Operation::{AllToAll, ReduceScatter, Scatter};
        matches!(self.operation, AllToAll | ReduceScatter | Scatter)
    }

    /// How the pieces go.
    fn parts(&self) -> Parts {
        let (all, root) = (Members::All, Members::One(self.root));
        let (givers, folds, takers) = match self.operation {
            Operation::Broadcast | Operation::Scatter => (root, false, all),
            Operation::Gather => (all, false, root),
            Operation::Reduce => (all, true, root),
            Operation::AllReduce | Operation::Scan | Operation::ExclusiveScan => (all, true, all),
            _ => (all, false, all),
        };
        Parts { givers, folds, takers }
    }
}

/// Carries a call out.
///
/// # Safety
/// The input has the elements that a rank gives in this call, and the output those that it takes;
/// nobody else uses them.
pub(crate) unsafe fn carry_out(team: &mut Team, call: &Begun, job: Job<'_>) -> Result<()> {
    let (me, p) = (team.me, team.members.len());
    if p == 1 {
        if !std::ptr::eq(job.input, job.output) {
            // SAFETY: both have the vector, or the only block.
            unsafe { copy(job.output, job.input, job.length * job.size) };
        }
        return Ok(());
    }
    let gives = job.parts().givers.has(me);
    let whole = job.length * job.size * if job.is_blocked() { p } else { 1 };
    let combines = job.fold.is_some() && job.operation != Operation::ReduceScatter;
    if whole <= INLINE || whole <= EAGER && !(combines && whole * p > READ_BY_ALL) {
        let shown = if gives { whole } else { 0 };
        // SAFETY: the input has so many bytes.
        let episode = unsafe { team.meet(call, job.input, shown)? };
        let step = if whole <= INLINE { Source::Slot(episode) } else { Source::Beside(episode) };
        let mut transfer = Transfer::new(team, call, job, step);
        transfer.all_at_once();
        return Ok(());
    }
    let first = team.pieces;
    let place = Position { me, members: p, first };
    let mut transfer = Transfer::new(team, call, job, Source::Pieces);
    let pieces = job.length.div_ceil(transfer.unit) as u64;
    if gives && let Err(error) = pieces::give_first(&mut transfer, place) {
        return Err(team.fail(error));
    }
    // SAFETY: nothing is shown but the head.
    unsafe { team.meet(call, std::ptr::null(), 0)? };
    team.pieces = first + pieces;
    let mut transfer = Transfer::new(team, call, job, Source::Pieces);
    let done = pieces::run(&mut transfer, place, job.parts(), pieces);
    done.map_err(|error| team.fail(error))
}

/// Where given data is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In the slots of the gates, in this episode.
    Slot(u64),
    /// Beside them.
    Beside(u64),
    /// In the slots for pieces.
    Pieces,
}

struct Transfer<'a> {
    team: &'a Team,
    call: &'a Begun,
    job: Job<'a>,
    source: Source,
    /// Elements of a vector, or of a block, in a piece.
    unit: usize,
    /// Copies of the peers' data, for operators that are the program's.
    own: Vec<u128>,
}

impl<'a> Transfer<'a> {
    fn new(team: &'a Team, call: &'a Begun, job: Job<'a>, source: Source) -> Self {
        let p = team.members.len();
        let unit = match (source, job.is_blocked()) {
            (Source::Pieces, true) => rounded(PIECE / p / job.size, job.size),
            // So that the parts of all ranks are equal, and begin with a line.
            (Source::Pieces, false) => p * rounded(PIECE / p / job.size, job.size),
            _ => job.length,
        };
        Transfer { team, call, job, source, unit, own: Vec::new() }
    }

    fn p(&self) -> usize {
        self.team.members.len()
    }

    /// The elements of a piece.
    fn range(&self, piece: u64) -> Range<usize> {
        let start = piece as usize * self.unit;
        start..self.job.length.min(start + self.unit)
    }

    /// Of a piece of `n` elements those that `member` combines.
    fn part(&self, n: usize, member: usize) -> Range<usize> {
        let each = self.part_room(n);
        (member * each).min(n)..((member + 1) * each).min(n)
    }

    /// The most elements of a part.
    fn part_room(&self, n: usize) -> usize {
        let (each, line) = (n.div_ceil(self.p()), (LINE / self.job.size).max(1));
        each.next_multiple_of(line).min(self.unit / self.p())
    }

    /// Where a member's data is, in a step or a piece.
    fn given(&self, member: usize, slot: usize) -> *mut u8 {
        match self.source {
            Source::Slot(episode) => self.team.gate(member).payload(episode),
            Source::Beside(episode) => self.team.eager(member, episode),
            Source::Pieces => self.team.piece_in(member, slot),
        }
    }

    /// Copies `n` elements.
    ///
    /// # Safety
    /// Both have so many there, as `carry_out` says and as slots have.
    unsafe fn copy(&self, to: *mut u8, from: *const u8, n: usize) {
        if !std::ptr::eq(to, from) {
            // SAFETY: passed on.
            unsafe { copy(to, from, n * self.job.size) };
        }
    }

    /// The own output from element `at` on.
    fn output(&self, at: usize) -> *mut u8 {
        self.job.output.wrapping_add(at * self.job.size)
    }

    fn input(&self, at: usize) -> *mut u8 {
        self.job.input.cast_mut().wrapping_add(at * self.job.size)
    }

    /// All that a call in one step does after the gate.
    fn all_at_once(&mut self) {
        let (me, p, n) = (self.team.me, self.p(), self.job.length);
        let all = match self.job.operation {
            Operation::Reduce if me != self.job.root => return,
            Operation::Reduce | Operation::AllReduce => 0..p,
            Operation::Scan => 0..me + 1,
            Operation::ExclusiveScan => 0..me,
            _ => return self.take(0, 0),
        };
        if all.len() == 1 {
            // SAFETY: so many are shown, and wanted.
            unsafe { self.copy(self.job.output, self.given(0, 0), n) };
        } else if !all.is_empty() {
            let from: Vec<*mut u8> = all.clone().map(|member| self.given(member, 0)).collect();
            let to = [self.job.output];
            self.combine(Operation::Reduce, 0..n, from, &to);
        }
    }

    /// Combines `part` of the vectors at `from` into those at `to`.
    fn combine(
        &mut self,
        operation: Operation,
        part: Range<usize>,
        mut from: Vec<*mut u8>,
        to: &[*mut u8],
    ) {
        let Some((kernel, is_library)) = self.job.fold else { return };
        if part.is_empty() {
            return;
        }
        let (start, bytes) = (part.start * self.job.size, part.len() * self.job.size);
        if !is_library {
            // Code of the program sees nothing that changes under its hands.
            let room = bytes.div_ceil(size_of::<u128>());
            self.own.resize(room * from.len(), 0);
            for (i, from) in from.iter_mut().enumerate() {
                let to = self.own[i * room..].as_mut_ptr().cast::<u8>();
                // SAFETY: so many bytes are there, and are given.
                unsafe { copy(to, from.wrapping_add(start), bytes) };
                *from = to.wrapping_sub(start);
            }
        }
        // SAFETY: the vectors are given ones, in slots that their owners do not write now, or the
        // caller's own; `to` are the caller's own memory and its slot for results, or vectors of
        // `from` with their numbers. A peer that breaks the protocol changes numbers, which the
        // library's operators compute with, and no more.
        let combine = || unsafe { kernel.fold_part(operation, part, (&from, to), 0) };
        if is_library {
            return combine();
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(combine)) {
            self.team.end_by(self.call, panic);
        }
    }
}

impl Team {
    /// An operator has panicked in a call: the others hear of it, and the panic goes on.
    #[cold]
    pub(crate) fn end_by(&self, call: &Begun, panic: Box<dyn Any + Send>) -> ! {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let (shared, call) = (&self.shared, call.names.told(call.at).brief());
        let (me, text) = (shared.told(shared.rank), text.unwrap_or("(the payload is no text)"));
        let text = format!("{me} has panicked in an operator, in {call}: {text}");
        shared.end(&Error::of(ErrorKind::Panicked, shared.rank, text));
        self.ring_all();
        resume_unwind(panic)
    }
}

/// So many elements that the next ones begin with a line, if that is possible.
fn rounded(elements: usize, size: usize) -> usize {
    let line = (LINE / size).max(1);
    if elements >= line { elements / line * line } else { elements.max(1) }
}

impl Work for Transfer<'_> {
    type Error = Error;

    fn progress(&self, member: usize) -> &Progress {
        self.team.progress(member)
    }

    fn wait(
        &mut self,
        member: usize,
        ready: fn(&Progress, u64) -> bool,
        pieces: u64,
    ) -> Result<()> {
        let progress = self.team.progress(member);
        if ready(progress, pieces) {
            return Ok(());
        }
        self.team.wait(self.call, member, &mut || ready(progress, pieces))
    }

    fn tell(&mut self) {
        self.team.tell();
    }

    fn give(&mut self, piece: u64, slot: usize) {
        let (me, p, range) = (self.team.me, self.p(), self.range(piece));
        let (n, start) = (range.len(), range.start);
        let to = self.given(me, slot);
        let at = |element: usize| to.wrapping_add(element * self.job.size);
        // SAFETY: the own slot; a piece has no more than it.
        unsafe {
            if self.job.is_blocked() {
                for other in (0..p).filter(|other| *other != me) {
                    let from = self.input(other * self.job.length + start);
                    self.copy(at(other * self.unit), from, n);
                }
            } else if self.job.parts().folds {
                // Nobody else needs the own part.
                let own = self.part(n, me);
                self.copy(to, self.input(start), own.start);
                self.copy(at(own.end), self.input(start + own.end), n - own.end);
            } else {
                self.copy(to, self.input(start), n);
            }
        }
    }

    fn fold(&mut self, piece: u64, slot: usize) {
        let (me, p, range) = (self.team.me, self.p(), self.range(piece));
        let part = self.part(range.len(), me);
        let mut from: Vec<*mut u8> = (0..p).map(|member| self.given(member, slot)).collect();
        from[me] = self.input(range.start);
        let (own, made) = (self.output(range.start), self.team.piece_out(me, slot));
        match self.job.operation {
            Operation::Scan | Operation::ExclusiveScan => {
                let room = self.part_room(range.len()) * self.job.size;
                let skip = part.start * self.job.size;
                let to = |member| match member == me {
                    true => own,
                    false => made.wrapping_add(member * room).wrapping_sub(skip),
                };
                let to: Vec<*mut u8> = (0..p).map(to).collect();
                self.combine(self.job.operation, part, from, &to);
            }
            Operation::Reduce if me != self.job.root => {
                self.combine(Operation::Reduce, part, from, &[made]);
            }
            Operation::Reduce => self.combine(Operation::Reduce, part, from, &[own]),
            _ => self.combine(Operation::Reduce, part, from, &[own, made]),
        }
    }

    fn take(&mut self, piece: u64, slot: usize) {
        let (me, p, range) = (self.team.me, self.p(), self.range(piece));
        let (n, start, root) = (range.len(), range.start, self.job.root);
        let (length, size, unit) = (self.job.length, self.job.size, self.unit);
        let others = (0..p).filter(|other| *other != me);
        // SAFETY: slots have as much, and the output has the elements that the operation says.
        unsafe {
            match self.job.operation {
                Operation::Reduce | Operation::AllReduce => {
                    for other in others {
                        let part = self.part(n, other);
                        let from = self.team.piece_out(other, slot).wrapping_add(part.start * size);
                        self.copy(self.output(start + part.start), from, part.len());
                    }
                }
                Operation::ExclusiveScan if me == 0 => {}
                Operation::Scan | Operation::ExclusiveScan => {
                    let room = self.part_room(n) * size;
                    for other in others {
                        let part = self.part(n, other);
                        let from = self.team.piece_out(other, slot).wrapping_add(me * room);
                        self.copy(self.output(start + part.start), from, part.len());
                    }
                }
                Operation::ReduceScatter => {
                    let mine = |at: *mut u8| at.wrapping_add(me * unit * size);
                    let mut from: Vec<*mut u8> =
                        (0..p).map(|member| mine(self.given(member, slot))).collect();
                    from[me] = self.input(me * length + start);
                    let to = [self.output(start)];
                    self.combine(Operation::Reduce, 0..n, from, &to);
                }
                Operation::Broadcast if me == root => {}
                Operation::Broadcast => self.copy(self.output(start), self.given(root, slot), n),
                Operation::Scatter if me == root => {
                    self.copy(self.output(start), self.input(me * length + start), n);
                }
                Operation::Scatter => {
                    let from = self.given(root, slot).wrapping_add(me * unit * size);
                    self.copy(self.output(start), from, n);
                }
                Operation::Gather if me != root => {}
                Operation::Gather | Operation::AllGather => {
                    for other in others {
                        let to = self.output(other * length + start);
                        self.copy(to, self.given(other, slot), n);
                    }
                    self.copy(self.output(me * length + start), self.input(start), n);
                }
                _ => {
                    for other in others {
                        let from = self.given(other, slot).wrapping_add(me * unit * size);
                        self.copy(self.output(other * length + start), from, n);
                    }
                    let own = me * length + start;
                    self.copy(self.output(own), self.input(own), n);
                }
            }
        }
    }
}
