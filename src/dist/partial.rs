//! Reductions with a result that does not depend on the distribution of the elements.
//!
//! # The definition
//! A vector of N elements is cut into blocks of [`BLOCK`] by *global* index. A
//! block's elements are combined in one order ([`leaf`]), the blocks' results by
//! the balanced tree of [`Order::Fixed`](crate::Order::Fixed) over the blocks'
//! numbers. Nothing in it knows of ranks.
//!
//! # The contribution of a part
//! Elements `start..end` know the results of all subtrees that lie inside, of
//! which the largest are kept (at most two of each height), and of the blocks at
//! the two ends, which may be cut, the elements:
//!
//! ```text
//!   blocks      |   0   |   1   |   2   |   3   |   4   |   5   |   6 ..
//!   the part            .....xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
//!   kept                head  (2 3) (4) and           tail
//! ```
//!
//! Two parts of which one follows the other make the part of both: the left
//! tail and the right head complete a block, and neighbouring subtrees a larger
//! one. That is associative to the last bit; so ranks may join their parts in any
//! grouping, on one machine or between several.

use crate::element::Element;
use crate::op::{Accumulation, Operator};
use std::marker::PhantomData;
use std::ops::Range;

/// Elements of a block; part of the definition, as is the next.
pub(crate) const BLOCK: usize = 256;

/// Interleaved partial results of a block: enough to keep eight vector
/// registers of two doubles busy.
pub(crate) const LANES: usize = 16;

/// Elements above this many bytes get their lanes on the heap: [`LANES`] of them may be more than
/// a thread's stack.
const ON_STACK: usize = 256;

/// Where a reduction gets its elements from.
pub(crate) trait Values<T: Element> {
    fn len(&self) -> usize;
    fn at(&self, i: usize) -> T;

    /// Element `i` as a partial result.
    #[inline(always)]
    fn wide<O, S: Accumulation<T, O>>(&self, i: usize) -> S::Wide {
        S::widen(self.at(i))
    }

    /// The lanes of the elements at `at`, at least one row of [`LANES`] and whole ones, into
    /// `sums`; of a block that has `begun`, combined onto them.
    fn rows(&self, at: Range<usize>, op: &impl Operator<T>, sums: &mut [T; LANES], begun: bool);

    /// The lanes of whole blocks, from element `first` on.
    #[inline(always)]
    fn rows_of_blocks(&self, first: usize, op: &impl Operator<T>, sums: &mut [[T; LANES]]) {
        for (first, sums) in (first..).step_by(BLOCK).zip(sums) {
            self.rows(first..first + BLOCK, op, sums, false);
        }
    }
}

impl<T: Element> Values<T> for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline(always)]
    fn at(&self, i: usize) -> T {
        self[i]
    }

    #[inline(always)]
    fn rows(&self, at: Range<usize>, op: &impl Operator<T>, sums: &mut [T; LANES], begun: bool) {
        let (rows, _) = self[at].as_chunks::<LANES>();
        // A copy, which the compiler keeps in registers.
        let (mut all, rest) = if begun { (*sums, rows) } else { (rows[0], &rows[1..]) };
        for row in rest {
            for (sum, &x) in all.iter_mut().zip(row) {
                *sum = op.combine(*sum, x);
            }
        }
        *sums = all;
    }
}

/// The products of two vectors' elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Products<'a, T>(pub(crate) &'a [T], pub(crate) &'a [T]);

