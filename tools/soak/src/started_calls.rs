//! Collectives that are started in a scope, several at a time, and waited for in an order of each
//! rank's own, with blocking calls in between. Some have blocks of different lengths; some are set
//! up, and started twice.

use crate::one_call::{Buffers, HasPlace, OneCall};
use crate::random::{Dice, mix};
use crate::soak_elements::{Thing, buffers};
use phalanx::op::{Max, Operator};
use phalanx::schedule::Operation;
use phalanx::{Comm, Element, call};

/// The operations that are started.
const KINDS: [Operation; 11] = [
    Operation::Barrier,
    Operation::Broadcast,
    Operation::Reduce,
    Operation::AllReduce,
    Operation::Scan,
    Operation::ReduceScatter,
    Operation::AllGather,
    Operation::Gather,
    Operation::Scatter,
    Operation::AllToAll,
    Operation::Shift,
];

/// One of them, with its buffers.
struct Start<T> {
    it: OneCall,
    buffers: Buffers<T>,
    /// Started twice, which gives the same as once.
    is_set_up: bool,
}

/// The calls of one scope.
pub(crate) struct StartedCalls<T> {
    starts: Vec<Start<T>>,
    /// The same on all ranks.
    shared: Dice,
    /// This rank's.
    own: Dice,
}

impl<T: Element> StartedCalls<T> {
    /// Starts all, and waits for them; a combining one has operator `op`.
    pub(crate) fn run(&mut self, comm: &mut Comm, op: &impl Operator<T>) {
        let StartedCalls { starts, shared, own } = self;
        let calls = starts.len();
        let beside = |comm: &mut Comm, k: usize| match k % 3 {
            0 => comm.barrier(),
            1 => {
                let mut most = [comm.rank(); 20];
                comm.all_reduce(&mut most, Max);
                assert_eq!(most, [comm.size() - 1; 20], "a blocking call beside started ones");
            }
            _ => (),
        };
        comm.requests(|scope| {
            let mut open = Vec::new();
            for Start { it, buffers: Buffers { input, output, .. }, is_set_up } in starts {
                if it.operation == Operation::Barrier {
                    // Its request gives nothing: it is the scope that completes it.
                    drop(scope.start(call::barrier()));
                } else if *is_set_up {
                    let call = it.set_up(scope, op, (input, output));
                    let first = scope.start(call);
                    beside(scope.comm(), shared.roll(5));
                    let call = scope.wait(first);
                    drop(scope.start(call));
                } else {
                    open.push(it.start(scope, op, (input, output)));
                }
                beside(scope.comm(), shared.roll(5));
            }
            // As many on every rank.
            for _ in 0..calls {
                if !open.is_empty() {
                    let request = open.swap_remove(own.roll(open.len()));
                    // Some are left to the scope.
                    if !own.once_in(5) {
                        scope.wait(request);
                    }
                }
                beside(scope.comm(), shared.roll(5));
            }
        });
    }
}

impl<T: Thing> StartedCalls<T> {
    /// One to four calls, with blocks of `n`, from the root or to it, or so far, and with operator
    /// `which`.
    pub(crate) fn draw(comm: &Comm, salt: u64, n: usize, root: usize, which: usize) -> Self {
        let (rank, p) = comm.place();
        let mut shared = Dice::new(salt);
        let starts = (0..1 + shared.roll(4)).map(|k| {
            let (kind, salt) = (*shared.pick(&KINDS), salt + k as u64);
            let it = match kind.has_blocks() && shared.once_in(2) {
                true => {
                    let count = |q| (salt as usize % 1000 + 5 * q) % (n + 1);
                    OneCall::varied(
                        comm,
                        kind,
                        root as isize,
                        &(0..p).map(count).collect::<Vec<_>>(),
                    )
                }
                false => OneCall::new(comm, kind, root as isize, n),
            };
            let again = kind == Operation::Broadcast || !kind.is_in_place();
            let is_set_up = again && shared.once_in(2);
            Start { buffers: buffers(&it, salt, which), it, is_set_up }
        });
        let starts = starts.collect();
        StartedCalls { starts, shared, own: Dice::new(salt ^ mix(rank as u64)) }
    }

    /// The first call with another result.
    pub(crate) fn wrong(&self) -> Option<Operation> {
        let is_wrong = |it: &&Start<T>| it.buffers.output != it.buffers.wanted;
        self.starts.iter().find(is_wrong).map(|start| start.it.operation)
    }
}
