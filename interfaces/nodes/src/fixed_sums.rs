//! Reductions of vectors that are spread over several nodes, with the same bits for every number of
//! ranks: each node joins its ranks' parts into one, where those follow one another, and sends
//! that.

use crate::call::NodeCall;
use crate::layout::starts;
use crate::node_comm::{NodeComm, of_comm};
use crate::steps::{Move, Steps, room, set, unset};
use phalanx::Element;
use phalanx::engine::{self, Accumulating, Accumulation, FloatControl, Partial};
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
    fn joined<T: Element>(
        &mut self,
        parts: Vec<Parts<T>>,
        op: &impl Operator<T>,
        rank: &dyn Fn(usize) -> usize,
    ) -> Parts<T> {
        let mut parts = parts.into_iter().enumerate();
        let (_, mut all) = parts.next().expect("a part of every rank");
        for (i, next) in parts {
            let join = || all.iter().zip(&next).map(|(a, b)| a.join(b, op)).collect();
            let joined = FloatControl::STANDARD.during(join);
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

    #[track_caller]
    fn whole<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        parts: Parts<T>,
        op: &O,
    ) -> [Option<T>; N] {
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
                parts = vec![self.joined(parts, op, &|i| ranks[i])];
            }
            let whole = self.join_nodes(parts, op, N);
            let result = || std::array::from_fn(|k| whole[k].result(op));
            results = FloatControl::STANDARD.during(result);
        }
        self.comm.broadcast(&mut results, 0);
        results
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
            true => layout.by_node().copied().collect(),
            false => (0..layout.nodes()).map(|j| layout.members(j)[0]).collect(),
        };
        let mut in_order: Vec<_> = ranks.into_iter().zip(parts).collect();
        in_order.sort_by_key(|(rank, _)| *rank);
        let (ranks, parts): (Vec<usize>, Vec<_>) = in_order.into_iter().unzip();
        self.joined(parts, op, &|i| ranks[i])
    }

    /// The results of the vectors in `all`, with the partial results of `S`; `widen` makes an
    /// element of a vector one, and `make` a part.
    #[track_caller]
    fn fixed_of<T, O, S, X: Copy, const N: usize>(
        &mut self,
        (all, offset): ([X; N], usize),
        (op, accumulation): (O, S),
        len: impl Fn(X) -> usize,
        widen: impl Fn(X, usize) -> S::Wide,
        make: impl Fn(X) -> Partial<T>,
    ) -> [Option<T>; N]
    where
        T: Element,
        O: Operator<T> + Copy,
        S: Accumulation<T, O>,
    {
        let n = all.first().map_or(0, |&x| len(x));
        if !S::IS_WIDE {
            return self.fixed(n, offset, &op, || all.map(make));
        }
        let op = Accumulating::new(op, &accumulation);
        let make = |x| {
            let widened = || (0..n).map(|i| widen(x, i)).collect();
            let wide: Vec<S::Wide> = FloatControl::STANDARD.during(widened);
            engine::partial(&wide, offset, &op)
        };
        let results = self.fixed(n, offset, &op, || all.map(make));
        FloatControl::STANDARD.during(|| results.map(|it| it.map(S::round)))
    }

    /// The result of a vector.
    #[track_caller]
    fn fixed_reduce<T: Element, O: Operator<T>>(
        &mut self,
        mine: &[T],
        op: &O,
        offset: usize,
    ) -> Option<T> {
        fn by<T: Element, O: Operator<T> + Copy, S: Accumulation<T, O>>(
            steps: &mut Steps<'_>,
            (mine, offset): (&[T], usize),
            (op, accumulation): (O, S),
        ) -> Option<T> {
            let widen = |x: &[T], i| S::widen(x[i]);
            let make = |x: &[T]| engine::partial(x, offset, &op);
            let of = (op, accumulation);
            let [result] = steps.fixed_of(([mine], offset), of, <[T]>::len, widen, make);
            result
        }
        by(self, (mine, offset), (op, <&O as Operator<T>>::accumulation()))
    }

    /// The dot products of pairs of vectors.
    #[track_caller]
    fn fixed_dots<T, const N: usize>(
        &mut self,
        pairs: [(&[T], &[T]); N],
        offset: usize,
    ) -> [Option<T>; N]
    where
        T: Element + Mul<Output = T>,
        Sum: Operator<T>,
    {
        fn by<T: Element + Mul<Output = T>, S: Accumulation<T, Sum>, const N: usize>(
            steps: &mut Steps<'_>,
            pairs: [(&[T], &[T]); N],
            offset: usize,
            accumulation: S,
        ) -> [Option<T>; N]
        where
            Sum: Operator<T>,
        {
            let widen = |(x, y): (&[T], &[T]), i| S::product(x[i], y[i]);
            let make = |(x, y): (&[T], &[T])| engine::partial_of_products(x, y, offset, &Sum);
            let of = (Sum, accumulation);
            steps.fixed_of((pairs, offset), of, |(x, _)| x.len(), widen, make)
        }
        by(self, pairs, offset, <Sum as Operator<T>>::accumulation())
    }

    /// Checks where a vector's part begins; the parts that `make` makes are joined.
    #[track_caller]
    fn fixed<T: Element, O: Operator<T>, const N: usize>(
        &mut self,
        len: usize,
        offset: usize,
        op: &O,
        make: impl FnOnce() -> [Partial<T>; N],
    ) -> [Option<T>; N] {
        if self.group.rank == 0 && offset != 0 {
            let what = format!("`offset` is {offset}; on rank 0, where the vector begins, it is 0");
            self.refuse(what);
        }
        // Room for the block that an end lies in.
        if offset.checked_add(len).and_then(|end| end.checked_add(1 << 16)).is_none() {
            self.refuse(format!("{len} elements from {offset} on are too many"));
        }
        self.whole(make().into(), op)
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
            let sum = steps.fixed_reduce(mine, &Sum, offset);
            return steps.or_zero(sum);
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

    /// [`Comm::fixed_dots`](phalanx::Comm::fixed_dots) of all nodes' ranks.
    ///
    /// ```
    /// let x = [1.0, 2.0];
    /// let dots = phalanx_nodes::run(2, |comm| comm.fixed_dots([(&x, &x); 2], 2 * comm.rank()))?;
    /// assert_eq!(dots, [[10.0; 2]; 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
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
        let call = call.with("number of pairs", N);
        if let Some(mut steps) = self.steps(call) {
            let n = pairs.first().map_or(0, |(x, _)| x.len());
            for other in pairs.iter().flat_map(|(x, y)| [x.len(), y.len()]) {
                steps.check_len("a vector of a dot product", other, Some(n));
            }
            let dots = steps.fixed_dots(pairs, offset);
            return dots.map(|dot| steps.or_zero(dot));
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
        let call = NodeCall::of::<T>("fixed_reduce", 1).by::<T, O>();
        if let Some(mut steps) = self.steps(call) {
            return steps.fixed_reduce(mine, &op, offset);
        }
        self.here().fixed_reduce(mine, op, offset)
    }
}

impl Steps<'_> {
    /// The sum of nothing is the identity.
    fn or_zero<T: Element>(&mut self, sum: Option<T>) -> T
    where
        Sum: Operator<T>,
    {
        match sum.or_else(|| Sum.identity()) {
            Some(sum) => sum,
            None => self.refuse("no elements on any rank, and the sum has no identity".into()),
        }
    }
}
