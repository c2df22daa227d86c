//! Calls of the catalogue's operations as data, against a sequential oracle.

use super::Dice;
use phalanx::op::{self, Operator};
use phalanx::schedule::Operation;
use phalanx::{Comm, Element, OpenRequest, Persistent, Requests, call};
use std::fmt::Debug;
use std::ops::Range;

/// A rank's call, with the elements of each rank's block (of an all-to-all, of pairs), or of a
/// vector; `v` is the root or the distance.
#[derive(Clone, Debug)]
pub(crate) struct OneCall {
    pub(crate) operation: Operation,
    rank: usize,
    v: isize,
    counts: Vec<usize>,
    is_varied: bool,
    to: Vec<usize>,
    from: Vec<usize>,
}

/// A call's arguments on this rank, and its result. In place there is no input.
#[derive(Clone)]
pub(crate) struct Buffers<T> {
    pub(crate) input: Vec<T>,
    pub(crate) output: Vec<T>,
    pub(crate) wanted: Vec<T>,
}

/// `$form!` of the name and the arguments of a call.
macro_rules! call_of {
    ($form:ident, $it:expr, $op:expr, $x:expr, $y:expr) => {{
        let OneCall { operation, v, counts, is_varied, to, from, .. } = $it;
        let root = *v as usize;
        match (*operation, *is_varied) {
            (Operation::Broadcast, _) => $form!(broadcast, $y, root),
            (Operation::Reduce, _) => $form!(reduce, $y, $op, root),
            (Operation::AllGather, false) => $form!(all_gather_into, $x, $y),
            (Operation::AllGather, _) => $form!(all_gather_varied_into, $x, $y, counts),
            (Operation::ReduceScatter, false) => $form!(reduce_scatter_into, $x, $y, $op),
            (Operation::ReduceScatter, _) => {
                $form!(reduce_scatter_varied_into, $x, $y, counts, $op)
            }
            (Operation::AllReduce, _) => $form!(all_reduce, $y, $op),
            (Operation::Scan, _) => $form!(scan, $y, $op),
            (Operation::ExclusiveScan, _) => $form!(exclusive_scan, $y, $op),
            (Operation::Scatter, false) => $form!(scatter_into, $x, $y, root),
            (Operation::Scatter, _) => $form!(scatter_varied_into, $x, $y, counts, root),
            (Operation::Gather, false) => $form!(gather_into, $x, $y, root),
            (Operation::Gather, _) => $form!(gather_varied_into, $x, $y, counts, root),
            (Operation::AllToAll, false) => $form!(all_to_all_into, $x, $y),
            (Operation::AllToAll, _) => $form!(all_to_all_varied_into, $x, to, $y, from),
            (Operation::Shift, _) => $form!(shift, $y, *v),
            (other, _) => panic!("no test for {other}"),
        }
    }};
}

impl OneCall {
    /// On blocks, or vectors, of `n` elements.
    pub(crate) fn new(comm: &Comm, operation: Operation, v: isize, n: usize) -> Self {
        OneCall { is_varied: false, ..Self::varied(comm, operation, v, &vec![n; comm.size()]) }
    }

    /// On blocks of different lengths.
    pub(crate) fn varied(comm: &Comm, operation: Operation, v: isize, counts: &[usize]) -> Self {
        let (rank, p) = (comm.rank(), comm.size());
        let to = (0..p).map(|to| counts[(rank + 2 * to) % p]).collect();
        let from = (0..p).map(|from| counts[(from + 2 * rank) % p]).collect();
        OneCall { operation, rank, v, counts: counts.to_vec(), is_varied: true, to, from }
    }

    /// Every operation, with each root or distance.
    pub(crate) fn all(comm: &Comm, n: usize, roots: &[usize], distances: &[isize]) -> Vec<Self> {
        let of = |operation: Operation| -> Vec<Self> {
            let values = match operation {
                Operation::Shift => distances.to_vec(),
                _ if operation.is_rooted() => roots.iter().map(|&root| root as isize).collect(),
                _ => vec![0],
            };
            values.into_iter().map(|v| Self::new(comm, operation, v, n)).collect()
        };
        Operation::ALL.into_iter().flat_map(of).collect()
    }

