//! Calls of the catalogue's operations as data, against a sequential oracle, on one node or on
//! several. The tests of the library, of nodes, of processes, and soak have it.
#![allow(dead_code, unused_macros, reason = "each has a part of it")]

use phalanx::op::Operator;
use phalanx::schedule::Operation;
use phalanx::{Comm, Element, OpenRequest, Persistent, Requests, call};
use std::fmt::Debug;
use std::ops::Range;

/// A rank's call, with the elements of each rank's block (of an all-to-all, of pairs), or of a
/// vector; `v` is the root or the distance.
#[derive(Clone, Debug)]
pub(crate) struct OneCall {
    pub(crate) operation: Operation,
    pub(crate) rank: usize,
    pub(crate) v: isize,
    pub(crate) counts: Vec<usize>,
    pub(crate) is_varied: bool,
    pub(crate) to: Vec<usize>,
    pub(crate) from: Vec<usize>,
}

/// A call's arguments on this rank, and its result. In place there is no input.
#[derive(Clone)]
pub(crate) struct Buffers<T> {
    pub(crate) input: Vec<T>,
    pub(crate) output: Vec<T>,
    pub(crate) wanted: Vec<T>,
}

/// `$form!` of the name and the arguments of a call, on `$on`.
macro_rules! call_of {
    ($form:ident $on:expr, $it:expr, $op:expr, $x:expr, $y:expr) => {{
        let OneCall { operation, v, counts, is_varied, to, from, .. } = $it;
        let root = *v as usize;
        match (*operation, *is_varied) {
            (Operation::Broadcast, _) => $form!($on, broadcast, $y, root),
            (Operation::Reduce, _) => $form!($on, reduce, $y, $op, root),
            (Operation::AllGather, false) => $form!($on, all_gather_into, $x, $y),
            (Operation::AllGather, _) => $form!($on, all_gather_varied_into, $x, $y, counts),
            (Operation::ReduceScatter, false) => $form!($on, reduce_scatter_into, $x, $y, $op),
            (Operation::ReduceScatter, _) => {
                $form!($on, reduce_scatter_varied_into, $x, $y, counts, $op)
            }
            (Operation::AllReduce, _) => $form!($on, all_reduce, $y, $op),
            (Operation::Scan, _) => $form!($on, scan, $y, $op),
            (Operation::ExclusiveScan, _) => $form!($on, exclusive_scan, $y, $op),
            (Operation::Scatter, false) => $form!($on, scatter_into, $x, $y, root),
            (Operation::Scatter, _) => $form!($on, scatter_varied_into, $x, $y, counts, root),
            (Operation::Gather, false) => $form!($on, gather_into, $x, $y, root),
            (Operation::Gather, _) => $form!($on, gather_varied_into, $x, $y, counts, root),
            (Operation::AllToAll, false) => $form!($on, all_to_all_into, $x, $y),
            (Operation::AllToAll, _) => $form!($on, all_to_all_varied_into, $x, to, $y, from),
            (Operation::Shift, _) => $form!($on, shift, $y, *v),
            (other, _) => panic!("no test for {other}"),
        }
    }};
}

macro_rules! at_once {
    ($comm:expr, $name:ident, $($argument:expr),*) => { $comm.$name($($argument),*) };
}

macro_rules! started {
    ($scope:expr, $name:ident, $($argument:expr),*) => {
        $scope.start(call::$name($($argument),*))
    };
}

macro_rules! set_up {
    ($scope:expr, $name:ident, $($argument:expr),*) => {
        $scope.set_up(call::$name($($argument),*))
    };
}

/// Elements of an uneven all-to-all from a rank to another: other numbers for each pair.
fn elements(counts: &[usize], from: usize, to: usize) -> usize {
    counts[(from + to * (to + 1) / 2) % counts.len()]
}

impl OneCall {
    /// On blocks, or vectors, of `n` elements.
    pub(crate) fn new(comm: &impl HasPlace, operation: Operation, v: isize, n: usize) -> Self {
        OneCall { is_varied: false, ..Self::varied(comm, operation, v, &vec![n; comm.place().1]) }
    }

    /// On blocks of different lengths.
    pub(crate) fn varied(
        comm: &impl HasPlace,
        operation: Operation,
        v: isize,
        counts: &[usize],
    ) -> Self {
        let (rank, p) = comm.place();
        let to = (0..p).map(|to| elements(counts, rank, to)).collect();
        let from = (0..p).map(|from| elements(counts, from, rank)).collect();
        OneCall { operation, rank, v, counts: counts.to_vec(), is_varied: true, to, from }
    }

