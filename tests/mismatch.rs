//! Do ranks that disagree about a call always get an error that names both of
//! them and both source lines, and is the team usable afterwards?

mod common;

use common::{check_usable, failure, team, watched};
use phalanx::{Comm, Element, Error, Team, op};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    Scan,
    ExclusiveScan,
    AllGather,
    AllGatherVaried,
    Gather,
    GatherVaried,
    Scatter,
    ScatterVaried,
    ReduceScatter,
    ReduceScatterVaried,
    AllToAll,
    AllToAllVaried,
    Shift,
    WithPeers,
    WithRoot,
    Split,
}

use Call::*;

const CALLS: [Call; 20] = [
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    Scan,
    ExclusiveScan,
    AllGather,
    AllGatherVaried,
    Gather,
    GatherVaried,
    Scatter,
    ScatterVaried,
    ReduceScatter,
    ReduceScatterVaried,
    AllToAll,
    AllToAllVaried,
    Shift,
    WithPeers,
    WithRoot,
    Split,
];

impl Call {
    fn has_data(self) -> bool {
        !matches!(self, Barrier | Split)
    }

    /// Views may be of different lengths.
    fn has_length(self) -> bool {
        self.has_data() && !matches!(self, WithPeers | WithRoot)
    }

    fn has_operator(self) -> bool {
        matches!(
            self,
            Reduce | AllReduce | Scan | ExclusiveScan | ReduceScatter | ReduceScatterVaried
        )
    }

    /// A root, or a distance.
    fn has_parameter(self) -> bool {
        use Call::*;
        matches!(
            self,
            Broadcast | Reduce | Gather | GatherVaried | Scatter | ScatterVaried | Shift | WithRoot
        )
    }

    fn has_views(self) -> bool {
        !matches!(self, WithPeers | WithRoot | Split)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    U64,
    I64,
    U32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Combine {
    Sum,
    Max,
    Closure,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Auto,
    Ring,
    Hypercube,
    Tree,
    Mesh(usize, usize),
}

/// Everything that one rank says in one call.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Saying {
    call: Call,
    element: Type,
    len: usize,
    combine: Combine,
    parameter: usize,
    way: Way,
}

impl Saying {
    fn new(call: Call, len: usize) -> Self {
        use {Combine::*, Type::*, Way::*};
        let parameter = usize::from(call == Shift);
        Saying { call, element: U64, len, combine: Sum, parameter, way: Auto }
    }

    fn say(&self, comm: &mut Comm) {
        match self.way {
            Way::Auto => self.in_type(comm),
            Way::Ring => self.in_type(&mut comm.ring()),
            Way::Hypercube => self.in_type(&mut comm.hypercube()),
            Way::Tree => self.in_type(&mut comm.tree()),
            Way::Mesh(rows, cols) => self.in_type(&mut comm.mesh(rows, cols)),
        }
    }

    fn in_type(&self, comm: &mut Comm) {
        match self.element {
            Type::U64 => self.with_operator::<u64>(comm),
            Type::I64 => self.with_operator::<i64>(comm),
            Type::U32 => self.with_operator::<u32>(comm),
        }
    }

    fn with_operator<T: Element + Default>(&self, comm: &mut Comm)
    where
        op::Sum: op::Operator<T>,
        op::Max: op::Operator<T>,
    {
        match self.combine {
            Combine::Sum => self.make::<T, _>(comm, op::Sum),
            Combine::Max => self.make::<T, _>(comm, op::Max),
            Combine::Closure => self.make::<T, _>(comm, op::commutative(|a, _| a)),
        }
    }

