//! Errors of placing ranks.

use std::fmt;

/// Why ranks could not be placed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementError {
    /// There is nothing to place.
    NoRanks,
    /// The list has fewer entries than there are ranks.
    ListTooShort {
        /// Entries in the list.
        entries: usize,
        /// Ranks to place.
        ranks: usize,
    },
    /// The list has a processing unit twice.
    Duplicate {
        /// The unit.
        pu: usize,
        /// The two ranks.
        ranks: [usize; 2],
    },
    /// The list has a processing unit that the machine does not have.
    Absent {
        /// The unit.
        pu: usize,
        /// The rank that it was meant for.
        rank: usize,
    },
    /// The list has a processing unit that this program may not use.
    Disallowed {
        /// The unit.
        pu: usize,
        /// The rank that it was meant for.
        rank: usize,
    },
    /// The extents of the topology do not multiply to the number of ranks, or the number of ranks
    /// is no power of two for a hypercube.
    Shape {
        /// The topology.
        topology: String,
        /// Ranks to place.
        ranks: usize,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacementError::NoRanks => f.write_str("there are 0 ranks to place"),
            PlacementError::ListTooShort { entries, ranks } => {
                write!(f, "the placement list has {entries} entries for {ranks} ranks")
            }
            PlacementError::Duplicate { pu, ranks: [first, second] } => {
                write!(f, "the placement list gives PU {pu} to rank {first} and to rank {second}")
            }
            PlacementError::Absent { pu, rank } => {
                write!(f, "the placement list gives PU {pu} to rank {rank}: there is no such PU")
            }
            PlacementError::Disallowed { pu, rank } => write!(
                f,
                "the placement list gives PU {pu} to rank {rank}: \
                 it is not among the PUs that this program may use"
            ),
            PlacementError::Shape { topology, ranks } => {
                write!(f, "{ranks} ranks cannot be placed as {topology}")
            }
        }
    }
}

crate::error_type!(PlacementError:
    Self::NoRanks, Self::ListTooShort { entries, ranks }, Self::Duplicate { pu, ranks },
    Self::Absent { pu, rank }, Self::Disallowed { pu, rank }, Self::Shape { topology, ranks },
);

/// The error of reading a [`Placement`](super::Placement) from text.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownPlacement {
    pub(super) text: String,
}

impl fmt::Display for UnknownPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown placement '{}': expected auto, compact, scatter, identity, random:SEED, \
             list:PU,PU,.., unpinned, ring, linear, mesh:ROWSxCOLUMNS, torus:AxBxC, hypercube, \
             tree or all-to-all",
            self.text
        )
    }
}

crate::error_type!(UnknownPlacement: Self { text });
