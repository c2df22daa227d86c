//! Orders in which processing units are handed out.

use crate::machine::{Core, Machine};
use crate::mix::SplitMix;
use crate::sorted::{Arrange, Listed};

/// The allowed processing units of a core, the primary thread first.
fn threads<'a>(machine: &'a Machine, core: &'a Core) -> impl Iterator<Item = usize> + 'a {
    core.pus.iter().copied().filter(|&pu| machine.is_allowed(pu))
}

/// Turns an order of cores into one of processing units: the first allowed thread of each core,
/// then the second of each, and so on.
pub(super) fn units(machine: &Machine, cores: &[usize]) -> Vec<usize> {
    let threads = |&core: &usize| threads(machine, &machine.cores()[core]).listed();
    in_turns(&cores.iter().map(threads).listed())
}

/// The first of each list, then the second of each, and so on.
fn in_turns(lists: &[Vec<usize>]) -> Vec<usize> {
    let mut all = Vec::new();
    for nth in 0..lists.iter().map(Vec::len).max().unwrap_or(0) {
        for list in lists {
            if let Some(&it) = list.get(nth) {
                all.push(it);
            }
        }
    }
    all
}

/// The cores with something allowed on them, in logical order.
#[inline(never)]
pub(super) fn usable(machine: &Machine) -> Vec<usize> {
    let cores = machine.cores();
    (0..cores.len()).filter(|&core| threads(machine, &cores[core]).next().is_some()).listed()
}

/// The usable cores in logical order; when fewer than all are needed, those of the fastest kinds
/// that are enough.
pub(super) fn fastest(machine: &Machine, needed: usize) -> Vec<usize> {
    let mut usable = usable(machine);
    let kind = |core: usize| machine.cores()[core].kind;
    let mut kinds: Vec<usize> = usable.iter().map(|&core| kind(core)).listed();
    kinds.arrange_by(|a, b| b.cmp(a));
    let slowest = kinds.get(needed.clamp(1, kinds.len().max(1)) - 1).copied().unwrap_or(0);
    usable.retain(|&core| kind(core) >= slowest);
    usable
}

/// The usable cores in the order of the operating system's numbers.
pub(super) fn by_number(machine: &Machine) -> Vec<usize> {
    let mut cores = usable(machine);
    cores.arrange_by_key(|&core| threads(machine, &machine.cores()[core]).next());
    cores
}

/// The usable cores, each as far from the ones before as the tree allows: children of a vertex take
/// turns, and so do theirs.
pub(super) fn scattered(machine: &Machine) -> Vec<usize> {
    let tree = machine.tree();
    let mut orders: Vec<Vec<usize>> = vec![Vec::new(); tree.vertices().len()];
    // Parents come before children, so backwards every vertex finds its children done.
    for (index, vertex) in tree.vertices().iter().enumerate().rev() {
        let mut parts: Vec<Vec<usize>> =
            vertex.children.iter().map(|&child| std::mem::take(&mut orders[child])).listed();
        let direct = vertex.cores.clone().filter(|&core| tree.above(core) == index);
        parts.extend(direct.map(|core| vec![core]));
        parts.arrange_by_key(|part| part.iter().min().copied());
        orders[index] = in_turns(&parts);
    }
    let usable = usable(machine);
    let mut order = std::mem::take(&mut orders[0]);
    order.retain(|core| usable.binary_search(core).is_ok());
    order
}

/// The usable cores, shuffled.
pub(super) fn shuffled(machine: &Machine, seed: u64) -> Vec<usize> {
    let mut cores = usable(machine);
    let mut random = SplitMix(seed);
    for i in (1..cores.len()).rev() {
        cores.swap(i, random.below(i + 1));
    }
    cores
}
