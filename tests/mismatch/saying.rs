//! A description of one rank's call, short enough for a table.

use phalanx::dist::{Block, Halo};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Element, call, op};

/// An enumeration and the list of all that is in it.
macro_rules! listed {
    ($(#[$about:meta])* $name:ident, $all:ident: $($(#[$doc:meta])* $item:ident,)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum $name {
            $($(#[$doc])* $item,)*
        }

        pub(crate) use $name::*;

        pub(crate) const $all: [$name; [$(stringify!($item)),*].len()] = [$($item),*];
    };
}
pub(crate) use listed;

listed! {
    /// A call, as a rank makes it.
    Call, CALLS:
    Barrier,
    BarrierOverlapped,
    Broadcast,
    Reduce,
    AllReduce,
    AllReduceOverlapped,
    /// In the order of `Order::Fixed`.
    AllReduceFixed,
    Scan,
    ExclusiveScan,
    AllGather,
    AllGatherVaried,
    AllGatherInPlace,
    Gather,
    GatherVaried,
    GatherInPlace,
    Scatter,
    ScatterVaried,
    ReduceScatter,
    ReduceScatterVaried,
    AllToAll,
    AllToAllVaried,
    AllToAllInPlace,
    Shift,
    WithPeers,
    WithGlobal,
    WithRoot,
    /// A window, made and not used.
    Shared,
    /// Of parts that follow one another, with any operator.
    FixedReduce,
    Split,
    /// All elements of the next rank, by a plan, in place or by message.
    GatherGhosts,
    /// And back.
    ScatterGhosts,
    /// With the neighbours on a ring.
    Exchange,
    /// Of a field of two dimensions, with the neighbours on a line.
    ExchangeHalo,
    /// From each even rank to the next.
    SendRecv,
    /// Started, and waited for at once.
    StartedBarrier,
    StartedBroadcast,
    StartedAllReduce,
    StartedGatherVaried,
    StartedReduceScatterVaried,
    /// Set up, started and waited for.
    PersistentScan,
}

impl Call {
    pub(crate) fn is_message(self) -> bool {
        matches!(self, Exchange | ExchangeHalo | SendRecv | GatherGhosts | ScatterGhosts)
    }

    pub(crate) fn has_data(self) -> bool {
        !matches!(self, Barrier | BarrierOverlapped | Split | StartedBarrier)
    }

    /// Lengths that must agree; views, and parts of a vector, may be of different ones.
    pub(crate) fn has_length(self) -> bool {
        self.has_data() && !matches!(self, WithPeers | WithGlobal | WithRoot | Shared | FixedReduce)
    }

    pub(crate) fn has_operator(self) -> bool {
        matches!(
            self,
            Reduce
                | AllReduce
                | AllReduceOverlapped
                | AllReduceFixed
                | Scan
                | ExclusiveScan
                | ReduceScatter
                | ReduceScatterVaried
                | FixedReduce
                | StartedAllReduce
                | StartedReduceScatterVaried
                | PersistentScan
        )
    }

    pub(crate) fn has_root(self) -> bool {
        let gathers = [Gather, GatherVaried, GatherInPlace];
        let others = [Broadcast, Reduce, Scatter, ScatterVaried, WithRoot];
        let started = [StartedBroadcast, StartedGatherVaried];
        [&gathers[..], &others, &started].iter().any(|of| of.contains(&self))
    }

    /// One count per rank, the same on all.
    pub(crate) fn has_counts(self) -> bool {
        let started = [StartedGatherVaried, StartedReduceScatterVaried];
        [AllGatherVaried, GatherVaried, ScatterVaried, ReduceScatterVaried].contains(&self)
            || started.contains(&self)
    }

    /// The operation of the catalogue, for calls with a choice of algorithms.
    pub(crate) fn operation(self) -> Option<Operation> {
        Some(match self {
            Barrier => Operation::Barrier,
            Broadcast => Operation::Broadcast,
            Reduce => Operation::Reduce,
            AllReduce => Operation::AllReduce,
            Scan => Operation::Scan,
            ExclusiveScan => Operation::ExclusiveScan,
            AllGather | AllGatherVaried | AllGatherInPlace => Operation::AllGather,
            Gather | GatherVaried | GatherInPlace => Operation::Gather,
            Scatter | ScatterVaried => Operation::Scatter,
            ReduceScatter | ReduceScatterVaried => Operation::ReduceScatter,
            AllToAll | AllToAllVaried => Operation::AllToAll,
            AllToAllInPlace => Operation::AllToAllInPlace,
            Shift => Operation::Shift,
            BarrierOverlapped
            | AllReduceOverlapped
            | AllReduceFixed
            | WithPeers
            | WithGlobal
            | WithRoot
            | Shared
            | FixedReduce
            | Split
            | StartedBarrier
            | StartedBroadcast
            | StartedAllReduce
            | StartedGatherVaried
            | StartedReduceScatterVaried
            | PersistentScan
            | GatherGhosts
            | ScatterGhosts
            | Exchange
            | ExchangeHalo
            | SendRecv => return None,
        })
    }

    /// Algorithms that can serve the call on `p` ranks.
    pub(crate) fn algorithms(self, p: usize) -> Vec<Algorithm> {
        let Some(operation) = self.operation() else { return vec![] };
        let request = Request::new(operation, p).shift(1);
        Algorithm::for_operation(operation)
            .filter(|a| a.schedule(&request).is_ok_and(|s| self != AllToAllVaried || is_direct(&s)))
            .collect()
    }
}

/// Whether no rank sends blocks of an all-to-all that are not its own.
fn is_direct(schedule: &phalanx::schedule::Schedule) -> bool {
    let p = schedule.contract().ranks;
    (0..p).all(|rank| {
        (0..schedule.steps()).all(|k| {
            let sends = schedule.step(k, rank).sends;
            sends.iter().flat_map(|s| &s.blocks).all(|b| b.range().all(|b| b / p == rank))
        })
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Type {
    U64,
    I64,
    U32,
}

impl Type {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Type::U64 => "u64",
            Type::I64 => "i64",
            Type::U32 => "u32",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Combine {
    Sum,
    Max,
    Closure,
    Ordered,
}

impl Combine {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Combine::Sum => "sum",
            Combine::Max => "max",
            Combine::Closure => "a commutative closure",
            Combine::Ordered => "an ordered closure",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    Auto,
    Ring,
    Hypercube,
    Tree,
    Mesh(usize, usize),
    With(Algorithm),
}

/// Everything that one rank says in one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Saying {
    pub(crate) call: Call,
    pub(crate) element: Type,
    /// Elements of a vector, or of a block.
    pub(crate) len: usize,
    pub(crate) combine: Combine,
    /// The root, the distance; for messages the number of the neighbour.
    pub(crate) parameter: usize,
    pub(crate) way: Way,
    /// So many elements are in the block of the last rank instead of the
    /// first's (of the last but one for the last rank itself).
    pub(crate) skew: usize,
}

impl Saying {
    pub(crate) fn new(call: Call, len: usize) -> Self {
        let parameter = usize::from([Shift, Exchange, SendRecv].contains(&call));
        let (element, combine, way) = (Type::U64, Combine::Sum, Way::Auto);
        Saying { call, element, len, combine, parameter, way, skew: 0 }
    }

    /// The counts of the varied calls: the own block is always as it should be.
    fn counts(&self, rank: usize, p: usize) -> Vec<usize> {
        let mut counts = vec![self.len; p];
        let others: Vec<usize> = (0..p).filter(|&q| q != rank).collect();
        if let [first, .., last] = others[..] {
            counts[first] -= self.skew;
            counts[last] += self.skew;
        }
        counts
    }
}

/// One rank's mouth. All calls in it have the line of the macro's call as
/// their source line, so that the two sides of a disagreement differ.
macro_rules! mouth {
    ($module:ident) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) const LINE: u32 = line!();

            pub(crate) fn say(it: &Saying, comm: &mut Comm) {
                match it.way {
                    Way::Auto => in_type(it, comm),
                    Way::Ring => in_type(it, &mut comm.ring()),
                    Way::Hypercube => in_type(it, &mut comm.hypercube()),
                    Way::Tree => in_type(it, &mut comm.tree()),
                    Way::Mesh(rows, cols) => in_type(it, &mut comm.mesh(rows, cols)),
                    Way::With(algorithm) => in_type(it, &mut comm.with(algorithm)),
                }
            }

            fn in_type(it: &Saying, comm: &mut Comm) {
                match it.element {
                    Type::U64 => with_operator::<u64>(it, comm),
                    Type::I64 => with_operator::<i64>(it, comm),
                    Type::U32 => with_operator::<u32>(it, comm),
                }
            }

            fn with_operator<T: Element + Default>(it: &Saying, comm: &mut Comm)
            where
                op::Sum: op::Operator<T>,
                op::Max: op::Operator<T>,
            {
                match it.combine {
                    Combine::Sum => make::<T, _>(it, comm, op::Sum),
                    Combine::Max => make::<T, _>(it, comm, op::Max),
                    Combine::Closure => make::<T, _>(it, comm, op::commutative(|a, _| a)),
                    Combine::Ordered => make::<T, _>(it, comm, op::ordered(|a, _| a)),
                }
            }

            fn make<T: Element + Default, O: op::Operator<T>>(it: &Saying, comm: &mut Comm, op: O) {
                let (r, p, n, root) = (comm.rank(), comm.size(), it.len, it.parameter);
                let (mut one, mut all) = (vec![T::default(); n], vec![T::default(); n * p]);
                let counts = it.counts(r, p);
                match it.call {
                    Barrier => comm.barrier(),
                    BarrierOverlapped => comm.overlap(call::barrier(), || ()).1,
                    Broadcast => comm.broadcast(&mut one, root),
                    Reduce => comm.reduce(&mut one, op, root),
                    AllReduce => comm.all_reduce(&mut one, op),
                    AllReduceOverlapped => comm.overlap(call::all_reduce(&mut one, op), || ()).1,
                    AllReduceFixed => {
                        comm.with_order(phalanx::Order::Fixed).all_reduce(&mut one, op)
                    }
                    Scan => comm.scan(&mut one, op),
                    ExclusiveScan => comm.exclusive_scan(&mut one, op),
                    AllGather => comm.all_gather_into(&one, &mut all),
                    AllGatherVaried => comm.all_gather_varied_into(&one, &mut all, &counts),
                    AllGatherInPlace => comm.all_gather_in_place(&mut all),
                    Gather => comm.gather_into(&one, &mut all, root),
                    GatherVaried => comm.gather_varied_into(&one, &mut all, &counts, root),
                    GatherInPlace if r == root => comm.gather_in_place(&mut all, root),
                    GatherInPlace => comm.gather_in_place(&mut one, root),
                    Scatter => comm.scatter_into(&all, &mut one, root),
                    ScatterVaried => comm.scatter_varied_into(&all, &mut one, &counts, root),
                    ReduceScatter => comm.reduce_scatter_into(&all, &mut one, op),
                    ReduceScatterVaried => {
                        comm.reduce_scatter_varied_into(&all, &mut one, &counts, op)
                    }
                    AllToAll => comm.all_to_all_into(&all.clone(), &mut all),
                    AllToAllVaried => {
                        comm.all_to_all_varied_into(&all.clone(), &counts, &mut all, &counts)
                    }
                    AllToAllInPlace => comm.all_to_all_in_place(&mut all),
                    Shift => comm.shift(&mut one, root as isize),
                    WithPeers => {
                        comm.with_peers(&one, |all| assert!(all.iter().all(|x| x.len() < 9999)))
                    }
                    WithRoot => comm.with_root(&one, root, |x| assert!(x.len() < 9999)),
                    WithGlobal => {
                        comm.with_global(&one, |all| assert!(all.iter().count() < 99_999))
                    }
                    Shared => drop(comm.shared_from(&one)),
                    FixedReduce => drop(comm.fixed_reduce(&one, op, r * n)),
                    Split => drop(comm.split(0, n)),
                    StartedBarrier => comm.requests(|scope| {
                        let request = scope.start(call::barrier());
                        scope.wait(request);
                    }),
                    StartedBroadcast => comm.requests(|scope| {
                        let request = scope.start(call::broadcast(&mut one, root));
                        scope.wait(request);
                    }),
                    StartedAllReduce => comm.requests(|scope| {
                        let request = scope.start(call::all_reduce(&mut one, op));
                        scope.wait(request);
                    }),
                    StartedGatherVaried => comm.requests(|scope| {
                        let request =
                            scope.start(call::gather_varied_into(&one, &mut all, &counts, root));
                        scope.wait(request);
                    }),
                    StartedReduceScatterVaried => comm.requests(|scope| {
                        let out = &mut one;
                        let request =
                            scope.start(call::reduce_scatter_varied_into(&all, out, &counts, op));
                        scope.wait(request);
                    }),
                    PersistentScan => comm.requests(|scope| {
                        let scan = scope.set_up(call::scan(&mut one, op));
                        let request = scope.start(scan);
                        drop(scope.wait(request));
                    }),
                    GatherGhosts | ScatterGhosts => {
                        let next = (r + 1) % p * n;
                        let wanted: Vec<usize> = (next..next + n).collect();
                        let plan = comm.ghosts(&Block::new(n * p, p), &wanted);
                        let shown = one.clone();
                        match it.call {
                            GatherGhosts => plan.gather(comm, &shown, &mut one),
                            _ => plan.scatter_with(comm, &shown, &mut one, op),
                        }
                    }
                    Exchange => {
                        let (to, from) = ((r + root) % p, (r + p - root % p) % p);
                        comm.exchange(&one.clone(), to, &mut one, from)
                    }
                    ExchangeHalo => {
                        // Faces of n + 1 cells.
                        let halo = Halo::new(&[1, n + 1], 1);
                        let mut field = vec![T::default(); halo.len()];
                        comm.cart(&[p, 1], &[false, false]).exchange_halo(&mut field, &halo)
                    }
                    SendRecv if r % 2 == 0 && r + 1 < p => comm.send(&one, r + root),
                    SendRecv if r % 2 == 1 => comm.recv(&mut one, r - root),
                    SendRecv => (),
                }
            }
        }
    };
}

mouth!(usual);
mouth!(odd);
