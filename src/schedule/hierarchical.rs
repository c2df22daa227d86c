//! Hierarchical collectives: leaders of groups, leaders of leaders. Ordinary schedules over a
//! [`Hierarchy`].
//!
//! Up: in each group a tree of the stage's degree to the leader; down: the same backwards. Trees
//! split the members into intervals, so that partial results are of neighbouring ranks wherever
//! groups are.

use super::doubling::Doubling;
use super::explicit::{ExplicitRounds, ports};
use super::hierarchy::{Exchange, Hierarchy, LeaderGroup};
use super::rule_parts::{BlockRanges, Boxed, ceil_log};
use super::{BlockRange, Incoming, Mode, OFFSET, RESULT, Reversed, Round, Rule, Step, TOTAL};
use crate::sorted::{Arrange, Listed};

/// Rules of given messages, and the ports that they need.
pub(super) struct Staged {
    pub(super) rule: Boxed,
    pub(super) ports: usize,
}

type Pairs = Vec<(usize, usize)>;

const WHOLE: BlockRange = BlockRange::one(0);

pub(super) fn staged(p: usize, rule: Boxed) -> Staged {
    Staged { ports: ports(&*rule, p), rule }
}

/// Rounds of whole vectors, from and to `root`.
struct WholeRounds<'a> {
    levels: &'a Hierarchy,
    root: usize,
    given: ExplicitRounds,
}

impl<'a> WholeRounds<'a> {
    fn new(levels: &'a Hierarchy, root: usize) -> Self {
        WholeRounds { levels, root, given: ExplicitRounds::new(levels.ranks()) }
    }

    /// None for nobody.
    fn round(&mut self, combine: bool, pairs: &[(usize, usize)]) {
        if !pairs.is_empty() {
            self.given.begin();
        }
        for &(from, to) in pairs {
            self.given.message(from, to, combine);
            self.given.run(WHOLE);
        }
    }

    fn staged(self) -> Staged {
        staged(self.levels.ranks(), Box::new(self.given))
    }

    /// The trees of a stage, of which a parent is so high.
    fn tree(&mut self, edges: &[StageEdge], height: usize, up: bool) {
        self.given.begin();
        for i in 0..edges.len() {
            let [at, child, parent] = edges[if up { i } else { edges.len() - 1 - i }];
            if at == height {
                let (from, to) = if up { (child, parent) } else { (parent, child) };
                self.given.message(from, to, up);
                self.given.run(WHOLE);
            }
        }
    }

    fn up(&mut self, stages: usize) {
        for stage in 0..stages {
            let (height, edges) = up(self.levels, stage, self.root);
            (1..=height).for_each(|at| self.tree(&edges, at, true));
        }
    }

    /// Parent to child, the outermost first.
    fn down(&mut self, stages: usize) {
        for stage in (0..stages).rev() {
            let (height, edges) = up(self.levels, stage, self.root);
            (1..=height).rev().for_each(|at| self.tree(&edges, at, false));
        }
    }

