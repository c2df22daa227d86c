//! A vector of two parts, cut inside of a block: the first part's contribution is completed by the
//! second part's holder, with the second part's elements in place.

use super::open_block::OpenBlock;
use super::partial::{BLOCK, LANES, Root, Values, blocks, heights, leaf, push, total};
use crate::element::Element;
use crate::op::Operator;

/// Subtrees that a [`FirstPart`] has room for: those of 2^24 blocks and more.
const MOST_ROOTS: usize = 24;
/// Bytes of the largest elements: larger ones would take more than they save.
const MOST_BYTES: usize = 16;

/// What the first part contributes: the largest subtrees of its whole blocks, then the open block
/// at its end. In one piece of memory, as another thread reads it.
pub(crate) struct FirstPart<T> {
    end: usize,
    numbers: [T; MOST_ROOTS + LANES],
}

impl<T: Element> FirstPart<T> {
    /// Whether a vector that is cut before element `end` is cut inside of a block, and its first
    /// part has a place here.
    pub(crate) fn fits(end: usize) -> bool {
        !end.is_multiple_of(BLOCK)
            && size_of::<T>() <= MOST_BYTES
            && heights(0, end).count() <= MOST_ROOTS
    }

    /// Of all of `x`, which [`fits`](FirstPart::fits).
    pub(crate) fn new<O: Operator<T>>(x: &impl Values<T>, op: &O) -> Self {
        let end = x.len();
        let (roots, cut) = blocks(x, 0, 0, op);
        let mut numbers = [x.at(0); MOST_ROOTS + LANES];
        let (values, open) = numbers.split_at_mut(roots.len());
        values.iter_mut().zip(&roots).for_each(|(to, root)| *to = root.value);
        let block = OpenBlock::of(x, cut, end - cut, op);
        let kept = block.numbers::<O>();
        open[..kept.len()].copy_from_slice(kept);
        FirstPart { end, numbers }
    }

    /// Its elements.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The subtrees, and the open block.
    fn pieces<O: Operator<T>>(&self, _: &O) -> (Vec<Root<T>>, OpenBlock<T>) {
        let values = self.numbers.iter();
        let root = |((block, height), &value)| Root { index: block >> height, height, value };
        let roots: Vec<Root<T>> = heights(0, self.end).zip(values).map(root).collect();
        let len = self.end % BLOCK;
        let open = &self.numbers[roots.len()..][..OpenBlock::<T>::len_of::<O>(len)];
        let open = OpenBlock::from_numbers(len, open);
        (roots, open)
    }
}

/// The second part, from element `start` on, which is inside of a block.
pub(crate) struct SecondPart<'a, T, V> {
    x: &'a V,
    /// The elements that belong to the cut block.
    first: usize,
    roots: Vec<Root<T>>,
    /// The result of the short block at the end.
    last: Option<T>,
}

impl<'a, T: Element, V: Values<T>> SecondPart<'a, T, V> {
    pub(crate) fn new(x: &'a V, start: usize, op: &impl Operator<T>) -> Self {
        let n = x.len();
        let first = n.min(BLOCK - start % BLOCK);
        let (roots, last) = blocks(x, start, first, op);
        let last = (last < n).then(|| leaf(x, last, n - last, op));
        SecondPart { x, first, roots, last }
    }

    /// The result of the vector that begins with `part`, whose end is where this one begins.
    pub(crate) fn result(&self, part: &FirstPart<T>, op: &impl Operator<T>) -> Option<T> {
        let (mut roots, mut open) = part.pieces(op);
        open.extend(self.x, 0, self.first, op);
        let (index, is_whole) = (part.end / BLOCK, open.len() == BLOCK);
        let value = open.result(op);
        if !is_whole {
            // This part has nothing but elements of the cut block.
            return total(&roots, Some(value), op);
        }
        push(&mut roots, Root { index, height: 0, value }, op);
        self.roots.iter().for_each(|&root| push(&mut roots, root, op));
        total(&roots, self.last, op)
    }
}

#[cfg(test)]
mod tests {
    use super::super::partial::Partial;
    use super::*;
    use crate::op;

    #[test]
    fn wherever_it_is_cut_the_result_is_that_of_the_whole() {
        let x: Vec<f64> = (0..5000).map(|i| (i as f64).sin() * 10f64.powi(i % 30)).collect();
        for n in [2, 17, 255, 256, 257, 300, 511, 512, 513, 1000, 4096, 5000] {
            let want = Partial::new(&&x[..n], 0, &op::Sum).result(&op::Sum);
            for cut in
                (1..=n).filter(|&cut| FirstPart::<f64>::fits(cut) && (n < 999 || cut % 7 < 2))
            {
                let (left, right) = x[..n].split_at(cut);
                let got = SecondPart::new(&right, cut, &op::Sum)
                    .result(&FirstPart::new(&left, &op::Sum), &op::Sum);
                assert_eq!(got.map(f64::to_bits), want.map(f64::to_bits), "{cut} of {n}");
            }
        }
    }

    #[test]
    fn the_order_of_elements_is_kept() {
        let op = op::ordered(|a: (u32, u32), b: (u32, u32)| {
            assert_eq!(a.1, b.0);
            (a.0, b.1)
        });
        let x: Vec<_> = (0..1200).map(|i| (i, i + 1)).collect();
        for cut in [1, 100, 255, 257, 700, 1199] {
            let (left, right) = x.split_at(cut);
            let second = SecondPart::new(&right, cut, &op);
            assert_eq!(second.result(&FirstPart::new(&left, &op), &op), Some((0, 1200)));
        }
    }

    #[test]
    fn what_does_not_fit_says_so() {
        assert!(!FirstPart::<f64>::fits(0) && !FirstPart::<f64>::fits(512));
        assert!(FirstPart::<f64>::fits(1) && FirstPart::<f64>::fits(10_000));
        assert!(!FirstPart::<[f64; 3]>::fits(1));
        // All subtrees below 2^30 elements, and one more.
        assert!(FirstPart::<f64>::fits((1 << 32) - 1));
        assert!(!FirstPart::<f64>::fits((1 << 33) - 1));
    }
}
