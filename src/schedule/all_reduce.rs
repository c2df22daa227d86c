//! All-reduce and barrier.

use super::doubling::{Doubling, LineStep, disseminate, rounds};
use super::explicit::ExplicitRounds;
use super::grid::fastest_first;
use super::hierarchical::{Staged, staged};
use super::rule_parts::{Boxed, rule};
use super::{BlockRange, Chain, Hierarchy, Mode, Step};
use crate::sorted::{Arrange, SortedMap, numbers};
use crate::topology::Extents;

/// AR-HCUBE, AR-ANY: pairs 2^i apart exchange the whole vector and combine, the lower
/// rank's operand on the left (Fig. 4.11 reread, Eq. 4.5). A number of ranks that is
/// no power of two is folded first and unfolded last (G3: two more steps).
pub(crate) fn doubling(p: usize, blocks: BlockRange) -> Boxed {
    let doubling = Doubling::of(p);
    rule(doubling.steps(), move |s, rank| on_line(doubling.step(s, rank), rank, blocks, &|x| x))
}

/// AR-MESH: [`doubling`] along one dimension after the other, the fastest first.
/// Rank order holds: a dimension combines neighbouring intervals of ranks.
pub(crate) fn by_dimension(extents: &Extents, blocks: BlockRange) -> Boxed {
    let phase = |dim| {
        let (e, doubling) = (extents.clone(), Doubling::of(extents.extent(dim)));
        rule(doubling.steps(), move |s, rank| {
            let hop = doubling.step(s, e.coordinate(rank, dim));
            on_line(hop, rank, blocks, &|x| e.on_line(rank, dim, x))
        })
    };
    Box::new(Chain::new(fastest_first(extents).into_iter().map(phase).collect()))
}

/// The part of `rank`, with `at` for the ranks of its line.
fn on_line(hop: LineStep, rank: usize, blocks: BlockRange, at: &dyn Fn(usize) -> usize) -> Step {
    let mut step = Step::default();
    if let Some(x) = hop.send {
        step.send(at(x), vec![blocks]);
    }
    if let Some((x, store)) = hop.recv {
        let from = at(x);
        let mode = if store { Mode::Store } else { Mode::combine(from, rank) };
        step.recv(from, vec![blocks], mode);
    }
    step
}

/// BAR-ANY: dissemination (G7), ceil(log p) steps for any p. Contributions may
/// arrive more than once, which only an idempotent combination forgives; a
/// barrier's does.
pub(crate) fn dissemination(p: usize) -> Boxed {
    rule(rounds(p), move |k, rank| {
        let (to, from) = disseminate(k, rank, p);
        let mut step = Step::default();
        step.send(to, vec![BlockRange::one(0)]);
        step.recv(from, vec![BlockRange::one(0)], Mode::Left);
        step
    })
}

/// The most that meet in a step where a stage's degree leaves it open: of twice as many, the second
/// half would take a rank as long as a step of its own.
const MOST: usize = 8;

impl Hierarchy {
    /// Into how many parts AR-RADIX cuts `members` of a stage for each of its steps, the last step
    /// first: at most `degree` (0: [`MOST`]), in as few steps as that allows, and no more than
    /// those need, but for one more that makes the parts equal.
    #[inline(never)]
    pub(crate) fn radices(members: usize, degree: usize) -> Vec<usize> {
        let most = if degree == 0 { MOST } else { degree.max(2) };
        let mut steps = 0;
        while !reaches(most, steps, members) {
            steps += 1;
        }
        let (mut left, mut radices) = (members, Vec::new());
        for below in (0..steps).rev() {
            let mut radix = 2;
            while radix < most && !reaches(radix, below + 1, left) {
                radix += 1;
            }
            let one_more = radix + 1;
            if one_more <= most && !left.is_multiple_of(radix) && left.is_multiple_of(one_more) {
                radix = one_more;
            }
            left = left.div_ceil(radix);
            radices.push(radix);
        }
        radices
    }
}

/// Whether `n` are reached in so many steps.
#[inline(never)]
fn reaches(radix: usize, steps: u32, n: usize) -> bool {
    radix.saturating_pow(steps) >= n
}

