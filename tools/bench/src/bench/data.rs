//! The formula of every input and every expected result. A value depends only on its owner's rank,
//! the index and the round, so that each rank can compute any other rank's values.

use super::element::{Combining, Pattern, Sample};
use super::operator::Redop;
use phalanx_model::mix::SplitMix;
use std::ops::Range;

/// Elements that are compared at once.
const CHUNK: usize = 256;

/// The elements that a part of a buffer must hold.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// Elements of one rank's input, from this index on.
    Input { rank: usize, from: usize },
    /// The combination of some ranks' inputs, from this index on.
    Fold { ranks: Range<usize>, from: usize },
    /// The operator's identity.
    Identity,
    /// The elements from before the call.
    Poison,
}

/// The inputs of one operation among some ranks.
pub(crate) struct Oracle<T> {
    redop: Option<Redop>,
    ranks: usize,
    fold: fn(&mut [T], &[T]),
    identity: Option<T>,
}

impl<T: Sample> Oracle<T> {
    /// For an operation that combines with `redop`, or only moves.
    pub(crate) fn new(redop: Option<Redop>, ranks: usize) -> Self {
        match redop.and_then(T::combining) {
            Some(Combining { fold, identity, .. }) => Oracle { redop, ranks, fold, identity },
            None => Oracle { redop: None, ranks, fold: |_, _| (), identity: None },
        }
    }

    /// Writes the elements that rank `rank` puts in, from index `from` on, in round `round`.
    pub(crate) fn fill(&self, rank: usize, round: u64, from: usize, out: &mut [T]) {
        let pattern = self.redop.map_or(Pattern::Any, |op| Pattern::of(op, rank, self.ranks));
        let seed = SplitMix(round.wrapping_mul(0x0001_0000_0001) ^ (rank as u64) << 40).word();
        for (i, out) in (from as u64..).zip(out) {
            *out = T::make(pattern, SplitMix(seed.wrapping_add(i)).word());
        }
    }

    /// The number of elements of `got` that are not as expected.
    pub(crate) fn count_wrong(&self, round: u64, expected: &Expected, got: &[T]) -> u64 {
        let mut wanted = [T::POISON; CHUNK];
        let mut operand = [T::POISON; CHUNK];
        let mut wrong = 0;
        for (start, got) in (0..).step_by(CHUNK).zip(got.chunks(CHUNK)) {
            let (wanted, operand) = (&mut wanted[..got.len()], &mut operand[..got.len()]);
            match expected {
                Expected::Input { rank, from } => self.fill(*rank, round, from + start, wanted),
                Expected::Fold { ranks, from } => {
                    self.fill(ranks.start, round, from + start, wanted);
                    for rank in ranks.clone().skip(1) {
                        self.fill(rank, round, from + start, operand);
                        (self.fold)(wanted, operand);
                    }
                }
                Expected::Identity => wanted.fill(self.identity.unwrap_or(T::POISON)),
                Expected::Poison => wanted.fill(T::POISON),
            }
            wrong += wanted.iter().zip(got).filter(|(wanted, got)| wanted != got).count();
        }
        wrong as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_elements_are_counted() {
        let oracle = Oracle::<i32>::new(Some(Redop::Sum), 3);
        let mut sum = vec![0; 600];
        let mut operand = vec![0; 600];
        for rank in 0..3 {
            oracle.fill(rank, 7, 100, &mut operand);
            for (sum, x) in sum.iter_mut().zip(&operand) {
                *sum = i32::wrapping_add(*sum, *x);
            }
        }
        let expected = Expected::Fold { ranks: 0..3, from: 100 };
        assert_eq!(oracle.count_wrong(7, &expected, &sum), 0);
        assert!(oracle.count_wrong(8, &expected, &sum) > 590);
        for i in [0, 255, 256, 599] {
            sum[i] ^= 1;
        }
        assert_eq!(oracle.count_wrong(7, &expected, &sum), 4);
    }

    #[test]
    fn products_of_floats_are_exact() {
        let oracle = Oracle::<f32>::new(Some(Redop::Prod), 1024);
        let (mut up, mut down) = ([1.0f32; 64], [1.0f32; 64]);
        let mut operand = [0.0; 64];
        for rank in 0..1024 {
            oracle.fill(rank, 0, 0, &mut operand);
            up.iter_mut().zip(&operand).for_each(|(a, b)| *a *= b);
            oracle.fill(1023 - rank, 0, 0, &mut operand);
            down.iter_mut().zip(&operand).for_each(|(a, b)| *a *= b);
        }
        assert_eq!(up, down);
        assert!(up.iter().all(|x| x.is_normal()));
    }
}
