//! A description of one rank's call, short enough for a table.

use phalanx::dist::{Block, Halo};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Element, Neighborhood, Order, call, op};

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

/// The one table of calls: the name in errors, the operation of the catalogue (of calls with a
/// choice of algorithms), what of it ranks may disagree about, and how a rank makes it.
macro_rules! every_call {
    ($made:ident $($module:ident)?) => {
        $made! {
            $($module)? (it comm op one all counts root)
            Barrier "barrier" (Barrier) [] comm.barrier();
            BarrierOverlapped "overlapped barrier" () [] comm.overlap(call::barrier(), || ());
            Broadcast "broadcast" (Broadcast) [Length Root] comm.broadcast(one, root);
            Reduce "reduce" (Reduce) [Length Operator Root] comm.reduce(one, op, root);
            AllReduce "all_reduce" (AllReduce) [Length Operator] comm.all_reduce(one, op);
            AllReduceOverlapped "overlapped all_reduce" () [Length Operator]
                comm.overlap(call::all_reduce(one, op), || ());
            AllReduceFixed "all_reduce in fixed order" () [Length Operator]
                comm.with_order(Order::Fixed).all_reduce(one, op);
            Scan "scan" (Scan) [Length Operator] comm.scan(one, op);
            ExclusiveScan "exclusive_scan" (ExclusiveScan) [Length Operator]
                comm.exclusive_scan(one, op);
            AllGather "all_gather_into" (AllGather) [Length] comm.all_gather_into(one, all);
            AllGatherVaried "all_gather_varied_into" (AllGather) [Length Counts]
                comm.all_gather_varied_into(one, all, counts);
            AllGatherInPlace "all_gather_in_place" (AllGather) [Length]
                comm.all_gather_in_place(all);
            Gather "gather_into" (Gather) [Length Root] comm.gather_into(one, all, root);
            GatherVaried "gather_varied_into" (Gather) [Length Root Counts]
                comm.gather_varied_into(one, all, counts, root);
            GatherInPlace "gather_in_place" (Gather) [Length Root]
                comm.gather_in_place(if comm.rank() == root { all } else { one }, root);
            Scatter "scatter_into" (Scatter) [Length Root] comm.scatter_into(all, one, root);
            ScatterVaried "scatter_varied_into" (Scatter) [Length Root Counts]
                comm.scatter_varied_into(all, one, counts, root);
            ReduceScatter "reduce_scatter_into" (ReduceScatter) [Length Operator]
                comm.reduce_scatter_into(all, one, op);
            ReduceScatterVaried "reduce_scatter_varied_into" (ReduceScatter)
                [Length Operator Counts] comm.reduce_scatter_varied_into(all, one, counts, op);
            AllToAll "all_to_all_into" (AllToAll) [Length]
                comm.all_to_all_into(&all.to_vec(), all);
            AllToAllVaried "all_to_all_varied_into" (AllToAll) [Length]
                comm.all_to_all_varied_into(&all.to_vec(), counts, all, counts);
            AllToAllInPlace "all_to_all_in_place" (AllToAllInPlace) [Length]
                comm.all_to_all_in_place(all);
            Shift "shift" (Shift) [Length] comm.shift(one, root as isize);
            WithPeers "with_peers" () [Data]
                comm.with_peers(one, |all| assert!(all.iter().all(|x| x.len() < 9999)));
            WithGlobal "with_global" () [Data]
                comm.with_global(one, |all| assert!(all.iter().count() < 99_999));
            WithRoot "with_root" () [Data Root]
                comm.with_root(one, root, |x| assert!(x.len() < 9999));
            // A window, made and not used.
            Shared "shared_from" () [Data] comm.shared_from(one);
            // Of parts that follow one another, with any operator.
            FixedReduce "fixed_reduce" () [Data Operator]
                comm.fixed_reduce(one, op, comm.rank() * it.len);
            Split "split" () [] comm.split(0, it.len);
            // All elements of the next rank, by a plan, in place or by message; and back.
            GatherGhosts "ghosts" () [Length Message]
                plan(comm, it.len).gather(comm, &one.to_vec(), one);
            ScatterGhosts "ghosts" () [Length Message]
                plan(comm, it.len).scatter_with(comm, &one.to_vec(), one, op);
            // With the neighbours on a ring.
            Exchange "exchange" () [Length Message] {
                let (r, p) = (comm.rank(), comm.size());
                comm.exchange(&one.to_vec(), (r + root) % p, one, (r + p - root % p) % p)
            };
            // Of a field of two dimensions, with the neighbours on a line: faces of n + 1 cells.
            ExchangeHalo "exchange_halo" () [Length Message] {
                let halo = Halo::new(&[1, it.len + 1], 1);
                let mut field = vec![T::default(); halo.len()];
                let p = comm.size();
                comm.cart(&[p, 1], &[false, false]).exchange_halo(&mut field, &halo)
            };
            // From each even rank to the next.
            SendRecv "send" () [Length Message] match comm.rank() {
                r if r % 2 == 1 => comm.recv(one, r - root),
                r if r + 1 < comm.size() => comm.send(one, r + root),
                _ => (),
            };
            // Started, and waited for at once.
            StartedBarrier "started barrier" () [] started!(comm, call::barrier());
            StartedBroadcast "started broadcast" () [Length Root]
                started!(comm, call::broadcast(one, root));
            StartedAllReduce "started all_reduce" () [Length Operator]
                started!(comm, call::all_reduce(one, op));
            StartedGatherVaried "started gather_varied_into" () [Length Root Counts]
                started!(comm, call::gather_varied_into(one, all, counts, root));
            StartedReduceScatterVaried "started reduce_scatter_varied_into" ()
                [Length Operator Counts]
                started!(comm, call::reduce_scatter_varied_into(all, one, counts, op));
            // Set up, started and waited for.
            PersistentScan "persistent scan" () [Length Operator] comm.requests(|scope| {
                let scan = scope.set_up(call::scan(one, op));
                let request = scope.start(scan);
                drop(scope.wait(request));
            });
        }
    };
}

