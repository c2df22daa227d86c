//! IS with parallel iterators over pieces of the keys, then over pieces of their values.

use super::super::is::{ITERATIONS, Is, accumulate, count};
use super::super::memory::zeros;
use super::super::outcome::Outcome;
use rayon::prelude::*;
use std::time::Instant;

pub(crate) fn iterate(is: &Is) -> Outcome {
    let threads = rayon::current_num_threads();
    let mut keys = is.keys.clone();
    let mut counts: Vec<_> = (0..threads).map(|_| zeros(is.max_key)).collect();
    // Behind the ranks of each piece of values, the rank that follows.
    let piece = is.max_key.div_ceil(threads);
    let mut ranks = vec![vec![0; piece + 1]; is.max_key.div_ceil(piece)];
    let watched = is.watched().map(|place| is.keys[place] as usize);
    let mut rank_keys = |t: usize| {
        for (place, key) in is.changes(t) {
            keys[place] = key;
        }
        let len = keys.len().div_ceil(threads);
        keys.par_chunks(len).zip(&mut counts).for_each(|(keys, counts)| count(keys, counts));
        let totals: Vec<u32> = ranks
            .par_iter_mut()
            .enumerate()
            .map(|(i, ranks)| {
                ranks.fill(0);
                for counts in &counts {
                    let counts = &counts[i * piece..is.max_key.min((i + 1) * piece)];
                    for (sum, count) in ranks.iter_mut().zip(counts) {
                        *sum += count;
                    }
                }
                ranks.iter().sum()
            })
            .collect();
        ranks.par_iter_mut().enumerate().for_each(|(i, ranks)| {
            accumulate(totals[..i].iter().sum(), ranks);
        });
        let published = is.published(t);
        let rank = |value: usize| ranks[value / piece][value % piece] as usize;
        (0..5).filter(|&i| rank(watched[i]) != published[i]).count()
    };
    rank_keys(1);
    let clock = Instant::now();
    let wrong: usize = (1..=ITERATIONS).map(&mut rank_keys).sum();
    let seconds = clock.elapsed().as_secs_f64();

    // The full check, as in `is.rs`.
    let mut sorted = vec![u32::MAX; keys.len()];
    let mut next: Vec<u32> = ranks.iter().flat_map(|ranks| &ranks[..piece]).copied().collect();
    for &key in &keys {
        let next = &mut next[key as usize];
        if let Some(place) = sorted.get_mut(*next as usize) {
            *place = key;
        }
        *next += 1;
    }
    let lost = sorted.iter().filter(|&&key| key == u32::MAX).count();
    let disorder = sorted.windows(2).filter(|w| w[0] > w[1]).count();
    Outcome::new(seconds, (wrong + lost + disorder) as f64, 0.0)
}