impl<T: Element + std::ops::Mul<Output = T>> Values<T> for Products<'_, T> {
    fn len(&self) -> usize {
        self.0.len().min(self.1.len())
    }

    #[inline(always)]
    fn at(&self, i: usize) -> T {
        self.0[i] * self.1[i]
    }

    #[inline(always)]
    fn wide<O, S: Accumulation<T, O>>(&self, i: usize) -> S::Wide {
        S::product(self.0[i], self.1[i])
    }

    #[inline(always)]
    fn rows(&self, at: Range<usize>, op: &impl Operator<T>, sums: &mut [T; LANES], begun: bool) {
        let (mut xs, _) = self.0[at.clone()].as_chunks::<LANES>();
        let (mut ys, _) = self.1[at].as_chunks::<LANES>();
        let mut all = *sums;
        if !begun {
            all = xs[0];
            all.iter_mut().zip(&ys[0]).for_each(|(x, &y)| *x = *x * y);
            (xs, ys) = (&xs[1..], &ys[1..]);
        }
        for (x, y) in xs.iter().zip(ys) {
            for k in 0..LANES {
                all[k] = op.combine(all[k], x[k] * y[k]);
            }
        }
        *sums = all;
    }
}

/// Elements as the partial results of an operator `O`.
pub(crate) struct Widened<V, T, O, S>(V, PhantomData<(T, O, S)>);

impl<V, T, O, S> Widened<V, T, O, S> {
    pub(crate) fn new(values: V) -> Self {
        Widened(values, PhantomData)
    }
}

impl<T: Element, O, S: Accumulation<T, O>, V: Values<T>> Values<S::Wide> for Widened<V, T, O, S> {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn at(&self, i: usize) -> S::Wide {
        self.0.wide::<O, S>(i)
    }

    #[inline(always)]
    fn rows(
        &self,
        at: Range<usize>,
        op: &impl Operator<S::Wide>,
        sums: &mut [S::Wide; LANES],
        begun: bool,
    ) {
        let mut rows = at.step_by(LANES);
        let mut all = *sums;
        if !begun && let Some(first) = rows.next() {
            all = std::array::from_fn(|k| self.at(first + k));
        }
        for row in rows {
            for (k, sum) in all.iter_mut().enumerate() {
                *sum = op.combine(*sum, self.at(row + k));
            }
        }
        *sums = all;
    }
}

/// Combines elements `first..first + n`, `n > 0`, of a block, as
/// [`OpenBlock`](super::open_block::OpenBlock) does.
#[inline(always)]
pub(super) fn leaf<T: Element, O: Operator<T>>(
    x: &impl Values<T>,
    first: usize,
    n: usize,
    op: &O,
) -> T {
    if !O::COMMUTATIVE || n < LANES {
        return (first + 1..first + n).fold(x.at(first), |sum, i| op.combine(sum, x.at(i)));
    }
    if const { size_of::<T>() > ON_STACK } {
        return leaf_of_large(x, first, n, op);
    }
    let (mut sums, rows) = ([x.at(first); LANES], n / LANES * LANES);
    x.rows(first..first + rows, op, &mut sums, false);
    for (sum, i) in sums.iter_mut().zip(rows..n) {
        *sum = op.combine(*sum, x.at(first + i));
    }
    halve(&mut sums, op);
    sums[0]
}

/// [`leaf`] of at least [`LANES`] elements, in the same order, with the lanes on the heap.
#[inline(never)]
fn leaf_of_large<T: Element, O: Operator<T>>(
    x: &impl Values<T>,
    first: usize,
    n: usize,
    op: &O,
) -> T {
    let mut sums: Vec<T> = (first..first + LANES).map(|i| x.at(i)).collect();
    for i in LANES..n {
        let sum = &mut sums[i % LANES];
        *sum = op.combine(*sum, x.at(first + i));
    }
    halve(&mut sums, op);
    sums[0]
}

/// Combines the upper half of the lanes onto the lower, until one is left.
#[inline(always)]
pub(super) fn halve<T: Element>(sums: &mut [T], op: &impl Operator<T>) {
    let mut half = LANES / 2;
    while half > 0 {
        for k in 0..half {
            sums[k] = op.combine(sums[k], sums[k + half]);
        }
        half /= 2;
    }
}

/// A subtree's result: blocks `index << height ..` of `1 << height` blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Root<T> {
    pub(super) index: usize,
    pub(super) height: u32,
    pub(super) value: T,
}

