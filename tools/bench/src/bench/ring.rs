//! The neighbours of an all-to-all among neighbours: the next rank on each side, and from five
//! ranks on the second next, too. Each gets an equal part of a rank's vector. The same graph as in
//! `tools/report/peers/mpi.c`.

use phalanx::dist::{Block, Distribution};
use phalanx::{Comm, Neighborhood};

/// The most neighbours of a rank.
pub(crate) const MOST: usize = 4;

/// A neighbour's distance, by its number.
const STEPS: [isize; MOST] = [1, -1, 2, -2];

/// Neighbours of each of so many ranks.
pub(crate) fn degree(ranks: usize) -> usize {
    match ranks {
        0 | 1 => 0,
        2 => 1,
        3 | 4 => 2,
        _ => STEPS.len(),
    }
}

/// A rank's neighbours by number; with each, the number that this rank has there.
pub(crate) fn neighbors(rank: usize, ranks: usize) -> impl Iterator<Item = (usize, usize)> {
    let degree = degree(ranks);
    let at = move |step: &isize| (rank as isize + step).rem_euclid(ranks as isize) as usize;
    // Steps are listed in pairs, there and back; two ranks are on both sides of each other.
    let back = move |i: usize| if degree == 1 { 0 } else { i ^ 1 };
    (0..degree).map(move |i| (at(&STEPS[i]), back(i)))
}

/// The plan by which part `i` of what a rank receives is what its neighbour `i` has for it; a
/// vector has `count` elements.
pub(crate) fn plan(comm: &mut Comm, count: usize) -> Neighborhood {
    let (rank, ranks) = (comm.rank(), comm.size());
    let (all, part) = (Block::new(count * ranks, ranks), count / degree(ranks).max(1));
    let part_of = |(peer, number)| {
        let from = all.range(peer).start + number * part;
        from..from + part
    };
    let indices: Vec<usize> = neighbors(rank, ranks).flat_map(part_of).collect();
    debug_assert_eq!(all.count(rank), count);
    comm.ghosts(&all, &indices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_know_each_other_by_their_numbers() {
        for ranks in 1..9 {
            for rank in 0..ranks {
                let own: Vec<_> = neighbors(rank, ranks).collect();
                assert_eq!(own.len(), degree(ranks));
                let mut peers: Vec<usize> = own.iter().map(|it| it.0).collect();
                peers.extend([rank]);
                peers.sort_unstable();
                peers.dedup();
                assert_eq!(peers.len(), own.len() + 1, "distinct, and not itself");
                for (i, &(peer, number)) in own.iter().enumerate() {
                    let back = neighbors(peer, ranks).nth(number);
                    assert_eq!(back, Some((rank, i)), "{rank} of {ranks}");
                }
            }
        }
    }
}
