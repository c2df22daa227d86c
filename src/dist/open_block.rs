//! A block's elements from its first one on, combined as far as the block's order allows.

use super::partial::{LANES, Values, halve};
use crate::element::Element;
use crate::op::Operator;

/// The first elements of a block, at least one.
///
/// For a commutative operator lane k has every [`LANES`]-th element from the block's k-th on; so
/// more elements can follow, and what is kept is never more than the lanes. For others it is one
/// result, from left to right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenBlock<T> {
    len: usize,
    /// The first `min(len, LANES)` count, or the first.
    lanes: [T; LANES],
}

impl<T: Element> OpenBlock<T> {
    /// Elements `first..first + n` of `x`, `n > 0`.
    #[inline(always)]
    pub(crate) fn of<O: Operator<T>>(x: &impl Values<T>, first: usize, n: usize, op: &O) -> Self {
        let mut block = OpenBlock { len: 0, lanes: [x.at(first); LANES] };
        block.extend(x, first, n, op);
        block
    }

    /// Elements of it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Combines elements `first..first + n` of `x`, which follow.
    #[inline(always)]
    pub(crate) fn extend<O: Operator<T>>(
        &mut self,
        x: &impl Values<T>,
        first: usize,
        n: usize,
        op: &O,
    ) {
        let (mut i, end) = (first, first + n);
        if O::COMMUTATIVE {
            while i < end && !self.len.is_multiple_of(LANES) {
                self.add(x.at(i), op);
                i += 1;
            }
            let rows = (end - i) / LANES * LANES;
            if rows > 0 {
                x.rows(i..i + rows, op, &mut self.lanes, self.len > 0);
                (self.len, i) = (self.len + rows, i + rows);
            }
        }
        for i in i..end {
            self.add(x.at(i), op);
        }
    }

    #[inline(always)]
    fn add<O: Operator<T>>(&mut self, x: T, op: &O) {
        let lane = if O::COMMUTATIVE { self.len % LANES } else { 0 };
        let is_new = self.len < if O::COMMUTATIVE { LANES } else { 1 };
        self.lanes[lane] = if is_new { x } else { op.combine(self.lanes[lane], x) };
        self.len += 1;
    }

    /// The result of the block, if no element follows: fewer than [`LANES`] elements from left to
    /// right, else the upper half of the lanes onto the lower, and so on.
    #[inline(always)]
    pub(crate) fn result<O: Operator<T>>(mut self, op: &O) -> T {
        if O::COMMUTATIVE && self.len >= LANES {
            halve(&mut self.lanes, op);
            return self.lanes[0];
        }
        let kept = self.numbers::<O>();
        kept[1..].iter().fold(kept[0], |sum, &x| op.combine(sum, x))
    }

    /// All of it but its length.
    pub(crate) fn numbers<O: Operator<T>>(&self) -> &[T] {
        &self.lanes[..Self::len_of::<O>(self.len)]
    }

    /// How many numbers a block of `len` elements is.
    pub(crate) fn len_of<O: Operator<T>>(len: usize) -> usize {
        len.min(if O::COMMUTATIVE { LANES } else { 1 })
    }

    /// The block of `len` elements that [`numbers`](OpenBlock::numbers) describe: at least one, and
    /// as many as there must be.
    pub(crate) fn from_numbers(len: usize, numbers: &[T]) -> Self {
        let mut lanes = [numbers[0]; LANES];
        lanes[..numbers.len()].copy_from_slice(numbers);
        OpenBlock { len, lanes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::partial::Products;
    use super::*;
    use crate::op;

    /// The definition, element by element.
    fn defined(x: &[f64]) -> f64 {
        if x.len() < LANES {
            return x[1..].iter().fold(x[0], |sum, x| sum + x);
        }
        let mut lanes: Vec<f64> = x[..LANES].to_vec();
        x[LANES..].iter().enumerate().for_each(|(i, x)| lanes[i % LANES] += x);
        let mut half = LANES / 2;
        while half > 0 {
            (0..half).for_each(|k| lanes[k] += lanes[k + half]);
            half /= 2;
        }
        lanes[0]
    }

    #[test]
    fn cut_anywhere_and_sent_on_it_has_the_same_bits() {
        let x: Vec<f64> = (0..256).map(|i| (i as f64).sin() * 10f64.powi(i % 30)).collect();
        let ones = [1.0; 256];
        for n in 1..=256 {
            let want = defined(&x[..n]).to_bits();
            assert_eq!(OpenBlock::of(&&x[..], 0, n, &op::Sum).result(&op::Sum).to_bits(), want);
            for cut in (1..n).step_by(7) {
                let begun = OpenBlock::of(&&x[..], 0, cut, &op::Sum);
                let mut block = OpenBlock::from_numbers(cut, begun.numbers::<op::Sum>());
                block.extend(&Products(&x, &ones), cut, n - cut, &op::Sum);
                assert_eq!(block.len(), n);
                assert_eq!(block.result(&op::Sum).to_bits(), want, "{cut} of {n}");
            }
        }
    }

    #[test]
    fn what_is_not_commutative_is_combined_from_left_to_right() {
        let op = op::ordered(|a: (usize, usize), b: (usize, usize)| {
            assert_eq!(a.1, b.0);
            (a.0, b.1)
        });
        fn numbers<O: Operator<(usize, usize)>>(_: &O, of: &OpenBlock<(usize, usize)>) -> usize {
            of.numbers::<O>().len()
        }
        let x: Vec<_> = (0..100).map(|i| (i, i + 1)).collect();
        let mut block = OpenBlock::of(&&x[..], 0, 60, &op);
        assert_eq!(numbers(&op, &block), 1);
        block.extend(&&x[..], 60, 40, &op);
        assert_eq!(block.result(&op), (0, 100));
    }
}
