//! A rank's buffers for one operation: prepared before a sample, used by its calls, checked after
//! it.
//!
//! A sample may be several calls, one for each *set* of the buffers; every
//! set has inputs of its own.

use super::call_form::CallForm;
use super::data::{Expected, Oracle};
use super::element::Sample;
use super::operator::Redop;
use super::ring;
use crate::measure::caches::{CacheState, throw_out, touch};
use phalanx::op::Operator;
use phalanx::schedule::{Operation, Share};
use phalanx::{Comm, Neighborhood, call};

/// Bytes between the starts of sets are a multiple of this: no two sets, and
/// no two ranks, share a cache line or a pair of lines that is fetched together.
const ALIGN: usize = 128;

/// Bytes that the sets of one buffer may take together: half of a small L1
/// cache, so that many sets are as warm as one would be.
pub(super) const WARM: usize = 16 << 10;

/// The most sets: 32 calls of 60 ns against one reading of the clock (25 ns).
const MOST_SETS: usize = 32;

/// The number of sets for buffers of `bytes` bytes.
pub fn sets_for(bytes: usize) -> usize {
    (WARM / bytes.next_multiple_of(ALIGN).max(ALIGN)).clamp(1, MOST_SETS)
}

/// Equally long buffers, each on cache lines of its own.
pub(crate) struct BufferSets<T> {
    memory: Vec<T>,
    first: usize,
    len: usize,
    stride: usize,
    count: usize,
}

impl<T: Sample> BufferSets<T> {
    fn new(len: usize, count: usize) -> Self {
        let unit = ALIGN / size_of::<T>();
        let stride = len.next_multiple_of(unit).max(unit);
        let memory = vec![T::POISON; stride * count + unit];
        let past = memory.as_ptr().addr() % ALIGN;
        let first = (ALIGN - past) % ALIGN / size_of::<T>();
        BufferSets { memory, first, len, stride, count }
    }

    fn iter(&self) -> impl Iterator<Item = &[T]> {
        let sets = self.memory[self.first..].chunks_exact(self.stride).take(self.count);
        sets.map(|set| &set[..self.len])
    }

    #[inline(always)]
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        let len = self.len;
        let sets = self.memory[self.first..].chunks_exact_mut(self.stride).take(self.count);
        sets.map(move |set| &mut set[..len])
    }
}

/// The memory that the calls of one sample need.
pub(crate) struct TimedCall<'a, T> {
    operation: Operation,
    /// The elements that are sent; for operations in place also the result.
    input: &'a mut BufferSets<T>,
    /// The result, where there is a second buffer.
    output: &'a mut BufferSets<T>,
    root: usize,
    shift: isize,
    /// Whether each call is started, and waited for at once.
    started: bool,
    /// Elements of each rank's block, for the form for blocks of different lengths.
    counts: Option<&'a [usize]>,
    /// For the form among neighbours.
    plan: Option<&'a Neighborhood>,
    /// For that of messages: each gets so many elements.
    neighbors: (&'a [usize], usize),
}

/// The operation, and how much of it.
#[derive(Clone, Copy, Debug)]
pub struct BufferShape {
    pub operation: Operation,
    pub redop: Option<Redop>,
    /// Elements of the larger buffer of a rank.
    pub count: usize,
    /// Calls in one sample.
    pub sets: usize,
    pub shift: isize,
    /// For an operation that works in place: whether a second buffer takes the
    /// result, so that the input must be copied there first (timed).
    pub apart: bool,
    pub form: CallForm,
}

/// Whether the operation cuts the larger buffer into a block for each rank.
pub fn has_blocks(operation: Operation) -> bool {
    operation.has_blocks()
}

