//! A vector of two parts, cut between two blocks: neither part has elements that the other needs.

use super::partial::{BLOCK, Root, Values, blocks, heights, leaf, push, total};
use crate::element::Element;
use crate::op::Operator;

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
    /// Of `x`, whose first element has the global index `start`, where a block begins.
    #[inline(always)]
    pub(crate) fn new(x: &impl Values<T>, start: usize, op: &impl Operator<T>) -> Self {
        let n = x.len();
        let (roots, behind) = blocks(x, start, 0, op);
        let last = (behind < n).then(|| leaf(x, behind, n - behind, op));
        HalfVector { start, end: start + n, roots, last }
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
        let (first, second) = (HalfVector::new(&left, 0, op), HalfVector::new(&right, cut, op));
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
            for cut in (0..=n).step_by(BLOCK) {
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
        for cut in [0, 256, 768, 1024] {
            assert_eq!(of_both(&x, cut, &op), [Some((0, 1200)); 2], "{cut}");
        }
    }
}
