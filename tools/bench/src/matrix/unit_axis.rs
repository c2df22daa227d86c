//! The processing units of a matrix in the machine's order, and the groups of neighbours in that
//! order.

use phalanx::machine::{Level, Machine, Vertex};
use serde_json::{Value, json};
use std::ops::Range;

/// The levels with borders that are drawn, outermost first.
const LEVELS: [Level; 5] = [Level::Package, Level::Numa, Level::L3, Level::L2, Level::Core];

/// A run of neighbours that share something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The level that they share, by its key: `package`, `numa`, `l3`, `l2`, `core`.
    pub(crate) level: String,
    /// The number of the group, as `phalanx machine` counts (nodes: the system's number).
    pub(crate) number: usize,
    /// The positions on the axis.
    pub(crate) at: Range<usize>,
}

/// The units along one side of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axis {
    /// The system's numbers, neighbours side by side.
    pub(crate) pus: Vec<usize>,
    /// All groups of at least one unit, outermost levels first; only levels that
    /// divide the units.
    pub(crate) spans: Vec<Span>,
}

impl Axis {
    /// These units of the machine, in its logical order.
    pub(crate) fn new(machine: &Machine, pus: &[usize]) -> Self {
        let in_order = machine.cores().iter().flat_map(|core| core.pus.iter().copied());
        let pus: Vec<usize> = in_order.filter(|pu| pus.contains(pu)).collect();
        let mut spans = Vec::new();
        for level in LEVELS {
            let own = spans_of(machine, &pus, level);
            let is_new = |span: &&Span| {
                !spans.iter().any(|outer: &Span| outer.at == span.at && outer.level != span.level)
            };
            // Cores of one unit each, or caches of one core, say nothing.
            let divides = own.len() > 1 && own.iter().any(|span| span.at.len() > 1);
            if divides && own.iter().any(|span| is_new(&span)) {
                spans.extend(own);
            }
        }
        Axis { pus, spans }
    }

    /// The outermost level that has a border in front of position `at`, as a
    /// depth: 0 for the outermost of the levels on this axis; none within
    /// every group.
    pub(crate) fn border(&self, at: usize) -> Option<usize> {
        let mut levels: Vec<&str> = Vec::new();
        for span in &self.spans {
            if !levels.contains(&span.level.as_str()) {
                levels.push(&span.level);
            }
        }
        levels.iter().position(|level| {
            self.spans.iter().any(|span| {
                span.level == *level && at > 0 && (span.at.start == at || span.at.end == at)
            })
        })
    }

    /// For json.
    pub(crate) fn object(&self) -> Value {
        let span = |s: &Span| {
            let pus = &self.pus[s.at.clone()];
            json!({ "level": s.level, "number": s.number, "pus": pus })
        };
        Value::Array(self.spans.iter().map(span).collect())
    }
}

fn spans_of(machine: &Machine, pus: &[usize], level: Level) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open = None;
    for (at, &pu) in pus.iter().enumerate() {
        let group = machine.group_of(pu, level);
        match (spans.last_mut(), group) {
            (Some(last), Some(_)) if open == group => last.at.end = at + 1,
            (_, Some(group)) => {
                let number = match level {
                    Level::Numa => machine.numa_nodes()[group].os_id,
                    _ => group,
                };
                spans.push(Span { level: level.key().to_string(), number, at: at..at + 1 });
            }
            (_, None) => {}
        }
        open = group;
    }
    spans
}

/// The innermost thing that two units share: `core` for the threads of one.
pub fn shared(machine: &Machine, a: usize, b: usize) -> &'static str {
    let (Some(x), Some(y)) = (machine.core_of(a), machine.core_of(b)) else { return "machine" };
    if x == y {
        return Level::Core.key();
    }
    let tree = machine.tree();
    name(&tree.vertices()[tree.common(x, y)]).key()
}