/// One rank's part.
pub struct CallBuffers<T> {
    shape: BufferShape,
    rank: usize,
    ranks: usize,
    block: usize,
    /// Elements for each neighbour.
    part: usize,
    counts: Vec<usize>,
    plan: Option<Neighborhood>,
    neighbors: Vec<usize>,
    oracle: Oracle<T>,
    input: BufferSets<T>,
    output: BufferSets<T>,
    call: fn(&mut Comm, TimedCall<'_, T>),
}

impl<T: Sample> CallBuffers<T> {
    /// Buffers for rank `rank` of `ranks`.
    pub fn new(shape: BufferShape, rank: usize, ranks: usize) -> Self {
        let (total, block) = (shape.count, shape.count / ranks);
        let of = |share| match share {
            Share::Block => block,
            Share::Vector | Share::Blocks => total,
            _ => 0,
        };
        let (input, output) = match shape.operation {
            Operation::Barrier => (0, 0),
            operation if operation.is_in_place() => (total, if shape.apart { total } else { 0 }),
            operation => (of(operation.input(true)), of(operation.output(true))),
        };
        let combining = shape.redop.and_then(T::combining);
        CallBuffers {
            shape,
            rank,
            ranks,
            block,
            part: total / ring::degree(ranks).max(1),
            counts: vec![block; ranks],
            plan: None,
            neighbors: ring::neighbors(rank, ranks).map(|it| it.0).collect(),
            oracle: Oracle::new(shape.redop, ranks),
            input: BufferSets::new(input, shape.sets),
            output: BufferSets::new(output, shape.sets),
            call: match shape.form {
                CallForm::Neighbors => gather_from_neighbors::<T>,
                CallForm::Messages => message_neighbors::<T>,
                _ => combining.map_or(transport::<T>, |c| c.call),
            },
        }
    }

    /// Agrees with the other ranks on the memory that the calls of this run need. Untimed; all
    /// ranks call it.
    pub(crate) fn make_ready(&mut self, comm: &mut Comm) {
        self.plan =
            (self.shape.form == CallForm::Neighbors).then(|| ring::plan(comm, self.shape.count));
    }

    fn round(&self, sample: u64, set: usize) -> u64 {
        sample * self.shape.sets as u64 + set as u64
    }

    /// Rewrites the inputs for sample number `sample`, and with `poison` the memory that
    /// will be received.
    pub fn prepare(&mut self, sample: u64, root: usize, poison: bool) {
        let sends = self.shape.operation.input(self.rank == root) != Share::Nothing;
        let first = self.round(sample, 0);
        for (round, set) in (first..).zip(self.input.iter_mut()) {
            if sends {
                self.oracle.fill(self.rank, round, 0, set);
            } else if poison {
                set.fill(T::POISON);
            }
        }
        if poison {
            self.output.iter_mut().for_each(|set| set.fill(T::POISON));
        }
    }

    /// Rewrites the inputs for sample number `sample` with one value, for calls with results that
    /// nobody checks: as fast as other programs do.
    pub(crate) fn refill(&mut self, sample: u64, root: usize) {
        if self.shape.operation.input(self.rank == root) == Share::Nothing {
            return;
        }
        let first = self.round(sample, 0);
        for (round, set) in (first..).zip(self.input.iter_mut()) {
            let mut value = [T::POISON];
            self.oracle.fill(self.rank, round, 0, &mut value);
            set.fill(value[0]);
        }
    }

    /// Brings the caches to this state, after the inputs were written.
    pub(crate) fn settle(&mut self, caches: CacheState, root: usize) {
        let receives =
            self.shape.apart || self.shape.operation.output(self.rank == root) != Share::Nothing;
        // Inputs last: a part that does not fit is of the outputs.
        let outputs = self.output.iter_mut().filter(|_| receives);
        outputs.for_each(touch);
        self.input.iter_mut().for_each(touch);
        if caches == CacheState::Cold {
            self.output.iter_mut().for_each(throw_out);
            self.input.iter_mut().for_each(throw_out);
        }
    }