    /// Up, an exchange of the outermost leaders, for which `direct` and `doubling` are ways, down.
    fn up_and_down(
        mut self,
        direct: fn(&[usize]) -> Pairs,
        doubling: fn(&mut WholeRounds<'_>, &[usize]),
    ) -> Staged {
        let top = self.levels.stages() - 1;
        let (leaders, exchange) = (leaders(self.levels), self.levels.exchange(top));
        // With a tree, the last stage is like the others.
        let trees = if exchange == Exchange::Tree { top + 1 } else { top };
        self.up(trees);
        match exchange {
            Exchange::Doubling => doubling(&mut self, &leaders),
            Exchange::Direct => self.round(true, &direct(&leaders)),
            Exchange::Tree => {}
        }
        self.down(trees);
        self.staged()
    }
}

/// Broadcast from `root`.
pub(super) fn broadcast(h: &Hierarchy, root: usize) -> Staged {
    let mut rounds = WholeRounds::new(h, root);
    rounds.down(h.stages());
    rounds.staged()
}

/// Reduction to `root`.
pub(super) fn reduction(h: &Hierarchy, root: usize) -> Staged {
    let mut rounds = WholeRounds::new(h, root);
    rounds.up(h.stages());
    rounds.staged()
}

/// All-reduce of the whole vector: up, between the outermost leaders, down.
pub(super) fn all_reduce(h: &Hierarchy) -> Staged {
    WholeRounds::new(h, 0).up_and_down(in_turn, |rounds, leaders| {
        let fold = Doubling::of(leaders.len());
        for step in 0..fold.steps() {
            let mut store = false;
            let mut pairs = Vec::new();
            for (x, &rank) in leaders.iter().enumerate() {
                if let Some((from, stores)) = fold.step(step, x).recv {
                    store |= stores;
                    pairs.push((leaders[from], rank));
                }
            }
            rounds.round(!store, &pairs);
        }
    })
}

/// Barrier: the same, the leaders by dissemination.
pub(super) fn barrier(h: &Hierarchy) -> Staged {
    WholeRounds::new(h, 0).up_and_down(everybody, |rounds, leaders| {
        let n = leaders.len();
        for k in 0..ceil_log(n) {
            let pairs = (0..n).map(|i| (leaders[i], leaders[(i + (1 << k)) % n]));
            rounds.round(true, &pairs.listed());
        }
    })
}

/// Each to all others; each takes them from its own position outwards, so that intervals stay
/// adjacent.
fn everybody(group: &[usize]) -> Pairs {
    let mut pairs = Vec::new();
    for (i, &to) in group.iter().enumerate() {
        pairs.extend(group[..i].iter().rev().chain(&group[i + 1..]).map(|&from| (from, to)));
    }
    pairs
}

/// Each to all others; each combines all from left to right, its own in its turn, so that all end
/// with the same bits. (The first two do so without a turn of their own.)
fn in_turn(group: &[usize]) -> Pairs {
    let mut pairs = Vec::new();
    for (i, &to) in group.iter().enumerate() {
        for &from in group {
            if from != to || i >= 2 {
                pairs.push((from, to));
            }
        }
    }
    pairs
}

/// All-gather: blocks up to the leaders, whole groups between the outermost leaders (doubling:
/// Bruck's rule), and down whatever a rank does not have.
pub(super) fn all_gather(h: &Hierarchy) -> Staged {
    let p = h.ranks();
    let top = h.stages() - 1;
    // What every rank has: its own block, later its subtree's.
    let mut has: Vec<Vec<usize>> = (0..p).map(|rank| vec![rank]).collect();
    let mut rounds = Vec::new();
    // Before each stage's downward messages: who had what when it reported upwards.
    let mut reported: Vec<Vec<(usize, usize, Vec<usize>)>> = Vec::new();
    let trees = if h.exchange(top) == Exchange::Tree { top + 1 } else { top };
    for stage in 0..trees {
        let (height, edges) = up(h, stage, 0);
        for height in 1..=height {
            let edges = edges.iter().filter(|edge| edge[0] == height);
            let said: Vec<_> = edges.map(|&[_, c, l]| (l, c, has[c].clone())).collect();
            let message =
                |&(to, from, ref blocks): &(usize, usize, Vec<usize>)| (from, to, runs(blocks));
            rounds.push(Round { combine: false, messages: said.iter().map(message).collect() });
            for (leader, _, blocks) in &said {
                has[*leader].extend(blocks);
                has[*leader].arrange();
            }
            reported.push(said);
        }
    }
    let leaders = leaders(h);
    let n = leaders.len();
    let own: Vec<Vec<usize>> = leaders.iter().map(|&l| has[l].clone()).collect();
    if h.exchange(top) == Exchange::Direct && n > 1 {
        let message = |(from, to): (usize, usize)| (from, to, runs(&has[from]));
        let messages = everybody(&leaders).into_iter().map(message).collect();
        rounds.push(Round { combine: false, messages });
    }
    let doubles = h.exchange(top) == Exchange::Doubling;
    for k in 0..if doubles { ceil_log(n) } else { 0 } {
        let hop = 1 << k;
        let message = |i: usize| {
            // Leader i sends the groups i, i+1, .. that it has, as many as are still missing there.
            let count = hop.min(n - hop);
            let mut blocks: Vec<usize> =
                (0..count).flat_map(|j| own[(i + j) % n].iter().copied()).collect();
            blocks.arrange();
            (leaders[i], leaders[(i + n - hop) % n], runs(&blocks))
        };
        rounds.push(Round { combine: false, messages: (0..n).map(message).collect() });
    }
    for said in reported.into_iter().rev() {
        let message = |(leader, child, blocks): (usize, usize, Vec<usize>)| {
            let missing: Vec<usize> = (0..p).filter(|b| blocks.binary_search(b).is_err()).collect();
            (leader, child, runs(&missing))
        };
        rounds.push(Round { combine: false, messages: said.into_iter().map(message).collect() });
    }
    staged(p, Box::new(ExplicitRounds::of_rounds(p, rounds)))
}

/// Reduce-scatter: the all-gather backwards.
pub(super) fn reduce_scatter(h: &Hierarchy) -> Staged {
    let Staged { rule, ports } = all_gather(h);
    Staged { rule: Box::new(Reversed { rule, combine: true }), ports }
}

/// The parts of all ranks, step by step.
struct ExplicitSteps(Vec<Vec<Step>>);

impl Rule for ExplicitSteps {
    fn steps(&self) -> usize {
        self.0.len()
    }