/// The parts that meet in each step of AR-RADIX. A position counts the ranks group by group.
pub(super) struct Meetings {
    /// By position.
    pub(super) ranks: Vec<usize>,
    /// Before the first step and after each: where the parts begin that have met, and p.
    pub(super) cuts: Vec<Vec<usize>>,
}

impl Meetings {
    pub(super) fn new(h: &Hierarchy) -> Self {
        let (p, levels) = (h.ranks(), h.stages() - 1);
        // From the inside out: a group comes where its lowest rank does.
        let mut ranks = numbers(p);
        for level in 0..levels {
            let (mut lowest, mut firsts) = (SortedMap::new(), Vec::new());
            for rank in 0..p {
                firsts.push(*lowest.or_insert(h.group(level, rank), rank));
            }
            ranks.arrange_by_key(|&rank| firsts[rank]);
        }
        let mut cuts = vec![numbers(p + 1)];
        for stage in 0..=levels {
            let mut groups = vec![0];
            for (at, ranks) in ranks.windows(2).enumerate() {
                if stage < levels && h.group(stage, ranks[0]) != h.group(stage, ranks[1]) {
                    groups.push(at + 1);
                }
            }
            groups.push(p);
            of_stage(&mut cuts, groups, h.degree(stage));
        }
        Meetings { ranks, cuts }
    }
}

/// The cuts from the first of `ends` to the second.
#[inline(never)]
pub(super) fn between<'a>(cuts: &'a [usize], ends: &[usize]) -> &'a [usize] {
    let at = |end: usize| cuts.partition_point(|&cut| cut < end);
    &cuts[at(ends[0])..=at(ends[1])]
}

/// Adds the cuts after each step of a stage: its `groups` consist of the latest parts.
#[inline(never)]
fn of_stage(cuts: &mut Vec<Vec<usize>>, groups: Vec<usize>, degree: usize) {
    let before = cuts.len();
    let within = cuts.pop().unwrap_or_default();
    let mut steps = 0;
    for ends in groups.windows(2) {
        steps = steps.max(radices(&within, ends, degree).len());
    }
    // Backwards, from the groups to their members.
    let mut whole = groups;
    for left in (1..=steps).rev() {
        let mut parts = vec![0];
        for ends in whole.windows(2) {
            let (members, all) = (between(&within, ends), radices(&within, ends, degree));
            // A smaller group has met before.
            let radix = if all.len() == left { all[0] } else { 1 };
            for i in 1..=radix {
                parts.push(members[(members.len() - 1) * i / radix]);
            }
        }
        cuts.push(std::mem::replace(&mut whole, parts));
    }
    cuts.push(within);
    cuts[before - 1..].reverse();
}

#[inline(never)]
fn radices(within: &[usize], ends: &[usize], degree: usize) -> Vec<usize> {
    Hierarchy::radices(between(within, ends).len() - 1, degree)
}