    /// Makes the calls. This is timed.
    #[inline(always)]
    pub fn call(&mut self, comm: &mut Comm, root: usize) {
        let (shape, mut input, mut output) = (&self.shape, &mut self.input, &mut self.output);
        if shape.apart {
            for (input, output) in input.iter().zip(output.iter_mut()) {
                output.copy_from_slice(input);
            }
            std::mem::swap(&mut input, &mut output);
        }
        let (operation, shift) = (shape.operation, shape.shift);
        let counts = (shape.form == CallForm::Varied).then_some(&self.counts[..]);
        let (started, plan) = (shape.form == CallForm::Started, self.plan.as_ref());
        let neighbors = (&self.neighbors[..], self.part);
        let call =
            TimedCall { operation, input, output, root, shift, started, counts, plan, neighbors };
        (self.call)(comm, call);
    }

    /// The number of wrong elements after sample number `sample`.
    pub(crate) fn count_wrong(&self, sample: u64, root: usize) -> u64 {
        let operation = self.shape.operation;
        let sends = operation.input(self.rank == root) != Share::Nothing;
        let own = Expected::Input { rank: self.rank, from: 0 };
        let sent = [if sends { own } else { Expected::Poison }];
        let result = self.result(root);
        if operation.is_in_place() && !self.shape.apart {
            return self.count(sample, &self.input, &result);
        }
        self.count(sample, &self.input, &sent) + self.count(sample, &self.output, &result)
    }

    /// The elements of the result, in parts of one length.
    fn result(&self, root: usize) -> Vec<Expected> {
        let (rank, p) = (self.rank, self.ranks);
        let of = |rank: usize, from: usize| vec![Expected::Input { rank, from }];
        let of_all = |from: usize| (0..p).map(|rank| Expected::Input { rank, from }).collect();
        let fold = |ranks: std::ops::Range<usize>, from| vec![Expected::Fold { ranks, from }];
        let mine = rank * self.block;
        if self.shape.form.is_among_neighbors() {
            let part = self.shape.count / ring::degree(p).max(1);
            let of = |(rank, number)| Expected::Input { rank, from: number * part };
            return ring::neighbors(rank, p).map(of).collect();
        }
        match self.shape.operation {
            Operation::Broadcast => of(root, 0),
            Operation::Reduce if rank != root => of(rank, 0),
            Operation::Reduce | Operation::AllReduce => fold(0..p, 0),
            Operation::Scan => fold(0..rank + 1, 0),
            Operation::ExclusiveScan if rank == 0 => vec![Expected::Identity],
            Operation::ExclusiveScan => fold(0..rank, 0),
            Operation::Shift => {
                let distance = self.shape.shift.rem_euclid(p as isize) as usize;
                of((rank + p - distance) % p, 0)
            }
            Operation::ReduceScatter => fold(0..p, mine),
            Operation::Scatter => of(root, mine),
            Operation::Gather if rank != root => vec![Expected::Poison],
            Operation::AllGather | Operation::Gather => of_all(0),
            Operation::AllToAll | Operation::AllToAllInPlace => of_all(mine),
            _ => vec![],
        }
    }

