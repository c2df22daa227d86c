//! IS, integer sort: ten times, the rank of every key among all keys, by counting.
//!
//! Every rank counts its keys; then it reads all ranks' counts of its range of key values in place
//! (`with_peers`) and sums them up, from the number of smaller keys on.

use super::class::Class;
use super::memory::{Lines, zeros};
use super::outcome::{Outcome, Stopwatch};
use super::random::{Random, SEED};
use super::spmd::Spmd;
use std::ops::Range;

const ITERATIONS: usize = 10;

pub(crate) struct Is {
    class: Class,
    max_key: usize,
    keys: Vec<u32>,
}

impl Is {
    pub(crate) fn new(class: Class) -> Self {
        let n = 1usize << class.of([16, 20, 23, 25]);
        let max_key = 1usize << class.of([11, 16, 19, 21]);
        let quarter = (max_key / 4) as f64;
        let mut stream = Random::new(SEED);
        let mut four = [0.0; 4];
        let keys = (0..n)
            .map(|_| {
                four.fill_with(|| stream.next());
                (quarter * (four[0] + four[1] + four[2] + four[3])) as u32
            })
            .collect();
        Is { class, max_key, keys }
    }

    /// Millions of keys ranked.
    pub(crate) fn mops(&self) -> f64 {
        (ITERATIONS * self.keys.len()) as f64 / 1e6
    }

    /// The two keys that iteration `t` changes: place and key.
    fn changes(&self, t: usize) -> [(usize, u32); 2] {
        [(t, t as u32), (t + ITERATIONS, (self.max_key - t) as u32)]
    }

    /// The places of the keys with published ranks.
    fn watched(&self) -> [usize; 5] {
        self.class.of([
            [48427, 17148, 23627, 62548, 4431],
            [357773, 934767, 875723, 898999, 404505],
            [2112377, 662041, 5336171, 3642833, 4250760],
            [41869, 812306, 5102857, 18232239, 26860214],
        ])
    }

    /// Their ranks in iteration `t`.
    fn published(&self, t: usize) -> [usize; 5] {
        self.class.of([
            [t, 18 + t, 346 + t, 64917 - t, 65463 - t],
            [1247 + t, 11696 + t, 1039987 - t, 1043896 - t, 1048018 - t],
            [103 + t, 17522 + t, 123927 + t, 8288933 - t, 8388265 - t],
            [33422937 - t, 10244 + t, 59149 + t, 33135281 - t, 99 + t],
        ])
    }

    pub(crate) fn spmd<C: Spmd>(&self, comm: &mut C) -> Outcome {
        let mut sorter = Sorter::new(self, comm);
        sorter.rank_keys(self, comm, 1);
        let clock = Stopwatch::start(comm);
        let mut wrong = 0;
        for t in 1..=ITERATIONS {
            wrong += sorter.rank_keys(self, comm, t);
        }
        let seconds = clock.stop(comm);
        wrong += sorter.unsorted(comm);
        let [wrong] = comm.sum([wrong as f64]);
        Outcome::new(seconds, wrong, 0.0)
    }
}

/// Counts `keys` by value. Eight a turn: where the compiler puts a loop of one decided between 0.38
/// and 0.64 ns a key.
fn count(keys: &[u32], counts: &mut [u32]) {
    counts.fill(0);
    let (eights, rest) = keys.as_chunks::<8>();
    for keys in eights {
        for &key in keys {
            counts[key as usize] += 1;
        }
    }
    for &key in rest {
        counts[key as usize] += 1;
    }
}

/// A rank's part of the keys, and of the key values.
struct Sorter {
    /// Which keys.
    places: Range<usize>,
    keys: Vec<u32>,
    /// The own keys by value.
    counts: Lines<u32>,
    /// Which key values.
    values: Range<usize>,
    /// For each of them the number of smaller keys, and at the end of keys up to the last value.
    ranks: Lines<u32>,
    /// The watched keys' values; fixed, since no iteration changes those keys.
    watched: [usize; 5],
}