macro_rules! started {
    ($comm:ident, $call:expr) => {
        $comm.requests(|scope| {
            let request = scope.start($call);
            scope.wait(request);
        })
    };
}

/// What ranks may disagree about, beside the call. Lengths of views, and of parts of a vector, may
/// be different ones: these have data only.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fact {
    Data,
    Length,
    Operator,
    Root,
    /// One count per rank, the same on all.
    Counts,
    /// No collective call.
    Message,
}

macro_rules! table {
    ($names:tt
        $($call:ident $name:literal ($($operation:ident)?) [$($fact:ident)*] $make:expr;)*) => {
        listed! {
            /// A call, as a rank makes it.
            Call, CALLS: $($call,)*
        }

        impl Call {
            /// The name of the method, as errors have it.
            pub(crate) fn name(self) -> &'static str {
                match self { $($call => $name,)* }
            }

            pub(crate) fn has(self, fact: Fact) -> bool {
                let facts: &[Fact] = match self { $($call => &[$(Fact::$fact),*],)* };
                facts.contains(&fact) || fact == Fact::Data && facts.contains(&Fact::Length)
            }

            /// The operation of the catalogue, for calls with a choice of algorithms.
            pub(crate) fn operation(self) -> Option<Operation> {
                match self { $($call => None$(.or(Some(Operation::$operation)))?,)* }
            }
        }
    };
}

every_call!(table);

impl Call {
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
    Fixed,
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

/// A plan to gather all `n` elements of the next rank.
#[track_caller]
fn plan(comm: &mut Comm, n: usize) -> Neighborhood {
    let p = comm.size();
    let next = (comm.rank() + 1) % p * n;
    comm.ghosts(&Block::new(n * p, p), &(next..next + n).collect::<Vec<usize>>())
}

/// One rank's mouth. All calls in it have the line of the macro's call as
/// their source line, so that the two sides of a disagreement differ.
macro_rules! mouth {
    ($module:ident ($it:ident $comm:ident $op:ident $one:ident $all:ident $counts:ident $root:ident)
        $($call:ident $name:literal $operation:tt $facts:tt $make:expr;)*) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) const LINE: u32 = line!();

            pub(crate) fn say(it: &Saying, comm: &mut Comm) {
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
                    Combine::Sum => say_with::<T, _>(it, comm, op::Sum),
                    Combine::Max => say_with::<T, _>(it, comm, op::Max),
                    Combine::Closure => say_with::<T, _>(it, comm, op::commutative(|a, _| a)),
                    Combine::Ordered => say_with::<T, _>(it, comm, op::ordered(|a, _| a)),
                }
            }

            pub(crate) fn say_with<T, O>(it: &Saying, comm: &mut Comm, op: O)
            where
                T: Element + Default,
                O: op::Operator<T>,
            {
                match it.way {
                    Way::Auto => make(it, comm, op),
                    Way::Ring => make(it, &mut comm.ring(), op),
                    Way::Hypercube => make(it, &mut comm.hypercube(), op),
                    Way::Tree => make(it, &mut comm.tree(), op),
                    Way::Fixed => make(it, &mut comm.with_order(Order::Fixed), op),
                    Way::Mesh(rows, cols) => make(it, &mut comm.mesh(rows, cols), op),
                    Way::With(algorithm) => make(it, &mut comm.with(algorithm), op),
                }
            }

            fn make<T: Element + Default, O: op::Operator<T>>(
                $it: &Saying,
                $comm: &mut Comm,
                $op: O,
            ) {
                let ($root, p) = ($it.parameter, $comm.size());
                let $one = &mut vec![T::default(); $it.len][..];
                let $all = &mut vec![T::default(); $it.len * p][..];
                let $counts = &$it.counts($comm.rank(), p)[..];
                match $it.call { $($call => _ = $make,)* }
            }
        }
    };
}

every_call!(mouth usual);
every_call!(mouth odd);