    /// Every operation on blocks of different lengths.
    pub(crate) fn all_varied(comm: &Comm, counts: &[usize], roots: &[usize]) -> Vec<Self> {
        let mut all = Self::all(comm, 0, roots, &[]);
        all.retain(|it| it.operation.has_blocks() && it.can_start());
        all.iter().map(|it| Self::varied(comm, it.operation, it.v, counts)).collect()
    }

    /// Whether it has a form that is started, with a buffer.
    pub(crate) fn can_start(&self) -> bool {
        ![Operation::Barrier, Operation::AllToAllInPlace].contains(&self.operation)
    }

    /// Its buffers, of elements `make(rank, i)`.
    pub(crate) fn buffers<T: Element, O: Operator<T>>(
        &self,
        op: O,
        make: &dyn Fn(usize, usize) -> T,
    ) -> Buffers<T> {
        let fold = |all: &[T]| all[1..].iter().fold(all[0], |x, &y| op.combine(x, y));
        self.buffers_to(op.identity(), make, &fold)
    }

    /// The same, where `result` is that of some ranks' operands.
    pub(crate) fn buffers_to<T: Element>(
        &self,
        identity: Option<T>,
        make: &dyn Fn(usize, usize) -> T,
        result: &dyn Fn(&[T]) -> T,
    ) -> Buffers<T> {
        let (r, p, counts, root) = (self.rank, self.counts.len(), &self.counts, self.v as usize);
        let (n, total) = (counts[r], counts.iter().sum::<usize>());
        let begin = counts[..r].iter().sum::<usize>();
        let block = begin..begin + n;
        let vector = |q: usize, range: Range<usize>| range.map(|i| make(q, i)).collect::<Vec<T>>();
        let sum = |upto: usize, range: Range<usize>| -> Vec<T> {
            let operands = |i: usize| (0..upto).map(move |q| make(q, i)).collect::<Vec<T>>();
            let none = |i: usize| identity.unwrap_or_else(|| make(r, i));
            range.map(|i| if upto > 0 { result(&operands(i)) } else { none(i) }).collect()
        };
        let own = vector(r, 0..n);
        let all = || (0..p).flat_map(|q| vector(q, 0..counts[q])).collect();
        let old = |n: usize| vec![make(99, 99); n];
        // A buffer for all blocks, of which some ranks that need none have one.
        let has = if r == root || r.is_multiple_of(2) { total } else { 0 };
        let (input, output, wanted) = match self.operation {
            Operation::Broadcast => (vec![], own, vector(root, 0..n)),
            Operation::Reduce if r == root => (vec![], own, sum(p, 0..n)),
            Operation::Reduce => (vec![], own.clone(), own),
            Operation::AllGather => (own, old(total), all()),
            Operation::ReduceScatter => (vector(r, 0..total), old(n), sum(p, block)),
            Operation::AllReduce => (vec![], own, sum(p, 0..n)),
            Operation::Barrier => (vec![], vec![], vec![]),
            Operation::Scan => (vec![], own, sum(r + 1, 0..n)),
            Operation::ExclusiveScan => (vec![], own, sum(r, 0..n)),
            Operation::Scatter => (vector(r, 0..has), old(n), vector(root, block)),
            Operation::Gather => (own, old(has), if r == root { all() } else { old(has) }),
            Operation::AllToAll | Operation::AllToAllInPlace => {
                let mine = vector(r, 0..self.to.iter().sum());
                let from = |(q, &n): (usize, &usize)| {
                    let at = (0..r).map(|to| counts[(q + 2 * to) % p]).sum::<usize>();
                    vector(q, at..at + n)
                };
                let wanted: Vec<T> = self.from.iter().enumerate().flat_map(from).collect();
                match self.operation {
                    Operation::AllToAll => (mine, old(wanted.len()), wanted),
                    _ => (vec![], mine, wanted),
                }
            }
            Operation::Shift => {
                let from = (r as isize - self.v).rem_euclid(p as isize);
                (vec![], own, vector(from as usize, 0..n))
            }
            other => panic!("no test for {other}"),
        };
        Buffers { input, output, wanted }
    }

