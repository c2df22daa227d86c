//! The kinds of calls: for each its operation, how its elements are cut, and its names.

use crate::element::Element;
use crate::exec::Partition;
use crate::op::Operator;
use crate::schedule::Operation;
use crate::shared::Signature;
use sealed::CallKind as Kind;

/// How the elements of a call are cut: see [`Partition`](crate::exec::Partition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallCut {
    /// A vector.
    Vector,
    /// Blocks of one length.
    Equal,
    /// Blocks as long as a list says that all ranks have.
    Varied,
    /// Blocks as long as two lists of this rank say.
    Pairs,
}

/// The ways in which a call is carried out: each has a name of its own in errors and records.
pub(crate) struct CallWay;

impl CallWay {
    /// It returns when it is over.
    pub(crate) const WAITS: u8 = 0;
    /// It is started, and waited for later.
    pub(crate) const STARTED: u8 = 1;
    /// It is set up, to be started many times.
    pub(crate) const PERSISTENT: u8 = 2;
    /// Work goes on until it is over.
    pub(crate) const OVERLAPPED: u8 = 3;
    /// An algorithm is forced: the work comes first, then the call.
    pub(crate) const AFTER_WORK: u8 = 4;
}

/// The names of a kind of call.
#[derive(Debug)]
pub struct Names {
    /// Of the method of [`Comm`](crate::Comm).
    plain: &'static str,
    /// Of the method that carries it out: calls of both meet.
    carrier: &'static str,
    started: &'static str,
    started_carrier: &'static str,
    persistent: &'static str,
    overlapped: &'static str,
    overlapped_carrier: &'static str,
    /// In fixed order.
    ordered: &'static str,
    ordered_carrier: &'static str,
    overlapped_ordered: &'static str,
    /// Its parameter, in words.
    pub(crate) parameter: &'static str,
}

/// The kind of a [`CollectiveCall`](super::CollectiveCall): the operation, and the form of it. Only
/// the types of [`call`](crate::call) are kinds.
///
/// # Examples
/// See [`CollectiveCall`](super::CollectiveCall).
pub trait CallKind: sealed::CallKind {}

impl<K: sealed::CallKind> CallKind for K {}

pub(super) mod sealed {
    use super::{CallCut, Names, Operation};

    /// The library's facts about a kind.
    pub trait CallKind {
        const OPERATION: Operation;
        const CUT: CallCut;
        const NAMES: Names;
    }
}

impl Names {
    /// The name of a way, and that of the calls that it meets.
    const fn of(&self, way: u8) -> (&'static str, &'static str) {
        match way {
            CallWay::STARTED => (self.started, self.started_carrier),
            CallWay::PERSISTENT => (self.persistent, self.started_carrier),
            CallWay::OVERLAPPED => (self.overlapped, self.overlapped_carrier),
            CallWay::AFTER_WORK => (self.overlapped, self.carrier),
            _ => (self.plain, self.carrier),
        }
    }

    /// The name of a way in fixed order, and that of the calls that it meets there.
    const fn in_order(&self, way: u8) -> (&'static str, &'static str) {
        match way {
            CallWay::AFTER_WORK => (self.overlapped_ordered, self.ordered_carrier),
            _ => (self.ordered, self.ordered_carrier),
        }
    }
}

/// The signature of a call of kind `K` that moves elements `T`.
#[inline(always)]
pub(crate) fn moving<K: sealed::CallKind, T: 'static, const WAY: u8>() -> &'static Signature {
    const {
        let (name, carrier) = K::NAMES.of(WAY);
        &Signature::of::<T>(name, K::NAMES.parameter).meets(carrier)
    }
}

/// The signature of a call of kind `K` that combines elements `T` by `O`.
#[inline(always)]
pub(crate) fn combining<K, T: Element, O, const WAY: u8>() -> &'static Signature
where
    K: sealed::CallKind,
    O: Operator<T>,
{
    const { &combination::<K, T, O, WAY>() }
}

pub(super) const fn combination<K, T: Element, O, const WAY: u8>() -> Signature
where
    K: sealed::CallKind,
    O: Operator<T>,
{
    let (name, carrier) = K::NAMES.of(WAY);
    let sig = Signature::combining::<T, O>(name, O::NAME, K::NAMES.parameter).meets(carrier);
    // Of the others the order is fixed already, or nothing is ordered.
    let is_ordered =
        matches!(K::OPERATION, Operation::Reduce | Operation::AllReduce | Operation::ReduceScatter);
    match WAY {
        CallWay::WAITS | CallWay::AFTER_WORK if is_ordered => sig.in_order(
            const {
                let (name, carrier) = K::NAMES.in_order(WAY);
                &Signature::combining::<T, O>(name, O::NAME, K::NAMES.parameter).meets(carrier)
            },
        ),
        _ => sig,
    }
}

/// The names of calls on memory: of those that move, then of those that combine.
const ON_MEMORY: [Names; 16] = [
    Broadcast::NAMES,
    Shift::NAMES,
    AllGather::NAMES,
    AllGatherVaried::NAMES,
    AllToAll::NAMES,
    AllToAllVaried::NAMES,
    Gather::NAMES,
    GatherVaried::NAMES,
    Scatter::NAMES,
    ScatterVaried::NAMES,
    Reduce::NAMES,
    AllReduce::NAMES,
    Scan::NAMES,
    ExclusiveScan::NAMES,
    ReduceScatter::NAMES,
    ReduceScatterVaried::NAMES,
];

/// Where in [`ON_MEMORY`] the first call that combines is.
const COMBINE: usize = 10;

