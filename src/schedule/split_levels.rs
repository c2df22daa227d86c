//! Vectors in parts over a machine's levels: AR-HIER-SPLIT and RED-HIER-SPLIT, for any number of
//! ranks.
//!
//! In each step the parts of a group meet, as in AR-RADIX. What two ranks of different parts both
//! have of the vector is cut anew: each keeps a piece, for which it hears the other's partial
//! result. Parts need not be of one size: then a rank shares pieces with two ranks of another part.

use super::all_reduce::{Meetings, between};
use super::explicit::ExplicitRounds;
use super::hierarchical::{Staged, staged};
use super::{BlockRange, Hierarchy};
use crate::sorted::Arrange;

/// A piece: where it begins and ends, in blocks, and the position that has it.
type Owned = (usize, usize, usize);
/// A piece that is heard: by which part and position, in which turn, and from which part and
/// position; where it begins and ends.
type Heard = [usize; 7];

/// Blocks a rank, where parts are of different sizes: the more, the more equal are the pieces.
const FINE: usize = 4;

/// A reduce-scatter over the levels, and the blocks of the vector.
fn scattering(h: &Hierarchy) -> (ExplicitRounds, usize) {
    let (p, Meetings { ranks, cuts }) = (h.ranks(), Meetings::new(h));
    let is_even = cuts.iter().all(|cuts| cuts.windows(2).all(|ends| ends[1] - ends[0] == cuts[1]));
    let blocks = if is_even { p } else { FINE * p };
    // The pieces of each part in the order of the vector, part after part; where those of each
    // begin.
    let (mut own, mut begins) = (Vec::new(), Vec::new());
    for at in 0..p {
        own.push((0, blocks, at));
        begins.push(at);
    }
    let mut given = ExplicitRounds::new(p);
    for cuts in cuts.windows(2) {
        let (mut kept, mut kept_begins, mut part) = (Vec::new(), Vec::new(), 0);
        given.begin();
        for ends in cuts[1].windows(2) {
            let count = between(&cuts[0], ends).len() - 1;
            let first = kept.len();
            kept_begins.push(first);
            let mut now = begins[part..part + count].to_vec();
            part += count;
            let (mut heard, mut latest) = (meet(&own, &mut now, blocks, &mut kept), [NOBODY; 5]);
            kept[first..].arrange();
            heard.arrange();
            for [by, to, order, of, from, begin, end] in heard {
                if latest != [by, to, order, of, from] {
                    latest = [by, to, order, of, from];
                    given.message(ranks[from], ranks[to], true);
                }
                given.run(BlockRange::from(begin..end));
            }
        }
        (own, begins) = (kept, kept_begins);
    }
    (given, blocks)
}

/// No position.
const NOBODY: usize = usize::MAX;

/// Parts meet, whose pieces begin at the numbers `now` in `own`: of each piece that one position of
/// each part has, each keeps an equal share. To be put in order: a receiver's messages, in which it
/// takes them.
#[inline(never)]
fn meet(own: &[Owned], now: &mut [usize], blocks: usize, kept: &mut Vec<Owned>) -> Vec<Heard> {
    let count = now.len();
    let (mut first, mut turn) = (0, 0);
    let mut heard = Vec::new();
    while first < blocks {
        let mut end = blocks;
        for &at in &*now {
            end = end.min(own[at].1);
        }
        for (i, &at) in now.iter().enumerate() {
            // Where there are fewer blocks than parts, others have their turn at the next.
            let share = |i: usize| first + (end - first) * i / count;
            let (from, to) = (share((i + turn) % count), share((i + turn) % count + 1));
            if from == to {
                continue;
            }
            let by = own[at].2;
            kept.push((from, to, by));
            for (j, &of) in now.iter().enumerate() {
                // From the own part outwards, so that intervals stay adjacent.
                let order = if j < i { i - 1 - j } else { j };
                if j != i {
                    heard.push([i, by, order, j, own[of].2, from, to]);
                }
            }
        }
        turn += 1;
        first = end;
        for at in &mut *now {
            *at += usize::from(own[*at].1 == end);
        }
    }
    heard
}

/// All-reduce of long vectors: the parts that each rank combines, and back to all.
pub(super) fn all_reduce(h: &Hierarchy) -> (Staged, usize) {
    there_and_back(h, None)
}

/// Reduction of long vectors: the parts that each rank combines, and to the root.
pub(super) fn reduction(h: &Hierarchy, root: usize) -> (Staged, usize) {
    there_and_back(h, Some(root))
}

fn there_and_back(h: &Hierarchy, root: Option<usize>) -> (Staged, usize) {
    let (mut given, blocks) = scattering(h);
    given.and_back(root);
    (staged(h.ranks(), Box::new(given)), blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Algorithm, Operation, Request, check};

    /// Right, and in rank order where groups are of consecutive ranks; and no rank has much more to
    /// combine than its share, whatever the number of ranks.
    #[test]
    fn any_number_of_ranks_shares_the_vector() {
        for p in [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 17, 31, 32, 33, 63, 64, 127, 128] {
            let shapes = [
                Hierarchy::even(p, &[]),
                Hierarchy::even(p, &[4, 4, 4]),
                Hierarchy::even(p, &[16]).degrees(&[4, 2]),
                Hierarchy::even(p, &[3]).degrees(&[0, 2]),
            ];
            for levels in shapes {
                let request = |operation| Request::new(operation, p).levels(levels.clone());
                let all =
                    Algorithm::AR_HIER_SPLIT.schedule(&request(Operation::AllReduce)).unwrap();
                check(&all).unwrap_or_else(|e| panic!("{p} {levels}: {e}"));
                assert!(all.is_ordered());
                for root in [0, p / 2, p - 1] {
                    let request = request(Operation::Reduce).root(root);
                    let one = Algorithm::RED_HIER_SPLIT.schedule(&request).unwrap();
                    check(&one).unwrap_or_else(|e| panic!("{p} {levels} to {root}: {e}"));
                }
                let blocks = all.contract().split as f64;
                for rank in 0..p {
                    let heard = |step| {
                        let recvs = all.step(step, rank).recvs.into_iter();
                        recvs.flat_map(|r| r.blocks).map(|b| b.count).sum::<usize>()
                    };
                    let heard: usize = (0..all.steps() / 2).map(heard).sum();
                    let share = heard as f64 / blocks;
                    // Each word of the others once, at most a third more.
                    assert!(share < 1.0 + 1.0 / 3.0, "{p} {levels}: rank {rank} hears {share}");
                }
            }
        }
    }

    #[test]
    fn the_machine_of_two_packages_takes_four_steps_each_way() {
        let levels = Hierarchy::even(128, &[4, 4, 4]);
        let request = Request::new(Operation::AllReduce, 128).levels(levels);
        let schedule = Algorithm::AR_HIER_SPLIT.schedule(&request).unwrap();
        assert_eq!((schedule.steps(), schedule.contract().split), (8, 128));
    }
}
