//! The hierarchy of ranks that are bound to cores, by the machine's levels.

use super::assignment::Assignment;
use crate::machine::Machine;
use crate::schedule::Hierarchy;
use crate::sorted::Listed;

/// The ranks grouped by what their cores share, innermost first; levels that group nothing, or
/// everything, left out. Ranks that are not bound form one group of everybody.
///
/// # Examples
/// ```
/// use phalanx::machine::Machine;
/// use phalanx::placement::{Placement, assign, hierarchy};
/// let machine = Machine::from_synthetic("pack:2 [numa] l3:4 core:8 pu:1")?;
/// let ranks = assign(&Placement::Compact, &machine, 64)?;
/// let levels = hierarchy(&machine, &ranks);
/// assert_eq!(levels.to_string(), "8 groups, 2 groups, degrees flat, flat, flat");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hierarchy(machine: &Machine, assignment: &Assignment) -> Hierarchy {
    let ranks = assignment.ranks();
    let flat = Hierarchy::even(ranks, &[]);
    let core = |rank| assignment.pu(rank).and_then(|pu| machine.core_of(pu));
    let Some(cores) = (0..ranks).map(core).collect::<Option<Vec<usize>>>() else { return flat };
    let tree = machine.tree();
    // Below the root, innermost last; then the core itself.
    let path = |&core: &usize| {
        let mut path = Vec::new();
        let mut at = tree.above(core);
        while let Some(parent) = tree.vertices()[at].parent {
            path.push(at);
            at = parent;
        }
        path.reverse();
        (path, core)
    };
    let paths: Vec<(Vec<usize>, usize)> = cores.iter().map(path).listed();
    let deepest = paths.iter().map(|(path, _)| path.len()).max().unwrap_or(0);
    let vertices = tree.vertices().len();
    // Where one branch of the tree is shorter, its innermost group stands for the missing levels.
    let at_depth = |depth: usize| -> Vec<usize> {
        let group = |(path, core): &(Vec<usize>, usize)| match path.get(depth).or(path.last()) {
            Some(&vertex) if depth < deepest => vertex,
            _ => vertices + core,
        };
        paths.iter().map(group).listed()
    };
    Hierarchy::tidy(ranks, (0..=deepest).rev().map(at_depth).listed())
}
