//! Finding a good placement for a pattern.
//!
//! 1. *Which cores.* The fastest kind that is large enough, one rank a core; then the smallest part
//!    of the tree with room for all, filling whole subtrees before it opens the next one.
//! 2. *Recursive mapping.* Walk down the tree: at each vertex the ranks are cut into parts as large
//!    as the room under each child: once in slabs, once in halves of halves, each time along the
//!    dimension that cuts the fewest messages. For rings and rows this is the logical order, and
//!    exact on every tree with memories that are all as far apart: every channel that must be
//!    passed is passed by one message each way. For hypercubes with parts that are subcubes (rooms
//!    that are equal powers of two) the traffic over all steps is the least possible on every
//!    single channel; for the sum of the steps' maxima that is no proof.
//! 3. *Candidates.* That, compact, identity, and compact on all cores; the best score wins, so that
//!    the result is never worse than compact or identity on cores as fast.
//! 4. *Local search.* Where step 2 is not known to be exact, ranks swap cores, or move to free
//!    ones, as long as the score improves; then the best placement is shaken, and the search starts
//!    again, until a fixed number of rounds or a fixed budget of work is used up. No clock is
//!    asked, so the same input gives the same placement everywhere. A heuristic: up to 8 ranks the
//!    tests compare it with all permutations, beyond that nothing but step 3 is promised.

use crate::sorted::{Arrange, Listed, SortedSet};

use super::core_order;
use super::network::{ChannelLoads, Score, Weights};
use super::pattern::Pattern;
use crate::machine::Machine;
use crate::mix::SplitMix;

/// Channels that the local search may visit: about 0.1 s in a release build.
const BUDGET: usize = 8_000_000;

/// Rounds of local search, each after a shake of the best placement so far.
const ROUNDS: usize = 16;

/// The processing unit of each rank.
pub(super) fn place(machine: &Machine, pattern: &Pattern) -> Vec<usize> {
    let ranks = pattern.ranks();
    let fast = core_order::fastest(machine, ranks);
    let mut candidates: Vec<Vec<usize>> = Vec::new();
    add_mapped(machine, pattern, &tight(machine, &fast, ranks), &mut candidates);
    add_mapped(machine, pattern, &fast, &mut candidates);
    add_mapped(machine, pattern, &even(machine, &fast, ranks), &mut candidates);
    // Identity and compact as they are, unless they use slower cores than needed.
    let mut add_fast = |cores: &[usize]| {
        let units = around(&core_order::units(machine, cores), ranks);
        let is_fast = |&pu: &usize| machine.core_of(pu).is_some_and(|core| fast.contains(&core));
        if units.iter().all(is_fast) {
            candidates.push(units);
        }
    };
    add_fast(&core_order::usable(machine));
    add_fast(&core_order::by_number(machine));
    candidates.dedup();

    let mut network = ChannelLoads::new(machine);
    let weights = Weights::default();
    let core_of = |units: &[usize]| -> Vec<usize> {
        units.iter().filter_map(|&pu| machine.core_of(pu)).collect()
    };
    let mut best: Option<(Score, Vec<usize>)> = None;
    for units in candidates {
        let score = network.score(pattern, &weights, &core_of(&units));
        if best.as_ref().is_none_or(|(found, _)| score.beats(found)) {
            best = Some((score, units));
        }
    }
    let Some((score, units)) = best else { return Vec::new() };
    // A chain on cores that were chosen tightly is exact.
    if pattern.is_chain() && ranks <= fast.len() && equally_far(machine) {
        return units;
    }
    improve(machine, pattern, &mut network, &fast, score, units)
}

/// Adds the mappings onto these cores, and the plain order.
#[inline(never)]
fn add_mapped(
    machine: &Machine,
    pattern: &Pattern,
    cores: &[usize],
    candidates: &mut Vec<Vec<usize>>,
) {
    let slots = slots(machine, cores, pattern.ranks());
    candidates.push(map(machine, pattern, &slots, TreeCut::Slabs));
    candidates.push(map(machine, pattern, &slots, TreeCut::Halves));
    candidates.push(slots);
}

/// Whether the order of the memories does not matter.
fn equally_far(machine: &Machine) -> bool {
    let mut remote =
        machine.distances().unwrap_or_default().iter().enumerate().flat_map(|(from, row)| {
            row.iter().enumerate().filter(move |(to, _)| *to != from).map(|(_, &value)| value)
        });
    let first = remote.next();
    remote.all(|value| Some(value) == first)
}