/// The largest subtrees inside of elements `start..end`: first block and height.
pub(super) fn heights(start: usize, end: usize) -> impl Iterator<Item = (usize, u32)> {
    let mut block = start.div_ceil(BLOCK);
    let last = end / BLOCK;
    std::iter::from_fn(move || {
        let left = last.checked_sub(block).filter(|&left| left > 0)?;
        let (first, height) = (block, block.trailing_zeros().min(left.ilog2()));
        block += 1 << height;
        Some((first, height))
    })
}

/// Adds a subtree behind the others, and completes the trees that it completes.
#[inline(always)]
pub(super) fn push<T: Element>(roots: &mut Vec<Root<T>>, mut root: Root<T>, op: &impl Operator<T>) {
    while let Some(&left) = roots.last()
        && left.height == root.height
        && root.index % 2 == 1
    {
        roots.pop();
        let value = op.combine(left.value, root.value);
        root = Root { index: root.index / 2, height: root.height + 1, value };
    }
    roots.push(root);
}

/// The largest subtrees of the blocks from `x`'s element `first` on, with which one begins; and the
/// first element behind them.
pub(super) fn blocks<T: Element, O: Operator<T>>(
    x: &impl Values<T>,
    start: usize,
    first: usize,
    op: &O,
) -> (Vec<Root<T>>, usize) {
    let (mut roots, mut i) = (vec![], first);
    let last = first + (x.len() - first) / BLOCK * BLOCK;
    let mut add = |i: usize, value| {
        push(&mut roots, Root { index: (start + i) / BLOCK, height: 0, value }, op);
    };
    if O::COMMUTATIVE && const { size_of::<T>() <= SMALL } && i < last {
        several_blocks(x, i, last, op, &mut add);
        i = last;
    }
    while i < last {
        add(i, leaf(x, i, BLOCK, op));
        i += BLOCK;
    }
    (roots, i)
}

/// Bytes of the elements of which several blocks' lanes are kept at once.
const SMALL: usize = 32;

/// The results of the blocks from element `first` on, up to `last`, several by one call: the next
/// block's elements come while the lanes of one are joined.
#[cfg_attr(not(debug_assertions), inline(always))]
fn several_blocks<T: Element>(
    x: &impl Values<T>,
    first: usize,
    last: usize,
    op: &impl Operator<T>,
    mut add: impl FnMut(usize, T),
) {
    const MANY: usize = 4;
    let (mut lanes, mut i) = ([[x.at(first); LANES]; MANY], first);
    while i < last {
        let lanes = &mut lanes[..MANY.min((last - i) / BLOCK)];
        x.rows_of_blocks(i, op, lanes);
        for lanes in lanes {
            halve(lanes, op);
            add(i, lanes[0]);
            i += BLOCK;
        }
    }
}

/// The result of a whole vector. The last block may be short; a tree that stands alone on its level
/// joins the smallest tree on its left that has a place for it.
pub(super) fn total<T: Element>(
    roots: &[Root<T>],
    last: Option<T>,
    op: &impl Operator<T>,
) -> Option<T> {
    let roots = roots.iter().rev().map(|root| root.value);
    last.into_iter().chain(roots).reduce(|right, left| op.combine(left, right))
}

