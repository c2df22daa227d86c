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
//! which the largest are kept (at most two of each height). Of the block that is cut at the end
//! the elements are combined as far as the order allows; of the one that is cut at the beginning
//! they are kept, since others come before them:
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
use crate::op::{Accumulation, Operator, with_vectors};
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

    /// The elements at `at`.
    #[inline(always)]
    fn list(&self, at: Range<usize>) -> Vec<T> {
        at.map(|i| self.at(i)).collect()
    }

    /// Element `i` as a partial result.
    #[inline(always)]
    fn wide<O, S: Accumulation<T, O>>(&self, i: usize) -> S::Wide {
        S::widen(self.at(i))
    }

    /// The lanes of the elements at `at`, at least one row of [`LANES`] and whole ones, into
    /// `sums`.
    fn rows(&self, at: Range<usize>, op: &impl Operator<T>, sums: &mut [T; LANES]);
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
    fn list(&self, at: Range<usize>) -> Vec<T> {
        self[at].to_vec()
    }

    #[inline(always)]
    fn rows(&self, at: Range<usize>, op: &impl Operator<T>, sums: &mut [T; LANES]) {
        let (rows, _) = self[at].as_chunks::<LANES>();
        // A copy, which the compiler keeps in registers.
        let mut all = rows[0];
        for row in &rows[1..] {
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
    fn list(&self, at: Range<usize>) -> Vec<T> {
        self.0[at.clone()].iter().zip(&self.1[at]).map(|(&x, &y)| x * y).collect()
    }

    #[inline(always)]
    fn wide<O, S: Accumulation<T, O>>(&self, i: usize) -> S::Wide {
        S::product(self.0[i], self.1[i])
    }

    #[inline(always)]
    fn rows(&self, at: Range<usize>, op: &impl Operator<T>, sums: &mut [T; LANES]) {
        let (xs, _) = self.0[at.clone()].as_chunks::<LANES>();
        let (ys, _) = self.1[at].as_chunks::<LANES>();
        let mut all = xs[0];
        all.iter_mut().zip(&ys[0]).for_each(|(x, &y)| *x = *x * y);
        for (x, y) in xs[1..].iter().zip(&ys[1..]) {
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
    fn rows(&self, at: Range<usize>, op: &impl Operator<S::Wide>, sums: &mut [S::Wide; LANES]) {
        let first = at.start;
        let mut all = std::array::from_fn(|k| self.at(first + k));
        for row in at.step_by(LANES).skip(1) {
            for (k, sum) in all.iter_mut().enumerate() {
                *sum = op.combine(*sum, self.at(row + k));
            }
        }
        *sums = all;
    }
}

/// [`Values::rows`] with the vectors of the processor. The same bits: the lanes are part of the
/// definition, and Rust never contracts a multiplication and an addition. Never inlined: next to
/// the code that joins the lanes by a last step of two numbers, the compiler takes vectors of two.
#[inline(never)]
fn rows_of<T: Element>(
    x: &impl Values<T>,
    at: Range<usize>,
    op: &impl Operator<T>,
    sums: &mut [T; LANES],
) {
    with_vectors(
        #[inline(always)]
        || x.rows(at, op, sums),
    );
}

/// As [`rows_of`], of whole blocks from element `first` on.
#[inline(never)]
fn rows_of_blocks<T: Element>(
    x: &impl Values<T>,
    first: usize,
    op: &impl Operator<T>,
    sums: &mut [[T; LANES]],
) {
    with_vectors(
        #[inline(always)]
        || {
            for (first, sums) in (first..).step_by(BLOCK).zip(sums) {
                x.rows(first..first + BLOCK, op, sums);
            }
        },
    );
}

/// Combines elements `first..first + n`, `n > 0`, which are a block's, from its first on. Of a
/// commutative operator lane `k` has every [`LANES`]-th element from the `k`-th on; at last the
/// upper half of the lanes is combined onto the lower, and so on. Fewer elements than lanes, and
/// those of other operators, are combined from left to right.
#[inline(always)]
fn leaf<T: Element, O: Operator<T>>(x: &impl Values<T>, first: usize, n: usize, op: &O) -> T {
    if !O::COMMUTATIVE || n < LANES {
        return (first + 1..first + n).fold(x.at(first), |sum, i| op.combine(sum, x.at(i)));
    }
    if const { size_of::<T>() > ON_STACK } {
        return close(&mut open(x, first, n, op), n, op);
    }
    let (mut sums, rows) = ([x.at(first); LANES], n / LANES * LANES);
    rows_of(x, first..first + rows, op, &mut sums);
    for (sum, i) in sums.iter_mut().zip(rows..n) {
        *sum = op.combine(*sum, x.at(first + i));
    }
    halve(&mut sums, op);
    sums[0]
}

/// Combines elements `first..first + n` of a block, from its first on, as far as [`leaf`]'s order
/// allows: to so many lanes as there are elements, at most [`LANES`]. Of an operator that is not
/// commutative each lane is the whole.
fn open<T: Element, O: Operator<T>>(x: &impl Values<T>, first: usize, n: usize, op: &O) -> Vec<T> {
    let mut lanes = x.list(first..first + n.min(LANES));
    if !O::COMMUTATIVE && n > 0 {
        lanes.fill((first + 1..first + n).fold(x.at(first), |sum, i| op.combine(sum, x.at(i))));
    } else if n > LANES {
        let mut behind = LANES;
        if const { size_of::<T>() <= ON_STACK }
            && let Ok(sums) = <&mut [T; LANES]>::try_from(&mut lanes[..])
        {
            behind = n / LANES * LANES;
            rows_of(x, first..first + behind, op, sums);
        }
        for i in behind..n {
            let sum = &mut lanes[i % LANES];
            *sum = op.combine(*sum, x.at(first + i));
        }
    }
    lanes
}

/// Combines elements that follow onto the lanes of `n` elements.
fn extend<T: Element, O: Operator<T>>(lanes: &mut Vec<T>, n: usize, more: &[T], op: &O) {
    let (new, rest) = more.split_at(more.len().min(LANES.saturating_sub(n)));
    if !O::COMMUTATIVE {
        let all = lanes.first().copied().into_iter().chain(more.iter().copied());
        let all = all.reduce(|left, right| op.combine(left, right));
        lanes.extend_from_slice(new);
        all.into_iter().for_each(|all| lanes.fill(all));
        return;
    }
    lanes.extend_from_slice(new);
    // The rest of a row that has begun, then whole ones.
    let begun = (n + new.len()) % LANES;
    let (first, rows) = rest.split_at(rest.len().min((LANES - begun) % LANES));
    let first = (begun > 0).then_some((begun, first));
    for (lane, row) in first.into_iter().chain(rows.chunks(LANES).map(|row| (0, row))) {
        for (sum, &x) in lanes[lane..].iter_mut().zip(row) {
            *sum = op.combine(*sum, x);
        }
    }
}

/// The result of lanes of `n` elements, behind which no element follows.
fn close<T: Element, O: Operator<T>>(lanes: &mut [T], n: usize, op: &O) -> T {
    if O::COMMUTATIVE && n < LANES {
        return lanes[1..].iter().fold(lanes[0], |sum, &x| op.combine(sum, x));
    }
    if O::COMMUTATIVE {
        halve(lanes, op);
    }
    lanes[0]
}

/// Combines the upper half of the lanes onto the lower, until one is left.
#[inline(always)]
fn halve<T: Element>(sums: &mut [T], op: &impl Operator<T>) {
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
struct Root<T> {
    index: usize,
    height: u32,
    value: T,
}

/// The largest subtrees inside of elements `start..end`: first block and height.
fn heights(start: usize, end: usize) -> impl Iterator<Item = (usize, u32)> {
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
fn push<T: Element>(roots: &mut Vec<Root<T>>, mut root: Root<T>, op: &impl Operator<T>) {
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
fn blocks<T: Element, O: Operator<T>>(
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
        rows_of_blocks(x, i, op, lanes);
        for lanes in lanes {
            halve(lanes, op);
            add(i, lanes[0]);
            i += BLOCK;
        }
    }
}

/// The result of a whole vector. The last block may be short; a tree that stands alone on its level
/// joins the smallest tree on its left that has a place for it.
fn total<T: Element>(roots: &[Root<T>], last: Option<T>, op: &impl Operator<T>) -> Option<T> {
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
    /// The lanes of the elements behind the last end of a block, if that is not before `start`; of
    /// a closed part their result. (No element lies in this struct: one that is aligned to pages
    /// would make it fill a thread's stack.)
    tail: Vec<T>,
    /// No part follows.
    is_closed: bool,
}

impl<T: Element> Partial<T> {
    /// The contribution of `x`; its first element has the global index `start`, the last one's
    /// is at most `usize::MAX - BLOCK`.
    pub(crate) fn new(x: &impl Values<T>, start: usize, op: &impl Operator<T>) -> Self {
        Partial::of(x, start, false, op)
    }

    /// The contribution of `x`, as [`new`](Partial::new) makes it; no part follows if this one
    /// `is_last`.
    #[inline(always)]
    pub(crate) fn of(
        x: &impl Values<T>,
        start: usize,
        is_last: bool,
        op: &impl Operator<T>,
    ) -> Self {
        let n = x.len();
        let end = start + n;
        let first = start.next_multiple_of(BLOCK).min(end) - start;
        let (roots, behind) = blocks(x, start, first, op);
        let is_closed = is_last && behind < n;
        let tail = match is_closed {
            true => vec![leaf(x, behind, n - behind, op)],
            false => open(x, behind, n - behind, op),
        };
        Partial { start, end, head: x.list(0..first), roots, tail, is_closed }
    }

    /// The contribution of both parts, of which `right` must follow.
    ///
    /// # Errors
    /// Where `right` should begin and where it does.
    pub fn join(&self, right: &Self, op: &impl Operator<T>) -> Result<Self, (usize, usize)> {
        let mut both = self.clone();
        both.append(right, op).map(|()| both)
    }

    /// [`join`](Partial::join), to this part.
    pub(crate) fn append(
        &mut self,
        right: &Self,
        op: &impl Operator<T>,
    ) -> Result<(), (usize, usize)> {
        if self.end != right.start {
            return Err((self.end, right.start));
        }
        if !self.start.is_multiple_of(BLOCK) && self.end < self.start.next_multiple_of(BLOCK) {
            // Still in the block that begins before this part.
            self.head.extend_from_slice(&right.head);
        } else if !right.head.is_empty() {
            let open = self.end % BLOCK;
            extend(&mut self.tail, open, &right.head, op);
            if open + right.head.len() == BLOCK {
                let (index, value) = (self.end / BLOCK, close(&mut self.tail, BLOCK, op));
                self.tail.clear();
                push(&mut self.roots, Root { index, height: 0, value }, op);
            }
        }
        right.roots.iter().for_each(|&root| push(&mut self.roots, root, op));
        self.tail.extend_from_slice(&right.tail);
        (self.end, self.is_closed) = (right.end, right.is_closed);
        Ok(())
    }

    /// Where it begins and ends.
    pub fn bounds(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    /// Elements of the head, subtrees and lanes of a contribution with these bounds.
    #[inline(always)]
    fn lens((start, end): (usize, usize)) -> [usize; 3] {
        let first = start.next_multiple_of(BLOCK).min(end);
        let last = (end / BLOCK * BLOCK).max(first);
        [first - start, heights(start, end).count(), (end - last).min(LANES)]
    }

    /// How many numbers a contribution with these bounds is.
    pub fn len_between(bounds: (usize, usize)) -> usize {
        Self::lens(bounds).iter().sum()
    }

    /// How many [`numbers`](Partial::numbers) it is.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.roots.len() + self.tail.len()
    }

    /// All of it but the bounds: [`len_between`](Partial::len_between) numbers.
    #[inline(always)]
    pub fn numbers(&self) -> impl Iterator<Item = T> {
        let (head, tail) = (self.head.iter().copied(), self.tail.iter().copied());
        head.chain(self.roots.iter().map(|root| root.value)).chain(tail)
    }

    /// The contribution that [`bounds`](Partial::bounds) and
    /// [`numbers`](Partial::numbers) describe; `numbers` are as many as there must be.
    pub fn from_numbers(bounds: (usize, usize), numbers: &[T]) -> Self {
        let it = Self::from_some(bounds, numbers.len(), |i| numbers[i]);
        it.expect("as many numbers as there must be")
    }

    /// The contribution that `bounds` and `n` numbers describe; none if there must be another
    /// number of them.
    #[inline(always)]
    pub(crate) fn from_some(
        bounds: (usize, usize),
        n: usize,
        number: impl Fn(usize) -> T,
    ) -> Option<Self> {
        let (start, end) = bounds;
        let [head, trees, tail] = Self::lens(bounds);
        let (behind, is_closed) = (head + trees, n == head + trees + 1 && tail > 1);
        if n != behind + tail && !is_closed {
            return None;
        }
        // Room for what follows, as a rule.
        let mut roots = Vec::with_capacity(trees + 8);
        for (i, (block, height)) in (head..).zip(heights(start, end)) {
            roots.push(Root { index: block >> height, height, value: number(i) });
        }
        let (head, tail) = ((0..head).map(&number).collect(), (behind..n).map(&number).collect());
        Some(Partial { start, end, head, roots, tail, is_closed })
    }

    /// The result, if this is the contribution of a whole vector; none if that
    /// is empty.
    pub fn result(&self, op: &impl Operator<T>) -> Option<T> {
        debug_assert_eq!(self.start, 0);
        let tail = || match self.is_closed {
            true => self.tail[0],
            false => close(&mut self.tail.clone(), self.end % BLOCK, op),
        };
        total(&self.roots, (!self.tail.is_empty()).then(tail), op)
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
                }
                // The last part knows that it is.
                let mut parts = cut(&x, &cuts, &op::Sum);
                let from = cuts.last().copied().unwrap_or(0);
                *parts.last_mut().unwrap() = Partial::of(&&x[from..], from, true, &op::Sum);
                for part in &mut parts {
                    let values: Vec<f64> = part.numbers().collect();
                    assert_eq!(values.len(), part.len());
                    let again = |n| Partial::from_some(part.bounds(), n, |i| values[i]);
                    assert!(
                        values.is_empty()
                            || again(part.len() - 1).is_none_or(|_| part.tail.len() == 2)
                    );
                    *part = again(part.len()).unwrap();
                }
                let joined = join_all(parts, seed, &op::Sum);
                assert_eq!(joined.result(&op::Sum).map(f64::to_bits), want, "{n}: {cuts:?}");
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
