//! Vectors in parts over a machine's levels: AR-HIER-SPLIT and RED-HIER-SPLIT, for any number of
//! ranks.
//!
//! In each step the parts of a group meet, as in AR-RADIX. What two ranks of different parts both
//! have of the vector is cut anew: each keeps a piece, for which it hears the other's partial
//! result. Parts need not be of one size: then a rank shares pieces with two ranks of another part.

use super::all_reduce::{Meetings, between};
use super::explicit::ExplicitRounds;
use super::hierarchical::{Staged, staged};
use super::{BlockRange, Hierarchy, Round};
use crate::sorted::{Arrange, Listed};
use std::ops::Range;

/// Where a piece of the vector begins and ends, in blocks.
type Bounds = (usize, usize);
/// A piece, and the position that has it.
type Owned = (usize, usize, usize);
/// A piece that is heard: by which part and position, in which turn, and from which part and
/// position; where it begins and ends.
type Heard = [usize; 7];

/// Blocks a rank, where parts are of different sizes: the more, the more equal are the pieces.
const FINE: usize = 4;

/// A reduce-scatter over the levels, and the blocks of the vector.
struct Scattering {
    rounds: Vec<Round>,
    blocks: usize,
}

impl Scattering {
    fn new(h: &Hierarchy) -> Self {
        let (p, meetings) = (h.ranks(), Meetings::new(h));
        let even = |cuts: &Vec<usize>| {
            let first = cuts.get(1).copied().unwrap_or(0);
            cuts.windows(2).all(|ends| ends[1] - ends[0] == first)
        };
        let blocks = if meetings.cuts.iter().all(even) { p } else { FINE * p };
        let mut own: Vec<Vec<Bounds>> = (0..p).map(|_| vec![(0, blocks)]).listed();
        let mut rounds = Vec::new();
        for cuts in meetings.cuts.windows(2) {
            let mut kept = Vec::new();
            kept.resize_with(p, Vec::new);
            let mut messages = Vec::new();
            for ends in cuts[1].windows(2) {
                let mut parts = Vec::new();
                for part in between(&cuts[0], ends).windows(2) {
                    parts.push(pieces(&own, part[0]..part[1]));
                }
                for run in meet(&parts, blocks, &mut kept).chunk_by(|a, b| a[..5] == b[..5]) {
                    let [_, to, _, _, from, ..] = run[0];
                    let ranges = run.iter().map(|heard| BlockRange::from(heard[5]..heard[6]));
                    messages.push((meetings.ranks[from], meetings.ranks[to], ranges.listed()));
                }
            }
            rounds.push(Round { combine: true, messages });
            own = kept;
        }
        Scattering { rounds, blocks }
    }

    /// The messages of the way back to the root, of all that it needs.
    fn gathering(&self, p: usize, root: usize) -> Vec<Round> {
        let mut needed = vec![false; p];
        needed[root] = true;
        let mut back = Vec::new();
        for round in &self.rounds {
            let sent = round.messages.iter().filter(|m| needed[m.0]);
            let messages: Vec<_> =
                sent.map(|(from, to, blocks)| (*to, *from, blocks.clone())).collect();
            messages.iter().for_each(|m| needed[m.0] = true);
            back.push(Round { combine: false, messages });
        }
        back.reverse();
        back
    }
}

/// The pieces of a part's positions, in the order of the vector.
fn pieces(own: &[Vec<Bounds>], part: Range<usize>) -> Vec<Owned> {
    let mut all = Vec::new();
    for at in part {
        own[at].iter().for_each(|&(first, end)| all.push((first, end, at)));
    }
    all.arrange();
    all
}

/// The parts meet: of each piece that one position of each part has, each keeps an equal share. In
/// order: a receiver's messages, in which it takes them.
fn meet(parts: &[Vec<Owned>], blocks: usize, kept: &mut [Vec<Bounds>]) -> Vec<Heard> {
    let count = parts.len();
    let mut at = vec![0; count];
    let (mut first, mut turn) = (0, 0);
    let mut heard = Vec::new();
    while first < blocks {
        let now = |i: usize, at: &[usize]| parts[i][at[i]];
        let end = (0..count).map(|i| now(i, &at).1).min().unwrap_or(blocks);
        for i in 0..count {
            // Where there are fewer blocks than parts, others have their turn at the next.
            let share = |i: usize| first + (end - first) * i / count;
            let (from, to) = (share((i + turn) % count), share((i + turn) % count + 1));
            if from == to {
                continue;
            }
            let (.., own) = now(i, &at);
            kept[own].push((from, to));
            for j in (0..count).filter(|&j| j != i) {
                // From the own part outwards, so that intervals stay adjacent.
                let order = if j < i { i - 1 - j } else { j };
                heard.push([i, own, order, j, now(j, &at).2, from, to]);
            }
        }
        turn += 1;
        first = end;
        for i in 0..count {
            at[i] += usize::from(now(i, &at).1 == end);
        }
    }
    heard.arrange();
    heard
}

/// All-reduce of long vectors: the parts that each rank combines, and back to all.
pub(super) fn all_reduce(h: &Hierarchy) -> (Staged, usize) {
    let Scattering { rounds, blocks } = Scattering::new(h);
    let mut given = ExplicitRounds::new(h.ranks(), rounds);
    given.and_back();
    (staged(given), blocks)
}

/// Reduction of long vectors: the parts that each rank combines, and to the root.
pub(super) fn reduction(h: &Hierarchy, root: usize) -> (Staged, usize) {
    let all = Scattering::new(h);
    let back = all.gathering(h.ranks(), root);
    let Scattering { mut rounds, blocks } = all;
    rounds.extend(back);
    rounds.retain(|round| !round.messages.is_empty());
    (staged(ExplicitRounds::new(h.ranks(), rounds)), blocks)
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
