//! Reductions of vectors that are spread over several nodes: each node merges its ranks' parts into
//! one part and sends that (see `dist/partial.rs`).

use super::{Comm, starts};
use crate::dist::Partial;
use crate::element::Element;
use crate::exec::{Kernel, Partition};
use crate::fabric::Signature;
use crate::net::Transfer;
use crate::op::Operator;
use crate::schedule::Operation;
use std::mem::MaybeUninit;
use std::panic::Location;

type Bounds = (usize, usize);

/// Bounds, and a number or the room for one, as elements that no user of the
/// library can name: the same call with another payload must not be met.
#[derive(Clone, Copy)]
struct Ends(Bounds);
#[derive(Clone, Copy)]
#[repr(transparent)]
struct RawValue<T: Copy>(MaybeUninit<T>);

/// Contributions of `N` vectors that are cut alike: bounds, and all numbers.
fn taken_apart<T: Element>(parts: &[Partial<T>]) -> (Bounds, Vec<T>) {
    let bounds = parts.first().map_or((0, 0), Partial::bounds);
    (bounds, parts.iter().flat_map(Partial::numbers).collect())
}

fn put_together<T: Element>(bounds: Bounds, numbers: &[T], n: usize) -> Vec<Partial<T>> {
    let each = Partial::<T>::len_between(bounds);
    (0..n).map(|k| Partial::from_numbers(bounds, &numbers[k * each..][..each])).collect()
}

/// Joins parts that follow one another; an error names the part that does not.
fn join_all<T: Element>(
    parts: Vec<Vec<Partial<T>>>,
    op: &impl Operator<T>,
) -> Result<Vec<Partial<T>>, (usize, usize, usize)> {
    let mut parts = parts.into_iter().enumerate();
    let (_, mut all) = parts.next().expect("a part of every rank");
    for (i, next) in parts {
        let joined = all.iter().zip(&next).map(|(a, b)| a.join(b, op)).collect::<Result<_, _>>();
        all = joined.map_err(|(expected, got)| (i, expected, got))?;
    }
    Ok(all)
}

impl Comm {
    #[track_caller]
    pub(in crate::comm) fn whole_wide<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        parts: Vec<Partial<T>>,
        op: &O,
    ) -> [Option<T>; N] {
        if self.node_group.as_ref().is_some_and(|node_group| !node_group.layout.is_contiguous()) {
            return self.whole_apart(sig, at, parts, op);
        }
        let (bounds, numbers) = taken_apart(&parts);
        let t = self.port.size();
        if !self.check_usable(sig, at) {
            self.nothing_to_return();
        }
        let call = super::barrier(sig, at).of_length(N);
        let mut node = self.local_step(&call);
        let layout = node.layout();
        let (kernel, of_bounds) = (Kernel::mover::<T>(), Kernel::mover::<Bounds>());
        let mut all_bounds = vec![(0usize, 0usize); t];
        let mut results = [None; N];
        // SAFETY: one block of each rank, and room for all of them; blocks of
        // numbers are as long as the bounds say. Peers compare the call and the
        // step.
        unsafe {
            let (from, to) = ((&raw const bounds).cast(), all_bounds.as_mut_ptr().cast());
            node.step(Operation::AllGather, 0, Partition::Equal(1), &of_bounds, from, to);
            let count = |b: &Bounds| Partial::<T>::len_between(*b) * N;
            let counts: Vec<usize> = all_bounds.iter().map(count).collect();
            let begins = starts(counts.iter().copied());
            let leader = node.is_leader();
            let memory = match leader {
                true => node.memory(0, begins[t] * size_of::<T>(), &kernel),
                false => std::ptr::null_mut(),
            };
            let from = numbers.as_ptr().cast();
            node.step(Operation::Gather, 0, Partition::Varied(&counts), &kernel, from, memory);
            if leader {
                let memory = super::blocks::non_null(memory, &kernel);
                let values = std::slice::from_raw_parts(memory.cast::<T>(), begins[t]);
                let of = |l: usize| &values[begins[l]..][..counts[l]];
                let parts = (0..t).map(|l| put_together(all_bounds[l], of(l), N)).collect();
                let ranks = layout.members(node.node()).to_vec();
                let own = node.joined(parts, op, &|l| ranks[l]);
                node.join_nodes(own, op, &mut results);
            }
            let of_results = Kernel::mover::<Option<T>>();
            let (cut, to) = (Partition::Vector(N), results.as_mut_ptr().cast());
            node.step(Operation::Broadcast, 0, cut, &of_results, std::ptr::null(), to);
        }
        results
    }

    /// The same on ranks that are not in the order of nodes: everybody joins all.
    #[track_caller]
    fn whole_apart<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        sig: &'static Signature,
        at: &'static Location<'static>,
        parts: Vec<Partial<T>>,
        op: &O,
    ) -> [Option<T>; N] {
        let p = self.size();
        let (bounds, numbers) = taken_apart(&parts);
        let mut all = vec![Ends((0, 0)); p];
        self.all_gather_into(&[Ends(bounds)], &mut all);
        let all: Vec<Bounds> = all.into_iter().map(|Ends(bounds)| bounds).collect();
        let counts: Vec<usize> = all.iter().map(|&b| Partial::<T>::len_between(b) * N).collect();
        let begins = starts(counts.iter().copied());
        let mut values = vec![RawValue::<T>(MaybeUninit::uninit()); begins[p]];
        // SAFETY: as elements that may be uninitialised.
        let numbers = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) };
        self.all_gather_varied_into::<RawValue<T>>(numbers, &mut values, &counts);
        // SAFETY: all have been received, and every rank has sent numbers: nobody
        // else has a `RawValue` to send.
        let values = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<T>(), begins[p]) };
        let parts = (0..p).map(|r| put_together(all[r], &values[begins[r]..][..counts[r]], N));
        match join_all(parts.collect(), op) {
            Ok(whole) => std::array::from_fn(|k| whole[k].result(op)),
            Err((rank, expected, got)) => {
                let what = does_not_follow(rank, expected, got);
                self.wrong(sig, at, N, what);
                self.nothing_to_return()
            }
        }
    }
}