/// The contribution of elements `start..end` of a vector to a reduction in fixed order: a few
/// numbers, which can be sent, and joined with those of the elements before and after.
///
/// # Examples
/// ```
/// use phalanx::engine::{Partial, partial};
/// use phalanx::op::Sum;
/// let x: Vec<f64> = (0..1000).map(|i| 0.1 * i as f64).collect();
/// let whole = partial(&x, 0, &Sum).result(&Sum);
/// // Two ranks' parts, of which one comes over a network.
/// let (left, right) = (partial(&x[..700], 0, &Sum), partial(&x[700..], 700, &Sum));
/// let (bounds, numbers): (_, Vec<f64>) = (right.bounds(), right.numbers().collect());
/// assert_eq!(numbers.len(), Partial::<f64>::len_between(bounds));
/// let both = left.join(&Partial::from_numbers(bounds, &numbers), &Sum).unwrap();
/// assert_eq!(both.result(&Sum), whole); // to the last bit
/// assert_eq!(right.join(&left, &Sum), Err((1000, 0)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Partial<T> {
    start: usize,
    end: usize,
    /// Elements before the first beginning of a block.
    head: Vec<T>,
    /// The largest subtrees inside, from left to right.
    roots: Vec<Root<T>>,
    /// Elements behind the last end of a block, if that is not before `start`.
    tail: Vec<T>,
}

impl<T: Element> Partial<T> {
    /// The contribution of `x`; its first element has the global index `start`, the last one's
    /// is at most `usize::MAX - BLOCK`.
    pub(crate) fn new(x: &impl Values<T>, start: usize, op: &impl Operator<T>) -> Self {
        let n = x.len();
        let end = start + n;
        let first = start.next_multiple_of(BLOCK).min(end) - start;
        let list = |range: std::ops::Range<usize>| range.map(|i| x.at(i)).collect();
        let (roots, last) = blocks(x, start, first, op);
        Partial { start, end, head: list(0..first), roots, tail: list(last..n) }
    }

    /// The contribution of both parts, of which `right` must follow.
    ///
    /// # Errors
    /// Where `right` should begin and where it does.
    pub fn join(&self, right: &Self, op: &impl Operator<T>) -> Result<Self, (usize, usize)> {
        if self.end != right.start {
            return Err((self.end, right.start));
        }
        // One more than both have: a completed block.
        let mut roots = Vec::with_capacity(self.roots.len() + right.roots.len() + 1);
        roots.extend_from_slice(&self.roots);
        let (head, tail) = (self.head.clone(), self.tail.clone());
        let mut both = Partial { start: self.start, end: right.end, head, roots, tail };
        if !self.start.is_multiple_of(BLOCK) && self.end < self.start.next_multiple_of(BLOCK) {
            // Still in the block that begins before this part.
            both.head.extend_from_slice(&right.head);
        } else {
            both.tail.extend_from_slice(&right.head);
        }
        if both.tail.len() == BLOCK {
            let index = self.end / BLOCK;
            let value = leaf(&&both.tail[..], 0, BLOCK, op);
            both.tail.clear();
            push(&mut both.roots, Root { index, height: 0, value }, op);
        }
        right.roots.iter().for_each(|&root| push(&mut both.roots, root, op));
        both.tail.extend_from_slice(&right.tail);
        Ok(both)
    }

    /// Where it begins and ends, if it is nothing but subtrees.
    pub(crate) fn bare(&self) -> Option<(usize, usize)> {
        (self.head.is_empty() && self.tail.is_empty()).then_some((self.start, self.end))
    }

