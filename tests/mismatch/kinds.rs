//! The cases: every call, and every way to disagree about it.

use super::saying::*;

listed! {
    /// The fact in which the odd rank differs.
    Kind, KINDS:
    Length,
    ElementType,
    Operator,
    Closure,
    Root,
    Distance,
    /// The algorithm, by name.
    Algorithm,
    /// A view against the automatic choice: may come to the same.
    View,
    Extents,
    /// Counts of the same sum.
    Counts,
    /// Another operation in the same place.
    Operation,
    /// The same calls in another order.
    Order,
    /// One call fewer, with calls after it.
    FewerThenOthers,
    /// One call fewer, the last.
    FewerAtLast,
    /// One call more, with calls after it.
    MoreThenOthers,
    /// One call more, the last.
    MoreAtLast,
    /// No call at all.
    Nothing,
}

/// The words of one rank, and those of all others.
pub(crate) struct Case {
    pub(crate) call: Call,
    pub(crate) kind: Kind,
    pub(crate) usual: Vec<Saying>,
    pub(crate) odd: Vec<Saying>,
}

/// All cases of `call` on `p` ranks. Of other operations, algorithms and
/// lengths a part, a different one for each `turn`.
pub(crate) fn cases(call: Call, p: usize, turn: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for len in [3, 100] {
        let it = Saying::new(call, len);
        let end = Saying::new(Barrier, 0);
        let mut add = |kind, usual: &[Saying], odd: &[Saying]| {
            cases.push(Case { call, kind, usual: usual.to_vec(), odd: odd.to_vec() });
        };
        let mut differ = |kind, odd: Saying| add(kind, &[it, end], &[odd, end]);
        if call.has(Fact::Length) {
            let others = [0, 2, 5, 6, 101, 100 + 4096];
            for i in 0..2 {
                differ(Length, Saying { len: others[(turn + i * 3) % 6], ..it });
            }
        }
        if call.has(Fact::Data) {
            differ(ElementType, Saying { element: Type::I64, ..it });
            // As many bytes.
            differ(ElementType, Saying { element: Type::U32, len: 2 * len, ..it });
        }
        if call.has(Fact::Operator) {
            differ(Operator, Saying { combine: Combine::Max, ..it });
            differ(Closure, Saying { combine: Combine::Closure, ..it });
            differ(Closure, Saying { combine: Combine::Ordered, ..it });
        }
        if call.has(Fact::Root) {
            differ(Root, Saying { parameter: p - 1, ..it });
        }
        if call == Shift {
            let other = if p == 2 { 0 } else { p - 1 };
            differ(Distance, Saying { parameter: other, ..it });
            differ(Distance, Saying { parameter: 0, ..it });
        }
        if call == Exchange && p > 2 {
            // Another neighbour.
            differ(Distance, Saying { parameter: p - 1, ..it });
        }
        let algorithms = call.algorithms(p);
        for i in 0..algorithms.len().min(3) {
            let n = algorithms.len();
            let (a, b) = ((turn + i) % n, (turn * 3 + i * 5 + 1) % n);
            if a != b {
                let [a, b] = [a, b].map(|i| Saying { way: Way::With(algorithms[i]), ..it });
                add(Algorithm, &[a, end], &[b, end]);
            }
        }
        if call.operation().is_some() {
            let ways = [Way::Ring, Way::Hypercube, Way::Tree, Way::Mesh(1, p)];
            add(View, &[it, end], &[Saying { way: ways[turn % 4], ..it }, end]);
            for (a, b) in [((1, p), (p, 1)), ((2, p / 2), (p / 2, 2)), ((2, p / 2), (1, p))] {
                if a != b && a.0 * a.1 == p {
                    let [a, b] = [a, b].map(|(r, c)| Saying { way: Way::Mesh(r, c), ..it });
                    add(Extents, &[a, end], &[b, end]);
                }
            }
        }
        if (call.has(Fact::Counts) || call == AllToAllVaried) && p > 2 {
            for skew in [1, len] {
                add(Counts, &[it, end], &[Saying { skew, ..it }, end]);
            }
            let far = Saying { len: 63, ..it };
            add(Counts, &[far, end], &[Saying { skew: 63, ..far }, end]);
        }
        let others: Vec<Call> = CALLS.into_iter().filter(|&other| other != call).collect();
        for i in 0..4 {
            let other = others[(turn + i * 5) % others.len()];
            add(Operation, &[it, end], &[Saying::new(other, len), end]);
        }
        // Beside messages a collective with messages that would meet them: those at the gates pass
        // them by, which is no mistake (each message is still the next between its two ranks).
        let next = match call {
            Scan => AllReduce,
            call if call.has(Fact::Message) => Shift,
            _ => Scan,
        };
        let next = Saying::new(next, 7);
        add(Order, &[it, next, it], &[next, it, it]);
        add(FewerThenOthers, &[it, end], &[end]);
        add(FewerAtLast, &[end, it], &[end]);
        add(MoreThenOthers, &[it, end], &[it, it, end]);
        add(MoreAtLast, &[it], &[it, it]);
        add(Nothing, &[it, it], &[]);
    }
    cases
}