/// `needed` cores out of `cores` (in logical order): of the parts under each vertex, from the root
/// on, so many as `share` says for each.
fn taken(
    machine: &Machine,
    cores: &[usize],
    needed: usize,
    share: fn(Vec<Part>, usize) -> Vec<(Part, usize)>,
) -> Vec<usize> {
    if needed >= cores.len() {
        return cores.to_vec();
    }
    let mut taken = Vec::with_capacity(needed);
    let mut work = vec![(0_usize, needed)];
    while let Some((vertex, needed)) = work.pop() {
        for (part, count) in share(below(machine, cores, vertex), needed) {
            match part.vertex {
                Some(inner) if count < part.cores.len() => work.push((inner, count)),
                _ => taken.extend(part.cores.into_iter().take(count)),
            }
        }
    }
    taken.arrange();
    taken
}

/// The smallest part of the tree with room for `needed` cores: whole parts first, the largest; the
/// rest from the smallest part that has room for it. The innermost choice is made first come, first
/// served.
fn tight(machine: &Machine, cores: &[usize], needed: usize) -> Vec<usize> {
    taken(machine, cores, needed, |mut parts, mut needed| {
        let mut shares = Vec::new();
        parts.arrange_by_key(|part| {
            (std::cmp::Reverse(part.cores.len()), part.cores.first().copied())
        });
        while needed > 0 && !parts.is_empty() {
            let fits = parts.iter().rposition(|part| part.cores.len() >= needed);
            // Of equally large ones the first in logical order.
            let size = fits.map(|index| parts[index].cores.len());
            let first = parts.iter().position(|part| Some(part.cores.len()) == size);
            let part = parts.remove(first.unwrap_or(0));
            let count = part.cores.len().min(needed);
            needed -= count;
            shares.push((part, count));
        }
        shares
    })
}

/// As many cores from every child of each vertex, as far as they have them: the choice
/// for patterns that split in halves on a machine that is not full.
fn even(machine: &Machine, cores: &[usize], needed: usize) -> Vec<usize> {
    taken(machine, cores, needed, |parts, mut left| {
        let mut counts = vec![0; parts.len()];
        while left > 0 {
            let open: Vec<usize> =
                (0..parts.len()).filter(|&i| counts[i] < parts[i].cores.len()).listed();
            if open.is_empty() {
                break;
            }
            let share = left.div_ceil(open.len());
            for index in open {
                let more = share.min(parts[index].cores.len() - counts[index]).min(left);
                counts[index] += more;
                left -= more;
            }
        }
        parts.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
    })
}

/// The part under a vertex: an inner vertex or a single core, with the usable cores in it.
#[derive(Clone, Debug)]
struct Part {
    vertex: Option<usize>,
    cores: Vec<usize>,
}

#[inline(never)]
fn below(machine: &Machine, cores: &[usize], vertex: usize) -> Vec<Part> {
    let tree = machine.tree();
    let here = &tree.vertices()[vertex];
    let within = |range: &std::ops::Range<usize>| -> Vec<usize> {
        let start = cores.partition_point(|&core| core < range.start);
        let end = cores.partition_point(|&core| core < range.end);
        cores[start..end].to_vec()
    };
    let mut parts: Vec<Part> = here
        .children
        .iter()
        .map(|&child| Part { vertex: Some(child), cores: within(&tree.vertices()[child].cores) })
        .listed();
    let direct = within(&here.cores).into_iter().filter(|&core| tree.above(core) == vertex);
    parts.extend(direct.map(|core| Part { vertex: None, cores: vec![core] }));
    parts.retain(|part| !part.cores.is_empty());
    parts.arrange_by_key(|part| part.cores[0]);
    parts
}

/// A unit for each of `ranks` ranks, from the first again after the last.
fn around(units: &[usize], ranks: usize) -> Vec<usize> {
    (0..ranks).map(|rank| units[rank % units.len()]).listed()
}

/// The processing units for `ranks` ranks on these cores, in logical order: a core's threads side
/// by side.
fn slots(machine: &Machine, cores: &[usize], ranks: usize) -> Vec<usize> {
    let units = core_order::units(machine, cores);
    let mut slots = around(&units, ranks);
    slots.arrange_by_key(|&pu| (machine.core_of(pu), pu));
    slots
}

