//! The registry of algorithms: names, preconditions, and the construction of schedules. The rows
//! are in `table.rs`.

use std::fmt;
use std::str::FromStr;

use super::request::{MOST_RANKS, MOST_SEGMENTS};
use super::rule_parts::Boxed;
use super::table::{PROSE, ROWS};
use super::{Contract, Hierarchy, Operation, Request, Schedule, Unfit};
use crate::topology::Extents;

/// An algorithm of the catalogue, such as `AG-RING`.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Algorithm, Operation, Request};
/// let ring: Algorithm = "AG-RING".parse().unwrap();
/// assert_eq!(ring, Algorithm::AG_RING);
/// let schedule = ring.schedule(&Request::new(Operation::AllGather, 8))?;
/// assert_eq!(schedule.steps(), 7);
/// // Rank 0 sends its own block to rank 1 and receives block 7 from rank 7.
/// let first = schedule.step(0, 0);
/// assert_eq!((first.sends[0].to, first.sends[0].blocks[0].first), (1, 0));
/// assert_eq!((first.recvs[0].from, first.recvs[0].blocks[0].first), (7, 7));
/// # Ok::<(), phalanx::schedule::Unfit>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Algorithm(pub(super) u16);

/// What an algorithm asks of the number of ranks and their layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Any number of ranks.
    Any,
    /// A power of two; otherwise the algorithm named serves.
    Cube(Algorithm),
    /// A power of two and root 0; for any root and any number take these.
    CubeRootZero { any_root: Algorithm, any_ranks: Algorithm },
    /// Rows x columns, any; of more dimensions take the algorithm named.
    Mesh(Algorithm),
    /// Any extents.
    Grid,
    /// Groups within groups; of these kinds.
    Groups { consecutive: bool },
}

/// One row of the table.
pub(super) struct CatalogueRow {
    pub(super) id: &'static str,
    /// A bit for each.
    pub(super) operations: u16,
    pub(super) needs: Needs,
}

/// The rest of a row.
pub(super) struct CatalogueProse {
    pub(super) operations: &'static [Operation],
    pub(super) about: &'static str,
    pub(super) source: &'static str,
}

/// Makes an algorithm's schedule.
pub(super) type Build = fn(&CheckedRequest<'_>) -> Built;

/// What makes the schedules of one operation's algorithms. Apart from the rows, and for each
/// operation by itself: of a program that calls two operations, the linker leaves out the rest. And
/// apart again those that the library may choose by itself: all others are in programs that force
/// an algorithm.
#[derive(Clone, Copy)]
pub(crate) struct Builders(pub(super) &'static [(Algorithm, Build)]);

/// A request that its algorithm serves.
pub(super) struct CheckedRequest<'a> {
    pub(super) operation: Operation,
    pub(super) p: usize,
    pub(super) root: usize,
    pub(super) shift: usize,
    dims: Option<&'a Extents>,
    pub(super) segments: usize,
    levels: Option<&'a Hierarchy>,
}

impl CheckedRequest<'_> {
    /// Whether the scan leaves out a rank's own value.
    pub(super) fn exclusive(&self) -> bool {
        self.operation == Operation::ExclusiveScan
    }

    /// All ranks in one dimension; a power of two of them in dimensions of extent 2; on the mesh of
    /// the request, or the squarest one. (Each only for the rules that ask for it: the others'
    /// programs have no meshes.)
    pub(super) fn ring(&self) -> Extents {
        Extents::ring(self.p)
    }

    pub(super) fn cube(&self) -> Extents {
        Extents::hypercube(self.p.trailing_zeros() as usize)
    }

    pub(super) fn grid(&self) -> Extents {
        self.dims.cloned().unwrap_or_else(|| Extents::squarest(self.p))
    }

    pub(super) fn levels(&self) -> &Hierarchy {
        self.levels.expect("an algorithm over groups has them")
    }

    /// The dimensions of the cube, at least 1.
    pub(super) fn d(&self) -> usize {
        self.p.trailing_zeros().max(1) as usize
    }
}

/// The steps, and what the schedule must say of them.
pub(super) struct Built {
    rule: Boxed,
    split: usize,
    ports: usize,
    ordered: bool,
}

impl Built {
    /// Combines in rank order (or moves only).
    pub(super) fn ordered(rule: Boxed) -> Self {
        Built { rule, split: 1, ports: 1, ordered: true }
    }

    /// Needs an operator that is commutative.
    pub(super) fn commutative(rule: Boxed) -> Self {
        Built { ordered: false, ..Built::ordered(rule) }
    }

    pub(super) fn split(self, split: usize) -> Self {
        Built { split, ..self }
    }

    pub(super) fn ports(self, ports: usize) -> Self {
        Built { ports, ..self }
    }

    /// Rank order holds only if `ordered`.
    pub(super) fn ordered_if(self, ordered: bool) -> Self {
        Built { ordered, ..self }
    }
}

