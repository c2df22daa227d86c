//! Builds a [`Machine`] from the facts of a back end: the one place that orders objects and detects
//! damage.
//!
//! The sets that hardware reports should nest. The tree is grown from the largest set to the
//! smallest: a set whose cores all lie under the same innermost vertex becomes its child; one that
//! cuts across an earlier set is kept in its level, left out of the tree, and mentioned in a
//! warning. Children are then ordered by their smallest processing unit, which is the logical order
//! that hwloc uses too.

use super::core::{Core, Group, LevelGroups, NumaNode};
use super::facts::{Facts, RawCore, RawGroup};
use super::level::Level;
use super::mask::format_list;
use super::source::MachineSource;
use super::tree::Tree;
use super::{Machine, MachineError, Whole};
use crate::sorted::{Arrange, Listed, SortedMap, SortedSet};
use std::mem::take;
use std::sync::Arc;

/// Sorted, without duplicates. Not inlined, as it is called from many places.
#[inline(never)]
fn sorted(mut ids: Vec<usize>) -> Vec<usize> {
    ids.arrange();
    ids.dedup();
    ids
}

/// Builds the machine, or says that there is nothing to build it from.
pub(crate) fn build(facts: Facts, source: MachineSource) -> Result<Machine, MachineError> {
    let Facts { cores, groups, nodes, distances, caches, kinds, speeds, allowed, .. } = facts;
    let (quota, mut warnings) = (facts.quota, facts.warnings);
    let cores = disjoint_cores(cores, &mut warnings);
    if cores.is_empty() {
        return Err(MachineError::Empty { source: source.cores });
    }
    let core_of: SortedMap<usize, usize> = cores
        .iter()
        .enumerate()
        .flat_map(|(index, core)| core.iter().map(move |&pu| (pu, index)))
        .collect();
    let core_of_known = |pu: &usize| *core_of.get(pu).expect("a unit of a core");
    let known = |pus: Vec<usize>| -> Vec<usize> {
        let mut pus = sorted(pus);
        pus.retain(|pu| core_of.contains(pu));
        pus
    };

    let mut nodes: Vec<_> = nodes
        .into_iter()
        .map(|node| NumaNode {
            os_id: node.os_id,
            pus: known(node.pus),
            cores: Vec::new(),
            memory_bytes: node.memory_bytes,
        })
        .listed();
    nodes.arrange_by_key(|node| node.os_id);
    nodes.dedup_by_key(|node| node.os_id);

    let mut groups = groups;
    groups.iter_mut().for_each(|group| group.pus = known(take(&mut group.pus)));
    groups.extend(nodes.iter().map(|node| RawGroup {
        level: Level::Numa,
        os_id: Some(node.os_id),
        pus: node.pus.clone(),
    }));
    keep_plausible(&mut groups);

    // The tree, over the cores as found; then the logical order, and everything renumbered by it.
    let sets: Vec<(Level, Vec<usize>)> = groups
        .iter()
        .map(|group| (group.level, sorted(group.pus.iter().map(core_of_known).listed())))
        .listed();
    let (tree, order) = Tree::grow(&cores, &sets, &mut warnings);
    let mut logical = vec![0; cores.len()];
    for (new, &old) in order.iter().enumerate() {
        logical[old] = new;
    }
    let to_cores = |pus: &[usize]| sorted(pus.iter().map(|pu| logical[core_of_known(pu)]).listed());

    for node in &mut nodes {
        node.cores = to_cores(&node.pus);
    }
    // In logical order, memory-only nodes last.
    nodes.arrange_by_key(|node| (node.cores.first().copied().unwrap_or(usize::MAX), node.os_id));

    let kind_of: SortedMap<usize, usize> = kinds.into_iter().collect();
    let levels = levels(groups, to_cores);
    let caches = distinct(caches);
    let mut package_of: SortedMap<usize, usize> = SortedMap::new();
    for (index, group) in
        levels.iter().filter(|l| l.level == Level::Package).flat_map(|l| &l.groups).enumerate()
    {
        for &pu in &group.pus {
            package_of.or_insert(pu, index);
        }
    }
    // A core may have several memories; the lowest number is the ordinary one.
    let mut node_of: SortedMap<usize, usize> = SortedMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for &pu in &node.pus {
            node_of.or_insert(pu, index);
        }
    }
    let mut cores: Vec<Core> = order
        .iter()
        .enumerate()
        .map(|(index, &old)| {
            let pus = cores[old].clone();
            let first = pus[0];
            Core {
                package: package_of.get(&first).copied(),
                numa: node_of.get(&first).copied(),
                kind: kind_of.get(&first).copied().unwrap_or(0),
                is_efficiency: false,
                path: tree.path(index),
                pus,
            }
        })
        .listed();

    mark_efficiency_cores(&mut cores, &speeds.into_iter().collect());

    let all = sorted(cores.iter().flat_map(|core| core.pus.iter().copied()).listed());
    let allowed = match allowed {
        None => all,
        Some(list) => {
            let kept = known(list);
            if kept.is_empty() {
                warnings.push("no processing unit is allowed: taking them all".to_owned());
                all
            } else {
                kept
            }
        }
    };

    // A single memory is at no distance from anything.
    let distances = distances.filter(|_| nodes.len() > 1).and_then(|raw| {
        let row_of = |os_id: usize| raw.nodes.iter().position(|&node| node == os_id);
        let matrix: Option<Vec<Vec<u64>>> = nodes
            .iter()
            .map(|from| {
                let row = raw.values.get(row_of(from.os_id)?)?;
                nodes.iter().map(|to| row.get(row_of(to.os_id)?).copied()).collect()
            })
            .collect();
        if matrix.is_none() {
            warnings.push("the distance matrix does not cover all NUMA nodes: ignored".to_owned());
        }
        matrix
    });

    let mut units: Vec<(usize, usize)> = cores
        .iter()
        .enumerate()
        .flat_map(|(index, core)| core.pus.iter().map(move |&pu| (pu, index)))
        .listed();
    units.arrange();

    let whole =
        Whole { cores, units, levels, nodes, distances, caches, quota, tree, source, warnings };
    Ok(Machine { whole: Arc::new(whole), allowed })
}