/// AR-RADIX, BAR-RADIX: recursive multiplying. In each step the parts of a group meet: each rank
/// hears from one rank of each other part its partial result. Each stage of the hierarchy has
/// as many steps as its degree makes of it ([`Hierarchy::radices`]). Parts need not be of one size,
/// as some ranks of a smaller part are heard by several of a larger one: so nobody is folded, for
/// any p, and each operand counts once, since parts do not overlap.
///
/// With `in_turn` a rank combines the parts from left to right, its own in its turn, so that all
/// ranks have the same bits. (Those of the first two parts need no turn of their own.)
pub(super) fn radix(h: &Hierarchy, in_turn: bool) -> Staged {
    let Meetings { ranks, cuts } = Meetings::new(h);
    let mut given = ExplicitRounds::new(ranks.len());
    for cuts in cuts.windows(2) {
        given.begin();
        for ends in cuts[1].windows(2) {
            let parts = between(&cuts[0], ends);
            for (own, to) in parts.windows(2).enumerate() {
                for place in 0..to[1] - to[0] {
                    for (i, from) in parts.windows(2).enumerate() {
                        let mode = if i < own { Mode::Left } else { Mode::Right };
                        if i != own || in_turn && own >= 2 {
                            let from = from[0] + place % (from[1] - from[0]);
                            given.send(ranks[from], ranks[to[0] + place], mode);
                            given.run(BlockRange::one(0));
                        }
                    }
                }
            }
        }
    }
    staged(ranks.len(), Box::new(given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Algorithm, Operation, Request, Schedule, check};

    /// Of every number of ranks up to some hundreds: one level in all radices, the levels of
    /// machines, groups that fit nowhere, groups of ranks that are not neighbours.
    fn shapes(p: usize) -> Vec<Hierarchy> {
        let one = |degree: usize| Hierarchy::even(p, &[]).degrees(&[degree]);
        let mut shapes: Vec<Hierarchy> = [0, 1, 2, 3, 4, 5, 8, 16].map(one).into();
        shapes.push(Hierarchy::even(p, &[8, 8]));
        shapes.push(Hierarchy::even(p, &[4, 2, 8]).degrees(&[2, 0, 3, 2]));
        shapes.push(Hierarchy::even(p, &[72]).degrees(&[9, 4]));
        shapes.extend(Hierarchy::new(p, &[(0..p).map(|r| usize::from(r > 2)).collect()]));
        shapes.extend(Hierarchy::new(p, &[(0..p).map(|r| 7 - r % 7).collect()]));
        shapes
    }

    fn schedules(p: usize, levels: Hierarchy) -> [Schedule; 2] {
        [(Algorithm::AR_RADIX, Operation::AllReduce), (Algorithm::BAR_RADIX, Operation::Barrier)]
            .map(|(algorithm, operation)| {
                algorithm.schedule(&Request::new(operation, p).levels(levels.clone())).unwrap()
            })
    }

    #[test]
    fn radices_reach_all_members_in_the_fewest_steps() {
        assert_eq!(Hierarchy::radices(128, 8), [6, 5, 5]);
        assert_eq!(Hierarchy::radices(64, 4), [4, 4, 4]);
        assert_eq!(Hierarchy::radices(32, 4), [4, 4, 2]);
        assert_eq!(Hierarchy::radices(12, 0), [4, 3]);
        for n in 1..600usize {
            for degree in 0..20 {
                let most = if degree == 0 { MOST } else { degree.max(2) };
                let radices = Hierarchy::radices(n, degree);
                assert!(radices.iter().product::<usize>() >= n, "{n} {degree}: {radices:?}");
                assert!(
                    radices.iter().all(|r| (2..=most).contains(r)),
                    "{n} {degree}: {radices:?}"
                );
                let fewer = most.saturating_pow((radices.len() as u32).saturating_sub(1));
                assert!(n == 1 || fewer < n, "{n} {degree}: {radices:?}");
            }
        }
    }

    /// Right in contents and order, and nobody has more to do than the radices say: no rank is
    /// folded, and none hears of more than r - 1 parts in a step.
    #[test]
    fn any_number_of_ranks_multiplies() {
        for p in (1..=40).chain([47, 63, 64, 65, 71, 97, 127, 128, 129, 200, 283, 300]) {
            for levels in shapes(p) {
                let name = format!("{p}: {levels}");
                let of_stage = |stage: usize| {
                    let largest = levels.members(stage).iter().map(Vec::len).max().unwrap();
                    Hierarchy::radices(largest, levels.degree(stage)).into_iter().sum::<usize>()
                };
                let most: usize = (0..levels.stages()).map(of_stage).sum();
                let ordered = levels.is_consecutive();
                for schedule in schedules(p, levels) {
                    check(&schedule).unwrap_or_else(|e| panic!("{name}: {e}"));
                    let is_barrier = schedule.contract().operation == Operation::Barrier;
                    assert_eq!(schedule.is_ordered(), ordered || is_barrier, "{name}");
                    for rank in 0..p {
                        let steps = (0..schedule.steps()).map(|step| schedule.step(step, rank));
                        let heard: usize = steps
                            .map(|s| s.recvs.iter().filter(|recv| recv.from != rank).count())
                            .sum();
                        assert!(heard <= most, "{name}: rank {rank} hears {heard} of {most}");
                    }
                }
            }
        }
    }
}