    fn make<T: Element + Default, O: op::Operator<T>>(&self, comm: &mut Comm, op: O) {
        let (p, n, root) = (comm.size(), self.len, self.parameter);
        let (mut one, mut all) = (vec![T::default(); n], vec![T::default(); n * p]);
        let counts = vec![n; p];
        match self.call {
            Barrier => comm.barrier(),
            Broadcast => comm.broadcast(&mut one, root),
            Reduce => comm.reduce(&mut one, op, root),
            AllReduce => comm.all_reduce(&mut one, op),
            Scan => comm.scan(&mut one, op),
            ExclusiveScan => comm.exclusive_scan(&mut one, op),
            AllGather => comm.all_gather_into(&one, &mut all),
            AllGatherVaried => comm.all_gather_varied_into(&one, &mut all, &counts),
            Gather => comm.gather_into(&one, &mut all, root),
            GatherVaried => comm.gather_varied_into(&one, &mut all, &counts, root),
            Scatter => comm.scatter_into(&all, &mut one, root),
            ScatterVaried => comm.scatter_varied_into(&all, &mut one, &counts, root),
            ReduceScatter => comm.reduce_scatter_into(&all, &mut one, op),
            ReduceScatterVaried => comm.reduce_scatter_varied_into(&all, &mut one, &counts, op),
            AllToAll => comm.all_to_all_into(&all.clone(), &mut all),
            AllToAllVaried => comm.all_to_all_varied_into(&all.clone(), &counts, &mut all, &counts),
            Shift => comm.shift(&mut one, self.parameter as isize),
            WithPeers => comm.with_peers(&one, |all| assert!(all.iter().all(|x| x.len() < 9999))),
            WithRoot => comm.with_root(&one, root, |x| assert!(x.len() < 9999)),
            Split => drop(comm.split(0, self.len)),
        }
    }
}

/// What rank `odd` says, and what all others do.
struct Case {
    kind: &'static str,
    usual: Vec<Saying>,
    odd: Vec<Saying>,
}

fn cases(p: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for call in CALLS {
        for len in [3, 100] {
            let it = Saying::new(call, len);
            let end = Saying::new(Barrier, 0);
            let mut add = |kind, usual: &[Saying], odd: &[Saying]| {
                cases.push(Case { kind, usual: usual.to_vec(), odd: odd.to_vec() });
            };
            let mut differ = |kind, odd: Saying| add(kind, &[it, end], &[odd, end]);
            if call.has_length() {
                for other in [0, 2, 5, 6, 101, 100 + 4096] {
                    differ("length", Saying { len: other, ..it });
                }
            }
            if call.has_data() {
                differ("element type", Saying { element: Type::I64, ..it });
                differ("element type", Saying { element: Type::U32, ..it });
                differ("element type", Saying { element: Type::U32, len: 2 * len, ..it });
            }
            if call.has_operator() {
                differ("operator", Saying { combine: Combine::Max, ..it });
                differ("operator", Saying { combine: Combine::Closure, ..it });
            }
            if call.has_parameter() {
                for parameter in [0, 1, p - 1] {
                    if parameter != it.parameter {
                        differ("root or distance", Saying { parameter, ..it });
                    }
                }
            }
            if call.has_views() {
                let ways = [Way::Ring, Way::Hypercube, Way::Tree, Way::Mesh(1, p)];
                for way in ways {
                    differ("view", Saying { way, ..it });
                }
                for (a, b) in [((1, p), (p, 1)), ((2, p / 2), (p / 2, 2)), ((2, p / 2), (1, p))] {
                    if a != b && a.0 * a.1 == p {
                        let [a, b] = [a, b].map(|(r, c)| Saying { way: Way::Mesh(r, c), ..it });
                        add("extents", &[a, end], &[b, end]);
                    }
                }
            }
            for other in CALLS.into_iter().filter(|&other| other != call) {
                add("operation", &[it, end], &[Saying::new(other, len), end]);
            }
            let next = Saying::new(Scan, 7);
            add("order", &[it, next], &[next, it]);
            add(
                "order",
                &[it, Saying::new(AllReduce, 1), it],
                &[Saying::new(AllReduce, 1), it, it],
            );
            add("less at first", &[it, end], &[end]);
            add("less at last", &[end, it], &[end]);
            add("more", &[it, end], &[it, it, end]);
            add("more at last", &[it], &[it, it]);
            add("nothing", &[it, it], &[]);
        }
    }
    cases
}

/// What came of a disagreement.
fn judge(error: &Error, odd: usize, kind: &str) -> Result<&'static str, String> {
    let text = error.to_string();
    match error {
        Error::Mismatch { rank, here, peer, there, .. } => {
            let Some(there) = there else {
                return Err(format!("the peer's call is missing: {text}"));
            };
            for part in [
                format!("rank {rank} called {here}"),
                format!("rank {peer} called {there}"),
                format!("{}:{}", file!(), here.at.line()),
                format!("{}:{}", file!(), there.at.line()),
            ] {
                if !text.contains(&part) {
                    return Err(format!("`{part}` is not in: {text}"));
                }
            }
            if ![rank, peer].contains(&&odd) {
                return Ok("mismatch between others");
            }
            // Two calls alike in all that the words say: the rest must tell.
            let told = [
                "number of the collective call",
                "bytes of the message",
                "algorithm",
                "extents",
                "more than",
                "message length",
            ];
            if here.call == there.call && !told.iter().any(|told| text.contains(told)) {
                return Err(format!("does not say what differs: {text}"));
            }
            Ok("mismatch")
        }
        Error::Left { .. } => Ok("left"),
        Error::Unreceived { .. } => Ok("unreceived"),
        Error::Deadlock { .. } => Ok("deadlock"),
        // Ring and mesh cannot do it, whatever the others say.
        Error::Argument { .. } if ["view", "extents"].contains(&kind) => Ok("refused"),
        _ => Err(format!("not about a disagreement: {text}")),
    }
}

