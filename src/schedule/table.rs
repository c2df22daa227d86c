//! The rows of the catalogue: one per algorithm, in the order of the operations.
//!
//! To add an algorithm, write its rule in the operation's file and add a row:
//! constant, id, operations, what it needs, one line on it, its source, and the
//! function that makes it. Sections ("book 4.1") and figures are those of
//! Grama, Gupta, Karypis and Kumar, chapter 4 (G1..G8: `guide::cost_model`); ids marked
//! "ours" are not in the book.

use super::catalogue::{Algorithm, Build, Builders, Built, CatalogueProse, CatalogueRow, Needs};
use super::gather::all;
use super::grid::{fastest_first, slowest_first};
use super::line_tree::TreeKind;
use super::rule_parts::Boxed;
use super::{BlockRange, Chain, Operation};
use super::{
    all_port, all_reduce, all_to_all, broadcast, fused, gather, hierarchical, scan, scatter, shift,
    split_levels,
};
use crate::topology::Extents;

use Needs::{Any, Cube, CubeRootZero, Grid, Groups, Mesh};
use Operation::*;

macro_rules! catalogue {
    ($($name:ident $id:literal [$($op:ident),+] $needs:expr, $about:literal, $source:literal,
       $build:expr;)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Index { $($name),+ }

        impl Algorithm {
            $(
                #[doc = concat!("`", $id, "`: ", $about, " (", $source, ").")]
                pub const $name: Algorithm = Algorithm(Index::$name as u16);
            )+

            /// Every algorithm, in the order of the operations.
            pub const ALL: &[Algorithm] = &[$(Algorithm::$name),+];
        }

        pub(super) static ROWS: &[CatalogueRow] = &[$(CatalogueRow {
            id: $id,
            operations: 0 $(| 1 << $op as u16)+,
            needs: $needs,
        }),+];

        /// The prose of each: not in programs that ask for none.
        pub(super) static PROSE: &[CatalogueProse] = &[$(CatalogueProse {
            operations: &[$($op),+],
            about: $about,
            source: $source,
        }),+];

        /// By number. A constant: what an operation's own list has not is not in the program.
        const BUILDERS: [(&[Operation], Needs, Build); Algorithm::ALL.len()] =
            [$((&[$($op),+], $needs, $build)),+];
    };
}

/// Whether algorithm `index` carries out `operation`; `unforced`: in a call that forces none.
const fn serves(index: usize, operation: Operation, unforced: bool) -> bool {
    let (operations, needs, _) = BUILDERS[index];
    let mut i = 0;
    while i < operations.len() {
        if operations[i] as usize == operation as usize {
            let is_walked = operation.usual().may_walk(Algorithm(index as u16));
            return !unforced || is_walked || matches!(needs, Groups { .. });
        }
        i += 1;
    }
    false
}

/// How many algorithms carry out `operation`.
const fn count(operation: Operation, unforced: bool) -> usize {
    let (mut index, mut count) = (0, 0);
    while index < BUILDERS.len() {
        count += serves(index, operation, unforced) as usize;
        index += 1;
    }
    count
}

/// These algorithms, and what makes their schedules.
const fn of_operation<const N: usize>(
    operation: Operation,
    unforced: bool,
) -> [(Algorithm, Build); N] {
    let mut of = [(Algorithm(0), BUILDERS[0].2); N];
    let (mut index, mut count) = (0, 0);
    while index < BUILDERS.len() {
        if serves(index, operation, unforced) {
            of[count] = (Algorithm(index as u16), BUILDERS[index].2);
            count += 1;
        }
        index += 1;
    }
    of
}

macro_rules! builders {
    (@ $name:ident $unforced:literal $docs:literal [$($operation:ident)+]) => {
        #[doc = $docs]
        #[inline(always)]
        pub(crate) const fn $name(self) -> Builders {
            match self {
                $($operation => {
                    static OF: [(Algorithm, Build); count($operation, $unforced)] =
                        of_operation($operation, $unforced);
                    Builders(&OF)
                })+
            }
        }
    };
    ($operations:tt $($name:ident $unforced:literal $docs:literal)+) => {
        impl Operation {
            $(builders! { @ $name $unforced $docs $operations })+
        }
    };
}

builders! {
    [Broadcast Reduce AllGather ReduceScatter AllReduce Barrier Scan ExclusiveScan Scatter Gather
    AllToAll AllToAllInPlace Shift]
    builders false "What makes the schedules of its algorithms."
    unforced_builders true "Of those that the library may choose where none is forced. Of an \
        operation that the compiler knows only its own get into the program."
}

const BC_CUBE: Needs = Cube(Algorithm::BC_ANY);
const AG_CUBE: Needs = Cube(Algorithm::AG_ANY);
const RS_CUBE: Needs = Cube(Algorithm::RS_ANY);

const ANY_GROUPS: Needs = Groups { consecutive: false };

/// Combines leader by leader: in rank order where groups are of consecutive ranks.
fn by_level(staged: hierarchical::Staged, consecutive: bool) -> Built {
    Built::ordered(staged.rule).ports(staged.ports).ordered_if(consecutive)
}

/// The whole vector of an operation that is not split.
const WHOLE: BlockRange = BlockRange::one(0);

