//! The policies by which ranks find their processing units.

use std::fmt;
use std::str::FromStr;

use super::error::{PlacementError, UnknownPlacement};
use super::pattern::Pattern;
use crate::topology::DisplayExtents;

/// How ranks are laid out on the machine.
///
/// Every policy but [`List`](Placement::List) gives each rank a physical core of its own before it
/// uses second hardware threads, stays within the allowed processing units, and starts again from
/// the first when there are more ranks than units.
///
/// ```
/// use phalanx::placement::Placement;
///
/// assert_eq!("random:7".parse(), Ok(Placement::Random(7)));
/// assert_eq!(Placement::Mesh(2, 4).to_string(), "mesh:2x4");
/// assert_eq!(Placement::default(), Placement::Auto);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// Neighbouring ranks on neighbouring cores, on the fastest cores when not all are needed:
    /// optimised for [`Pattern::general`], and never worse for it than compact or identity on cores
    /// as fast.
    #[default]
    Auto,
    /// Cores in the machine's logical order, packed as closely as possible.
    Compact,
    /// As far apart as possible: the first ranks go to different packages, then to different NUMA
    /// nodes, and so on.
    Scatter,
    /// In the order of the operating system's numbers.
    Identity,
    /// Shuffled; the same seed gives the same order.
    Random(u64),
    /// Rank `r` on the `r`-th of these processing units (the operating system's numbers).
    List(Vec<usize>),
    /// Not bound to anything: the operating system moves the ranks as it likes.
    Unpinned,
    /// For exchanges between ranks next to each other in a ring.
    Ring,
    /// For exchanges along the rows and columns of a mesh (rows, columns; row-major ranks).
    Mesh(usize, usize),
    /// For exchanges between ranks that differ in one bit.
    Hypercube,
    /// For exchanges between ranks next to each other in a row.
    Linear,
    /// For exchanges along every dimension of a torus (extents, the last one the fastest).
    Torus(Vec<usize>),
    /// For exchanges along every dimension of a mesh without wrap-around (extents, the last one the
    /// fastest).
    Grid(Vec<usize>),
    /// For a binomial tree from rank 0.
    Tree,
    /// For exchanges between all ranks.
    AllToAll,
}

impl Placement {
    /// What the placement is made for, when it is made for exchanges between certain ranks.
    ///
    /// # Errors
    ///
    /// When the topology does not have that number of ranks.
    pub fn pattern(&self, ranks: usize) -> Result<Option<Pattern>, PlacementError> {
        let pattern = match self {
            Placement::Auto => Pattern::general(ranks),
            Placement::Ring => Pattern::ring(ranks),
            Placement::Linear => Pattern::linear(ranks),
            Placement::Mesh(rows, cols) => Pattern::mesh(&[*rows, *cols]),
            Placement::Grid(extents) => Pattern::mesh(extents),
            Placement::Torus(extents) => Pattern::torus(extents),
            Placement::Hypercube => Pattern::hypercube(ranks),
            Placement::Tree => Pattern::tree(ranks),
            Placement::AllToAll => Pattern::all_to_all(ranks),
            Placement::Compact
            | Placement::Scatter
            | Placement::Identity
            | Placement::Random(_)
            | Placement::List(_)
            | Placement::Unpinned => return Ok(None),
        }
        .map_err(|error| match error {
            PlacementError::Shape { .. } => self.shape(ranks),
            // An extent of 0.
            PlacementError::NoRanks if ranks > 0 => self.shape(ranks),
            error => error,
        })?;
        if pattern.ranks() == ranks { Ok(Some(pattern)) } else { Err(self.shape(ranks)) }
    }

    fn shape(&self, ranks: usize) -> PlacementError {
        PlacementError::Shape { topology: self.to_string(), ranks }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Auto => f.write_str("auto"),
            Placement::Compact => f.write_str("compact"),
            Placement::Scatter => f.write_str("scatter"),
            Placement::Identity => f.write_str("identity"),
            Placement::Random(seed) => write!(f, "random:{seed}"),
            Placement::List(pus) => {
                f.write_str("list:")?;
                for (i, pu) in pus.iter().enumerate() {
                    write!(f, "{}{pu}", if i == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Placement::Unpinned => f.write_str("unpinned"),
            Placement::Ring => f.write_str("ring"),
            Placement::Mesh(rows, cols) => write!(f, "mesh:{rows}x{cols}"),
            Placement::Hypercube => f.write_str("hypercube"),
            Placement::Linear => f.write_str("linear"),
            Placement::Torus(extents) => write!(f, "torus:{}", DisplayExtents(extents)),
            Placement::Grid(extents) => write!(f, "mesh:{}", DisplayExtents(extents)),
            Placement::Tree => f.write_str("tree"),
            Placement::AllToAll => f.write_str("all-to-all"),
        }
    }
}

impl FromStr for Placement {
    type Err = UnknownPlacement;

    fn from_str(text: &str) -> Result<Self, UnknownPlacement> {
        let unknown = || UnknownPlacement { text: text.to_owned() };
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        match (name, argument) {
            ("auto", None) => Ok(Placement::Auto),
            ("compact", None) => Ok(Placement::Compact),
            ("scatter", None) => Ok(Placement::Scatter),
            ("identity", None) => Ok(Placement::Identity),
            ("unpinned", None) => Ok(Placement::Unpinned),
            ("ring", None) => Ok(Placement::Ring),
            ("hypercube", None) => Ok(Placement::Hypercube),
            ("random", Some(seed)) => seed.parse().map(Placement::Random).map_err(|_| unknown()),
            ("list", Some(list)) => list
                .split(',')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .map(Placement::List)
                .map_err(|_| unknown()),
            ("linear", None) => Ok(Placement::Linear),
            ("tree", None) => Ok(Placement::Tree),
            ("all-to-all", None) => Ok(Placement::AllToAll),
            ("mesh" | "torus", Some(extents)) => {
                let extents: Vec<usize> = extents
                    .split('x')
                    .map(str::parse)
                    .collect::<Result<_, _>>()
                    .map_err(|_| unknown())?;
                match (name, extents.as_slice()) {
                    ("mesh", &[rows, cols]) => Ok(Placement::Mesh(rows, cols)),
                    ("mesh", _) => Ok(Placement::Grid(extents)),
                    _ => Ok(Placement::Torus(extents)),
                }
            }
            _ => Err(unknown()),
        }
    }
}
