//! Collectives that are started in a scope, several at a time, and waited for in an order of each
//! rank's own, with blocking calls in between. Some have blocks of different lengths; some are set
//! up, and started twice.

use crate::random::{Dice, mix};
use crate::soak_elements::{Thing, folded, input};
use phalanx::op::{Max, Operator};
use phalanx::schedule::Operation;
use phalanx::{Comm, Element, call};

/// The operations that are started.
const KINDS: [Operation; 8] = [
    Operation::Barrier,
    Operation::Broadcast,
    Operation::AllReduce,
    Operation::Scan,
    Operation::ReduceScatter,
    Operation::AllGather,
    Operation::AllToAll,
    Operation::Shift,
];

/// One of them, with its buffers.
struct Start<T> {
    kind: Operation,
    from: Vec<T>,
    to: Vec<T>,
    /// Of blocks of different lengths: elements from each rank, and to each rank.
    counts: Option<[Vec<usize>; 2]>,
    /// Started twice, which gives the same as once.
    is_set_up: bool,
}

/// Elements that rank `from` has for rank `to` in a call of blocks of `n` at most.
fn count(salt: u64, n: usize, from: usize, to: usize) -> usize {
    (salt as usize % 1000 + 5 * from + 3 * to) % (n + 1)
}

/// The calls of one scope.
pub(crate) struct StartedCalls<T> {
    starts: Vec<Start<T>>,
    root: usize,
    /// The same on all ranks.
    shared: Dice,
    /// This rank's.
    own: Dice,
}