fn then(first: Boxed, second: Boxed) -> Boxed {
    Box::new(Chain::new(vec![first, second]))
}

fn bc_line(p: usize, root: usize) -> Boxed {
    broadcast::line(p, root, WHOLE)
}

fn red_line(p: usize, root: usize) -> Boxed {
    broadcast::reduction(bc_line(p, root))
}

fn bc_grid(dims: &Extents, root: usize) -> Boxed {
    broadcast::by_dimension(dims, &fastest_first(dims), root, WHOLE)
}

/// Whether columns first, then rows still combines in rank order.
fn is_line(dims: &Extents) -> bool {
    (0..dims.dimensions()).filter(|&j| dims.extent(j) > 1).count() <= 1
}

fn ag_ring(p: usize) -> Boxed {
    ag_grid(&Extents::ring(p))
}

fn ag_grid(dims: &Extents) -> Boxed {
    gather::by_dimension(dims, &fastest_first(dims))
}

fn rs_ring(p: usize) -> Boxed {
    gather::reduction(ag_ring(p))
}

fn rs_grid(dims: &Extents) -> Boxed {
    gather::reduction(ag_grid(dims))
}

fn rs_cube(p: usize) -> Boxed {
    gather::reduction(gather::cube(p))
}

fn rs_any(p: usize) -> Boxed {
    gather::reduction(gather::bruck(p))
}

fn sc_line(p: usize, root: usize) -> Boxed {
    scatter::line(p, TreeKind::for_scatter(p, root))
}

fn sc_any(p: usize, root: usize) -> Boxed {
    scatter::line(p, TreeKind::Clipped { n: p, root })
}

fn sc_grid(dims: &Extents, root: usize) -> Boxed {
    scatter::by_dimension(dims, &fastest_first(dims), root)
}

fn ga(scatter: Boxed) -> Boxed {
    scatter::gather(scatter)
}

/// A reduce-scatter from a reduction of everything to rank 0 and a scatter.
fn through_root(reduced: Boxed, scattered: Boxed) -> Built {
    Built::ordered(then(reduced, scattered))
}

fn rows_first(dims: &Extents, root: usize, blocks: BlockRange) -> Boxed {
    broadcast::reduction(broadcast::by_dimension(dims, &slowest_first(dims), root, blocks))
}

/// The schedule of a fused path: everybody may have a message with everybody.
fn fused(p: usize, rule: Boxed) -> Built {
    Built::ordered(rule).ports(p.saturating_sub(1).max(1))
}

