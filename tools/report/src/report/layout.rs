//! The positions at which ranks are drawn, on the network that an algorithm is made for.

use phalanx::schedule::Algorithm;
use phalanx::topology::Extents;
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// The network of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Network {
    Ring,
    Line,
    Mesh,
    Hypercube,
    /// Ranks at the leaves of a tree of switches.
    Leaves,
    /// A rank at every node of a binary tree, in the order of levels.
    Nodes,
    /// Everybody beside everybody.
    Any,
}

impl Network {
    pub(crate) const ALL: [Network; 7] = [
        Network::Ring,
        Network::Line,
        Network::Mesh,
        Network::Hypercube,
        Network::Leaves,
        Network::Nodes,
        Network::Any,
    ];

    /// From an algorithm's id, which ends in or contains its network.
    pub(crate) fn of(algorithm: Algorithm) -> Self {
        let id = algorithm.id();
        let has = |part: &str| id.split('-').any(|own| own == part);
        match () {
            () if algorithm.uses_dims() || has("MESH") || has("MESHD") => Network::Mesh,
            () if has("HCUBE") || has("HC") => Network::Hypercube,
            () if has("LEAF") => Network::Leaves,
            () if has("NODE") => Network::Nodes,
            () if has("LINEAR") || has("CHAIN") => Network::Line,
            () if has("RING") || has("PIPE") => Network::Ring,
            () => Network::Any,
        }
    }

    /// The name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Network::Ring => "ring",
            Network::Line => "line",
            Network::Mesh => "mesh",
            Network::Hypercube => "hypercube",
            Network::Leaves => "leaves of a tree",
            Network::Nodes => "nodes of a tree",
            Network::Any => "any network",
        }
    }

    /// In a sentence: drawn on it, placed for it.
    fn phrase(self) -> &'static str {
        match self {
            Network::Ring => "a ring",
            Network::Line => "a line",
            Network::Mesh => "a mesh",
            Network::Hypercube => "a hypercube",
            Network::Leaves => "the leaves of a tree",
            Network::Nodes => "the nodes of a tree",
            Network::Any => "any network",
        }
    }

    /// The drawing of `p` ranks on it, as the page's script reads it.
    pub(crate) fn object(self, p: usize) -> Value {
        let Layout { nodes, links } = self.layout(p);
        let tenth = |x: f64| (x * 10.0).round() / 10.0;
        let nodes: Vec<(f64, f64)> = nodes.iter().map(|&(x, y)| (tenth(x), tenth(y))).collect();
        json!({ "on": self.phrase(), "nodes": nodes, "links": links })
    }

    /// The name under which `p` ranks on it are filed.
    pub(crate) fn with_ranks(self, p: usize) -> String {
        format!("{} {p}", self.name())
    }

    /// Places of `p` ranks (and then of switches) in a square of 100, and the links between them.
    pub(crate) fn layout(self, p: usize) -> Layout {
        match self {
            Network::Ring => circle(p, true),
            Network::Any => circle(p, false),
            Network::Line => {
                let at = |r: usize| ((r as f64 + 0.5) * 100.0 / p as f64, 62.0);
                Layout::new((0..p).map(at), (1..p).map(|r| (r - 1, r)))
            }
            Network::Mesh => mesh(p),
            Network::Hypercube => cube(p),
            Network::Leaves => leaves(p),
            Network::Nodes => nodes(p),
        }
    }
}

/// A drawing's fixed parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// x and y of each rank, then of each switch.
    pub(crate) nodes: Vec<(f64, f64)>,
    pub(crate) links: Vec<(usize, usize)>,
}

impl Layout {
    fn new(
        nodes: impl IntoIterator<Item = (f64, f64)>,
        links: impl IntoIterator<Item = (usize, usize)>,
    ) -> Self {
        Layout { nodes: nodes.into_iter().collect(), links: links.into_iter().collect() }
    }
}

fn circle(p: usize, links: bool) -> Layout {
    let at = |r: usize| {
        let angle = TAU * r as f64 / p as f64 - TAU / 4.0;
        (50.0 + 42.0 * angle.cos(), 50.0 + 42.0 * angle.sin())
    };
    Layout::new((0..p).map(at), (0..if links { p } else { 0 }).map(|r| (r, (r + 1) % p)))
}

fn mesh(p: usize) -> Layout {
    let extents = Extents::squarest(p);
    let (columns, rows) = (extents.columns(), p / extents.columns());
    let at = |r: usize| {
        let spread = |at: usize, n: usize| (at as f64 + 0.5) * 100.0 / n as f64;
        (spread(r % columns, columns), spread(r / columns, rows))
    };
    let right = (0..p).filter(|r| r % columns + 1 < columns).map(|r| (r, r + 1));
    let down = (0..p).filter(|r| r + columns < p).map(|r| (r, r + columns));
    Layout::new((0..p).map(at), right.chain(down))
}