    /// Makes the call; errors have the caller's line.
    #[track_caller]
    pub(crate) fn make<T: Element, O: Operator<T>>(
        &self,
        comm: &mut Comm,
        op: O,
        (x, y): (&[T], &mut [T]),
    ) {
        macro_rules! at_once {
            ($name:ident, $($argument:expr),*) => { comm.$name($($argument),*) };
        }
        match self.operation {
            Operation::Barrier => comm.barrier(),
            Operation::AllToAllInPlace => comm.all_to_all_in_place(y),
            _ => call_of!(at_once, self, op, x, y),
        }
    }

    /// Makes the call, also in its other blocking forms, and compares its results.
    pub(crate) fn check<T: Element + PartialEq + Debug, O: Operator<T> + Copy>(
        &self,
        comm: &mut Comm,
        op: O,
        make: &dyn Fn(usize, usize) -> T,
    ) {
        let (operation, root) = (self.operation, self.v as usize);
        let Buffers { input: x, output: mut y, wanted } = self.buffers(op, make);
        self.make(comm, op, (&x, &mut y));
        assert_eq!(y, wanted, "{self:?}");
        let is_root = self.rank == root;
        match operation {
            Operation::AllGather if self.is_varied => {
                assert_eq!(comm.all_gather_vec(&x), (wanted, self.counts.clone()));
            }
            Operation::Gather if self.is_varied => {
                let wanted = is_root.then(|| (wanted, self.counts.clone()));
                assert_eq!(comm.gather_vec(&x, root), wanted);
            }
            Operation::AllToAll if self.is_varied => {
                assert_eq!(comm.all_to_all_vec(&x, &self.to), (wanted, self.from.clone()));
            }
            Operation::AllGather => {
                y.fill(make(99, 99));
                y[self.rank * x.len()..][..x.len()].copy_from_slice(&x);
                comm.all_gather_in_place(&mut y);
                assert_eq!(y, wanted, "in place: {self:?}");
            }
            Operation::Gather if is_root => {
                y.fill(make(99, 99));
                y[root * x.len()..][..x.len()].copy_from_slice(&x);
                comm.gather_in_place(&mut y, root);
                assert_eq!(y, wanted, "in place: {self:?}");
            }
            Operation::Gather => {
                y.clone_from(&x);
                comm.gather_in_place(&mut y, root);
                assert_eq!(y, x, "in place: {self:?}");
            }
            _ => {}
        }
    }

    /// Starts the call.
    pub(crate) fn start<'s, 'e, T: Element, O: Operator<T> + 'e>(
        &'e self,
        scope: &mut Requests<'s, 'e>,
        op: O,
        (x, y): (&'e [T], &'e mut [T]),
    ) -> OpenRequest<'s, &'e mut [T]> {
        macro_rules! started {
            ($name:ident, $($argument:expr),*) => { scope.start(call::$name($($argument),*)) };
        }
        call_of!(started, self, op, x, y)
    }

    /// Sets the call up.
    pub(crate) fn set_up<'s, 'e, T: Element, O: Operator<T> + 'e>(
        &'e self,
        scope: &mut Requests<'s, 'e>,
        op: O,
        (x, y): (&'e mut [T], &'e mut [T]),
    ) -> Persistent<'s, 'e, T> {
        macro_rules! set_up {
            ($name:ident, $($argument:expr),*) => { scope.set_up(call::$name($($argument),*)) };
        }
        call_of!(set_up, self, op, x, y)
    }
}

