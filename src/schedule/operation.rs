//! The operations of the catalogue, and the facts about each: one row an operation.

use super::Algorithm;
use std::fmt;
use std::str::FromStr;

/// A collective operation of the catalogue.
///
/// # Examples
/// ```
/// use phalanx::schedule::Operation;
/// let op: Operation = "all-reduce".parse().unwrap();
/// assert_eq!(op, Operation::AllReduce);
/// assert_eq!(op.to_string(), "all-reduce");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// One rank's vector to every rank (BC).
    Broadcast,
    /// The combination of every rank's vector, at one rank (RED).
    Reduce,
    /// Every rank's block, in rank order, at every rank (AG).
    AllGather,
    /// Block `j` of the combination, at rank `j` (RS).
    ReduceScatter,
    /// The combination of every rank's vector, at every rank (AR).
    AllReduce,
    /// Nobody leaves before everybody has come (BAR).
    Barrier,
    /// At rank `k` the combination of ranks `0..=k` (SCAN).
    Scan,
    /// At rank `k` the combination of ranks `0..k`.
    ExclusiveScan,
    /// Block `j` of the root's data, at rank `j` (SC).
    Scatter,
    /// Every rank's block, in rank order, at the root (GA).
    Gather,
    /// Block `(r, j)` of rank `r`, at rank `j` (TX, total exchange).
    AllToAll,
    /// A total exchange in one buffer: block `j` of rank `r` and block `r` of rank `j` change
    /// places.
    AllToAllInPlace,
    /// Rank `r`'s vector, at rank `r + q` (CS, circular shift).
    Shift,
}

/// What one rank's input or output holds.
///
/// # Examples
/// ```
/// use phalanx::schedule::{Operation, Share};
/// assert_eq!(Operation::Gather.output(true), Share::Blocks); // at the root
/// assert_eq!(Operation::Gather.output(false), Share::Nothing);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Share {
    /// The rank has no such buffer, or it is not looked at.
    Nothing,
    /// A vector, as long as every other rank's. (The barrier's is one word of
    /// its own.)
    Vector,
    /// This rank's block.
    Block,
    /// A block for each rank, in rank order.
    Blocks,
}

/// Into which blocks the data are numbered: see `contract.rs`.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Units {
    /// The vector is one.
    One,
    /// One for each rank.
    Ranks,
    /// One for each pair of ranks.
    Pairs,
    /// Those of a scan.
    Prefixes,
}

/// The blocks that a rank has, before or after.
#[derive(Clone, Copy)]
pub(super) enum Held {
    Nothing,
    All,
    /// Its own.
    Own,
    /// Those that come from it.
    Row,
    /// Those that go to it.
    Column,
    /// That of the rank from which the shift takes.
    Shifted,
    /// A scan's own value, exclusive or inclusive.
    Total,
    TotalAndResult,
    /// A scan's result; the exclusive scan's rank 0 has none.
    Result,
    ResultButFirst,
}

/// An algorithm, and the one that takes its place for operators that are not
/// commutative.
#[derive(Clone, Copy)]
pub(crate) struct AlgorithmPair {
    commutative: Algorithm,
    ordered: Algorithm,
}

impl AlgorithmPair {
    #[inline(always)]
    pub(crate) const fn of(self, commutative: bool) -> Algorithm {
        if commutative { self.commutative } else { self.ordered }
    }
}

const fn one(algorithm: Algorithm) -> AlgorithmPair {
    AlgorithmPair { commutative: algorithm, ordered: algorithm }
}

const fn two(commutative: Algorithm, ordered: Algorithm) -> AlgorithmPair {
    AlgorithmPair { commutative, ordered }
}