/// The recursive mapping: the processing unit of each rank, given the slots in logical order.
fn map(machine: &Machine, pattern: &Pattern, slots: &[usize], how: TreeCut) -> Vec<usize> {
    let ranks = pattern.ranks();
    let slot_cores: Vec<usize> = slots.iter().filter_map(|&pu| machine.core_of(pu)).listed();
    // Undirected partners of each rank, with words.
    let mut partners: Vec<Vec<(usize, u64)>> = vec![Vec::new(); ranks];
    // Long lists of messages (all-to-all) do not prefer any cut.
    if pattern.steps().len() <= 64 {
        for &(from, to, words) in pattern.steps().iter().flat_map(|step| &step.messages) {
            partners[from].push((to, words));
            partners[to].push((from, words));
        }
    }
    let mut placed = vec![slots[0]; ranks];
    let mut part_of = vec![usize::MAX; ranks];
    // (vertex, first slot, ranks): as many ranks as slots from there on.
    let mut work = vec![(0_usize, 0_usize, (0..ranks).listed())];
    while let Some((vertex, first, members)) = work.pop() {
        let here = &machine.tree().vertices()[vertex];
        let own = &slot_cores[first..first + members.len()];
        // Runs of slots under the same child, or on the same core.
        let child_of = |core: usize| {
            let child =
                here.children.partition_point(|&c| machine.tree().vertices()[c].cores.end <= core);
            match here.children.get(child) {
                Some(&c) if machine.tree().vertices()[c].cores.contains(&core) => Ok(c),
                _ => Err(core),
            }
        };
        let mut runs: Vec<(Result<usize, usize>, usize)> = Vec::new();
        for &core in own {
            let child = child_of(core);
            match runs.last_mut() {
                Some((last, count)) if *last == child => *count += 1,
                _ => runs.push((child, 1)),
            }
        }
        let sizes: Vec<usize> = runs.iter().map(|&(_, count)| count).listed();
        let ordered = if runs.len() == 1 {
            members
        } else {
            match how {
                TreeCut::Slabs => cut(pattern, &partners, members, &sizes, &mut part_of),
                TreeCut::Halves => halve(pattern, &partners, members, &sizes, &mut part_of),
            }
        };
        let mut at = 0;
        for (child, count) in runs {
            let ranks = &ordered[at..at + count];
            match child {
                Ok(child) => work.push((child, first + at, ranks.to_vec())),
                Err(_) => {
                    for (offset, &rank) in ranks.iter().enumerate() {
                        placed[rank] = slots[first + at + offset];
                    }
                }
            }
            at += count;
        }
    }
    placed
}

/// How ranks are cut into parts at a vertex.
#[derive(Clone, Copy, Debug)]
enum TreeCut {
    /// All parts along one dimension.
    Slabs,
    /// In two, along the best dimension, and the halves again: parts nearer to cubes.
    Halves,
}

/// Cuts ranks into parts of these sizes by halving the list of parts.
fn halve(
    pattern: &Pattern,
    partners: &[Vec<(usize, u64)>],
    members: Vec<usize>,
    sizes: &[usize],
    part_of: &mut [usize],
) -> Vec<usize> {
    let mut done = Vec::with_capacity(members.len());
    // The part to come first is on top.
    let mut work = vec![(members, sizes)];
    while let Some((members, sizes)) = work.pop() {
        if sizes.len() == 1 {
            done.extend(members);
            continue;
        }
        let (left, right) = sizes.split_at(sizes.len() / 2);
        let counts = [left.iter().sum(), right.iter().sum()];
        let mut first = cut(pattern, partners, members, &counts, part_of);
        let second = first.split_off(counts[0]);
        work.push((second, right));
        work.push((first, left));
    }
    done
}

