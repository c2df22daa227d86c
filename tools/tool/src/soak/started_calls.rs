//! Collectives that are started in a scope, several at a time, and waited for in an order of each
//! rank's own, with blocking calls in between.

use super::random::{Dice, mix};
use super::soak_elements::{Thing, folded, input};
use phalanx::op::{Max, Operator};
use phalanx::schedule::Operation;
use phalanx::{Comm, Element};

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
            let mut open = Vec::new();
            for Start { kind, from, to } in starts {
                match kind {
                    Operation::Broadcast => open.push(scope.broadcast(to, root)),
                    Operation::AllReduce => open.push(scope.all_reduce(to, op)),
                    Operation::Scan => open.push(scope.scan(to, op)),
                    Operation::ReduceScatter => open.push(scope.reduce_scatter_into(from, to, op)),
                    Operation::AllGather => open.push(scope.all_gather_into(from, to)),
                    Operation::AllToAll => open.push(scope.all_to_all_into(from, to)),
                    Operation::Shift => open.push(scope.shift(to, 1)),
                    // Its request gives nothing: it is the scope that completes it.
                    _ => drop(scope.barrier()),
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
            let (from, to) = match kind {
                Operation::Barrier => (vec![], vec![]),
                Operation::ReduceScatter => (own(n * p), nothing(n)),
                Operation::AllGather => (own(n), nothing(n * p)),
                Operation::AllToAll => (own(n * p), nothing(n * p)),
                _ => (vec![], own(n)),
            };
            Start { kind, from, to }
        });
        let starts = starts.collect();
        StartedCalls { starts, root, shared, own: Dice::new(salt ^ mix(rank as u64)) }
    }

    /// The first call that has not given what operator `which` and the rest say.
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