    fn step(&self, step: usize, rank: usize) -> Step {
        self.0[step].get(rank).cloned().unwrap_or_default()
    }
}

/// Prefix sums: in each group by doubling or all with all, then between leaders, and the total of
/// all groups before to everybody in the group. For consecutive groups.
pub(super) fn scan(h: &Hierarchy) -> Staged {
    let p = h.ranks();
    let mut steps: Vec<Vec<Step>> = Vec::new();
    for stage in 0..h.stages() {
        let groups = h.groups_of(stage, 0);
        let last = stage + 1 == h.stages();
        if h.exchange(stage) == Exchange::Direct {
            steps.push(scan_directly(p, &groups, stage > 0, last));
            continue;
        }
        let longest = groups.iter().map(|g| ceil_log(g.members.len())).max().unwrap_or(0);
        for i in 0..longest {
            let mut parts = vec![Step::default(); p];
            for group in &groups {
                for (x, &rank) in group.members.iter().enumerate() {
                    let partner = x ^ (1 << i);
                    let Some(&other) = group.members.get(partner) else { continue };
                    let mut also = Vec::new();
                    if partner < x {
                        also.push((RESULT, Mode::Left));
                        if stage > 0 {
                            also.push((OFFSET, Mode::Left));
                        }
                    }
                    parts[rank].send(other, vec![BlockRange::one(TOTAL)]);
                    let mode = Mode::combine(other, rank);
                    parts[rank].recvs.push(Incoming {
                        from: other,
                        blocks: vec![BlockRange::one(TOTAL)],
                        mode,
                        also,
                    });
                }
            }
            steps.push(parts);
        }
        // A leader must know its group's whole total before it goes on: with p no power of two the
        // first position of the doubling may not, the last always does.
        if !last {
            steps.push(hand_totals(p, &groups));
        }
    }
    // Downwards: from a leader to the other members, the offset that it has from outside.
    for stage in (0..h.stages() - 1).rev() {
        let mut parts = vec![Step::default(); p];
        for group in h.groups_of(stage, 0) {
            let leader = group.members[group.leader];
            // Nothing lies before the group of rank 0.
            if leader == 0 {
                continue;
            }
            for &rank in group.members.iter().filter(|&&m| m != leader) {
                parts[leader].send(rank, vec![BlockRange::one(OFFSET)]);
                let also = vec![(RESULT, Mode::Left)];
                parts[rank].recvs.push(Incoming {
                    from: leader,
                    blocks: vec![BlockRange::one(OFFSET)],
                    mode: Mode::Left,
                    also,
                });
            }
        }
        steps.push(parts);
    }
    steps.retain(|parts| parts.iter().any(|s| !s.sends.is_empty()));
    staged(p, Box::new(ExplicitSteps(steps)))
}

/// Prefix sums within groups in one step: everybody's total to all after it, and for the leader's
/// sake to all before it, but at the last stage, where nobody needs the whole.
fn scan_directly(p: usize, groups: &[LeaderGroup], outer: bool, last: bool) -> Vec<Step> {
    let mut parts = vec![Step::default(); p];
    for group in groups {
        for (from, rank) in everybody(&group.members) {
            let before = from < rank;
            if last && !before {
                continue;
            }
            parts[from].send(rank, vec![BlockRange::one(TOTAL)]);
            let mut also = Vec::new();
            if before {
                also.push((RESULT, Mode::Left));
                if outer {
                    also.push((OFFSET, Mode::Left));
                }
            }
            let mode = Mode::combine(from, rank);
            parts[rank].recvs.push(Incoming {
                from,
                blocks: vec![BlockRange::one(TOTAL)],
                mode,
                also,
            });
        }
    }
    parts
}

/// The last member of every group, whose total is complete, gives it to the leader.
fn hand_totals(p: usize, groups: &[LeaderGroup]) -> Vec<Step> {
    let mut parts = vec![Step::default(); p];
    for group in groups.iter().filter(|g| !g.members.len().is_power_of_two()) {
        let (&last, leader) =
            (group.members.last().expect("no group is empty"), group.members[group.leader]);
        if last != leader {
            parts[last].send(leader, vec![BlockRange::one(TOTAL)]);
            parts[leader].recv(last, vec![BlockRange::one(TOTAL)], Mode::Store);
        }
    }
    parts
}

/// The leaders of the outermost groups, ascending.
fn leaders(h: &Hierarchy) -> Vec<usize> {
    let top = h.stages() - 1;
    let mut all = Vec::new();
    h.groups_of(top, 0).iter().for_each(|group| all.extend_from_slice(&group.members));
    all
}

fn runs(blocks: &[usize]) -> Vec<BlockRange> {
    let mut out = BlockRanges::default();
    blocks.iter().for_each(|&b| out.push(b, 1));
    out.0
}

/// The height of a parent, a child, and the parent.
type StageEdge = [usize; 3];

/// The trees of a stage, in the order in which a parent combines; the greatest height. Those of
/// one height are a round.
#[inline(never)]
fn up(h: &Hierarchy, stage: usize, root: usize) -> (usize, Vec<StageEdge>) {
    let (mut height, mut edges) = (0, Vec::new());
    for LeaderGroup { members, leader } in &h.groups_of(stage, root) {
        let degree = match h.degree(stage) {
            0 => members.len(),
            d => d,
        };
        height = height.max(climb(members, (0, members.len()), *leader, degree, &mut edges));
    }
    (height, edges)
}

/// The tree over the positions of an interval with `at` on top: up to `degree` children, each the
/// position of its interval that is nearest to `at`. Adds its edges, and returns the height of
/// `at`.
#[inline(never)]
fn climb(
    members: &[usize],
    (low, high): (usize, usize),
    at: usize,
    degree: usize,
    edges: &mut Vec<StageEdge>,
) -> usize {
    let (left, right) = (at - low, high - at - 1);
    if left + right == 0 {
        return 0;
    }
    let degree = degree.max(1 + usize::from(left > 0 && right > 0));
    let for_left = match (left, right) {
        (0, _) => 0,
        (_, 0) => degree,
        _ => (degree * left / (left + right)).clamp(1, degree - 1),
    };
    let (for_left, for_right) = (for_left.min(left), (degree - for_left).min(right));
    // Nearest first on both sides.
    let child = |i: usize| match i.checked_sub(for_left) {
        None => {
            let (near, far) = (at - left * i / for_left, at - left * (i + 1) / for_left);
            ((far, near), near - 1)
        }
        Some(i) => {
            let (near, far) = (right * i / for_right, right * (i + 1) / for_right);
            ((at + 1 + near, at + 1 + far), at + 1 + near)
        }
    };
    let mut height = 0;
    for is_above in [false, true] {
        for i in 0..for_left + for_right {
            let (interval, child) = child(i);
            if is_above {
                edges.push([height + 1, members[child], members[at]]);
            } else {
                height = height.max(climb(members, interval, child, degree, edges));
            }
        }
    }
    height + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Algorithm, Operation, Request, check};

