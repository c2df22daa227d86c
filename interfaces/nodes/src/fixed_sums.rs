//! Reductions of vectors that are spread over several nodes, with the same bits for every number of
//! ranks: each node joins its ranks' parts into one, where those follow one another, and sends
//! that.

use crate::call::NodeCall;
use crate::layout::starts;
use crate::node_comm::{NodeComm, of_comm};
use crate::steps::{Move, Steps, room, set, unset};
use phalanx::Element;
use phalanx::engine::{self, JoinsParts, Partial};
use phalanx::op::{Operator, Sum};
use std::ops::Mul;

/// Where a part begins and ends.
type Bounds = (usize, usize);

/// Parts of `N` vectors that are cut alike.
type Parts<T> = Vec<Partial<T>>;

fn bounds_of<T: Element>(parts: &Parts<T>) -> Bounds {
    parts.first().map_or((0, 0), Partial::bounds)
}

fn numbers<T: Element>(parts: &Parts<T>) -> Vec<T> {
    parts.iter().flat_map(Partial::numbers).collect()
}

/// How many numbers `n` parts between these bounds have.
fn count<T: Element>(bounds: &Bounds, n: usize) -> usize {
    Partial::<T>::len_between(*bounds) * n
}

/// The parts with these numbers, one after the other.
fn put_together<T: Element>(all: &[Bounds], numbers: &[T], n: usize) -> Vec<Parts<T>> {
    let mut rest = numbers;
    let mut one = |bounds: &Bounds| {
        let each = Partial::<T>::len_between(*bounds);
        let part = |_| {
            let (own, behind) = rest.split_at(each);
            rest = behind;
            Partial::from_numbers(*bounds, own)
        };
        (0..n).map(part).collect()
    };
    all.iter().map(&mut one).collect()
}

impl Steps<'_> {
    /// Joins parts, of rank `rank(i)` and those behind it each.
    fn join_all<T: Element>(
        &mut self,
        parts: Vec<Parts<T>>,
        op: &impl Operator<T>,
        rank: &dyn Fn(usize) -> usize,
    ) -> Parts<T> {
        let mut parts = parts.into_iter().enumerate();
        let (_, mut all) = parts.next().expect("a part of every rank");
        for (i, next) in parts {
            let joined = all.iter().zip(&next).map(|(a, b)| a.join(b, op)).collect();
            all = match joined {
                Ok(joined) => joined,
                Err((end, begin)) => self.fail(&format!(
                    "rank {}'s part begins at {begin}; the ones before it end at {end}",
                    rank(i)
                )),
            };
        }
        all
    }

    /// On leaders: joins all nodes' parts, one of each, or, where these are not in the order of
    /// ranks, one of each rank.
    fn join_nodes<T: Element>(
        &mut self,
        own: Vec<Parts<T>>,
        op: &impl Operator<T>,
        n: usize,
    ) -> Parts<T> {
        let (layout, node, apart) = (self.layout(), self.node(), !self.layout().is_contiguous());
        let each: Vec<usize> = match apart {
            true => layout.sizes().collect(),
            false => vec![1; layout.nodes()],
        };
        let begins = starts(each.iter().copied());
        let mut bounds = vec![(0, 0); begins[layout.nodes()]];
        for (to, parts) in bounds[begins[node]..].iter_mut().zip(&own) {
            *to = bounds_of(parts);
        }
        self.agree_and(Move::AllGather { all: &mut bounds, counts: &each });
        let of_node = |j: usize| bounds[begins[j]..begins[j + 1]].iter();
        let counts: Vec<usize> =
            (0..layout.nodes()).map(|j| of_node(j).map(|it| count::<T>(it, n)).sum()).collect();
        let mut values = unset(counts.iter().sum());
        let mine: Vec<T> = own.iter().flat_map(numbers).collect();
        let begin: usize = counts[..node].iter().sum();
        values[begin..][..mine.len()].copy_from_slice(room(&mine));
        self.carry(None, Move::AllGather { all: &mut values, counts: &counts });
        // SAFETY: all nodes' have been received.
        let parts = put_together(&bounds, unsafe { set(&values) }, n);
        let ranks: Vec<usize> = match apart {
            true => layout.by_node().collect(),
            false => (0..layout.nodes()).map(|j| layout.members(j)[0]).collect(),
        };
        let mut in_order: Vec<_> = ranks.into_iter().zip(parts).collect();
        in_order.sort_by_key(|(rank, _)| *rank);
        let (ranks, parts): (Vec<usize>, Vec<_>) = in_order.into_iter().unzip();
        self.join_all(parts, op, &|i| ranks[i])
    }
}