impl Algorithm {
    fn row(self) -> &'static CatalogueRow {
        &ROWS[self.0 as usize]
    }

    pub(super) fn serves(self, operation: Operation) -> bool {
        self.row().operations & 1 << operation as u16 != 0
    }

    /// The id, such as `AG-RING`.
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// The position in [`Algorithm::ALL`]; stable within one build only.
    #[inline(always)]
    pub const fn index(self) -> u16 {
        self.0
    }

    /// The algorithm at a position of [`Algorithm::ALL`].
    pub fn from_index(index: u16) -> Option<Self> {
        Algorithm::ALL.get(usize::from(index)).copied()
    }

    /// The operations that the algorithm carries out.
    pub fn operations(self) -> &'static [Operation] {
        PROSE[self.0 as usize].operations
    }

    /// One line on how it works.
    pub fn about(self) -> &'static str {
        PROSE[self.0 as usize].about
    }

    /// The algorithm, figure, equation or rule of the catalogue it comes from.
    pub fn source(self) -> &'static str {
        PROSE[self.0 as usize].source
    }

    /// What it asks of the ranks, in words.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::Algorithm;
    /// assert_eq!(Algorithm::AG_RING.precondition(), "any p");
    /// assert_eq!(Algorithm::AG_HCUBE.precondition(), "p a power of two");
    /// ```
    pub fn precondition(self) -> &'static str {
        match self.row().needs {
            Needs::Any => "any p",
            Needs::Cube(_) => "p a power of two",
            Needs::CubeRootZero { .. } => "p a power of two, root 0",
            Needs::Mesh(_) => "any rows x columns = p",
            Needs::Grid => "any extents with product p",
            Needs::Groups { consecutive: true } => "any p, nested groups of consecutive ranks",
            Needs::Groups { .. } => "any p, any nested groups",
        }
    }

    /// Whether the engine accesses the peers' memory directly for the algorithm, and
    /// its schedule is for paper only.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::Algorithm;
    /// assert!(Algorithm::AR_FUSED.is_direct() && !Algorithm::AR_RING.is_direct());
    /// ```
    pub fn is_direct(self) -> bool {
        Operation::ALL.iter().any(|operation| operation.usual().direct == Some(self))
    }

    /// Whether the extents of a request make a difference.
    pub fn uses_dims(self) -> bool {
        matches!(self.row().needs, Needs::Mesh(_) | Needs::Grid)
    }

    /// Whether the groups of a request make a difference.
    pub fn uses_levels(self) -> bool {
        matches!(self.row().needs, Needs::Groups { .. })
    }

    /// All algorithms that carry out `operation`.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation};
    /// assert!(Algorithm::for_operation(Operation::Barrier).any(|a| a == Algorithm::BAR_ANY));
    /// ```
    pub fn for_operation(operation: Operation) -> impl Iterator<Item = Algorithm> {
        Algorithm::ALL.iter().copied().filter(move |a| a.serves(operation))
    }

    /// The schedule for a request, or the rule that the request breaks.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// let six = Request::new(Operation::AllGather, 6);
    /// let error = Algorithm::AG_HCUBE.schedule(&six).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "AG-HCUBE needs a power of two of ranks, and 6 is none; AG-ANY serves any number"
    /// );
    /// ```
    pub fn schedule(self, request: &Request) -> Result<Schedule, Unfit> {
        let levels = self.levels(request)?;
        let checked = self.check(request, &levels)?;
        Ok(self.build(request.operation.builders(), &checked))
    }

    /// The schedule of this algorithm, which has one of `builders` and serves, for a root or
    /// distance, over `levels`, if it is for groups.
    pub(crate) fn chosen_schedule(
        self,
        builders: Builders,
        operation: Operation,
        p: usize,
        (root, shift): (usize, usize),
        levels: Option<&Hierarchy>,
    ) -> Schedule {
        let request = CheckedRequest { operation, p, root, shift, dims: None, segments: p, levels };
        self.build(builders, &request)
    }

    fn build(self, builders: Builders, plan: &CheckedRequest<'_>) -> Schedule {
        let found = builders.0.iter().find(|(algorithm, _)| *algorithm == self);
        let (_, build) = found.expect("the operation has this algorithm");
        let built = build(plan);
        let contract = Contract {
            operation: plan.operation,
            ranks: plan.p,
            root: plan.root,
            shift: plan.shift,
            split: built.split,
        };
        let ordered = built.ordered || !plan.operation.combines();
        Schedule::new(self.id(), contract, ordered, built.rule).with_ports(built.ports)
    }

    fn check<'a>(
        self,
        request: &'a Request,
        levels: &'a Hierarchy,
    ) -> Result<CheckedRequest<'a>, Unfit> {
        let Request { operation, ranks: p, .. } = *request;
        if !self.serves(operation) {
            return Err(Unfit::Operation { algorithm: self, asked: operation });
        }
        if p == 0 || p > MOST_RANKS {
            return Err(Unfit::Ranks(p));
        }
        let root = if operation.is_rooted() { request.root } else { 0 };
        if root >= p {
            return Err(Unfit::Root { root, ranks: p });
        }
        let segments = request.segments.unwrap_or(p);
        if segments == 0 || segments > MOST_SEGMENTS {
            return Err(Unfit::Segments(segments));
        }
        let dims = self.dims(request)?;
        if let Needs::CubeRootZero { any_root, .. } = self.row().needs
            && root != 0
        {
            return Err(Unfit::RootZero { algorithm: self, instead: any_root });
        }
        let shift = match operation {
            Operation::Shift => request.shift.rem_euclid(p as isize) as usize,
            _ => 0,
        };
        let levels = Some(levels);
        Ok(CheckedRequest { operation, p, root, shift, dims, segments, levels })
    }

    /// The groups over which the algorithm serves a request: those of the request, else groups of
    /// one size. A flat algorithm has no groups.
    ///
    /// # Errors
    /// [`Unfit`] for groups of another number of ranks, or of a kind that the algorithm cannot
    /// serve.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::{Algorithm, Operation, Request};
    /// let groups = Algorithm::BC_HIER.levels(&Request::new(Operation::Broadcast, 16))?;
    /// assert_eq!(groups.to_string(), "4 groups, degrees flat, flat");
    /// # Ok::<(), phalanx::schedule::Unfit>(())
    /// ```
    pub fn levels(self, request: &Request) -> Result<Hierarchy, Unfit> {
        let p = request.ranks;
        let Needs::Groups { consecutive } = self.row().needs else {
            return Ok(Hierarchy::even(p, &[]));
        };
        let levels = match &request.levels {
            Some(levels) => levels.clone(),
            // The squarest grouping.
            None => Hierarchy::even(p, &[Extents::squarest(p).columns()]),
        };
        if levels.ranks() != p {
            return Err(Unfit::Levels { grouped: levels.ranks(), ranks: p });
        }
        if consecutive && !levels.is_consecutive() {
            return Err(Unfit::Groups { algorithm: self, needs: "of consecutive ranks" });
        }
        Ok(levels)
    }

    fn dims(self, request: &Request) -> Result<Option<&Extents>, Unfit> {
        let ranks = request.ranks;
        match (self.row().needs, &request.dims) {
            (Needs::Cube(instead) | Needs::CubeRootZero { any_ranks: instead, .. }, _)
                if !ranks.is_power_of_two() =>
            {
                Err(Unfit::PowerOfTwo { algorithm: self, ranks, instead })
            }
            (Needs::Mesh(_) | Needs::Grid, Some(dims)) if dims.ranks() != ranks => {
                Err(Unfit::Extents { dims: dims.clone(), ranks })
            }
            (Needs::Mesh(instead), Some(dims)) if dims.dimensions() > 2 => {
                Err(Unfit::Dimensions { algorithm: self, dims: dims.clone(), instead })
            }
            (_, dims) => Ok(dims.as_ref()),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// The text is no algorithm's id. The message names the nearest one if at most a third of the
/// letters differ.
///
/// # Examples
/// ```
/// use phalanx::schedule::Algorithm;
/// let error = "AG-RNG".parse::<Algorithm>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown algorithm 'AG-RNG'; did you mean AG-RING?");
/// let error = "FOO".parse::<Algorithm>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown algorithm 'FOO'");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownAlgorithm {
    /// The text.
    pub text: String,
    /// The id nearest to it, however far that is.
    pub nearest: Algorithm,
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown algorithm '{}'", self.text)?;
        let id = self.nearest.id();
        let most = self.text.chars().count().max(id.len()).div_ceil(3);
        match edits(&self.text, id) <= most {
            true => write!(f, "; did you mean {id}?"),
            false => Ok(()),
        }
    }
}

crate::error_type!(UnknownAlgorithm: Self { text, nearest });

/// Letters to insert, delete, replace or swap with a neighbour. A long text is far from every id
/// anyway.
fn edits(text: &str, id: &str) -> usize {
    let name: String = plain(text).chars().take(64).collect();
    strsim::osa_distance(&name, id)
}

/// In the spelling of the ids.
fn plain(text: &str) -> String {
    text.to_ascii_uppercase().replace('_', "-")
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// Case does not matter, and `_` may stand for `-`.
    fn from_str(s: &str) -> Result<Self, UnknownAlgorithm> {
        let name = plain(s);
        let known = Algorithm::ALL.iter().find(|a| a.id() == name);
        known.copied().ok_or_else(|| {
            let nearest = Algorithm::ALL.iter().min_by_key(|a| edits(s, a.id()));
            UnknownAlgorithm {
                text: s.to_string(),
                nearest: nearest.copied().unwrap_or(Algorithm(0)),
            }
        })
    }
}
