//! The policies by which ranks find their processing units.

use std::fmt;
use std::str::FromStr;

use super::error::UnknownPlacement;

/// How ranks are laid out on the machine.
///
/// Every policy but [`List`](Placement::List) gives each rank a physical core of its own before it uses
/// second hardware threads, stays within the allowed processing units, and starts again from the
/// first when there are more ranks than units.
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
    /// Neighbouring ranks on neighbouring cores, on the fastest cores when not all are needed.
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
            ("mesh", Some(extents)) => {
                let (rows, cols) = extents.split_once('x').ok_or_else(unknown)?;
                match (rows.parse(), cols.parse()) {
                    (Ok(rows), Ok(cols)) => Ok(Placement::Mesh(rows, cols)),
                    _ => Err(unknown()),
                }
            }
            _ => Err(unknown()),
        }
    }
}