/// The level that the cores of a vertex share, innermost. One memory for all cores says
/// nothing: then they share the package, or the machine.
pub fn name(vertex: &Vertex) -> Level {
    let mut named = vertex.levels.iter().filter(|level| vertex.depth > 0 || **level != Level::Numa);
    named.next_back().copied().unwrap_or(Level::Group)
}

/// "package 0, NUMA node 0": everything that these cores are.
pub fn label(machine: &Machine, vertex: &Vertex) -> String {
    let named = vertex.levels.iter().map(|&level| {
        let same = |cores: &[usize]| cores.iter().copied().eq(vertex.cores.clone());
        let number = match level {
            Level::Machine => None,
            Level::Numa => {
                machine.numa_nodes().iter().find(|n| same(&n.cores)).map(|node| node.os_id)
            }
            // Nameless groups nest, so their numbers say nothing.
            Level::Group => None,
            level => machine.groups(level).iter().position(|group| same(&group.cores)),
        };
        number.map_or(level.to_string(), |number| format!("{level} {number}"))
    });
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> (Machine, Axis) {
        let machine = Machine::from_synthetic(text).unwrap();
        let axis = Axis::new(&machine, machine.allowed_pus());
        (machine, axis)
    }

    #[test]
    fn neighbours_stand_together_whatever_their_numbers() {
        // The system numbers the packages' cores alternately.
        let (machine, axis) = axis("pack:2 [numa] l3:2 core:2 pu:1(indexes=core:l3:pack)");
        assert_eq!(axis.pus.len(), 8);
        for half in [0..4, 4..8] {
            let package = |at: usize| machine.group_of(axis.pus[at], Level::Package);
            assert!(half.clone().all(|at| package(at) == package(half.start)), "{:?}", axis.pus);
        }
        let of = |level: &str| axis.spans.iter().filter(|s| s.level == level).count();
        assert_eq!((of("package"), of("l3"), of("core")), (2, 4, 0));
        // A node a package: drawn once.
        assert_eq!(of("numa"), 0);
        assert_eq!([1, 2, 4, 6].map(|at| axis.border(at)), [None, Some(1), Some(0), Some(1)]);
        assert_eq!(axis.border(0), None);
    }

    #[test]
    fn threads_of_a_core_are_a_group() {
        let (machine, axis) = axis("pack:1 l3:1 core:2 pu:2");
        let levels: Vec<&str> = axis.spans.iter().map(|s| s.level.as_str()).collect();
        assert_eq!(levels, ["core", "core"]);
        assert_eq!(shared(&machine, 0, 1), "core");
        assert_eq!(shared(&machine, 0, 2), "l3");
    }

    #[test]
    fn what_two_units_share() {
        let (machine, _) = axis("pack:2 [numa] l3:2 l2:2 core:2 pu:1");
        assert_eq!([1, 2, 4, 8].map(|b| shared(&machine, 0, b)), ["l2", "l3", "numa", "machine"]);
        let (machine, axis) = self::axis("core:4 pu:1");
        assert!(axis.spans.is_empty());
        assert_eq!(shared(&machine, 0, 3), "machine");
        assert_eq!(shared(&machine, 0, 99), "machine");
        let (machine, _) = self::axis("pack:1 l3:2 core:2 pu:1");
        assert_eq!(shared(&machine, 0, 2), "package");
    }

    #[test]
    fn a_part_of_the_machine() {
        let machine = Machine::from_synthetic("pack:2 l3:2 core:2 pu:1").unwrap();
        let axis = Axis::new(&machine, &[7, 6, 0]);
        assert_eq!(axis.pus, [0, 6, 7]);
        let packages: Vec<_> =
            axis.spans.iter().map(|s| (s.level.as_str(), s.at.clone())).collect();
        assert_eq!(packages, [("package", 0..1), ("package", 1..3)]);
        assert_eq!(Axis::new(&machine, &[5]).spans, []);
    }
}