/// The algorithms of an operation that stand for more than themselves.
pub(crate) struct Usual {
    /// By direct access to the peers' memory; none for the barrier.
    pub(crate) direct: Option<Algorithm>,
    /// By messages: the library's choice.
    pub(crate) messages: AlgorithmPair,
    /// By messages between the root and each rank, in place of a tree; a scan's from rank to rank.
    pub(crate) star: Option<Algorithm>,
    /// Equal blocks between all ranks: to all at once, where a step costs a turn on a core; and
    /// a few bytes each, in the fewest steps.
    pub(crate) at_once: Option<Algorithm>,
    pub(crate) few_bytes: Option<Algorithm>,
    /// The algorithms that the model of a machine's levels may choose besides, without groups.
    pub(super) by_model: Option<Algorithm>,
    /// Those of the views.
    pub(super) ring: AlgorithmPair,
    pub(super) linear: AlgorithmPair,
    /// Of two dimensions, of more.
    pub(super) mesh: [AlgorithmPair; 2],
    /// On a power of two of ranks, else.
    pub(super) cube: [AlgorithmPair; 2],
    pub(super) tree: [AlgorithmPair; 2],
}

impl Usual {
    /// Whether the library may walk a schedule of this algorithm, which has no groups, by itself.
    pub(super) const fn may_walk(&self, algorithm: Algorithm) -> bool {
        let all = [
            Some(self.messages.commutative),
            Some(self.messages.ordered),
            self.star,
            self.at_once,
            self.few_bytes,
            self.by_model,
        ];
        let mut i = 0;
        while i < all.len() {
            if let Some(it) = all[i]
                && it.0 == algorithm.0
            {
                return true;
            }
            i += 1;
        }
        false
    }
}

/// What an operation is: everything that the rest of the library, and the tool,
/// asks about one stands in its row of [`ROWS`].
struct OperationRow {
    operation: Operation,
    name: &'static str,
    base: Operation,
    rooted: bool,
    combines: bool,
    /// Whether input and output are one buffer, where a rank has both.
    in_place: bool,
    /// At the root (or of every rank), elsewhere.
    input: [Share; 2],
    output: [Share; 2],
    units: Units,
    starts: [Held; 2],
    ends: [Held; 2],
    usual: Usual,
}

use Algorithm as A;
use Share::{Block, Blocks, Vector};