/// Calls that are started at once, and waited for in an order of each rank's own.
pub(crate) fn all_at_once<T, O>(
    comm: &mut Comm,
    calls: &[OneCall],
    seed: u64,
    op: O,
    make: &dyn Fn(usize, usize) -> T,
) where
    T: Element + PartialEq + Debug,
    O: Operator<T> + Copy + 'static,
{
    let calls = calls.iter().filter(|it| it.can_start());
    let mut all: Vec<_> = calls.map(|it| (it, it.buffers(op, make))).collect();
    let mut dice = Dice(seed + comm.rank() as u64);
    comm.requests(|scope| {
        let mut open: Vec<_> = all
            .iter_mut()
            .map(|(it, b)| (&*it, &b.wanted, it.start(scope, op, (&b.input, &mut b.output))))
            .collect();
        let barrier = scope.start(call::barrier());
        if seed % 2 == 1 {
            scope.comm().barrier();
        }
        while !open.is_empty() {
            let (it, wanted, request) = open.swap_remove(dice.below(open.len()));
            assert_eq!(scope.wait(request), wanted, "{it:?}");
        }
        scope.wait(barrier);
    });
    assert!(all.iter().all(|(_, it)| it.output == it.wanted));
}

/// Calls that are set up once and started again and again, each time with other elements
/// `make(time, rank, i)`, and with blocking calls beside them.
pub(crate) fn again_and_again<T, O>(
    comm: &mut Comm,
    calls: &[OneCall],
    op: O,
    make: &dyn Fn(usize, usize, usize) -> T,
) where
    T: Element + PartialEq + Debug,
    O: Operator<T> + Copy + 'static,
{
    let calls: Vec<_> = calls.iter().filter(|it| it.can_start()).collect();
    let at = |time: usize| {
        let make = move |rank: usize, i: usize| make(time, rank, i);
        calls.iter().map(|it| it.buffers(op, &make)).collect::<Vec<_>>()
    };
    let mut first = at(0);
    comm.requests(|scope| {
        let buffers = calls.iter().zip(&mut first);
        let mut set_up: Vec<_> =
            buffers.map(|(it, b)| it.set_up(scope, op, (&mut b.input, &mut b.output))).collect();
        for time in 0..4 {
            let now = at(time);
            for (call, now) in set_up.iter_mut().zip(&now) {
                if !now.input.is_empty() {
                    call.input_mut().copy_from_slice(&now.input);
                }
                call.buf_mut().copy_from_slice(&now.output);
            }
            let open: Vec<_> = set_up.into_iter().map(|it| scope.start(it)).collect();
            for it in &calls {
                it.check(scope.comm(), op, &|rank, i| make(time, rank, i));
            }
            set_up = scope.wait_all(open);
            for ((call, now), it) in set_up.iter().zip(&now).zip(&calls) {
                assert_eq!(call.buf(), now.wanted, "{it:?}, time {time}");
                assert!(now.input.is_empty() || call.input() == now.input);
            }
        }
    });
}

/// Element `i` of a rank's data in round `k`; differs in everything.
pub(crate) fn value(k: usize) -> impl Fn(usize, usize) -> u64 {
    move |rank, i| {
        let x = (rank as u64) << 40 | (i as u64) << 12 | k as u64;
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7
    }
}

/// A non-commutative, associative operator: the composition of affine maps.
pub(crate) type Map = (u64, u64);
pub(crate) fn compose(f: Map, g: Map) -> Map {
    (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1))
}

pub(crate) fn map(k: usize) -> impl Fn(usize, usize) -> Map {
    let value = value(k);
    move |rank, i| (value(rank, i) | 1, value(rank, i + (1 << 20)))
}

/// One call of `operation` on blocks (or vectors) of `n` elements; `v` is the root or the distance.
pub(crate) fn one_call(comm: &mut Comm, operation: Operation, v: usize, n: usize, salt: usize) {
    OneCall::new(comm, operation, v as isize, n).check(comm, op::Sum, &value(salt));
}

/// Every operation, on vectors or blocks of `n` elements, in round `k`.
pub(crate) fn every_operation(comm: &mut Comm, n: usize, k: usize) {
    let p = comm.size();
    let distances = [0, 1, -1, (k % 13) as isize, p as isize + 2];
    for it in OneCall::all(comm, n, &[0, p - 1, k % p], &distances) {
        it.check(comm, op::Sum, &value(k));
        if it.operation.combines() {
            it.check(comm, op::ordered(compose), &map(k));
        }
    }
}