fn does_not_follow(rank: usize, expected: usize, got: usize) -> String {
    format!("rank {rank}'s part begins at {got}; the ones before it end at {expected}")
}

impl super::LocalStep<'_> {
    /// Joins the parts of this node's ranks, or of nodes.
    fn joined<T: Element>(
        &mut self,
        parts: Vec<Vec<Partial<T>>>,
        op: &impl Operator<T>,
        rank: &dyn Fn(usize) -> usize,
    ) -> Vec<Partial<T>> {
        match join_all(parts, op) {
            Ok(whole) => whole,
            Err((i, expected, got)) => {
                let what = does_not_follow(rank(i), expected, got);
                self.fail(&what)
            }
        }
    }

    /// On leaders: joins all nodes' parts.
    fn join_nodes<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        own: Vec<Partial<T>>,
        op: &O,
        results: &mut [Option<T>; N],
    ) {
        let (layout, node) = (self.layout(), self.node());
        let nodes = layout.nodes();
        let (bounds, numbers) = taken_apart(&own);
        let mut all = vec![(0usize, 0usize); nodes];
        all[node] = bounds;
        let counts = vec![size_of::<Bounds>(); nodes];
        self.agree_while(Some(Transfer::AllGather {
            all: all.as_mut_ptr().cast(),
            counts: &counts,
        }));
        let counts: Vec<usize> =
            all.iter().map(|&b| Partial::<T>::len_between(b) * N * size_of::<T>()).collect();
        let begins = starts(counts.iter().map(|bytes| bytes / size_of::<T>().max(1)));
        let total: usize = counts.iter().sum();
        let kernel = Kernel::mover::<T>();
        let memory = self.memory(1, total.max(1), &kernel);
        // SAFETY: there is room for every node's numbers; all are received before
        // they are looked at.
        let values = unsafe {
            let mine = memory.wrapping_add(begins[node] * size_of::<T>());
            kernel.copy(mine, numbers.as_ptr().cast(), numbers.len());
            self.transfer(Transfer::AllGather { all: memory, counts: &counts });
            std::slice::from_raw_parts(memory.cast::<T>(), begins[nodes])
        };
        let of = |j: usize| put_together(all[j], &values[begins[j]..begins[j + 1]], N);
        let parts = (0..nodes).map(of).collect();
        let whole = self.joined(parts, op, &|j| layout.members(j)[0]);
        *results = std::array::from_fn(|k| whole[k].result(op));
    }
}