impl Sorter {
    fn new<C: Spmd>(is: &Is, comm: &mut C) -> Self {
        let (places, values) = (comm.part(is.keys.len()), comm.part(is.max_key));
        Sorter {
            keys: is.keys[places.clone()].to_vec(),
            counts: zeros(is.max_key),
            ranks: zeros(values.len() + 1),
            watched: is.watched().map(|place| is.keys[place] as usize),
            places,
            values,
        }
    }

    /// Iteration `t`; returns how many of the published ranks of the own values are wrong.
    fn rank_keys<C: Spmd>(&mut self, is: &Is, comm: &mut C, t: usize) -> usize {
        for (place, key) in is.changes(t) {
            if self.places.contains(&place) {
                self.keys[place - self.places.start] = key;
            }
        }
        count(&self.keys, &mut self.counts);

        let size = comm.size();
        let (values, ranks) = (&self.values, &mut self.ranks);
        let total = comm.with_peers(&self.counts, |all| {
            sum_counts((0..size).map(|rank| &all.of(rank)[values.clone()]), ranks)
        });
        let before = comm.rank();
        let smaller = comm.with_peers(&[total], |all| (0..before).map(|r| all.of(r)[0]).sum());
        accumulate(smaller, ranks);

        let published = is.published(t);
        let mine = (0..5).filter(|&i| values.contains(&self.watched[i]));
        mine.filter(|&i| ranks[self.watched[i] - values.start] as usize != published[i]).count()
    }

    /// The full check: every rank takes the keys of its values from all ranks and puts them where
    /// their ranks say. Returns how many keys are out of order or have no place.
    fn unsorted<C: Spmd>(&self, comm: &mut C) -> usize {
        let (values, size) = (&self.values, comm.size());
        let begin = self.ranks[0];
        let end = self.ranks[values.len()];
        let mut sorted = vec![u32::MAX; (end - begin) as usize];
        let mut next: Vec<u32> = self.ranks.iter().map(|rank| rank - begin).collect();
        comm.with_peers(&self.keys, |all| {
            for &key in (0..size).flat_map(|rank| all.of(rank)) {
                if values.contains(&(key as usize)) {
                    let next = &mut next[key as usize - values.start];
                    if let Some(place) = sorted.get_mut(*next as usize) {
                        *place = key;
                    }
                    *next += 1;
                }
            }
        });
        let lost = sorted.iter().filter(|&&key| key == u32::MAX).count();
        let disorder = sorted.windows(2).filter(|w| w[0] > w[1]).count();
        // The ranges must lie end to end, and hold all keys.
        let rank = comm.rank();
        let gaps = comm.with_peers(&[begin, end], |all| {
            let expected = if rank == 0 { 0 } else { all.of(rank - 1)[1] };
            usize::from(begin != expected)
        });
        let [keys] = comm.sum([self.keys.len() as f64]);
        let short = usize::from(rank + 1 == size && f64::from(end) != keys);
        lost + disorder + gaps + short
    }
}

/// Sums the ranks' counts of some values into the front of `sums`; returns the sum of all.
fn sum_counts<'a>(mut parts: impl Iterator<Item = &'a [u32]>, sums: &mut [u32]) -> u32 {
    let first = parts.next().expect("there is a rank");
    let sums = &mut sums[..first.len()];
    sums.copy_from_slice(first);
    for part in parts {
        for (sum, count) in sums.iter_mut().zip(part) {
            *sum += count;
        }
    }
    sums.iter().sum()
}

/// Turns counts into the numbers of smaller keys, from `smaller` on.
fn accumulate(mut smaller: u32, counts: &mut [u32]) {
    let (last, counts) = counts.split_last_mut().expect("there is an end");
    for count in counts {
        let here = *count;
        *count = smaller;
        smaller += here;
    }
    *last = smaller;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_numbers_of_smaller_keys() {
        let mut ranks = [9, 0, 2, 1, 77];
        accumulate(5, &mut ranks);
        assert_eq!(ranks, [5, 14, 14, 16, 17]);
    }
}