impl JoinsParts for Steps<'_> {
    fn rank(&self) -> usize {
        self.group.rank
    }

    #[track_caller]
    fn joined<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        own: [Partial<T>; N],
        op: &O,
    ) -> [Option<T>; N] {
        let parts = Vec::from(own);
        let (layout, t, own) = (self.layout(), self.comm.size(), numbers(&parts));
        let mut bounds = vec![(0, 0); t];
        self.comm.all_gather_into(&[bounds_of(&parts)], &mut bounds);
        let counts: Vec<usize> = bounds.iter().map(|it| count::<T>(it, N)).collect();
        let mut values = unset(if self.is_leader() { counts.iter().sum() } else { 0 });
        self.comm.gather_varied_into(room(&own), &mut values, &counts, 0);
        let mut results = [None; N];
        if self.is_leader() {
            // SAFETY: all have been received.
            let mut parts = put_together(&bounds, unsafe { set(&values) }, N);
            let ranks = layout.members(self.node());
            if layout.is_contiguous() {
                parts = vec![self.join_all(parts, op, &|i| ranks[i])];
            }
            let whole = self.join_nodes(parts, op, N);
            results = std::array::from_fn(|k| whole[k].result(op));
        }
        self.comm.broadcast(&mut results, 0);
        results
    }

    fn refuse(&mut self, _: usize, what: String) -> ! {
        Steps::refuse(self, what)
    }
}

impl NodeComm<'_> {
    #[doc = of_comm!("fixed_sum",
        "let sums = phalanx_nodes::run(2, |comm| comm.fixed_sum(&[1.0; 3], 3 * comm.rank()))?;",
        "assert_eq!(sums, [6.0; 2]);")]
    ///
    /// **Cost** the work on the part, and two all-gathers of a few hundred elements of each node.
    #[track_caller]
    pub fn fixed_sum<T: Element>(&mut self, mine: &[T], offset: usize) -> T
    where
        Sum: Operator<T>,
    {
        let call = NodeCall::of::<T>("fixed_sum", 1).by::<T, Sum>();
        if let Some(mut steps) = self.steps(call) {
            return engine::fixed_sum(&mut steps, mine, offset);
        }
        self.here().fixed_sum(mine, offset)
    }

    #[doc = of_comm!("fixed_dot",
        "let x = [1.0, 2.0];",
        "let dots = phalanx_nodes::run(2, |comm| comm.fixed_dot(&x, &x, 2 * comm.rank()))?;",
        "assert_eq!(dots, [10.0; 2]);")]
    #[track_caller]
    pub fn fixed_dot<T>(&mut self, x: &[T], y: &[T], offset: usize) -> T
    where
        T: Element + Mul<Output = T>,
        Sum: Operator<T>,
    {
        let [dot] = self.dots("fixed_dot", [(x, y)], offset);
        dot
    }

    #[doc = of_comm!("fixed_dots",
        "let x = [1.0, 2.0];",
        "let out = phalanx_nodes::run(2, |comm| comm.fixed_dots([(&x, &x); 2], 2 * comm.rank()))?;",
        "assert_eq!(out, [[10.0; 2]; 2]);")]
    #[track_caller]
    pub fn fixed_dots<T, const N: usize>(
        &mut self,
        pairs: [(&[T], &[T]); N],
        offset: usize,
    ) -> [T; N]
    where
        T: Element + Mul<Output = T>,
        Sum: Operator<T>,
    {
        self.dots("fixed_dots", pairs, offset)
    }

    #[track_caller]
    fn dots<T, const N: usize>(
        &mut self,
        name: &'static str,
        pairs: [(&[T], &[T]); N],
        offset: usize,
    ) -> [T; N]
    where
        T: Element + Mul<Output = T>,
        Sum: Operator<T>,
    {
        let call = NodeCall::of::<T>(name, N).meets("fixed_dots").by::<T, Sum>();
        if let Some(mut steps) = self.steps(call.with("number of pairs", N)) {
            return engine::fixed_dots(&mut steps, pairs, offset);
        }
        self.here().fixed_dots(pairs, offset)
    }

    #[doc = of_comm!("fixed_reduce",
        "use phalanx::op;",
        "let out = phalanx_nodes::run(2, |comm| comm.fixed_reduce(&[7], op::Max, comm.rank()))?;",
        "assert_eq!(out, [Some(7); 2]);")]
    #[track_caller]
    pub fn fixed_reduce<T: Element, O: Operator<T>>(
        &mut self,
        mine: &[T],
        op: O,
        offset: usize,
    ) -> Option<T> {
        if let Some(mut steps) = self.steps(NodeCall::of::<T>("fixed_reduce", 1).by::<T, O>()) {
            return engine::fixed_reduce(&mut steps, mine, &op, offset);
        }
        self.here().fixed_reduce(mine, op, offset)
    }
}