/// Up to four dimensions so that links of one dimension are parallel.
fn cube(p: usize) -> Layout {
    const STEPS: [(f64, f64); 4] = [(30.0, 0.0), (0.0, 30.0), (13.0, -13.0), (47.0, 40.0)];
    let dimensions = p.trailing_zeros() as usize;
    if !p.is_power_of_two() || dimensions > STEPS.len() {
        return circle(p, false);
    }
    let scale = if dimensions == 4 { 1.0 } else { 1.9 };
    let place = |r: usize| {
        let bits = (0..dimensions).filter(|bit| r >> bit & 1 == 1).map(|bit| STEPS[bit]);
        bits.fold((0.0, 0.0), |at, step| (at.0 + step.0, at.1 + step.1))
    };
    let all: Vec<(f64, f64)> = (0..p).map(place).collect();
    let edge = |of: fn(&(f64, f64)) -> f64| {
        let values = all.iter().map(of);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        (low + values.fold(f64::NEG_INFINITY, f64::max)) / 2.0
    };
    let (x, y) = (edge(|at| at.0), edge(|at| at.1));
    let at = |at: &(f64, f64)| (50.0 + (at.0 - x) * scale, 50.0 + (at.1 - y) * scale);
    let links = (0..p).flat_map(|r| (0..dimensions).map(move |bit| (r, r ^ 1 << bit)));
    Layout::new(all.iter().map(at), links.filter(|(a, b)| a < b))
}

fn leaves(p: usize) -> Layout {
    let mut nodes: Vec<(f64, f64)> =
        (0..p).map(|r| ((r as f64 + 0.5) * 100.0 / p as f64, 88.0)).collect();
    let mut links = Vec::new();
    let levels = p.next_power_of_two().trailing_zeros().max(1) as f64;
    let mut below: Vec<usize> = (0..p).collect();
    let mut height = 0.0;
    while below.len() > 1 {
        height += 1.0;
        let mut own = Vec::new();
        for pair in below.chunks(2) {
            let middle = pair.iter().map(|&n| nodes[n].0).sum::<f64>() / pair.len() as f64;
            let switch = nodes.len();
            nodes.push((middle, 88.0 - height * 76.0 / levels));
            links.extend(pair.iter().map(|&n| (n, switch)));
            own.push(switch);
        }
        below = own;
    }
    Layout { nodes, links }
}

fn nodes(p: usize) -> Layout {
    let levels = (p.ilog2() + 1) as f64;
    let at = |r: usize| {
        let level = (r + 1).ilog2();
        let width = 1_usize << level;
        let x = ((r + 1 - width) as f64 + 0.5) * 100.0 / width as f64;
        (x, (f64::from(level) + 0.5) * 100.0 / levels)
    };
    Layout::new((0..p).map(at), (1..p).map(|r| ((r - 1) / 2, r)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_place_of_its_own() {
        for network in Network::ALL {
            for p in [1, 2, 5, 8, 16] {
                let layout = network.layout(p);
                assert!(layout.nodes.len() >= p);
                for (i, a) in layout.nodes.iter().enumerate() {
                    assert!((0.0..=100.0).contains(&a.0), "{network:?} {p}: {a:?}");
                    assert!((0.0..=100.0).contains(&a.1), "{network:?} {p}: {a:?}");
                    for b in &layout.nodes[..i] {
                        let gap = (a.0 - b.0).hypot(a.1 - b.1);
                        assert!(gap > 4.0, "{network:?} {p}: {a:?} {b:?}");
                    }
                }
                assert!(layout.links.iter().all(|&(a, b)| a.max(b) < layout.nodes.len()));
            }
        }
        assert_eq!(Network::Hypercube.layout(16).links.len(), 32);
        assert_eq!(Network::Leaves.layout(8).nodes.len(), 15);
    }

    #[test]
    fn algorithms_are_drawn_on_their_networks() {
        assert_eq!(Network::of(Algorithm::AG_RING), Network::Ring);
        assert_eq!(Network::of(Algorithm::BC_HCUBE_SRC), Network::Hypercube);
        assert_eq!(Network::of(Algorithm::CS_MESH_MIN), Network::Mesh);
        assert_eq!(Network::of(Algorithm::BC_TREE_LEAF), Network::Leaves);
        assert_eq!(Network::of(Algorithm::BC_AP_TREE_NODE), Network::Nodes);
        assert_eq!(Network::of(Algorithm::TX_BRUCK), Network::Any);
    }
}