#[rustfmt::skip]
// A constant, so that questions about a known operation are answered by the compiler, in the
// program's own crate, too.
const ROWS: [OperationRow; 13] = [
    OperationRow {
        operation: Operation::Broadcast, name: "broadcast", base: Operation::Broadcast,
        rooted: true, combines: false, in_place: true,
        input: [Vector, Share::Nothing], output: [Vector, Vector],
        units: Units::One, starts: [Held::All, Held::Nothing], ends: [Held::All, Held::All],
        usual: Usual {
            direct: Some(A::BC_FUSED), messages: one(A::BC_ANY), star: Some(A::BC_NAIVE),
            at_once: None, few_bytes: None,
            by_model: Some(A::BC_SPLIT_HCUBE),
            ring: one(A::BC_RING), linear: one(A::BC_LINEAR),
            mesh: [one(A::BC_MESH), one(A::BC_MESHD)],
            cube: [one(A::BC_HCUBE_SRC), one(A::BC_ANY)],
            tree: [one(A::BC_TREE_LEAF), one(A::BC_TREE_LEAF)],
        },
    },
    OperationRow {
        operation: Operation::Reduce, name: "reduce", base: Operation::Reduce,
        rooted: true, combines: true, in_place: true,
        input: [Vector, Vector], output: [Vector, Share::Nothing],
        units: Units::One, starts: [Held::All, Held::All], ends: [Held::All, Held::Nothing],
        usual: Usual {
            direct: Some(A::RED_FUSED), messages: one(A::RED_ANY), star: Some(A::RED_NAIVE),
            at_once: None, few_bytes: None,
            by_model: Some(A::RED_SPLIT_HCUBE),
            ring: one(A::RED_RING), linear: one(A::RED_LINEAR),
            mesh: [
                two(A::RED_MESH, A::RED_MESH_ROWS),
                two(A::RED_MESHD, A::RED_MESH_ROWS),
            ],
            cube: [one(A::RED_HCUBE), one(A::RED_ANY)],
            tree: [one(A::RED_TREE_LEAF), one(A::RED_TREE_LEAF)],
        },
    },
    OperationRow {
        operation: Operation::AllGather, name: "all-gather", base: Operation::AllGather,
        rooted: false, combines: false, in_place: false,
        input: [Block, Block], output: [Blocks, Blocks],
        units: Units::Ranks, starts: [Held::Own, Held::Own], ends: [Held::All, Held::All],
        usual: Usual {
            direct: Some(A::AG_FUSED), messages: one(A::AG_ANY), star: None,
            at_once: None, few_bytes: None,
            by_model: Some(A::AG_HCUBE_DESC),
            ring: one(A::AG_RING), linear: one(A::AG_LINEAR),
            mesh: [one(A::AG_MESH), one(A::AG_MESHD)],
            cube: [one(A::AG_HCUBE), one(A::AG_ANY)],
            tree: [one(A::AG_HCUBE_DESC), one(A::AG_RING)],
        },
    },
    OperationRow {
        operation: Operation::ReduceScatter, name: "reduce-scatter", base: Operation::ReduceScatter,
        rooted: false, combines: true, in_place: false,
        input: [Blocks, Blocks], output: [Block, Block],
        units: Units::Ranks, starts: [Held::All, Held::All], ends: [Held::Own, Held::Own],
        usual: Usual {
            // RS-ANY mixes the order of the operands.
            direct: Some(A::RS_FUSED), messages: two(A::RS_ANY, A::RS_FUSED), star: None,
            at_once: None, few_bytes: None,
            by_model: Some(A::RS_HCUBE_ASC),
            ring: two(A::RS_RING, A::RS_LINEAR_NN),
            linear: two(A::RS_LINEAR, A::RS_LINEAR_NN),
            mesh: [
                two(A::RS_MESH, A::RS_MESH_RED_SC),
                two(A::RS_MESHD, A::RS_MESH_RED_SC),
            ],
            cube: [two(A::RS_HCUBE, A::RS_HCUBE_ASC), two(A::RS_ANY, A::RS_RED_SC)],
            tree: [one(A::RS_HCUBE_ASC), two(A::RS_RING, A::RS_RED_SC)],
        },
    },
    OperationRow {
        operation: Operation::AllReduce, name: "all-reduce", base: Operation::AllReduce,
        rooted: false, combines: true, in_place: true,
        input: [Vector, Vector], output: [Vector, Vector],
        units: Units::One, starts: [Held::All, Held::All], ends: [Held::All, Held::All],
        usual: Usual {
            direct: Some(A::AR_FUSED), messages: one(A::AR_ANY), star: None,
            at_once: None, few_bytes: None,
            by_model: Some(A::AR_SPLIT_HCUBE),
            ring: one(A::AR_RING), linear: one(A::AR_NAIVE),
            mesh: [one(A::AR_MESH), one(A::AR_MESH)],
            cube: [one(A::AR_HCUBE), one(A::AR_ANY)],
            tree: [one(A::AR_NAIVE), one(A::AR_NAIVE)],
        },
    },
    OperationRow {
        operation: Operation::Barrier, name: "barrier", base: Operation::Barrier,
        rooted: false, combines: false, in_place: true,
        input: [Vector, Vector], output: [Vector, Vector],
        units: Units::One, starts: [Held::All, Held::All], ends: [Held::All, Held::All],
        usual: Usual {
            direct: None, messages: one(A::BAR_ANY), star: None,
            at_once: None, few_bytes: None,
            by_model: Some(A::BAR_AR),
            ring: one(A::BAR_ANY), linear: one(A::BAR_ANY),
            mesh: [one(A::BAR_ANY), one(A::BAR_ANY)],
            cube: [one(A::BAR_AR), one(A::BAR_ANY)],
            tree: [one(A::BAR_ANY), one(A::BAR_ANY)],
        },
    },
    OperationRow {
        operation: Operation::Scan, name: "scan", base: Operation::Scan,
        rooted: false, combines: true, in_place: true,
        input: [Vector, Vector], output: [Vector, Vector],
        units: Units::Prefixes,
        starts: [Held::TotalAndResult, Held::TotalAndResult], ends: [Held::Result, Held::Result],
        usual: SCAN,
    },
    OperationRow {
        operation: Operation::ExclusiveScan, name: "exclusive-scan", base: Operation::Scan,
        rooted: false, combines: true, in_place: true,
        input: [Vector, Vector], output: [Vector, Vector],
        units: Units::Prefixes,
        starts: [Held::Total, Held::Total], ends: [Held::ResultButFirst, Held::ResultButFirst],
        usual: SCAN,
    },
    OperationRow {
        operation: Operation::Scatter, name: "scatter", base: Operation::Scatter,
        rooted: true, combines: false, in_place: false,
        input: [Blocks, Share::Nothing], output: [Block, Block],
        units: Units::Ranks, starts: [Held::All, Held::Nothing], ends: [Held::Own, Held::Own],
        usual: Usual {
            direct: Some(A::SC_FUSED), messages: one(A::SC_ANY), star: Some(A::SC_NAIVE),
            at_once: None, few_bytes: None,
            by_model: Some(A::SC_MESH),
            ring: one(A::SC_RING), linear: one(A::SC_LINEAR),
            mesh: [one(A::SC_MESH), one(A::SC_MESH)],
            cube: [one(A::SC_HCUBE), one(A::SC_ANY)],
            tree: [one(A::SC_TREE_LEAF), one(A::SC_TREE_LEAF)],
        },
    },
    OperationRow {
        operation: Operation::Gather, name: "gather", base: Operation::Gather,
        rooted: true, combines: false, in_place: false,
        input: [Block, Block], output: [Blocks, Share::Nothing],
        units: Units::Ranks, starts: [Held::Own, Held::Own], ends: [Held::All, Held::Nothing],
        usual: Usual {
            direct: Some(A::GA_FUSED), messages: one(A::GA_ANY), star: Some(A::GA_NAIVE),
            at_once: None, few_bytes: None,
            by_model: Some(A::GA_MESH),
            ring: one(A::GA_RING), linear: one(A::GA_LINEAR),
            mesh: [one(A::GA_MESH), one(A::GA_MESH)],
            cube: [one(A::GA_HCUBE), one(A::GA_ANY)],
            tree: [one(A::GA_TREE_LEAF), one(A::GA_TREE_LEAF)],
        },
    },
    OperationRow {
        operation: Operation::AllToAll, name: "all-to-all", base: Operation::AllToAll,
        rooted: false, combines: false, in_place: false,
        input: [Blocks, Blocks], output: [Blocks, Blocks],
        units: Units::Pairs, starts: [Held::Row, Held::Row], ends: [Held::Column, Held::Column],
        usual: Usual {
            direct: Some(A::TX_FUSED), messages: one(A::TX_ANY), star: None,
            at_once: Some(A::TX_AP_RING), few_bytes: Some(A::TX_BRUCK),
            by_model: Some(A::TX_HCUBE),
            ring: one(A::TX_RING), linear: one(A::TX_RING),
            mesh: [one(A::TX_MESH), one(A::TX_MESHD)],
            cube: [one(A::TX_HCUBE), one(A::TX_ANY)],
            tree: [one(A::TX_ANY), one(A::TX_ANY)],
        },
    },
    OperationRow {
        operation: Operation::AllToAllInPlace, name: "all-to-all-in-place",
        base: Operation::AllToAll,
        rooted: false, combines: false, in_place: true,
        input: [Blocks, Blocks], output: [Blocks, Blocks],
        units: Units::Pairs, starts: [Held::Row, Held::Row], ends: [Held::Column, Held::Column],
        usual: Usual {
            direct: Some(A::TX_FUSED), messages: one(A::TX_PAIRS), star: None,
            at_once: Some(A::TX_AP_RING), few_bytes: Some(A::TX_BRUCK),
            by_model: Some(A::TX_HCUBE),
            ring: one(A::TX_RING), linear: one(A::TX_RING),
            mesh: [one(A::TX_MESH), one(A::TX_MESHD)],
            cube: [one(A::TX_HCUBE), one(A::TX_PAIRS)],
            tree: [one(A::TX_PAIRS), one(A::TX_PAIRS)],
        },
    },
    OperationRow {
        operation: Operation::Shift, name: "shift", base: Operation::Shift,
        rooted: false, combines: false, in_place: true,
        input: [Vector, Vector], output: [Vector, Vector],
        units: Units::Ranks, starts: [Held::Own, Held::Own], ends: [Held::Shifted, Held::Shifted],
        usual: Usual {
            direct: Some(A::CS_FUSED), messages: one(A::CS_ANY), star: None,
            at_once: None, few_bytes: None,
            by_model: None,
            ring: one(A::CS_RING), linear: one(A::CS_RING),
            mesh: [one(A::CS_MESH_MIN), one(A::CS_MESH_MIN)],
            cube: [one(A::CS_HC_ECUBE), one(A::CS_ANY)],
            tree: [one(A::CS_ANY), one(A::CS_ANY)],
        },
    },
];