    /// Every operation, with each root or distance.
    pub(crate) fn all(
        comm: &impl HasPlace,
        n: usize,
        roots: &[usize],
        distances: &[isize],
    ) -> Vec<Self> {
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
    pub(crate) fn all_varied(comm: &impl HasPlace, counts: &[usize], roots: &[usize]) -> Vec<Self> {
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
        let vector = |q: usize, range: Range<usize>| range.map(|i| make(q, i)).collect();
        let sum = |upto: usize, range: Range<usize>| -> Vec<T> {
            let operands = |i: usize| (0..upto).map(move |q| make(q, i)).collect::<Vec<T>>();
            let none = |i: usize| identity.unwrap_or_else(|| make(self.rank, i));
            range.map(|i| if upto > 0 { result(&operands(i)) } else { none(i) }).collect()
        };
        self.buffers_of(make(99, 99), &vector, &sum)
    }

    /// The same, of vectors: a rank's, and that of the ranks before one; none are before the first.
    pub(crate) fn buffers_of<T: Element>(
        &self,
        old: T,
        vector: &dyn Fn(usize, Range<usize>) -> Vec<T>,
        sum: &dyn Fn(usize, Range<usize>) -> Vec<T>,
    ) -> Buffers<T> {
        let (r, p, counts, root) = (self.rank, self.counts.len(), &self.counts, self.v as usize);
        let (n, total) = (counts[r], counts.iter().sum::<usize>());
        let begin = counts[..r].iter().sum::<usize>();
        let block = begin..begin + n;
        let own = vector(r, 0..n);
        let all = || (0..p).flat_map(|q| vector(q, 0..counts[q])).collect();
        let old = |n: usize| vec![old; n];
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
                    let at = (0..r).map(|to| elements(counts, q, to)).sum::<usize>();
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
        comm: &mut impl MakesCalls,
        op: O,
        buffers: (&[T], &mut [T]),
    ) {
        comm.make(self, op, buffers);
    }

    /// Makes the call, also in its other blocking forms, and compares its results.
    pub(crate) fn check<T: Element + PartialEq + Debug, O: Operator<T> + Copy>(
        &self,
        comm: &mut impl MakesCalls,
        op: O,
        make: &dyn Fn(usize, usize) -> T,
    ) {
        let Buffers { input, mut output, wanted } = self.buffers(op, make);
        // Between edges that nobody writes, or at the beginning of its own memory.
        let (from, n) = ((self.rank + output.len()) % 2 * 9, output.len());
        let edge = vec![make(98, 98); from];
        let (mut room, before) = ([&edge[..], &output, &edge].concat(), input.clone());
        comm.make(self, op, (&input, &mut room[from..from + n]));
        assert_eq!(room[from..from + n], wanted, "{self:?}");
        assert!([&room[..from], &room[from + n..]].concat() == edge.repeat(2), "{self:?}");
        assert!(input == before, "{self:?}");
        output.fill(make(99, 99));
        comm.check_forms(self, Buffers { input, output, wanted });
    }

    /// Starts the call.
    pub(crate) fn start<'s, 'e, T: Element, O: Operator<T> + 'e>(
        &'e self,
        scope: &mut Requests<'s, 'e>,
        op: O,
        (x, y): (&'e [T], &'e mut [T]),
    ) -> OpenRequest<'s, &'e mut [T]> {
        call_of!(started scope, self, op, x, y)
    }

    /// Sets the call up.
    pub(crate) fn set_up<'s, 'e, T: Element, O: Operator<T> + 'e>(
        &'e self,
        scope: &mut Requests<'s, 'e>,
        op: O,
        (x, y): (&'e mut [T], &'e mut [T]),
    ) -> Persistent<'s, 'e, T> {
        call_of!(set_up scope, self, op, x, y)
    }
}

/// Something with a rank: the own one, and how many there are.
pub(crate) trait HasPlace {
    fn place(&self) -> (usize, usize);
}

impl HasPlace for (usize, usize) {
    fn place(&self) -> (usize, usize) {
        *self
    }
}

/// A communicator that makes calls.
pub(crate) trait MakesCalls: HasPlace {
    /// Makes a call on an input and an output.
    #[track_caller]
    fn make<T: Element, O: Operator<T>>(&mut self, it: &OneCall, op: O, to: (&[T], &mut [T]));

    /// Makes it in its other blocking forms, and compares the results; the output is overwritten.
    fn check_forms<T: Element + PartialEq + Debug>(&mut self, it: &OneCall, buffers: Buffers<T>);
}

macro_rules! makes_calls {
    ($comm:ty) => {
        impl HasPlace for $comm {
            fn place(&self) -> (usize, usize) {
                (self.rank(), self.size())
            }
        }

        impl MakesCalls for $comm {
            fn make<T: Element, O: Operator<T>>(
                &mut self,
                it: &OneCall,
                op: O,
                (x, y): (&[T], &mut [T]),
            ) {
                match it.operation {
                    Operation::Barrier => self.barrier(),
                    Operation::AllToAllInPlace => self.all_to_all_in_place(y),
                    _ => call_of!(at_once self, it, op, x, y),
                }
            }

            fn check_forms<T: Element + PartialEq + Debug>(
                &mut self,
                it: &OneCall,
                Buffers { input: x, output: mut y, wanted }: Buffers<T>,
            ) {
                let (root, own) = (it.v as usize, it.rank * x.len());
                let is_root = it.rank == root;
                match it.operation {
                    Operation::AllGather if it.is_varied => {
                        assert_eq!(self.all_gather_vec(&x), (wanted, it.counts.clone()));
                    }
                    Operation::Gather if it.is_varied => {
                        let wanted = is_root.then(|| (wanted, it.counts.clone()));
                        assert_eq!(self.gather_vec(&x, root), wanted);
                    }
                    Operation::AllToAll if it.is_varied => {
                        assert_eq!(self.all_to_all_vec(&x, &it.to), (wanted, it.from.clone()));
                    }
                    Operation::AllGather => {
                        y[own..][..x.len()].copy_from_slice(&x);
                        self.all_gather_in_place(&mut y);
                        assert_eq!(y, wanted, "in place: {it:?}");
                    }
                    Operation::Gather if is_root => {
                        y[own..][..x.len()].copy_from_slice(&x);
                        self.gather_in_place(&mut y, root);
                        assert_eq!(y, wanted, "in place: {it:?}");
                    }
                    Operation::Gather => {
                        y.clone_from(&x);
                        self.gather_in_place(&mut y, root);
                        assert_eq!(y, x, "in place: {it:?}");
                    }
                    _ => {}
                }
            }
        }
    };
}
makes_calls!(Comm);