impl<T: Element> StartedCalls<T> {
    /// Starts all, and waits for them; a combining one has operator `op`.
    pub(crate) fn run(&mut self, comm: &mut Comm, op: &impl Operator<T>) {
        let StartedCalls { starts, root, shared, own } = self;
        let (root, calls) = (*root, starts.len());
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
            let (mut open, mut twice) = (Vec::new(), Vec::new());
            for Start { kind, from, to, counts, is_set_up } in starts {
                match (&*kind, &*counts) {
                    (Operation::AllGather, Some([counts, _])) if *is_set_up => {
                        twice.push(scope.set_up(call::all_gather_varied_into(from, to, counts)));
                    }
                    (Operation::AllToAll, Some([recv, send])) if *is_set_up => {
                        twice
                            .push(scope.set_up(call::all_to_all_varied_into(from, send, to, recv)));
                    }
                    (Operation::Broadcast, None) if *is_set_up => {
                        twice.push(scope.set_up(call::broadcast(to, root)));
                    }
                    (Operation::ReduceScatter, None) if *is_set_up => {
                        twice.push(scope.set_up(call::reduce_scatter_into(from, to, op)));
                    }
                    (Operation::AllGather, Some([counts, _])) => {
                        open.push(scope.start(call::all_gather_varied_into(from, to, counts)));
                    }
                    (Operation::AllToAll, Some([recv, send])) => {
                        open.push(scope.start(call::all_to_all_varied_into(from, send, to, recv)));
                    }
                    (kind, _) => match kind {
                        Operation::Broadcast => open.push(scope.start(call::broadcast(to, root))),
                        Operation::AllReduce => open.push(scope.start(call::all_reduce(to, op))),
                        Operation::Scan => open.push(scope.start(call::scan(to, op))),
                        Operation::ReduceScatter => {
                            open.push(scope.start(call::reduce_scatter_into(from, to, op)))
                        }
                        Operation::AllGather => {
                            open.push(scope.start(call::all_gather_into(from, to)))
                        }
                        Operation::AllToAll => {
                            open.push(scope.start(call::all_to_all_into(from, to)))
                        }
                        Operation::Shift => open.push(scope.start(call::shift(to, 1))),
                        // Its request gives nothing: it is the scope that completes it.
                        _ => drop(scope.start(call::barrier())),
                    },
                }
                if let Some(call) = twice.pop() {
                    let first = scope.start(call);
                    beside(scope.comm(), shared.roll(5));
                    let call = scope.wait(first);
                    drop(scope.start(call));
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
    /// One to four calls, on rank `rank` of `p`, with blocks of `n`.
    pub(crate) fn draw(salt: u64, n: usize, rank: usize, p: usize, root: usize) -> Self {
        let mut shared = Dice::new(salt);
        let starts = (0..1 + shared.roll(4)).map(|k| {
            let (kind, salt) = (*shared.pick(&KINDS), salt + k as u64);
            let own = |n| input::<T>(salt, rank, 0, n);
            let nothing = |n| vec![T::make(0); n];
            let is_varied =
                matches!(kind, Operation::AllGather | Operation::AllToAll) && shared.once_in(2);
            // An all-gather's blocks are for all alike.
            let to = |r: usize| if kind == Operation::AllGather { 0 } else { r };
            let recv = || (0..p).map(|q| count(salt, n, q, to(rank))).collect::<Vec<_>>();
            let send = || (0..p).map(|r| count(salt, n, rank, to(r))).collect::<Vec<_>>();
            let counts = is_varied.then(|| [recv(), send()]);
            let sum = |counts: &[usize]| counts.iter().sum();
            let (from, to) = match (kind, &counts) {
                (Operation::AllGather, Some([recv, _])) => (own(recv[rank]), nothing(sum(recv))),
                (_, Some([recv, send])) => (own(sum(send)), nothing(sum(recv))),
                (kind, None) => match kind {
                    Operation::Barrier => (vec![], vec![]),
                    Operation::ReduceScatter => (own(n * p), nothing(n)),
                    Operation::AllGather => (own(n), nothing(n * p)),
                    Operation::AllToAll => (own(n * p), nothing(n * p)),
                    _ => (vec![], own(n)),
                },
            };
            Start { kind, from, to, counts, is_set_up: shared.once_in(2) }
        });
        let starts = starts.collect();
        StartedCalls { starts, root, shared, own: Dice::new(salt ^ mix(rank as u64)) }
    }

    /// The first call with another result than that of operator `which`.
    pub(crate) fn wrong(
        &self,
        salt: u64,
        n: usize,
        which: usize,
        rank: usize,
        p: usize,
    ) -> Option<Operation> {
        let is_wrong = |k: usize, start: &Start<T>| {
            let salt = salt + k as u64;
            let blocks = |from: usize| -> Vec<T> {
                (0..p).flat_map(|q| input::<T>(salt, q, from, n)).collect()
            };
            // Of different lengths: which of a rank's elements this one gets, if not all.
            let varied = |skipped: &dyn Fn(usize) -> usize, counts: &[usize]| -> Vec<T> {
                (0..p).flat_map(|q| input::<T>(salt, q, skipped(q), counts[q])).collect()
            };
            if let Some([recv, _]) = &start.counts {
                let before = |q: usize| (0..rank).map(|r| count(salt, n, q, r)).sum();
                let wanted = match start.kind {
                    Operation::AllGather => varied(&|_| 0, recv),
                    _ => varied(&before, recv),
                };
                return start.to != wanted;
            }
            start.to
                != match start.kind {
                    Operation::Barrier => vec![],
                    Operation::Broadcast => input(salt, self.root, 0, n),
                    Operation::AllReduce => folded(salt, 0..p, which, 0, n),
                    Operation::Scan => folded(salt, 0..rank + 1, which, 0, n),
                    Operation::ReduceScatter => folded(salt, 0..p, which, rank * n, n),
                    Operation::AllGather => blocks(0),
                    Operation::AllToAll => blocks(rank * n),
                    _ => input(salt, (rank + p - 1) % p, 0, n),
                }
        };
        let found = self.starts.iter().enumerate().find(|&(k, start)| is_wrong(k, start));
        found.map(|(_, start)| start.kind)
    }
}