// By number.
const _: () = {
    let mut i = 0;
    while i < ROWS.len() {
        assert!(ROWS[i].operation as usize == i && Operation::ALL[i] as usize == i);
        i += 1;
    }
};

const SCAN: Usual = Usual {
    direct: Some(A::SCAN_FUSED),
    messages: one(A::SCAN_HCUBE),
    star: Some(A::SCAN_CHAIN),
    at_once: None,
    few_bytes: None,
    by_model: None,
    ring: one(A::SCAN_CHAIN),
    linear: one(A::SCAN_CHAIN),
    mesh: [one(A::SCAN_MESH), one(A::SCAN_MESH)],
    cube: [one(A::SCAN_HCUBE), one(A::SCAN_HCUBE)],
    tree: [one(A::SCAN_HCUBE), one(A::SCAN_HCUBE)],
};

impl Operation {
    /// All operations, in the order of the catalogue.
    pub const ALL: [Operation; 13] = [
        Operation::Broadcast,
        Operation::Reduce,
        Operation::AllGather,
        Operation::ReduceScatter,
        Operation::AllReduce,
        Operation::Barrier,
        Operation::Scan,
        Operation::ExclusiveScan,
        Operation::Scatter,
        Operation::Gather,
        Operation::AllToAll,
        Operation::AllToAllInPlace,
        Operation::Shift,
    ];