/// Where in [`ON_MEMORY`] a call is.
fn place_on_memory(operation: Operation, cut: Partition<'_>) -> usize {
    let varied = usize::from(cut.is_varied());
    match operation {
        Operation::Broadcast => 0,
        Operation::Shift => 1,
        Operation::AllGather => 2 + varied,
        Operation::AllToAll => 4 + varied,
        Operation::Gather => 6 + varied,
        Operation::Scatter => 8 + varied,
        Operation::Reduce => 10,
        Operation::AllReduce => 11,
        Operation::Scan => 12,
        Operation::ExclusiveScan => 13,
        Operation::ReduceScatter => 14 + varied,
        other => unreachable!("{other} has no memory of its own, or a way of its own"),
    }
}

/// The name of a call on memory, and its parameter's, in words.
pub(crate) fn names_on_memory<const WAY: u8>(
    operation: Operation,
    cut: Partition<'_>,
) -> (&'static str, &'static str) {
    let names = const { &ON_MEMORY };
    let names = &names[place_on_memory(operation, cut)];
    (names.of(WAY).0, names.parameter)
}

/// The signatures of `N` calls on memory of elements `T`, from place `from` on.
const fn signatures<T: 'static, O, const WAY: u8, const N: usize>(
    from: usize,
    operator: &'static str,
) -> [Signature; N] {
    let mut all = [const { Signature::of::<T>("a call", "") }; N];
    let mut i = 0;
    while i < N {
        let names = &ON_MEMORY[from + i];
        all[i] = Signature::combining::<T, O>(names.of(WAY).0, operator, names.parameter);
        i += 1;
    }
    all
}

/// The signature of a call on memory that moves elements `T`.
pub(crate) fn moving_as<T: 'static, const WAY: u8>(
    operation: Operation,
    cut: Partition<'_>,
) -> &'static Signature {
    let all = const { &signatures::<T, (), WAY, COMBINE>(0, "") };
    let at = place_on_memory(operation, cut);
    assert!(at < COMBINE, "{operation} combines");
    &all[at]
}

/// The signature of a call on memory that combines elements `T` by `O`.
pub(crate) fn combining_as<T: Element, O: Operator<T>, const WAY: u8>(
    operation: Operation,
    cut: Partition<'_>,
) -> &'static Signature {
    let all = const { &signatures::<T, O, WAY, 6>(COMBINE, O::NAME) };
    let at = place_on_memory(operation, cut).checked_sub(COMBINE);
    &all[at.unwrap_or_else(|| unreachable!("{operation} combines nothing"))]
}

macro_rules! kinds {
    ($(
        $kind:ident: $operation:ident $cut:ident, $name:literal as $carrier:literal, $what:literal;
    )+) => {
        $(
            #[doc = concat!("The kind of calls of [`", $name, "`](super::", $name, ").")]
            ///
            /// # Examples
            #[doc = concat!("See [`", $name, "`](super::", $name, ").")]
            #[derive(Clone, Copy, Debug)]
            pub struct $kind;

            impl sealed::CallKind for $kind {
                const OPERATION: Operation = Operation::$operation;
                const CUT: CallCut = CallCut::$cut;
                const NAMES: Names = Names {
                    plain: $name,
                    carrier: $carrier,
                    started: concat!("started ", $name),
                    started_carrier: concat!("started ", $carrier),
                    persistent: concat!("persistent ", $name),
                    overlapped: concat!("overlapped ", $name),
                    overlapped_carrier: concat!("overlapped ", $carrier),
                    ordered: concat!($name, " in fixed order"),
                    ordered_carrier: concat!($carrier, " in fixed order"),
                    overlapped_ordered: concat!("overlapped ", $name, " in fixed order"),
                    parameter: $what,
                };
            }
        )+
    };
}

kinds! {
    Barrier: Barrier Vector, "barrier" as "barrier", "";
    Broadcast: Broadcast Vector, "broadcast" as "broadcast", "from root";
    Shift: Shift Vector, "shift" as "shift", "by";
    Reduce: Reduce Vector, "reduce" as "reduce", "to root";
    AllReduce: AllReduce Vector, "all_reduce" as "all_reduce", "";
    AllReduceValues: AllReduce Vector, "all_reduce_values" as "all_reduce", "";
    SumValues: AllReduce Vector, "sum" as "all_reduce", "";
    Scan: Scan Vector, "scan" as "scan", "";
    ExclusiveScan: ExclusiveScan Vector, "exclusive_scan" as "exclusive_scan", "";
    SegmentedScan: ExclusiveScan Vector, "segmented_scan" as "segmented_scan", "";
    ExclusiveSegmentedScan: ExclusiveScan Vector,
        "exclusive_segmented_scan" as "exclusive_segmented_scan", "";
    ReduceScatter: ReduceScatter Equal, "reduce_scatter_into" as "reduce_scatter_into", "";
    ReduceScatterVaried: ReduceScatter Varied,
        "reduce_scatter_varied_into" as "reduce_scatter_varied_into", "";
    AllGather: AllGather Equal, "all_gather_into" as "all_gather_into", "";
    AllGatherVaried: AllGather Varied, "all_gather_varied_into" as "all_gather_varied_into", "";
    AllToAll: AllToAll Equal, "all_to_all_into" as "all_to_all_into", "";
    AllToAllVaried: AllToAll Pairs, "all_to_all_varied_into" as "all_to_all_varied_into", "";
    Gather: Gather Equal, "gather_into" as "gather_into", "to root";
    GatherVaried: Gather Varied, "gather_varied_into" as "gather_varied_into", "to root";
    Scatter: Scatter Equal, "scatter_into" as "scatter_into", "from root";
    ScatterVaried: Scatter Varied, "scatter_varied_into" as "scatter_varied_into", "from root";
}