/// Orders ranks so that cutting them into parts of these sizes cuts few messages: sorted along each
/// dimension in turn, the best wins.
fn cut(
    pattern: &Pattern,
    partners: &[Vec<(usize, u64)>],
    members: Vec<usize>,
    sizes: &[usize],
    part_of: &mut [usize],
) -> Vec<usize> {
    let extents = pattern.extents();
    let mut strides = vec![1; extents.len()];
    for dimension in (1..extents.len()).rev() {
        strides[dimension - 1] = strides[dimension] * extents[dimension];
    }
    let mut best: Option<(u64, Vec<usize>)> = None;
    for dimension in 0..extents.len() {
        let mut order = members.clone();
        // By this dimension, then in rank order.
        order.arrange_by_key(|&rank| (rank / strides[dimension] % extents[dimension], rank));
        let mut at = 0;
        for (part, &size) in sizes.iter().enumerate() {
            for &rank in &order[at..at + size] {
                part_of[rank] = part;
            }
            at += size;
        }
        let crossing: u64 = order
            .iter()
            .flat_map(|&rank| {
                partners[rank].iter().map(move |&(other, words)| (rank, other, words))
            })
            .filter(|&(rank, other, _)| {
                part_of[other] != usize::MAX && part_of[other] != part_of[rank]
            })
            .map(|(_, _, words)| words)
            .sum();
        if best.as_ref().is_none_or(|(found, _)| crossing < *found) {
            best = Some((crossing, order));
        }
    }
    for &rank in &members {
        part_of[rank] = usize::MAX;
    }
    best.map_or(members, |(_, order)| order)
}

/// Local search, shaken: see the beginning of this file.
fn improve(
    machine: &Machine,
    pattern: &Pattern,
    network: &mut ChannelLoads<'_>,
    usable: &[usize],
    score: Score,
    units: Vec<usize>,
) -> Vec<usize> {
    let ranks = units.len();
    let taken: SortedSet<Option<usize>> = units.iter().map(|&pu| machine.core_of(pu)).collect();
    // One unit of each free core is enough.
    let mut places = units;
    let free = usable.iter().filter(|&&core| !taken.contains(&Some(core)));
    places.extend(core_order::units(machine, &free.copied().listed()));
    let mut seen = SortedSet::new();
    let mut index = 0;
    places.retain(|&pu| {
        index += 1;
        index <= ranks || seen.add(machine.core_of(pu))
    });

    // A team that asks for nothing in particular is not to wait for its start.
    let (share, rounds) = if pattern.is_general() { (16, 2) } else { (1, ROUNDS) };
    let messages: usize = pattern.steps().iter().map(|step| step.messages.len()).sum();
    let mut search = Search {
        pattern,
        weights: Weights::default(),
        cores: places.iter().filter_map(|&pu| machine.core_of(pu)).collect(),
        places,
        ranks,
        score,
        // A message passes about eight channels.
        evaluations: BUDGET / share / (8 * messages).max(1),
        random: SplitMix(ranks as u64),
    };
    let mut best = (score, search.places.clone(), search.cores.clone());
    for round in 0..rounds {
        if round > 0 {
            (search.score, search.places, search.cores) = best.clone();
            search.shake(network);
        }
        search.descend(network);
        if search.score.beats(&best.0) {
            best = (search.score, search.places.clone(), search.cores.clone());
        }
        if search.evaluations == 0 {
            break;
        }
    }
    let mut units = best.1;
    units.truncate(ranks);
    units
}

/// The state of the local search. Places are processing units: those of the ranks, then free ones.
struct Search<'a> {
    pattern: &'a Pattern,
    weights: Weights,
    places: Vec<usize>,
    cores: Vec<usize>,
    ranks: usize,
    score: Score,
    evaluations: usize,
    random: SplitMix,
}

impl Search<'_> {
    fn swap(&mut self, a: usize, b: usize) {
        self.places.swap(a, b);
        self.cores.swap(a, b);
    }

    /// A few swaps, whatever they cost.
    fn shake(&mut self, network: &mut ChannelLoads<'_>) {
        for _ in 0..2 + self.ranks / 16 {
            let (a, b) = (self.random.below(self.ranks), self.random.below(self.places.len()));
            self.swap(a, b);
        }
        self.score = network.score(self.pattern, &self.weights, &self.cores[..self.ranks]);
    }

    /// Swaps that improve, until as many tries as there are pairs have failed in a row.
    fn descend(&mut self, network: &mut ChannelLoads<'_>) {
        let pairs = self.ranks * self.places.len();
        let mut failed = 0;
        while self.evaluations > 0 && failed < pairs {
            failed += 1;
            let (a, b) = (self.random.below(self.ranks), self.random.below(self.places.len()));
            if self.cores[a] == self.cores[b] {
                continue;
            }
            self.swap(a, b);
            self.evaluations -= 1;
            let cores = &self.cores[..self.ranks];
            match network.score_below(self.pattern, &self.weights, cores, &self.score) {
                Some(found) => {
                    self.score = found;
                    failed = 0;
                }
                None => self.swap(a, b),
            }
        }
    }
}