/// Drops processing units that were seen before, and cores without any.
fn disjoint_cores(found: Vec<RawCore>, warnings: &mut Vec<String>) -> Vec<Vec<usize>> {
    let mut seen = SortedSet::new();
    let mut cores = Vec::new();
    for core in found {
        let (mut new, mut old) = (sorted(core.pus), Vec::new());
        new.retain(|&pu| {
            let is_new = seen.add(pu);
            if !is_new {
                old.push(pu);
            }
            is_new
        });
        if !old.is_empty() {
            warnings.push(format!("PU {} belong to several cores", format_list(&old)));
        }
        if !new.is_empty() {
            cores.push(new);
        }
    }
    // The order of discovery must not matter.
    cores.arrange();
    cores
}

/// Drops empty sets, repetitions, and nameless sets that add nothing to a named one.
fn keep_plausible(groups: &mut Vec<RawGroup>) {
    let is_nameless = |g: &RawGroup| matches!(g.level, Level::Group | Level::Die);
    let mut named = SortedSet::new();
    for group in groups.iter().filter(|group| !is_nameless(group)) {
        named.add(group.pus.clone());
    }
    let mut seen = SortedSet::new();
    groups.retain(|g| {
        // Two memories may belong to the same cores; anything else may not be there twice.
        let twice = if g.level == Level::Numa { g.os_id } else { None };
        !(g.pus.is_empty() || is_nameless(g) && named.contains(&g.pus))
            && seen.add((g.level, twice, g.pus.clone()))
    });
}

/// Sorts the groups into levels, outermost first; nested groups of one kind get a level each.
fn levels(groups: Vec<RawGroup>, to_cores: impl Fn(&[usize]) -> Vec<usize>) -> Vec<LevelGroups> {
    let mut by_level: SortedMap<(Level, usize), Vec<Group>> = SortedMap::new();
    let mut groups = groups;
    groups.arrange_by(|a, b| (a.level, b.pus.len(), &a.pus).cmp(&(b.level, a.pus.len(), &b.pus)));
    // How many nameless groups, all of them larger, hold a processing unit so far.
    let mut nesting: SortedMap<usize, usize> = SortedMap::new();
    for group in groups {
        // Only nameless groups nest in others of their kind.
        let mut depth = 0;
        if group.level == Level::Group {
            depth = group.pus.iter().filter_map(|pu| nesting.get(pu).copied()).max().unwrap_or(0);
            nesting.extend(group.pus.iter().map(|&pu| (pu, depth + 1)));
        }
        let cores = to_cores(&group.pus);
        let RawGroup { os_id, pus, .. } = group;
        by_level.or_default((group.level, depth)).push(Group { os_id, pus, cores });
    }
    let mut levels: Vec<LevelGroups> = by_level
        .into_pairs()
        .into_iter()
        .map(|((level, _), mut groups)| {
            groups.arrange_by(|a, b| {
                (a.cores.first(), a.pus.first(), a.os_id).cmp(&(
                    b.cores.first(),
                    b.pus.first(),
                    b.os_id,
                ))
            });
            LevelGroups { level, groups }
        })
        .listed();
    // Outermost first: by the processing units in the largest group; equal ones in the usual order.
    levels.arrange_by_key(|l| {
        (std::cmp::Reverse(l.groups.iter().map(|g| g.pus.len()).max()), l.level)
    });
    levels
}

