//! The topology of the ranks' exchanges.

use crate::failure::Failure;
use phalanx::placement::Placement;
use phalanx::topology::Extents;

/// The topologies by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    Ring,
    Linear,
    Mesh,
    Torus,
    Hypercube,
    Tree,
    AllToAll,
}

phalanx_cli::named! {
    Topology "topology": Ring "ring" Linear "linear" Mesh "mesh" Torus "torus"
    Hypercube "hypercube" Tree "tree" AllToAll "all-to-all"
}

/// A topology with its extents.
#[derive(Debug)]
pub struct PlacedTopology {
    pub(crate) name: &'static str,
    /// The last one the fastest; one for topologies without dimensions.
    pub(crate) dims: Vec<usize>,
    /// The placement that is made for it, and so its pattern.
    pub(crate) placement: Placement,
}

impl Topology {
    /// The topology of this many ranks.
    pub fn shape(self, ranks: usize, dims: Option<&Extents>) -> Result<PlacedTopology, Failure> {
        let name = self.name();
        let is_grid = matches!(self, Topology::Mesh | Topology::Torus);
        if let Some(dims) = dims {
            if !is_grid {
                return Err(Failure::Usage(format!(
                    "a {name} has no --dims; accepted are they for mesh and torus"
                )));
            }
            if dims.ranks() != ranks {
                return Err(Failure::Usage(format!(
                    "--dims {dims} has {} places for {ranks} ranks; the product must be {ranks}",
                    dims.ranks()
                )));
            }
        }
        if self == Topology::Hypercube && !ranks.is_power_of_two() {
            return Err(Failure::Usage(format!(
                "a hypercube has a power of two of ranks, not {ranks}; the nearest are {} and {}",
                1_usize << ranks.ilog2(),
                ranks.next_power_of_two()
            )));
        }
        let grid = dims.cloned().unwrap_or_else(|| Extents::squarest(ranks));
        let grid: Vec<usize> = (0..grid.dimensions()).map(|d| grid.extent(d)).collect();
        let placement = match self {
            Topology::Ring => Placement::Ring,
            Topology::Linear => Placement::Linear,
            Topology::Mesh => Placement::Grid(grid.clone()),
            Topology::Torus => Placement::Torus(grid.clone()),
            Topology::Hypercube => Placement::Hypercube,
            Topology::Tree => Placement::Tree,
            Topology::AllToAll => Placement::AllToAll,
        };
        let dims = match self {
            Topology::Mesh | Topology::Torus => grid,
            Topology::Hypercube if ranks > 1 => vec![2; ranks.ilog2() as usize],
            _ => vec![ranks],
        };
        Ok(PlacedTopology { name, dims, placement })
    }
}
