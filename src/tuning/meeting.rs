//! The level at which two ranks meet.

use super::costs::{CostsError, MachineCosts};
use crate::machine::{Level, Machine};
use crate::placement::Assignment;

/// Ranks on the cores of a machine with known costs.
pub(super) struct Meeting<'a> {
    machine: &'a Machine,
    /// The core of each rank.
    core: Vec<usize>,
    /// For each vertex of the machine's tree, the index of its innermost known level in the costs.
    class: Vec<usize>,
    /// For two threads of one core, the index of their level in the costs.
    same_core: usize,
}

impl<'a> Meeting<'a> {
    /// # Errors
    /// A rank without a core, a level without data.
    pub(super) fn new(
        machine: &'a Machine,
        assignment: &Assignment,
        costs: &MachineCosts,
    ) -> Result<Self, CostsError> {
        let core = costs.cores(machine, assignment)?;
        let innermost = |levels: &[Level]| levels.iter().rev().find_map(|&l| costs.position(l));
        // A vertex without a known level has a single core: no two ranks meet there.
        let vertices = machine.tree().vertices().iter();
        let class = vertices.map(|vertex| innermost(&vertex.levels).unwrap_or(0)).collect();
        Ok(Meeting { machine, core, class, same_core: costs.position(Level::Core).unwrap_or(0) })
    }

    /// The index in the costs' levels for a message between two ranks.
    pub(super) fn class(&self, a: usize, b: usize) -> usize {
        let (a, b) = (self.core[a], self.core[b]);
        if a == b { self.same_core } else { self.class[self.machine.tree().common(a, b)] }
    }
}