    /// The subtrees' results, from left to right.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = T> {
        self.roots.iter().map(|root| root.value)
    }

    /// How many values a bare contribution with these bounds has.
    pub(crate) fn values_between(start: usize, end: usize) -> usize {
        heights(start, end).count()
    }

    /// A bare contribution, from the numbers that [`bare`](Partial::bare) and
    /// [`values`](Partial::values) say; none if there are not as many values.
    pub(crate) fn from_values(
        (start, end): (usize, usize),
        values: impl IntoIterator<Item = T>,
    ) -> Option<Self> {
        let mut values = values.into_iter();
        let root = |(block, height)| {
            values.next().map(|value| Root { index: block >> height, height, value })
        };
        let roots = heights(start, end).map(root).collect::<Option<Vec<_>>>()?;
        Some(Partial { start, end, head: vec![], roots, tail: vec![] })
    }

    /// Where it begins and ends.
    pub fn bounds(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    /// Elements of the head, subtrees and elements of the tail of a contribution
    /// with these bounds, on which nothing else depends.
    fn lens((start, end): (usize, usize)) -> [usize; 3] {
        let first = start.next_multiple_of(BLOCK).min(end);
        let last = (end / BLOCK * BLOCK).max(first);
        [first - start, heights(start, end).count(), end - last]
    }

    /// How many numbers a contribution with these bounds is.
    pub fn len_between(bounds: (usize, usize)) -> usize {
        Self::lens(bounds).iter().sum()
    }

    /// All of it but the bounds: [`len_between`](Partial::len_between) numbers.
    pub fn numbers(&self) -> impl Iterator<Item = T> {
        let (head, tail) = (self.head.iter().copied(), self.tail.iter().copied());
        head.chain(self.roots.iter().map(|root| root.value)).chain(tail)
    }

    /// The contribution that [`bounds`](Partial::bounds) and
    /// [`numbers`](Partial::numbers) describe; `numbers` are as many as there must be.
    pub fn from_numbers(bounds: (usize, usize), numbers: &[T]) -> Self {
        let (start, end) = bounds;
        let [head, roots, _] = Self::lens(bounds);
        let (head, rest) = numbers.split_at(head);
        let (roots, tail) = rest.split_at(roots);
        let places = heights(start, end).zip(roots);
        let root = |((block, height), &value)| Root { index: block >> height, height, value };
        let roots = places.map(root).collect();
        Partial { start, end, head: head.to_vec(), roots, tail: tail.to_vec() }
    }

    /// The result, if this is the contribution of a whole vector; none if that
    /// is empty.
    pub fn result(&self, op: &impl Operator<T>) -> Option<T> {
        debug_assert_eq!(self.start, 0);
        let last = (!self.tail.is_empty()).then(|| leaf(&&self.tail[..], 0, self.tail.len(), op));
        total(&self.roots, last, op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op;
    use crate::order::by_levels;
    use std::cell::Cell;

    /// Numbers of very different sizes: their sum depends on the order.
    fn x(i: usize) -> f64 {
        let h = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let size = [1e16, -1e16, 1.0, 1e-8, 3e8][(h >> 33) as usize % 5];
        size * ((h >> 40) as f64 / (1 << 24) as f64 + 0.5)
    }

    /// The definition, without parts.
    fn defined<T: Element, O: Operator<T>>(x: &[T], op: &O) -> Option<T> {
        let leaves: Vec<T> = x.chunks(BLOCK).map(|b| leaf(&b, 0, b.len(), op)).collect();
        let n = leaves.len();
        let waiting: Vec<Cell<T>> = leaves.iter().map(|x| Cell::new(*x)).collect();
        (n > 0).then(|| by_levels(n, &waiting, |_, i| leaves[i], |_, a, b| op.combine(a, b)))
    }

    fn cut<T: Element, O: Operator<T>>(x: &[T], cuts: &[usize], op: &O) -> Vec<Partial<T>> {
        let ends = cuts.iter().copied().chain([x.len()]);
        let mut from = 0;
        ends.map(|to| {
            let part = Partial::new(&&x[from..to], from, op);
            from = to;
            part
        })
        .collect()
    }

    /// Joins neighbours in an order given by `seed`.
    fn join_all<T: Element, O: Operator<T>>(
        mut parts: Vec<Partial<T>>,
        mut seed: usize,
        op: &O,
    ) -> Partial<T> {
        while parts.len() > 1 {
            let i = seed % (parts.len() - 1);
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(12345) >> 3;
            let right = parts.remove(i + 1);
            parts[i] = parts[i].join(&right, op).unwrap();
        }
        parts.remove(0)
    }

    #[test]
    fn any_cuts_joined_in_any_grouping_give_the_same_bits() {
        for n in [0, 1, 15, 16, 17, 255, 256, 257, 511, 512, 1000, 4096, 5000, 12_345] {
            let x: Vec<f64> = (0..n).map(x).collect();
            let want = defined(&x, &op::Sum).map(f64::to_bits);
            let whole = Partial::new(&&x[..], 0, &op::Sum);
            assert_eq!(whole.result(&op::Sum).map(f64::to_bits), want, "{n}");
            for seed in 1..200usize {
                let p = seed % 17 + 1;
                let mut cuts: Vec<usize> =
                    (1..p).map(|k| (k * seed).wrapping_mul(7919) % (n + 1)).collect();
                if seed % 3 == 0 {
                    cuts.iter_mut().for_each(|c| *c = *c / BLOCK * BLOCK);
                }
                cuts.sort();
                let joined = join_all(cut(&x, &cuts, &op::Sum), seed, &op::Sum);
                assert_eq!(joined.result(&op::Sum).map(f64::to_bits), want, "{n}: {cuts:?}");
                // Not only the result: a part does not remember its cuts.
                assert_eq!(joined, whole);
                for part in cut(&x, &cuts, &op::Sum) {
                    let numbers: Vec<f64> = part.numbers().collect();
                    assert_eq!(numbers.len(), Partial::<f64>::len_between(part.bounds()));
                    assert_eq!(Partial::from_numbers(part.bounds(), &numbers), part);
                    let Some(bounds) = part.bare() else { continue };
                    let values: Vec<f64> = part.values().collect();
                    let less = values.len().saturating_sub(1);
                    let again = |n: usize| Partial::from_values(bounds, values[..n].to_vec());
                    assert_eq!(again(values.len()).as_ref(), Some(&part));
                    assert!(values.is_empty() || again(less).is_none());
                }
            }
        }
    }

    /// Operators that are not commutative see the elements in their order.
    #[test]
    fn the_order_of_elements_is_kept() {
        type Span = (usize, usize);
        fn concatenate(a: Span, b: Span) -> Span {
            assert_eq!(a.1, b.0);
            (a.0, b.1)
        }
        let op = op::ordered(concatenate);
        for n in [1, 100, 256, 1000, 5000] {
            let x: Vec<Span> = (0..n).map(|i| (i, i + 1)).collect();
            for seed in 1..50 {
                let mut cuts: Vec<usize> = (1..8).map(|k| k * seed * 31 % (n + 1)).collect();
                cuts.sort();
                let joined = join_all(cut(&x, &cuts, &op), seed, &op);
                assert_eq!(joined.result(&op), Some((0, n)));
            }
        }
    }

    /// Lanes on the heap: the same order, and little stack, in a debug build, too.
    #[test]
    fn large_elements_need_little_stack() {
        type Large = [f64; 2048];
        let add = |a: Large, b: Large| std::array::from_fn(|i| a[i] + b[i]);
        let op = op::commutative(add);
        let run = move || {
            let few: Vec<f64> = (0..700).map(x).collect();
            let large: Vec<Large> = few.iter().map(|&x| [x; 2048]).collect();
            let whole = Partial::new(&&large[..], 0, &op);
            let want = defined(&few, &op::Sum).map(f64::to_bits);
            assert_eq!(whole.result(&op).map(|sum| sum[2047].to_bits()), want);
        };
        // The stack of a thread of the standard library is 2 MiB.
        std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
    }

    #[test]
    fn a_part_keeps_little_and_gaps_are_found() {
        let x = vec![1.0; 1_000_000];
        let part = Partial::new(&&x[..], 12_345, &op::Sum);
        assert!(part.roots.len() <= 2 * 12 && part.head.len() < BLOCK && part.tail.len() < BLOCK);
        let after = |start| Partial::new(&&x[..1], start, &op::Sum);
        assert_eq!(part.join(&after(5), &op::Sum), Err((1_012_345, 5)));
        assert!(part.join(&after(1_012_345), &op::Sum).is_ok());
    }
}