fn disagree(team: &Team, case: &Case, odd: usize) -> Result<&'static str, String> {
    let result = team.run(|comm| {
        let said = if comm.rank() == odd { &case.odd } else { &case.usual };
        said.iter().for_each(|saying| saying.say(comm));
    });
    match result {
        Ok(_) => Ok("no error"),
        Err(error) => judge(&error, odd, case.kind),
    }
}

fn all_disagreements(p: usize) {
    let mut table: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut bad = Vec::new();
    let team = team(p);
    for (k, case) in cases(p).iter().enumerate() {
        // One rank of each case, all ranks of each kind.
        let odd = k % p;
        let mut accuse = |problem: &str| {
            let Case { kind, usual, odd: other } = case;
            bad.push(format!(
                "{kind}, p={p}: {problem}\n  rank {odd} {other:?}\n  others {usual:?}"
            ));
        };
        match disagree(&team, case, odd) {
            // The views may use the same algorithm here; then all is well.
            Ok("no error") if case.kind != "view" => accuse("no error"),
            Ok(outcome) => *table.entry((case.kind, outcome)).or_default() += 1,
            Err(problem) => accuse(&problem),
        }
        check_usable(&team, k as u64);
    }
    for ((kind, outcome), n) in table {
        println!("p={p} {kind:>16} -> {outcome:<24} {n:>5}");
    }
    assert!(bad.is_empty(), "{} of them:\n{}", bad.len(), bad.join("\n"));
}

#[test]
fn two_ranks() {
    watched(|| all_disagreements(2));
}

#[test]
fn three_ranks() {
    watched(|| all_disagreements(3));
}

#[test]
fn four_ranks() {
    watched(|| all_disagreements(4));
}

#[test]
fn six_ranks() {
    watched(|| all_disagreements(6));
}

#[test]
fn calls_that_need_no_messages_are_counted() {
    watched(|| {
        let team = team(3);
        for odd in 0..3 {
            let error = failure(team.run(|comm| {
                if comm.rank() == odd {
                    comm.shift(&mut [1, 2], 3);
                }
            }));
            assert!(error.to_string().contains("1 collective call(s) more"), "{error}");
            check_usable(&team, 1);
        }
    });
}

#[test]
fn counts_that_differ_with_the_same_sum() {
    watched(|| {
        let team = team(3);
        for (unit, k) in [1, 20].into_iter().flat_map(|unit| (0..5).map(move |k| (unit, k))) {
            let error = failure(team.run(|comm| {
                // Rank 1 agrees about its own part and about the sum.
                let counts = if comm.rank() == 1 { [1, 2, 3] } else { [2, 2, 2] };
                let counts = counts.map(|n| n * unit);
                let (mut one, mut all) = (vec![0; counts[comm.rank()]], vec![0; 6 * unit]);
                match k {
                    0 => comm.all_gather_varied_into(&one, &mut all, &counts),
                    1 => comm.gather_varied_into(&one, &mut all, &counts, 0),
                    2 => comm.scatter_varied_into(&all, &mut one, &counts, 0),
                    3 => comm.reduce_scatter_varied_into(&all, &mut one, &counts, op::Sum),
                    _ => {
                        comm.all_to_all_varied_into(&all.clone(), &counts, &mut all, &[2 * unit; 3])
                    }
                }
            }));
            let good = matches!(error, Error::Mismatch { .. })
                || k == 4 && matches!(error, Error::Argument { .. });
            assert!(good, "{error}");
            check_usable(&team, 1);
        }
    });
}