    #[inline(always)]
    const fn row(self) -> &'static OperationRow {
        &ROWS[self as usize]
    }

    /// The name used by the `phalanx` tool: lower case, words joined by hyphens.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The operation of which this is a form: their sizes in
    /// [`Tuning`](crate::tuning::Tuning), their pages and their costs are the same.
    ///
    /// ```
    /// use phalanx::schedule::Operation;
    /// assert_eq!(Operation::ExclusiveScan.base(), Operation::Scan);
    /// assert_eq!(Operation::Scan.base(), Operation::Scan);
    /// ```
    #[inline(always)]
    pub fn base(self) -> Operation {
        self.row().base
    }

    /// Whether the operation has a root rank.
    #[inline(always)]
    pub fn is_rooted(self) -> bool {
        self.row().rooted
    }

    /// Whether the operation combines elements with an operator.
    #[inline(always)]
    pub fn combines(self) -> bool {
        self.row().combines
    }

    /// Whether [`Order::Fixed`](crate::Order::Fixed) is about it: a reduction, but
    /// not of prefixes.
    #[inline(always)]
    pub(crate) fn has_order(self) -> bool {
        self.combines() && self.units() != Units::Prefixes
    }

    /// Whether input and output are one buffer, where a rank has both.
    ///
    /// ```
    /// use phalanx::schedule::Operation;
    /// assert!(Operation::AllReduce.is_in_place());
    /// assert!(!Operation::AllToAll.is_in_place());
    /// ```
    #[inline(always)]
    pub fn is_in_place(self) -> bool {
        self.row().in_place
    }

    /// What a rank gives; the root, if `is_root`, which makes no difference to
    /// operations without one.
    #[inline(always)]
    pub fn input(self, is_root: bool) -> Share {
        self.row().input[usize::from(!is_root)]
    }

    /// What a rank gets; the root, if `is_root`.
    #[inline(always)]
    pub fn output(self, is_root: bool) -> Share {
        self.row().output[usize::from(!is_root)]
    }

    /// Whether a buffer is cut into a block for each rank.
    ///
    /// ```
    /// use phalanx::schedule::Operation;
    /// assert!(Operation::Scatter.has_blocks());
    /// assert!(!Operation::Broadcast.has_blocks());
    /// ```
    #[inline(always)]
    pub const fn has_blocks(self) -> bool {
        let row = &ROWS[self as usize];
        matches!(row.input[0], Share::Blocks) || matches!(row.output[0], Share::Blocks)
    }

    /// Whether there is a block for each pair of ranks: `origin * p + destination`.
    ///
    /// ```
    /// use phalanx::schedule::Operation;
    /// assert!(Operation::AllToAll.has_pairs());
    /// assert!(!Operation::AllGather.has_pairs());
    /// ```
    #[inline(always)]
    pub fn has_pairs(self) -> bool {
        self.units() == Units::Pairs
    }

    /// Whether each block ends at one rank: a rank that has sent a block needs it no more.
    ///
    /// ```
    /// use phalanx::schedule::Operation;
    /// assert!(Operation::Scatter.gives_away());
    /// assert!(!Operation::AllGather.gives_away());
    /// ```
    pub fn gives_away(self) -> bool {
        matches!(self.ends(false), Held::Nothing | Held::Own | Held::Column | Held::Shifted)
    }

    /// How often the larger buffer's bytes are read or written, on all `p` ranks
    /// together.
    pub(crate) fn touched(self, p: usize) -> usize {
        // In blocks: of `p` of them is a buffer, and a vector counts as one.
        let of = |share| match share {
            Share::Nothing => 0,
            Share::Block => 1,
            Share::Vector | Share::Blocks => p,
        };
        let rank = |is_root| {
            let (input, output) = (of(self.input(is_root)), of(self.output(is_root)));
            if self.is_in_place() { input.max(output) } else { input + output }
        };
        (rank(true) + rank(false) * (p - 1)) / p
    }

    /// The algorithms that stand for more than themselves.
    #[inline(always)]
    pub(crate) const fn usual(self) -> &'static Usual {
        &self.row().usual
    }

    #[inline(always)]
    pub(super) fn units(self) -> Units {
        self.row().units
    }

    pub(super) fn starts(self, is_root: bool) -> Held {
        self.row().starts[usize::from(!is_root)]
    }

    pub(super) fn ends(self, is_root: bool) -> Held {
        self.row().ends[usize::from(!is_root)]
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no operation.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownOperation(pub String);

impl fmt::Display for UnknownOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown operation '{}'; known are", self.0)?;
        for (i, op) in Operation::ALL.iter().enumerate() {
            write!(f, "{} {op}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

crate::error_type!(UnknownOperation: Self(what));

impl FromStr for Operation {
    type Err = UnknownOperation;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Operation::ALL
            .into_iter()
            .find(|op| op.name() == s)
            .ok_or_else(|| UnknownOperation(s.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_algorithms_of_their_operation() {
        for (operation, row) in Operation::ALL.into_iter().zip(&ROWS) {
            let usual = &row.usual;
            let of_view = [usual.ring, usual.linear, usual.messages].into_iter();
            let of_view = of_view.chain(usual.mesh).chain(usual.cube).chain(usual.tree);
            let all = of_view.flat_map(|pick| [pick.commutative, pick.ordered]);
            let optional =
                [usual.direct, usual.star, usual.at_once, usual.few_bytes, usual.by_model];
            for algorithm in all.chain(optional.into_iter().flatten()) {
                assert!(algorithm.operations().contains(&operation), "{operation}: {algorithm}");
            }
            let is_direct = |a: Algorithm| a.is_direct() == (usual.direct == Some(a));
            assert!(Algorithm::for_operation(operation).all(is_direct), "{operation}");
        }
    }

    #[test]
    fn what_is_touched() {
        let touched = |operation: Operation| operation.touched(5);
        assert_eq!(touched(Operation::Scatter), 2);
        assert_eq!(touched(Operation::Gather), 2);
        assert_eq!(touched(Operation::AllGather), 6);
        assert_eq!(touched(Operation::ReduceScatter), 6);
        assert_eq!(touched(Operation::AllToAll), 10);
        assert_eq!(touched(Operation::AllToAllInPlace), 5);
        for operation in [Operation::Broadcast, Operation::Reduce, Operation::AllReduce] {
            assert_eq!(touched(operation), 5);
        }
    }
}
