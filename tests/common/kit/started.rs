//! Collectives that are started in a scope, several at a time, and waited for in an order of each
//! rank's own, with blocking calls in between. Some have blocks of different lengths; some are set
//! up, and started twice.

use super::dice::{Dice, mix};
use super::elements::{Thing, buffers};
use super::one_call::{Buffers, HasPlace, OneCall};
use phalanx::op::{Max, Operator};
use phalanx::schedule::Operation;
use phalanx::{Comm, Element, call};

/// One call, its buffers, and whether it is started twice, which gives the same as once.
type Start<T> = (OneCall, Buffers<T>, bool);

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
            for (it, Buffers { input, output, .. }, is_set_up) in starts {
                if it.operation == Operation::Barrier {
                    // Its request gives nothing: it is the scope that completes it.
                    drop(scope.start(call::barrier()));
                } else if *is_set_up {
                    let call = it.set_up(scope, op, (input, output));
                    let first = scope.start(call);
                    beside(scope.comm(), shared.below(5));
                    let call = scope.wait(first);
                    drop(scope.start(call));
                } else {
                    open.push(it.start(scope, op, (input, output)));
                }
                beside(scope.comm(), shared.below(5));
            }
            // As many on every rank.
            for _ in 0..calls {
                if !open.is_empty() {
                    let request = open.swap_remove(own.below(open.len()));
                    // Some are left to the scope.
                    if own.below(5) > 0 {
                        scope.wait(request);
                    }
                }
                beside(scope.comm(), shared.below(5));
            }
        });
    }
}

impl<T: Thing> StartedCalls<T> {
    /// One to four calls, with blocks of `n`, from the root or to it, or so far, and with operator
    /// `which`.
    pub(crate) fn draw(comm: &Comm, salt: u64, n: usize, root: usize, which: usize) -> Self {
        let ((rank, p), mut shared) = (comm.place(), Dice::of_seed(salt));
        let calls = 1 + shared.below(4);
        let start = |k: usize| {
            let (kind, salt) = (shared.of(&Operation::ALL), salt + k as u64);
            let count = |q: usize| (salt as usize % 1000 + 5 * q) % (n + 1);
            let it = match kind {
                Operation::AllToAllInPlace => OneCall::new(comm, Operation::Barrier, 0, n),
                _ if kind.has_blocks() && shared.below(2) == 0 => {
                    let counts: Vec<usize> = (0..p).map(count).collect();
                    OneCall::varied(comm, kind, root as isize, &counts)
                }
                _ => OneCall::new(comm, kind, root as isize, n),
            };
            let again = it.operation == Operation::Broadcast || !it.operation.is_in_place();
            let is_set_up = again && shared.below(2) == 0;
            let buffers = buffers(&it, salt, which);
            (it, buffers, is_set_up)
        };
        let starts = (0..calls).map(start).collect();
        StartedCalls { starts, shared, own: Dice::of_seed(salt ^ mix(rank as u64)) }
    }

    /// The first call with another result.
    pub(crate) fn wrong(&self) -> Option<Operation> {
        let is_wrong = |it: &&Start<T>| it.1.output != it.1.wanted;
        self.starts.iter().find(is_wrong).map(|start| start.0.operation)
    }
}