    fn count(&self, sample: u64, sets: &BufferSets<T>, expected: &[Expected]) -> u64 {
        let mut wrong = 0;
        for (round, set) in (self.round(sample, 0)..).zip(sets.iter()) {
            let part = set.len() / expected.len().max(1);
            let parts = set.chunks_exact(part.max(1)).zip(expected);
            wrong += parts.map(|(got, e)| self.oracle.count_wrong(round, e, got)).sum::<u64>();
        }
        wrong
    }
}

/// Calls an operation that combines with `O`.
pub(crate) fn combine<T: Sample, O: Operator<T> + Copy + Default>(
    comm: &mut Comm,
    call: TimedCall<'_, T>,
) {
    let op = O::default();
    if call.started {
        return start_combining(comm, call, op);
    }
    let sets = call.input.iter_mut();
    match call.operation {
        Operation::Reduce => sets.for_each(|x| comm.reduce(x, op, call.root)),
        Operation::AllReduce => sets.for_each(|x| comm.all_reduce(x, op)),
        Operation::Scan => sets.for_each(|x| comm.scan(x, op)),
        Operation::ExclusiveScan => sets.for_each(|x| comm.exclusive_scan(x, op)),
        Operation::ReduceScatter => {
            sets.zip(call.output.iter_mut()).for_each(|(all, mine)| match call.counts {
                None => comm.reduce_scatter_into(all, mine, op),
                Some(counts) => comm.reduce_scatter_varied_into(all, mine, counts, op),
            });
        }
        other => unreachable!("{other} does not combine"),
    }
}

/// Calls an operation that only moves.
fn transport<T: Sample>(comm: &mut Comm, call: TimedCall<'_, T>) {
    if call.started {
        return start_transport(comm, call);
    }
    let root = call.root;
    if let Some(counts) = call.counts {
        for (x, y) in call.input.iter_mut().zip(call.output.iter_mut()) {
            match call.operation {
                Operation::AllGather => comm.all_gather_varied_into(x, y, counts),
                Operation::Gather => comm.gather_varied_into(x, y, counts, root),
                Operation::Scatter => comm.scatter_varied_into(x, y, counts, root),
                Operation::AllToAll => comm.all_to_all_varied_into(x, counts, y, counts),
                other => unreachable!("{other} has no such form"),
            }
        }
        return;
    }
    let sets = call.input.iter_mut();
    let outputs = call.output.iter_mut();
    match call.operation {
        Operation::Barrier => sets.for_each(|_| comm.barrier()),
        Operation::Broadcast => sets.for_each(|x| comm.broadcast(x, root)),
        Operation::Shift => sets.for_each(|x| comm.shift(x, call.shift)),
        Operation::AllToAllInPlace => sets.for_each(|x| comm.all_to_all_in_place(x)),
        Operation::AllGather => {
            sets.zip(outputs).for_each(|(x, y)| comm.all_gather_into(x, y));
        }
        Operation::Gather => {
            sets.zip(outputs).for_each(|(x, y)| comm.gather_into(x, y, root));
        }
        Operation::Scatter => {
            sets.zip(outputs).for_each(|(x, y)| comm.scatter_into(x, y, root));
        }
        Operation::AllToAll => {
            sets.zip(outputs).for_each(|(x, y)| comm.all_to_all_into(x, y));
        }
        other => unreachable!("{other} needs an operator"),
    }
}

/// The all-to-all among neighbours: the elements that each has for this rank, by the plan.
fn gather_from_neighbors<T: Sample>(comm: &mut Comm, call: TimedCall<'_, T>) {
    let Some(plan) = call.plan else { unreachable!("the buffers are made ready before a call") };
    for (x, y) in call.input.iter().zip(call.output.iter_mut()) {
        plan.gather(comm, x, y);
    }
}

/// The same by messages: every receive and send is started, then all are waited for. As in
/// `tools/report/peers/mpi.c`, the choice of neighbours is not timed.
fn message_neighbors<T: Sample>(comm: &mut Comm, call: TimedCall<'_, T>) {
    const TAG: u32 = 7;
    let (peers, part) = call.neighbors;
    for (mut from, mut to) in call.input.iter().zip(call.output.iter_mut()) {
        comm.requests(|scope| {
            let mut got = [const { None }; ring::MOST];
            for (request, &peer) in got.iter_mut().zip(peers) {
                let (mine, rest) = to.split_at_mut(part);
                to = rest;
                *request = Some(scope.start(call::recv_tagged(mine, peer, TAG)));
            }
            let mut sent = [const { None }; ring::MOST];
            for (request, &peer) in sent.iter_mut().zip(peers) {
                let (mine, rest) = from.split_at(part);
                from = rest;
                *request = Some(scope.start(call::send_tagged(mine, peer, TAG)));
            }
            for request in got.iter_mut().take(peers.len()).filter_map(Option::take) {
                scope.wait(request);
            }
            for request in sent.iter_mut().take(peers.len()).filter_map(Option::take) {
                scope.wait(request);
            }
        });
    }
}

/// Starts an operation that combines, and waits for it.
fn start_combining<T: Sample, O: Operator<T> + Copy>(
    comm: &mut Comm,
    call: TimedCall<'_, T>,
    op: O,
) {
    let TimedCall { operation, input, output, root, .. } = call;
    if operation == Operation::ReduceScatter {
        for (all, mine) in input.iter().zip(output.iter_mut()) {
            comm.requests(|scope| {
                let request = scope.start(call::reduce_scatter_into(all, mine, op));
                scope.wait(request);
            });
        }
        return;
    }
    for x in input.iter_mut() {
        comm.requests(|scope| {
            let request = match operation {
                Operation::Reduce => scope.start(call::reduce(x, op, root)),
                Operation::AllReduce => scope.start(call::all_reduce(x, op)),
                Operation::Scan => scope.start(call::scan(x, op)),
                Operation::ExclusiveScan => scope.start(call::exclusive_scan(x, op)),
                other => unreachable!("{other} does not combine"),
            };
            scope.wait(request);
        });
    }
}

/// Starts an operation that only moves, and waits for it.
fn start_transport<T: Sample>(comm: &mut Comm, call: TimedCall<'_, T>) {
    let TimedCall { operation, input, output, root, shift, .. } = call;
    match operation {
        Operation::Barrier => input.iter().for_each(|_| {
            comm.requests(|scope| {
                let request = scope.start(call::barrier());
                scope.wait(request);
            });
        }),
        Operation::Broadcast | Operation::Shift => input.iter_mut().for_each(|x| {
            comm.requests(|scope| {
                let request = match operation {
                    Operation::Broadcast => scope.start(call::broadcast(x, root)),
                    _ => scope.start(call::shift(x, shift)),
                };
                scope.wait(request);
            });
        }),
        _ => input.iter().zip(output.iter_mut()).for_each(|(x, y)| {
            comm.requests(|scope| {
                let request = match operation {
                    Operation::AllGather => scope.start(call::all_gather_into(x, y)),
                    Operation::Gather => scope.start(call::gather_into(x, y, root)),
                    Operation::Scatter => scope.start(call::scatter_into(x, y, root)),
                    Operation::AllToAll => scope.start(call::all_to_all_into(x, y)),
                    other => unreachable!("{other} has no such form"),
                };
                scope.wait(request);
            });
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_aligned_and_apart() {
        for len in [0, 1, 16, 17, 1000] {
            let sets = BufferSets::<f64>::new(len, 3);
            assert_eq!(sets.iter().count(), 3);
            for set in sets.iter() {
                assert_eq!(set.len(), len);
                assert_eq!(set.as_ptr().addr() % ALIGN, 0);
            }
        }
    }

    #[test]
    fn a_call_that_does_nothing_is_noticed() {
        for operation in Operation::ALL {
            let redop = operation.combines().then_some(Redop::Sum);
            let shape = BufferShape {
                operation,
                redop,
                count: 6,
                sets: 2,
                shift: 1,
                apart: false,
                form: CallForm::Even,
            };
            let mut wrong = 0;
            for rank in 0..3 {
                let mut work = CallBuffers::<i32>::new(shape, rank, 3);
                work.prepare(5, 1, true);
                wrong += work.count_wrong(5, 1);
            }
            // By operation: the elements of the results, in 2 sets, without
            // those that stay.
            let wanted = match operation {
                Operation::Broadcast => 2 * 6 * 2,
                Operation::Reduce => 6 * 2,
                Operation::AllReduce | Operation::Shift => 3 * 6 * 2,
                Operation::Scan => 2 * 6 * 2,
                Operation::ExclusiveScan => 3 * 6 * 2,
                Operation::AllGather | Operation::AllToAll => 3 * 6 * 2,
                // But for the own blocks.
                Operation::AllToAllInPlace => 3 * 4 * 2,
                Operation::ReduceScatter | Operation::Scatter => 6 * 2,
                Operation::Gather => 6 * 2,
                _ => 0,
            };
            assert_eq!(wrong, wanted, "{operation}");
        }
    }

    #[test]
    fn small_messages_have_many_sets() {
        assert_eq!([8, 512, 1024, 4096, 16384, 1 << 22].map(sets_for), [32, 32, 16, 4, 1, 1]);
    }
}