/// Each level and size once.
fn distinct(mut caches: Vec<(Level, u64)>) -> Vec<(Level, u64)> {
    caches.arrange();
    caches.dedup();
    caches
}

/// The cores of the kinds below the largest difference in speed, if that is a fifth or more. Kinds
/// of which no speed is known differ by half.
fn mark_efficiency_cores(cores: &mut [Core], speeds: &SortedMap<usize, u64>) {
    const LEAST: f64 = 1.2;
    let mut kinds: Vec<usize> = cores.iter().map(|core| core.kind).listed();
    kinds = sorted(kinds);
    let speed = |kind: usize| {
        let mut most = None;
        for core in cores.iter().filter(|core| core.kind == kind) {
            core.pus.iter().for_each(|pu| most = most.max(speeds.get(pu).copied()));
        }
        most
    };
    let ratio = |slower: usize, faster: usize| match (speed(slower), speed(faster)) {
        (Some(slower), Some(faster)) => faster as f64 / slower.max(1) as f64,
        _ => 2.0,
    };
    let steps = kinds.windows(2).map(|pair| (ratio(pair[0], pair[1]), pair[0]));
    let largest = steps.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|step| step.0 >= LEAST);
    if let Some((_, last)) = largest {
        cores.iter_mut().for_each(|core| core.is_efficiency = core.kind <= last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::facts::RawCore;

    /// Cores of one unit each, by kind and speed; 0 for none.
    fn machine(cores: &[(usize, u64)], allowed: Option<Vec<usize>>) -> Machine {
        let units = || cores.iter().enumerate();
        let facts = Facts {
            cores: (0..cores.len()).map(|pu| RawCore { pus: vec![pu] }).collect(),
            kinds: units().map(|(pu, core)| (pu, core.0)).collect(),
            speeds: units().filter(|(_, it)| it.1 > 0).map(|(pu, it)| (pu, it.1)).collect(),
            allowed,
            ..Facts::default()
        };
        build(facts, MachineSource::all("test")).unwrap()
    }

    #[test]
    fn efficiency_cores_are_below_the_largest_difference() {
        let slow = |cores: &[(usize, u64)]| {
            let all = machine(cores, None);
            all.cores().iter().filter(|core| core.is_efficiency).map(|core| core.pus[0]).collect()
        };
        let none: [usize; 0] = [];
        let of: Vec<usize> = slow(&[(0, 0); 3]);
        assert_eq!(of, none);
        let of: Vec<usize> = slow(&[(1, 0), (0, 0), (1, 0)]);
        assert_eq!(of, [1], "no speed is known");
        let of: Vec<usize> = slow(&[(1, 5000), (1, 5000), (0, 4900)]);
        assert_eq!(of, none, "cores that may boost higher");
        let of: Vec<usize> = slow(&[(2, 1024), (1, 900), (1, 900), (0, 350), (0, 350)]);
        assert_eq!(of, [3, 4], "one prime core, and two that are nearly as fast");
        let of: Vec<usize> = slow(&[(1, 1), (0, 0)]);
        assert_eq!(of, [1]);
    }

    #[test]
    fn a_team_has_performance_cores_where_it_may() {
        let cores = [(1, 1024), (1, 1024), (0, 400), (0, 400), (0, 400)];
        assert_eq!(machine(&cores, None).ranks(), 2);
        assert_eq!(machine(&cores, Some(vec![1, 2, 3])).ranks(), 1);
        assert_eq!(machine(&cores, Some(vec![2, 3, 4])).ranks(), 3);
    }
}
