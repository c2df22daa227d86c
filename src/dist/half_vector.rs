//! A vector of two parts. Each contributes its largest subtrees; a block in which the vector is cut
//! is completed by the second part's holder, and is that part's.

use super::open_block::OpenBlock;
use super::partial::{BLOCK, Root, Values, blocks, heights, leaf, push, total};
use crate::element::Element;
use crate::op::Operator;

/// The elements of the cut block that the first part has, as far as they can be combined. In one
/// piece of memory, as another thread reads it.
pub(crate) struct CutBlock<T> {
    end: usize,
    open: OpenBlock<T>,
}

impl<T: Element> CutBlock<T> {
    /// Whether elements of this size have a place here: those of larger ones would take more than
    /// they save.
    pub(crate) const FITS: bool = size_of::<T>() <= 16;

    /// Of the first part, `x`, which ends inside of a block.
    #[inline(always)]
    pub(crate) fn of(x: &impl Values<T>, op: &impl Operator<T>) -> Self {
        let end = x.len();
        let n = end % BLOCK;
        CutBlock { end, open: OpenBlock::of(x, end - n, n, op) }
    }

    /// Where the first part ends.
    pub(crate) fn end(&self) -> usize {
        self.end
    }
}

/// What a part contributes: its largest subtrees, and the result of the short block at its end,
/// which is then the vector's.
#[derive(Debug)]
pub(crate) struct HalfVector<T> {
    start: usize,
    end: usize,
    roots: Vec<Root<T>>,
    last: Option<T>,
}

impl<T: Element> HalfVector<T> {
    /// The whole blocks of the first part, `x`.
    #[inline(always)]
    pub(crate) fn first(x: &impl Values<T>, op: &impl Operator<T>) -> Self {
        let (roots, end) = blocks(x, 0, 0, op);
        HalfVector { start: 0, end, roots, last: None }
    }

    /// The second part, `x`, from the first beginning of a block on; its first element has the
    /// global index `start`.
    #[inline(always)]
    pub(crate) fn second(x: &impl Values<T>, start: usize, op: &impl Operator<T>) -> Self {
        let n = x.len();
        let first = (start.next_multiple_of(BLOCK) - start).min(n);
        let (roots, behind) = blocks(x, start, first, op);
        let last = (behind < n).then(|| leaf(x, behind, n - behind, op));
        HalfVector { start: start + first, end: start + n, roots, last }
    }

    /// Puts the cut block in front of a second part; the block's other elements are the first ones
    /// of `x`.
    pub(crate) fn complete(
        &mut self,
        cut: &CutBlock<T>,
        x: &impl Values<T>,
        op: &impl Operator<T>,
    ) {
        let mut open = cut.open;
        open.extend(x, 0, self.start - cut.end, op);
        let index = cut.end / BLOCK;
        self.start = index * BLOCK;
        let is_whole = open.len() == BLOCK;
        let value = open.result(op);
        if !is_whole {
            // There is nothing but elements of the cut block.
            self.last = Some(value);
            return;
        }
        let behind = std::mem::take(&mut self.roots);
        self.roots.reserve(behind.len() + 1);
        push(&mut self.roots, Root { index, height: 0, value }, op);
        behind.into_iter().for_each(|root| push(&mut self.roots, root, op));
    }

    /// Where it begins and ends.
    pub(crate) fn bounds(&self) -> (usize, usize) {
        (self.start, self.end)
    }

    /// How many numbers a part with these bounds is.
    #[inline(always)]
    pub(crate) fn len_between((start, end): (usize, usize)) -> usize {
        heights(start, end).count() + usize::from(!end.is_multiple_of(BLOCK))
    }

    /// All of it but the bounds: [`len_between`](HalfVector::len_between) numbers.
    #[inline(always)]
    pub(crate) fn numbers(&self) -> impl Iterator<Item = T> {
        self.roots.iter().map(|root| root.value).chain(self.last)
    }

    /// The result of the vector of this part and the other, which has these bounds and numbers, as
    /// many as there must be. If this is the first part, the other begins where it ends.
    #[inline(always)]
    pub(crate) fn result_with(
        &self,
        is_first: bool,
        (start, end): (usize, usize),
        mut numbers: impl Iterator<Item = T>,
        op: &impl Operator<T>,
    ) -> Option<T> {
        // Room for all that comes, as a rule.
        let mut roots = Vec::with_capacity(self.roots.len() + 8);
        if is_first {
            roots.extend_from_slice(&self.roots);
        }
        for (block, height) in heights(start, end) {
            let Some(value) = numbers.next() else { break };
            push(&mut roots, Root { index: block >> height, height, value }, op);
        }
        if !is_first {
            self.roots.iter().for_each(|&root| push(&mut roots, root, op));
        }
        total(&roots, if is_first { numbers.next() } else { self.last }, op)
    }
}

#[cfg(test)]
mod tests {
    use super::super::partial::Partial;
    use super::*;
    use crate::op;

    /// The result of the vector, cut before element `cut`, as both holders have it.
    fn of_both<T: Element, O: Operator<T>>(x: &[T], cut: usize, op: &O) -> [Option<T>; 2] {
        let (left, right) = x.split_at(cut);
        let mut second = HalfVector::second(&right, cut, op);
        if !cut.is_multiple_of(BLOCK) {
            second.complete(&CutBlock::of(&left, op), &right, op);
        }
        let first = HalfVector::first(&left, op);
        let other = |of: &HalfVector<T>| {
            assert_eq!(of.numbers().count(), HalfVector::<T>::len_between(of.bounds()));
            (of.bounds(), of.numbers().collect::<Vec<T>>())
        };
        let (bounds, numbers) = other(&second);
        let of_first = first.result_with(true, bounds, numbers.into_iter(), op);
        let (bounds, numbers) = other(&first);
        [of_first, second.result_with(false, bounds, numbers.into_iter(), op)]
    }

    #[test]
    fn wherever_it_is_cut_the_result_is_that_of_the_whole() {
        let x: Vec<f64> = (0..9000).map(|i| (i as f64).sin() * 10f64.powi(i % 30)).collect();
        for n in [0, 1, 2, 17, 255, 256, 257, 300, 511, 512, 513, 1000, 4096, 5000, 9000] {
            let want = Partial::new(&&x[..n], 0, &op::Sum).result(&op::Sum).map(f64::to_bits);
            for cut in (0..=n).filter(|&cut| n < 999 || cut % 7 < 2 || cut % BLOCK == 0) {
                let got = of_both(&x[..n], cut, &op::Sum);
                assert_eq!(got.map(|it| it.map(f64::to_bits)), [want; 2], "{cut} of {n}");
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
        for cut in [0, 1, 100, 255, 256, 257, 700, 768, 1024, 1199, 1200] {
            assert_eq!(of_both(&x, cut, &op), [Some((0, 1200)); 2], "{cut}");
        }
    }
}
