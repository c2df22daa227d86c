//! Sample sort. Each rank sorts its numbers and shows a few of them; from all samples follow the
//! splitters; each rank sends every other one its numbers between two splitters, and sorts those
//! that it gets. Prefix sums then say where each rank's part begins, and the parts are made equal
//! again.

use phalanx::dist::{Block, Distribution};
use phalanx::{Comm, Error, op};

fn number(i: usize) -> u32 {
    // Many numbers are there several times.
    ((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32 % 5000
}

fn sort(comm: &mut Comm, mine: &mut Vec<u32>, n: usize) {
    let (rank, p) = (comm.rank(), comm.size());
    mine.sort_unstable();
    // p samples at equal distances; a rank without numbers has nothing better than the largest.
    let sample = |k: usize| mine.get(k * mine.len() / p).copied().unwrap_or(u32::MAX);
    let own: Vec<u32> = (0..p).map(sample).collect();
    let mut samples = vec![0; p * p];
    comm.all_gather_into(&own, &mut samples);
    samples.sort_unstable();
    let splitters: Vec<u32> = (1..p).map(|k| samples[k * p]).collect();

    let below = |k: usize| splitters.get(k).map_or(mine.len(), |s| mine.partition_point(|v| v < s));
    let ends: Vec<usize> = (0..p).map(below).collect();
    let counts: Vec<usize> =
        (0..p).map(|k| ends[k] - if k > 0 { ends[k - 1] } else { 0 }).collect();
    let (mut sorted, _) = comm.all_to_all_vec(mine, &counts);
    sorted.sort_unstable();

    let mut begin = [sorted.len()];
    comm.exclusive_scan(&mut begin, op::Sum);
    let (begin, end) = (begin[0], begin[0] + sorted.len());
    // The part of mine that each rank has in the end.
    let equal = Block::new(n, p);
    let common = |k: usize| {
        let range = equal.range(k);
        range.end.min(end).saturating_sub(range.start.max(begin))
    };
    let counts: Vec<usize> = (0..p).map(common).collect();
    (*mine, _) = comm.all_to_all_vec(&sorted, &counts);
    assert_eq!(mine.len(), equal.count(rank));
}

fn main() -> Result<(), Error> {
    for n in [0, 5, 1000, 20_000] {
        let mut right: Vec<u32> = (0..n).map(number).collect();
        right.sort_unstable();
        for ranks in [1, 2, 3, 4, 8] {
            let parts = phalanx::run(ranks, |comm| {
                let own = Block::new(n, ranks).range(comm.rank());
                let mut mine: Vec<u32> = own.map(number).collect();
                sort(comm, &mut mine, n);
                mine
            })?;
            assert_eq!(parts.concat(), right, "{n} numbers on {ranks} ranks");
            println!("{n} numbers sorted on {ranks} ranks");
        }
    }
    Ok(())
}