    fn steps(algorithm: Algorithm, operation: Operation, levels: &Hierarchy) -> usize {
        let call = Request::new(operation, levels.ranks()).levels(levels.clone());
        let schedule = algorithm.schedule(&call).unwrap();
        check(&schedule).unwrap();
        schedule.steps()
    }

    /// Two packages of 8 caches of 8 cores: two steps up, one exchange, two down.
    #[test]
    fn three_levels_of_stars_take_five_steps() {
        let machine = Hierarchy::even(128, &[8, 8]);
        assert_eq!(steps(Algorithm::BAR_HIER, Operation::Barrier, &machine), 5);
        assert_eq!(steps(Algorithm::AR_HIER, Operation::AllReduce, &machine), 5);
        assert_eq!(steps(Algorithm::BC_HIER, Operation::Broadcast, &machine), 3);
        // Binary trees in the caches: 8 = 1 + 2 (1 + 2 (1)) + 1, three steps.
        let trees = machine.clone().degrees(&[2]);
        assert_eq!(steps(Algorithm::RED_HIER, Operation::Reduce, &trees), 5);
        assert_eq!(steps(Algorithm::BAR_HIER, Operation::Barrier, &trees), 9);
    }

    /// Every way of exchanging at every stage, for groups of all sorts: right, in rank order,
    /// without hazards.
    #[test]
    fn all_exchanges_are_right() {
        use Algorithm as A;
        let ways = [Exchange::Doubling, Exchange::Direct, Exchange::Tree];
        let own = [
            (A::BAR_HIER, Operation::Barrier),
            (A::AR_HIER, Operation::AllReduce),
            (A::AG_HIER, Operation::AllGather),
            (A::RS_HIER, Operation::ReduceScatter),
            (A::SCAN_HIER, Operation::Scan),
            (A::SCAN_HIER, Operation::ExclusiveScan),
        ];
        for (p, sizes) in [(1, vec![2]), (2, vec![]), (7, vec![3]), (12, vec![2, 3]), (16, vec![4])]
        {
            for inner in ways {
                for outer in ways {
                    let exchanges: Vec<Exchange> = (0..=sizes.len())
                        .map(|s| if s == sizes.len() { outer } else { inner })
                        .collect();
                    for degree in [0, 2] {
                        let levels = Hierarchy::even(p, &sizes);
                        let levels = levels.degrees(&[degree; 3]).exchanges(&exchanges);
                        for (algorithm, operation) in own {
                            let call = Request::new(operation, p).levels(levels.clone());
                            let schedule = algorithm.schedule(&call).unwrap();
                            check(&schedule).unwrap_or_else(|e| {
                                panic!("{algorithm} {operation} {p}, {levels}: {e}")
                            });
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_tree_of_any_degree_has_everybody_in_it_once() {
        for n in 1..30 {
            for at in 0..n {
                for degree in 1..6 {
                    let mut children = vec![0; n];
                    let mut parents = vec![0; n];
                    let (members, mut edges) = ((0..n).listed(), Vec::new());
                    climb(&members, (0, n), at, degree, &mut edges);
                    for [_, child, parent] in edges {
                        children[parent] += 1;
                        parents[child] += 1;
                    }
                    let wide = degree.max(2);
                    assert!(children.iter().all(|&c| c <= wide), "{n} {at} {degree}");
                    let alone = |x: usize| usize::from(x != at);
                    assert!((0..n).all(|x| parents[x] == alone(x)), "{n} {at} {degree}");
                }
            }
        }
    }
}