catalogue! {
    // Broadcast.
    BC_NAIVE "BC-NAIVE" [Broadcast] Any,
        "the root sends to one rank after the other", "book 4.1",
        |c| Built::ordered(broadcast::naive(c.p, c.root, WHOLE));
    BC_RING "BC-RING" [Broadcast] Any,
        "ring: recursive doubling, far half first", "Fig. 4.2, Eq. 4.1; any p by G1",
        |c| Built::ordered(bc_line(c.p, c.root));
    BC_LINEAR "BC-LINEAR" [Broadcast] Any,
        "linear array: recursive doubling that never needs the wrap-around link", "G1",
        |c| Built::ordered(bc_line(c.p, c.root));
    BC_LOOP "BC-LOOP" [Broadcast]
        CubeRootZero { any_root: Algorithm::BC_HCUBE_SRC, any_ranks: Algorithm::BC_ANY },
        "the from/to loop, messages of Alg. 4.1", "Alg. 4.1",
        |c| Built::ordered(broadcast::from_to_loop(c.p, WHOLE));
    BC_MESH "BC-MESH" [Broadcast] Mesh(Algorithm::BC_MESHD),
        "mesh: the root's row, then all columns at once", "Fig. 4.5",
        |c| Built::ordered(bc_grid(&c.grid(), c.root));
    BC_MESHD "BC-MESHD" [Broadcast] Grid,
        "mesh of any dimensions: one line broadcast per dimension", "book 4.1",
        |c| Built::ordered(bc_grid(&c.grid(), c.root));
    BC_HCUBE "BC-HCUBE" [Broadcast]
        CubeRootZero { any_root: Algorithm::BC_HCUBE_SRC, any_ranks: Algorithm::BC_ANY },
        "hypercube from rank 0, highest dimension first", "Alg. 4.1, Fig. 4.6, Eq. 4.1",
        |c| Built::ordered(bc_line(c.p, c.root));
    BC_HCUBE_SRC "BC-HCUBE-SRC" [Broadcast] BC_CUBE,
        "hypercube from any rank, ids relative to the root by XOR", "Alg. 4.2",
        |c| Built::ordered(bc_line(c.p, c.root));
    BC_TREE_LEAF "BC-TREE-LEAF" [Broadcast] Any,
        "ranks at the leaves of a tree of switches: farthest leaf first", "Fig. 4.7; any p by G1",
        |c| Built::ordered(bc_line(c.p, c.root));
    BC_TREE_NODE "BC-TREE-NODE" [Broadcast] Any,
        "a rank at every node of a binary tree: left child, then right child", "lecture slides",
        |c| Built::ordered(broadcast::heap(c.p, c.root, WHOLE, false));
    BC_ANY "BC-ANY" [Broadcast] Any,
        "interval halving for any p", "G1",
        |c| Built::ordered(bc_line(c.p, c.root));
    BC_FUSED "BC-FUSED" [Broadcast] Any,
        "shared memory: rank i copies part i of the root's vector to all", "ours",
        |c| {
            let root = c.root;
            let stored = fused::store(c.p, move |to| to != root);
            fused(c.p, then(fused::deal(c.p, c.root), stored)).split(c.p)
        };
    BC_CHAIN "BC-CHAIN" [Broadcast] Any,
        "pipeline of segments along the ring", "ours",
        |c| Built::ordered(broadcast::chain(c.p, c.root, c.segments)).split(c.segments);
    BC_SPLIT_RING "BC-SPLIT-RING" [Broadcast] Any,
        "scatter of p parts, then ring all-gather", "book 4.7.1",
        |c| Built::ordered(then(sc_line(c.p, c.root), ag_ring(c.p))).split(c.p);
    BC_SPLIT_MESH "BC-SPLIT-MESH" [Broadcast] Grid,
        "scatter of p parts, then mesh all-gather", "book 4.7.1",
        |c| Built::ordered(then(sc_grid(&c.grid(), c.root), ag_grid(&c.grid()))).split(c.p);
    BC_SPLIT_HCUBE "BC-SPLIT-HCUBE" [Broadcast] Cube(Algorithm::BC_SPLIT_ANY),
        "scatter of p parts, then hypercube all-gather", "Eq. 4.13",
        |c| Built::ordered(then(sc_line(c.p, c.root), gather::cube(c.p))).split(c.p);
    BC_SPLIT_ANY "BC-SPLIT-ANY" [Broadcast] Any,
        "scatter of p parts, then Bruck all-gather", "G2, G4",
        |c| Built::ordered(then(sc_any(c.p, c.root), gather::bruck(c.p))).split(c.p);
    BC_AP_HCUBE "BC-AP-HCUBE" [Broadcast] Cube(Algorithm::BC_SPLIT_ANY),
        "all ports: rotated scatter trees, then rotated all-gathers", "book 4.7.2",
        |c| {
            let rule = then(all_port::scatter(&c.cube(), c.root), all_port::all_gather(&c.cube()));
            Built::ordered(rule).split(c.p * c.d()).ports(c.d())
        };
    BC_AP_TREE_NODE "BC-AP-TREE-NODE" [Broadcast] Any,
        "a rank at every node of a binary tree: both children at once", "lecture slides",
        |c| Built::ordered(broadcast::heap(c.p, c.root, WHOLE, true)).ports(2);

    // Reduction: the broadcasts run backwards.
    RED_NAIVE "RED-NAIVE" [Reduce] Any,
        "one rank after the other sends to the root, those above it first", "book 4.1",
        |c| Built::ordered(broadcast::naive_reduction(c.p, c.root, WHOLE));
    RED_RING "RED-RING" [Reduce] Any,
        "ring: recursive halving, neighbours first", "Fig. 4.3; any p by G1",
        |c| Built::ordered(red_line(c.p, c.root));
    RED_LINEAR "RED-LINEAR" [Reduce] Any,
        "linear array: recursive halving, neighbours first", "G1",
        |c| Built::ordered(red_line(c.p, c.root));
    RED_MESH "RED-MESH" [Reduce] Mesh(Algorithm::RED_MESHD),
        "mesh: all columns at once, then the root's row", "book 4.1",
        |c| Built::commutative(broadcast::reduction(bc_grid(&c.grid(), c.root)))
            .ordered_if(is_line(&c.grid()));
    RED_MESHD "RED-MESHD" [Reduce] Grid,
        "mesh of any dimensions: one line reduction per dimension, the last first", "book 4.1",
        |c| Built::commutative(broadcast::reduction(bc_grid(&c.grid(), c.root)))
            .ordered_if(is_line(&c.grid()));
    RED_MESH_ROWS "RED-MESH-ROWS" [Reduce] Grid,
        "mesh: all rows at once, then the root's column, which keeps rank order",
        "ours",
        |c| Built::ordered(rows_first(&c.grid(), c.root, WHOLE));
    RED_HCUBE "RED-HCUBE" [Reduce] Cube(Algorithm::RED_ANY),
        "hypercube to any rank, lowest dimension first", "Alg. 4.3",
        |c| Built::ordered(red_line(c.p, c.root));
    RED_TREE_LEAF "RED-TREE-LEAF" [Reduce] Any,
        "ranks at the leaves of a tree of switches: nearest leaf first", "any p by G1",
        |c| Built::ordered(red_line(c.p, c.root));
    RED_TREE_NODE "RED-TREE-NODE" [Reduce] Any,
        "a rank at every node of a binary tree: right child, then left child", "lecture slides",
        |c| Built::commutative(broadcast::reduction(broadcast::heap(c.p, c.root, WHOLE, false)));
    RED_ANY "RED-ANY" [Reduce] Any,
        "interval halving for any p, backwards", "G1",
        |c| Built::ordered(red_line(c.p, c.root));
    RED_FUSED "RED-FUSED" [Reduce] Any,
        "shared memory: rank i combines part i of all vectors and stores it to the root", "ours",
        |c| {
            let root = c.root;
            let stored = fused::store(c.p, move |to| to == root);
            fused(c.p, then(fused::combine(c.p), stored)).split(c.p)
        };
    RED_CHAIN "RED-CHAIN" [Reduce] Any,
        "pipeline of segments along the ring towards the root", "ours",
        |c| Built::commutative(broadcast::reduction(broadcast::chain(c.p, c.root, c.segments)))
            .split(c.segments)
            .ordered_if(c.root == 0 || c.root + 1 == c.p);
    RED_SPLIT_RING "RED-SPLIT-RING" [Reduce] Any,
        "ring reduce-scatter of p parts, then gather", "book 4.7.1",
        |c| Built::commutative(then(rs_ring(c.p), ga(sc_line(c.p, c.root)))).split(c.p);
    RED_SPLIT_MESH "RED-SPLIT-MESH" [Reduce] Grid,
        "mesh reduce-scatter of p parts, then gather", "book 4.7.1",
        |c| Built::commutative(then(rs_grid(&c.grid()), ga(sc_grid(&c.grid(), c.root)))).split(c.p);
    RED_SPLIT_HCUBE "RED-SPLIT-HCUBE" [Reduce] Cube(Algorithm::RED_SPLIT_ANY),
        "hypercube reduce-scatter of p parts, then gather", "book 4.7.1",
        |c| Built::commutative(then(rs_cube(c.p), ga(sc_line(c.p, c.root)))).split(c.p);
    RED_SPLIT_ANY "RED-SPLIT-ANY" [Reduce] Any,
        "Bruck reduce-scatter of p parts, then gather", "G2, G4",
        |c| Built::commutative(then(rs_any(c.p), ga(sc_any(c.p, c.root)))).split(c.p);
    RED_AP_HCUBE "RED-AP-HCUBE" [Reduce] Cube(Algorithm::RED_SPLIT_ANY),
        "all ports: rotated reduce-scatters, then rotated gather trees", "book 4.7.2",
        |c| {
            let collected = ga(all_port::scatter(&c.cube(), c.root));
            let rule = then(gather::reduction(all_port::all_gather(&c.cube())), collected);
            Built::commutative(rule).split(c.p * c.d()).ports(c.d())
        };

    // All-gather.
    AG_NAIVE "AG-NAIVE" [AllGather] Any,
        "p broadcasts one after the other", "book 4.2",
        |c| Built::ordered(gather::naive(c.p));
    AG_RING "AG-RING" [AllGather] Any,
        "ring: the block just received is passed on", "Alg. 4.4, Fig. 4.9, Eq. 4.2",
        |c| Built::ordered(ag_ring(c.p));
    AG_LINEAR "AG-LINEAR" [AllGather] Any,
        "linear array: the ring rule, its wrap-around on the idle backward links", "Eq. 4.2",
        |c| Built::ordered(ag_ring(c.p));
    AG_LINEAR_NN "AG-LINEAR-NN" [AllGather] Any,
        "linear array: both neighbours at once, no long way back", "ours",
        |c| Built::ordered(gather::nearest(c.p)).ports(2);
    AG_MESH "AG-MESH" [AllGather] Mesh(Algorithm::AG_MESHD),
        "mesh: ring rule in the rows, then with whole rows in the columns",
        "Alg. 4.6, Fig. 4.10, Eq. 4.3",
        |c| Built::ordered(ag_grid(&c.grid()));
    AG_MESHD "AG-MESHD" [AllGather] Grid,
        "mesh of any dimensions: ring rule per dimension", "book 4.2",
        |c| Built::ordered(ag_grid(&c.grid()));
    AG_HCUBE "AG-HCUBE" [AllGather] AG_CUBE,
        "hypercube: ranges double, lowest dimension first", "Alg. 4.7, Fig. 4.11, Eq. 4.4",
        |c| Built::ordered(gather::cube(c.p));
    AG_HCUBE_DESC "AG-HCUBE-DESC" [AllGather] AG_CUBE,
        "hypercube: highest dimension first, so the long way carries least", "ours",
        |c| Built::ordered(gather::by_dimension(&c.cube(), &slowest_first(&c.cube())));
    AG_PIPE "AG-PIPE" [AllGather] Any,
        "pipelined broadcasts from all ranks, the data movement of AG-RING", "text after Eq. 4.4",
        |c| Built::ordered(ag_ring(c.p));
    AG_ANY "AG-ANY" [AllGather] Any,
        "Bruck's rule for any p", "G4 (Bruck et al.)",
        |c| Built::ordered(gather::bruck(c.p));
    AG_FUSED "AG-FUSED" [AllGather] Any,
        "shared memory: everybody reads everybody's block", "ours",
        |c| fused(c.p, fused::store(c.p, |_| true));
    AG_AP_HCUBE "AG-AP-HCUBE" [AllGather] AG_CUBE,
        "all ports: every part of a block takes the dimensions in another order", "book 4.7.2",
        |c| Built::ordered(all_port::all_gather(&c.cube())).split(c.d()).ports(c.d());
    AG_AP_RING "AG-AP-RING" [AllGather] Any,
        "both directions of the ring at once", "book 4.7.2",
        |c| Built::ordered(gather::both_ways(c.p)).ports(2);
    AG_AP_MESH "AG-AP-MESH" [AllGather] Mesh(Algorithm::AG_MESHD),
        "half of every block rows first, half columns first", "book 4.7.2",
        |c| Built::ordered(all_port::all_gather_mesh(&c.grid())).split(2).ports(2);

    // Reduce-scatter: the all-gathers run backwards.
    RS_RING "RS-RING" [ReduceScatter] Any,
        "ring: partial results travel to their owner", "Alg. 4.5",
        |c| Built::commutative(rs_ring(c.p)).ordered_if(c.p <= 2);
    RS_LINEAR "RS-LINEAR" [ReduceScatter] Any,
        "linear array: AG-LINEAR backwards", "AG-LINEAR reversed",
        |c| Built::commutative(rs_ring(c.p)).ordered_if(c.p <= 2);
    RS_LINEAR_NN "RS-LINEAR-NN" [ReduceScatter] Any,
        "linear array: partial results from both sides meet at their owner, in rank order",
        "ours",
        |c| Built::ordered(gather::reduction(gather::nearest(c.p))).ports(2);
    RS_MESH "RS-MESH" [ReduceScatter] Mesh(Algorithm::RS_MESHD),
        "mesh: whole rows along the columns, then blocks along the rows", "book Problem 4.4",
        |c| Built::commutative(rs_grid(&c.grid())).ordered_if(c.p <= 2);
    RS_MESHD "RS-MESHD" [ReduceScatter] Grid,
        "mesh of any dimensions: AG-MESHD backwards", "book 4.2",
        |c| Built::commutative(rs_grid(&c.grid())).ordered_if(c.p <= 2);
    RS_HCUBE "RS-HCUBE" [ReduceScatter] RS_CUBE,
        "hypercube: ranges halve, highest dimension first", "Alg. 4.8",
        |c| Built::commutative(rs_cube(c.p)).ordered_if(c.p <= 2);
    RS_HCUBE_ASC "RS-HCUBE-ASC" [ReduceScatter] Cube(Algorithm::RS_RED_SC),
        "hypercube: lowest dimension first, which keeps rank order", "ours",
        |c| Built::ordered(gather::reduction(
            gather::by_dimension(&c.cube(), &slowest_first(&c.cube()))));
    RS_ANY "RS-ANY" [ReduceScatter] Any,
        "Bruck's rule for any p, backwards", "G4 reversed",
        |c| Built::commutative(rs_any(c.p)).ordered_if(c.p <= 2);
    RS_FUSED "RS-FUSED" [ReduceScatter] Any,
        "shared memory: rank i combines block i of all vectors", "ours",
        |c| fused(c.p, fused::combine(c.p));
    RS_RED_SC "RS-RED-SC" [ReduceScatter] Any,
        "everything reduced to rank 0 in rank order, then scattered", "ours; G1, G2",
        |c| through_root(broadcast::reduction(broadcast::line(c.p, 0, all(c.p))), sc_any(c.p, 0));
    RS_MESH_RED_SC "RS-MESH-RED-SC" [ReduceScatter] Grid,
        "mesh: everything reduced to rank 0 in rank order, rows first, then scattered",
        "ours",
        |c| through_root(rows_first(&c.grid(), 0, all(c.p)), sc_grid(&c.grid(), 0));
    RS_AP_HCUBE "RS-AP-HCUBE" [ReduceScatter] RS_CUBE,
        "all ports: AG-AP-HCUBE backwards", "book 4.7.2",
        |c| Built::commutative(gather::reduction(all_port::all_gather(&c.cube())))
            .split(c.d()).ports(c.d()).ordered_if(c.p <= 2);

    // All-reduce and barrier.
    AR_NAIVE "AR-NAIVE" [AllReduce] Any,
        "reduction to rank 0, then broadcast", "book 4.3",
        |c| Built::ordered(then(red_line(c.p, 0), bc_line(c.p, 0)));
    AR_RING "AR-RING" [AllReduce] Any,
        "ring: reduction to rank 0, then broadcast, without congestion", "book 4.3",
        |c| Built::ordered(then(red_line(c.p, 0), bc_line(c.p, 0)));
    AR_MESH "AR-MESH" [AllReduce] Grid,
        "mesh: recursive doubling in the rows, then in the columns", "book 4.3; G3",
        |c| Built::ordered(all_reduce::by_dimension(&c.grid(), WHOLE));
    AR_HCUBE "AR-HCUBE" [AllReduce] Cube(Algorithm::AR_ANY),
        "hypercube: exchange and combine along every dimension", "Fig. 4.11 reread, Eq. 4.5",
        |c| Built::ordered(all_reduce::doubling(c.p, WHOLE));
    AR_ANY "AR-ANY" [AllReduce] Any,
        "recursive doubling for any p: neighbours fold, exchange, unfold", "G3",
        |c| Built::ordered(all_reduce::doubling(c.p, WHOLE));
    AR_SPLIT_RING "AR-SPLIT-RING" [AllReduce] Any,
        "ring reduce-scatter of p parts, then ring all-gather", "book 4.7.1",
        |c| Built::commutative(then(rs_ring(c.p), ag_ring(c.p))).split(c.p).ordered_if(c.p <= 2);
    AR_SPLIT_MESH "AR-SPLIT-MESH" [AllReduce] Grid,
        "mesh reduce-scatter of p parts, then mesh all-gather", "book 4.7.1",
        |c| Built::commutative(then(rs_grid(&c.grid()), ag_grid(&c.grid())))
            .split(c.p).ordered_if(c.p <= 2);
    AR_SPLIT_HCUBE "AR-SPLIT-HCUBE" [AllReduce] Cube(Algorithm::AR_SPLIT_ANY),
        "hypercube reduce-scatter of p parts, then hypercube all-gather", "book 4.7.1",
        |c| Built::commutative(then(rs_cube(c.p), gather::cube(c.p)))
            .split(c.p).ordered_if(c.p <= 2);
    AR_SPLIT_ANY "AR-SPLIT-ANY" [AllReduce] Any,
        "Bruck reduce-scatter of p parts, then Bruck all-gather", "G4",
        |c| Built::commutative(then(rs_any(c.p), gather::bruck(c.p)))
            .split(c.p).ordered_if(c.p <= 2);
    AR_FUSED "AR-FUSED" [AllReduce] Any,
        "shared memory: rank i combines part i of all vectors and stores it to all", "ours",
        |c| fused(c.p, then(fused::combine(c.p), fused::store(c.p, |_| true))).split(c.p);
    AR_AP_HCUBE "AR-AP-HCUBE" [AllReduce] Cube(Algorithm::AR_SPLIT_ANY),
        "all ports: rotated reduce-scatters, then rotated all-gathers", "book 4.7.2",
        |c| {
            let gathered = all_port::all_gather(&c.cube());
            let rule = then(gather::reduction(all_port::all_gather(&c.cube())), gathered);
            Built::commutative(rule).split(c.p * c.d()).ports(c.d()).ordered_if(c.p <= 2)
        };
    BAR_AR "BAR-AR" [Barrier] Any,
        "an all-reduce of one word", "book 4.3",
        |c| Built::ordered(all_reduce::doubling(c.p, WHOLE));
    BAR_ANY "BAR-ANY" [Barrier] Any,
        "dissemination for any p", "G7 (Hensgen, Finkel, Manber)",
        |c| Built::ordered(all_reduce::dissemination(c.p));

    // Prefix sums.
    SCAN_HCUBE "SCAN-HCUBE" [Scan, ExclusiveScan] Any,
        "recursive doubling with a total and a result, partners beyond p skipped",
        "Alg. 4.9, Fig. 4.13; any p by G8",
        |c| Built::ordered(scan::doubling(c.p));
    SCAN_CHAIN "SCAN-CHAIN" [Scan, ExclusiveScan] Any,
        "ring or array: from rank to rank", "ours",
        |c| Built::ordered(scan::chain(c.p, c.exclusive()));
    SCAN_MESH "SCAN-MESH" [Scan, ExclusiveScan] Grid,
        "mesh: chains in the rows, row totals down the last column, offsets along the rows",
        "ours",
        |c| Built::ordered(scan::mesh(&c.grid(), c.exclusive()));
    SCAN_FUSED "SCAN-FUSED" [Scan, ExclusiveScan] Any,
        "shared memory: rank i turns part i of all vectors into prefixes", "ours",
        |c| fused(c.p, fused::scan(c.p, c.exclusive())).split(c.p);

    // Scatter and gather.
    SC_NAIVE "SC-NAIVE" [Scatter] Any,
        "the root sends to one rank after the other", "ours",
        |c| Built::ordered(scatter::naive(c.p, c.root));
    SC_RING "SC-RING" [Scatter] Any,
        "ring: messages halve down the broadcast tree", "book Problem 4.7; other p by G2",
        |c| Built::ordered(sc_line(c.p, c.root));
    SC_LINEAR "SC-LINEAR" [Scatter] Any,
        "linear array: messages halve down the broadcast tree", "book 4.4; other p by G2",
        |c| Built::ordered(sc_line(c.p, c.root));
    SC_MESH "SC-MESH" [Scatter] Grid,
        "mesh: whole columns along the root's row, then blocks down the columns",
        "book Problem 4.7",
        |c| Built::ordered(sc_grid(&c.grid(), c.root));
    SC_HCUBE "SC-HCUBE" [Scatter] Cube(Algorithm::SC_ANY),
        "hypercube: ranges halve, highest dimension first", "Fig. 4.15, Eq. 4.6",
        |c| Built::ordered(sc_line(c.p, c.root));
    SC_TREE_LEAF "SC-TREE-LEAF" [Scatter] Any,
        "ranks at the leaves of a tree of switches", "book 4.4; other p by G2",
        |c| Built::ordered(sc_line(c.p, c.root));
    SC_ANY "SC-ANY" [Scatter] Any,
        "clipped binomial tree for any p", "G2",
        |c| Built::ordered(sc_any(c.p, c.root));
    SC_FUSED "SC-FUSED" [Scatter] Any,
        "shared memory: everybody reads its block at the root", "ours",
        |c| fused(c.p, fused::deal(c.p, c.root));
    SC_AP_HCUBE "SC-AP-HCUBE" [Scatter] Cube(Algorithm::SC_ANY),
        "all ports: every part of a block goes down another tree", "book 4.7.2",
        |c| Built::ordered(all_port::scatter(&c.cube(), c.root)).split(c.d()).ports(c.d());
    GA_NAIVE "GA-NAIVE" [Gather] Any,
        "one rank after the other sends to the root, from the last down", "ours",
        |c| Built::ordered(ga(scatter::naive(c.p, c.root)));
    GA_RING "GA-RING" [Gather] Any,
        "ring: messages grow up the tree", "Fig. 4.14; other p by G2",
        |c| Built::ordered(ga(sc_line(c.p, c.root)));
    GA_LINEAR "GA-LINEAR" [Gather] Any,
        "linear array: messages grow up the tree", "Fig. 4.14; other p by G2",
        |c| Built::ordered(ga(sc_line(c.p, c.root)));
    GA_MESH "GA-MESH" [Gather] Grid,
        "mesh: the columns to the root's row, then the row", "Fig. 4.14",
        |c| Built::ordered(ga(sc_grid(&c.grid(), c.root)));
    GA_HCUBE "GA-HCUBE" [Gather] Cube(Algorithm::GA_ANY),
        "hypercube: ranges double, lowest dimension first", "Fig. 4.14, Eq. 4.6",
        |c| Built::ordered(ga(sc_line(c.p, c.root)));
    GA_TREE_LEAF "GA-TREE-LEAF" [Gather] Any,
        "ranks at the leaves of a tree of switches", "book 4.4; other p by G2",
        |c| Built::ordered(ga(sc_line(c.p, c.root)));
    GA_ANY "GA-ANY" [Gather] Any,
        "clipped binomial tree for any p, backwards", "G2",
        |c| Built::ordered(ga(sc_any(c.p, c.root)));
    GA_FUSED "GA-FUSED" [Gather] Any,
        "shared memory: everybody writes its block at the root", "ours",
        |c| fused(c.p, ga(fused::deal(c.p, c.root)));
    GA_AP_HCUBE "GA-AP-HCUBE" [Gather] Cube(Algorithm::GA_ANY),
        "all ports: SC-AP-HCUBE backwards", "book 4.7.2",
        |c| Built::ordered(ga(all_port::scatter(&c.cube(), c.root))).split(c.d()).ports(c.d());

    // Total exchange.
    TX_RING "TX-RING" [AllToAll, AllToAllInPlace] Any,
        "ring: what still travels goes to the next rank", "Fig. 4.18, Eq. 4.7",
        |c| Built::ordered(all_to_all::by_dimension(&c.ring(), &[0]));
    TX_MESH "TX-MESH" [AllToAll, AllToAllInPlace] Mesh(Algorithm::TX_MESHD),
        "mesh: by destination column along the rows, then by row along the columns",
        "Fig. 4.19, Eq. 4.8",
        |c| Built::ordered(all_to_all::by_dimension(&c.grid(), &fastest_first(&c.grid())));
    TX_MESHD "TX-MESHD" [AllToAll, AllToAllInPlace] Grid,
        "mesh of any dimensions: one phase per dimension", "ours",
        |c| Built::ordered(all_to_all::by_dimension(&c.grid(), &fastest_first(&c.grid())));
    TX_HCUBE "TX-HCUBE" [AllToAll, AllToAllInPlace] Cube(Algorithm::TX_BRUCK),
        "hypercube: half of everything crosses every dimension", "Fig. 4.20, Eq. 4.9",
        |c| Built::ordered(all_to_all::by_dimension(&c.cube(), &fastest_first(&c.cube())));
    TX_HCUBE_XOR "TX-HCUBE-XOR" [AllToAll, AllToAllInPlace] Cube(Algorithm::TX_ANY),
        "hypercube: pairwise exchange with rank XOR i, no forwarding",
        "Alg. 4.10, Fig. 4.21, Eq. 4.10",
        |c| Built::ordered(all_to_all::pairwise(c.p));
    TX_ANY "TX-ANY" [AllToAll, AllToAllInPlace] Any,
        "to rank + k, from rank - k, no forwarding, any p", "G5",
        |c| Built::ordered(all_to_all::shifted(c.p));
    TX_PAIRS "TX-PAIRS" [AllToAll, AllToAllInPlace] Any,
        "ranks pair up, a step for each partner, no forwarding, any p", "ours",
        |c| Built::ordered(all_to_all::paired(c.p));
    TX_BRUCK "TX-BRUCK" [AllToAll, AllToAllInPlace] Any,
        "Bruck's exchange by the bits of the distance, any p", "G6",
        |c| Built::ordered(all_to_all::bruck(c.p));
    TX_FUSED "TX-FUSED" [AllToAll, AllToAllInPlace] Any,
        "shared memory: everybody reads the blocks for it from everybody", "ours",
        |c| fused(c.p, fused::exchange(c.p));
    TX_AP_HCUBE "TX-AP-HCUBE" [AllToAll, AllToAllInPlace] Cube(Algorithm::TX_ANY),
        "all ports: every part of a block takes the dimensions in another order", "book 4.7.2",
        |c| Built::ordered(all_port::total_exchange(&c.cube())).split(c.d()).ports(c.d());
    TX_AP_RING "TX-AP-RING" [AllToAll, AllToAllInPlace] Any,
        "every block goes the shorter way round the ring", "book 4.7.2",
        |c| Built::ordered(all_to_all::both_ways(c.p)).ports(2);
    TX_AP_MESH "TX-AP-MESH" [AllToAll, AllToAllInPlace] Mesh(Algorithm::TX_MESHD),
        "half of every block rows first, half columns first", "book 4.7.2",
        |c| Built::ordered(all_port::total_exchange_mesh(&c.grid())).split(2).ports(2);

    // Circular shift.
    CS_RING "CS-RING" [Shift] Any,
        "ring: shifts to a neighbour in the shorter direction", "book 4.6",
        |c| Built::ordered(shift::ring(c.p, c.shift));
    CS_MESH "CS-MESH" [Shift] Grid,
        "mesh: along the rows, compensation, down the columns", "Fig. 4.22",
        |c| Built::ordered(shift::mesh(&c.grid(), c.shift, false));
    CS_MESH_MIN "CS-MESH-MIN" [Shift] Grid,
        "mesh: the same in the shorter directions", "Eq. 4.11",
        |c| Built::ordered(shift::mesh(&c.grid(), c.shift, true));
    CS_HC_RGC_F "CS-HC-RGC-F" [Shift] Cube(Algorithm::CS_ANY),
        "ring in the cube by Gray code: powers of two forward", "Fig. 4.23, Eq. 4.12",
        |c| Built::ordered(shift::gray_code(c.p, c.shift, false));
    CS_HC_RGC_FB "CS-HC-RGC-FB" [Shift] Cube(Algorithm::CS_ANY),
        "ring in the cube by Gray code: powers of two forward and backward", "book 4.6",
        |c| Built::ordered(shift::gray_code(c.p, c.shift, true));
    CS_HC_ECUBE "CS-HC-ECUBE" [Shift] Cube(Algorithm::CS_ANY),
        "hypercube: one message, routed lowest dimension first", "Fig. 4.24",
        |c| Built::ordered(shift::direct(c.p, c.shift));
    CS_ANY "CS-ANY" [Shift] Any,
        "one message straight to its destination", "ours",
        |c| Built::ordered(shift::direct(c.p, c.shift));
    CS_FUSED "CS-FUSED" [Shift] Any,
        "shared memory: rank i moves part i of all vectors on, through a block of its own", "ours",
        |c| fused(c.p, fused::shift(c.p, c.shift)).split(c.p);

    // Groups within groups: a machine's levels.
    BC_HIER "BC-HIER" [Broadcast] ANY_GROUPS,
        "levels: to the outermost leaders, then down a tree in every group", "ours",
        |c| by_level(hierarchical::broadcast(c.levels(), c.root), true);
    RED_HIER "RED-HIER" [Reduce] ANY_GROUPS,
        "levels: up a tree in every group, then between leaders", "ours",
        |c| by_level(hierarchical::reduction(c.levels(), c.root), c.levels().is_consecutive());
    RED_HIER_SPLIT "RED-HIER-SPLIT" [Reduce] ANY_GROUPS,
        "levels: recursive multiplying of parts of the vector, then to the root",
        "Ruefenacht et al. 2017; ours",
        |c| {
            let (staged, blocks) = split_levels::reduction(c.levels(), c.root);
            by_level(staged, c.levels().is_consecutive()).split(blocks)
        };
    AG_HIER "AG-HIER" [AllGather] ANY_GROUPS,
        "levels: up to the leaders, Bruck's rule between the outermost, down", "ours; G4",
        |c| by_level(hierarchical::all_gather(c.levels()), true);
    RS_HIER "RS-HIER" [ReduceScatter] ANY_GROUPS,
        "levels: AG-HIER backwards", "ours",
        |c| by_level(hierarchical::reduce_scatter(c.levels()), c.p <= 2);
    AR_HIER "AR-HIER" [AllReduce] ANY_GROUPS,
        "levels: up, recursive doubling between the outermost leaders, down", "ours; G3",
        |c| by_level(hierarchical::all_reduce(c.levels()), c.levels().is_consecutive());
    AR_HIER_SPLIT "AR-HIER-SPLIT" [AllReduce] ANY_GROUPS,
        "levels: recursive multiplying of parts of the vector, and back",
        "Ruefenacht et al. 2017; ours",
        |c| {
            let (staged, blocks) = split_levels::all_reduce(c.levels());
            by_level(staged, c.levels().is_consecutive()).split(blocks)
        };
    AR_RADIX "AR-RADIX" [AllReduce] ANY_GROUPS,
        "levels: recursive multiplying, a radix for each, nobody folded",
        "Ruefenacht et al. 2017; ours",
        |c| by_level(all_reduce::radix(c.levels(), true), c.levels().is_consecutive());
    BAR_HIER "BAR-HIER" [Barrier] ANY_GROUPS,
        "levels: up, dissemination between the outermost leaders, down", "ours; G7",
        |c| by_level(hierarchical::barrier(c.levels()), true);
    BAR_RADIX "BAR-RADIX" [Barrier] ANY_GROUPS,
        "levels: recursive multiplying, a radix for each, nobody folded",
        "Ruefenacht et al. 2017; ours",
        |c| by_level(all_reduce::radix(c.levels(), false), true);
    SCAN_HIER "SCAN-HIER" [Scan, ExclusiveScan] Groups { consecutive: true },
        "levels: doubling in every group, then between leaders, offsets down", "ours; G8",
        |c| by_level(hierarchical::scan(c.levels()), true);
}
