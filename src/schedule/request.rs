//! Requests for an algorithm, and the reasons why it may not fit.

use std::fmt;

use super::{Algorithm, Hierarchy, Operation};
use crate::topology::Extents;

/// The most ranks that a schedule is made for: block numbers of a total
/// exchange (p times p times sub-blocks) stay far from overflow.
pub const MOST_RANKS: usize = 1 << 16;

/// The most segments of a pipelined chain.
pub const MOST_SEGMENTS: usize = 1 << 24;

/// A call for which a schedule is wanted.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// use phalanx::topology::Extents;
/// let call = Request::new(Operation::Broadcast, 12).root(5).dims(Extents::mesh(3, 4));
/// assert_eq!(Algorithm::BC_MESH.schedule(&call)?.steps(), 4); // 2 in the row, 2 in the columns
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// The number of ranks, p.
    pub ranks: usize,
    /// The root; ignored by operations that have none.
    pub root: usize,
    /// The distance of a shift, taken mod p; a negative one goes backwards.
    /// Ignored by other operations.
    pub shift: isize,
    /// The mesh; the squarest one of p ranks if none is given. Ignored by
    /// algorithms that are not for meshes.
    pub dims: Option<Extents>,
    /// Into how many segments a pipelined chain cuts the vector; p if none is
    /// given.
    pub segments: Option<usize>,
    /// The groups of a hierarchical algorithm; consecutive ranks, about sqrt(p) a group, if none
    /// are given.
    pub levels: Option<Hierarchy>,
}

impl Request {
    /// A call with root 0, shift 0 and nothing else said.
    pub fn new(operation: Operation, ranks: usize) -> Self {
        Request { operation, ranks, root: 0, shift: 0, dims: None, segments: None, levels: None }
    }

    /// Sets the root.
    pub fn root(mut self, root: usize) -> Self {
        self.root = root;
        self
    }

    /// Sets the distance of the shift.
    pub fn shift(mut self, shift: isize) -> Self {
        self.shift = shift;
        self
    }

    /// Sets the mesh.
    pub fn dims(mut self, dims: Extents) -> Self {
        self.dims = Some(dims);
        self
    }

    /// Sets the number of segments of a pipelined chain.
    pub fn segments(mut self, segments: usize) -> Self {
        self.segments = Some(segments);
        self
    }

    /// Sets the groups of a hierarchical algorithm.
    pub fn levels(mut self, levels: Hierarchy) -> Self {
        self.levels = Some(levels);
        self
    }
}

/// Why an algorithm cannot serve a request.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfit {
    /// The algorithm is for another operation.
    Operation {
        /// The algorithm.
        algorithm: Algorithm,
        /// The operation that was asked for.
        asked: Operation,
    },
    /// There are no ranks, or more than [`MOST_RANKS`].
    Ranks(usize),
    /// The number of ranks is no power of two.
    PowerOfTwo {
        /// The algorithm.
        algorithm: Algorithm,
        /// The number of ranks.
        ranks: usize,
        /// An algorithm for the same operation that serves any number.
        instead: Algorithm,
    },
    /// The extents of the mesh do not multiply to the number of ranks.
    Extents {
        /// The mesh.
        dims: Extents,
        /// The number of ranks.
        ranks: usize,
    },
    /// The mesh has more than two dimensions.
    Dimensions {
        /// The algorithm.
        algorithm: Algorithm,
        /// The mesh.
        dims: Extents,
        /// The algorithm for meshes of any number of dimensions.
        instead: Algorithm,
    },
    /// There is no such root.
    Root {
        /// The root.
        root: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// The algorithm is for root 0 only.
    RootZero {
        /// The algorithm.
        algorithm: Algorithm,
        /// An algorithm with the same messages for any root.
        instead: Algorithm,
    },
    /// The number of segments is 0 or above [`MOST_SEGMENTS`].
    Segments(usize),
    /// The groups are of another number of ranks.
    Levels {
        /// The ranks that have a group.
        grouped: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// The algorithm needs groups of consecutive ranks, or of one size.
    Groups {
        /// The algorithm.
        algorithm: Algorithm,
        /// What the groups must be.
        needs: &'static str,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Operation { algorithm, asked } => {
                write!(f, "{algorithm} is an algorithm for")?;
                let its = Operation::ALL.into_iter().filter(|&op| algorithm.serves(op));
                for (i, op) in its.enumerate() {
                    write!(f, "{} {op}", if i == 0 { "" } else { " and" })?;
                }
                write!(f, ", not for {asked}")
            }
            Unfit::Ranks(0) => f.write_str("a schedule needs at least one rank"),
            Unfit::Ranks(p) => write!(f, "{p} ranks are more than the {MOST_RANKS} provided for"),
            Unfit::PowerOfTwo { algorithm, ranks, instead } => write!(
                f,
                "{algorithm} needs a power of two of ranks, and {ranks} is none; \
                 {instead} serves any number"
            ),
            Unfit::Extents { dims, ranks } => {
                write!(f, "a {dims} mesh has {} ranks, not {ranks}", dims.ranks())
            }
            Unfit::Dimensions { algorithm, dims, instead } => write!(
                f,
                "{algorithm} is for meshes of rows x columns, and {dims} has {} dimensions; \
                 {instead} takes any",
                dims.dimensions()
            ),
            Unfit::Root { root, ranks } => {
                write!(f, "root {root} is out of range for {ranks} ranks")
            }
            Unfit::RootZero { algorithm, instead } => {
                write!(f, "{algorithm} is for root 0 only; {instead} takes any root")
            }
            Unfit::Levels { grouped, ranks } => {
                write!(f, "groups of {grouped} ranks do not fit a call of {ranks}")
            }
            Unfit::Groups { algorithm, needs } => write!(f, "{algorithm} needs groups {needs}"),
            Unfit::Segments(n) => {
                write!(f, "{n} segments: the number must be from 1 to {MOST_SEGMENTS}")
            }
        }
    }
}

crate::error_type!(Unfit:
    Self::Operation { algorithm, asked }, Self::Ranks(it),
    Self::PowerOfTwo { algorithm, ranks, instead }, Self::Extents { dims, ranks },
    Self::Dimensions { algorithm, dims, instead }, Self::Root { root, ranks },
    Self::RootZero { algorithm, instead }, Self::Segments(it), Self::Levels { grouped, ranks },
    Self::Groups { algorithm, needs },
);
