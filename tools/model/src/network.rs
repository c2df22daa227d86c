//! Physical networks, and the channels that a message takes through them.
//!
//! A *channel* is one direction of a link. Meshes, tori and hypercubes route
//! dimension by dimension, lowest first (on a hypercube that is E-cube
//! routing); trees climb to the lowest common switch.

use std::fmt;

use super::BadNetwork;
use phalanx::machine;
use phalanx::schedule::Algorithm;
use phalanx::topology::{Extents, gray};

/// The most nodes of a network: larger ones are cut to this, or refused.
pub const MOST_NODES: usize = 1 << 20;

/// One direction of a link, from a vertex to its neighbour. Vertices below the
/// number of nodes are the nodes themselves; those above are the switches of a
/// tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the fields are what their names say
pub struct Channel {
    pub from: usize,
    pub to: usize,
}

/// Which way a message goes to the opposite point of a ring, where both ways
/// are equally long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// The way that does not use the wrap-around link, as on an array (Fig.
    /// 4.12 of the book).
    #[default]
    Inside,
    /// Upwards, from every node.
    Up,
    /// Upwards from even positions, downwards from odd ones, which halves the
    /// load.
    Split,
}

/// A physical network.
///
/// # Examples
/// ```
/// use phalanx_model::Network;
/// let cube = Network::hypercube(3);
/// let path: Vec<usize> = cube.route(3, 6).iter().map(|c| c.to).collect();
/// assert_eq!(path, [2, 6]); // the lowest bit first
/// assert_eq!(Network::ring(8).distance(1, 7), 2);
/// assert_eq!(Network::linear(8).distance(1, 7), 6);
/// assert_eq!(Network::tree(8).distance(0, 7), 6); // three switches up, three down
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    name: &'static str,
    kind: NetworkKind,
    ties: Ties,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NetworkKind {
    /// Lines along every dimension; `wraps`: closed to rings.
    Grid { extents: Extents, wraps: bool },
    /// The parent and the depth of every vertex, nodes first; the root is its
    /// own parent.
    Tree { nodes: usize, parent: Vec<usize>, depth: Vec<usize> },
}

impl Network {
    fn grid(name: &'static str, extents: Extents, wraps: bool) -> Self {
        Network { name, kind: NetworkKind::Grid { extents, wraps }, ties: Ties::Inside }
    }

    /// A ring of `nodes` nodes, at least 1 and at most [`MOST_NODES`].
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Network::ring(8).nodes(), 8);
    /// ```
    pub fn ring(nodes: usize) -> Self {
        Network::grid("ring", Extents::ring(nodes.min(MOST_NODES)), true)
    }

    /// A linear array of `nodes` nodes, at least 1 and at most [`MOST_NODES`].
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Network::linear(8).distance(0, 7), 7);
    /// ```
    pub fn linear(nodes: usize) -> Self {
        Network::grid("linear", Extents::ring(nodes.min(MOST_NODES)), false)
    }

    /// A mesh, without wrap-around links.
    ///
    /// # Examples
    /// ```
    /// use phalanx::topology::Extents;
    /// use phalanx_model::Network;
    /// assert_eq!(Network::mesh(Extents::mesh(3, 4)).distance(0, 11), 5);
    /// ```
    pub fn mesh(extents: Extents) -> Self {
        Network::grid("mesh", extents, false)
    }

    /// A torus: a mesh with lines that are closed to rings.
    ///
    /// # Examples
    /// ```
    /// use phalanx::topology::Extents;
    /// use phalanx_model::Network;
    /// assert_eq!(Network::torus(Extents::mesh(3, 4)).distance(0, 11), 2);
    /// ```
    pub fn torus(extents: Extents) -> Self {
        Network::grid("torus", extents, true)
    }

    /// A hypercube of `dimensions` dimensions (at most 20), E-cube routed.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Network::hypercube(3).distance(0, 7), 3);
    /// ```
    pub fn hypercube(dimensions: usize) -> Self {
        Network::grid("hypercube", Extents::hypercube(dimensions.min(20)), false)
    }

    /// A balanced binary tree of switches with `leaves` nodes at its leaves;
    /// where that is no power of two, the leaves on the right are missing. At
    /// least 1 leaf and at most [`MOST_NODES`].
    ///
    /// # Examples
    /// ```
    /// let tree = phalanx_model::Network::tree(8);
    /// assert_eq!((tree.distance(0, 1), tree.distance(0, 2), tree.distance(3, 4)), (2, 4, 6));
    /// ```
    pub fn tree(leaves: usize) -> Self {
        let leaves = leaves.clamp(1, MOST_NODES);
        let (mut parent, mut depth) = (Vec::new(), Vec::new());
        let mut level = leaves.next_power_of_two().trailing_zeros() as usize;
        // Level by level from the leaves up; `here` vertices in this level.
        let (mut first, mut here) = (0, leaves);
        loop {
            let above = first + here;
            for i in 0..here {
                parent.push(if level == 0 { first } else { above + i / 2 });
                depth.push(level);
            }
            if level == 0 {
                break;
            }
            (first, here, level) = (above, here.div_ceil(2), level - 1);
        }
        Network {
            name: "tree",
            kind: NetworkKind::Tree { nodes: leaves, parent, depth },
            ties: Ties::Inside,
        }
    }

    /// The tree of a machine's shared resources: nodes are its cores in logical
    /// order, switches its caches, NUMA nodes, packages.
    ///
    /// # Examples
    /// ```
    /// use phalanx::machine::Machine;
    /// use phalanx_model::Network;
    /// let machine = Machine::from_synthetic("pack:2 l3:2 core:2 pu:1").unwrap();
    /// let network = Network::machine(&machine);
    /// assert_eq!(network.nodes(), 8);
    /// assert_eq!([1, 2, 4].map(|node| network.distance(0, node)), [2, 4, 6]);
    /// ```
    pub fn machine(machine: &machine::Machine) -> Self {
        let nodes = machine.cores().len();
        let tree = machine.tree();
        let mut parent: Vec<usize> = (0..nodes).map(|core| nodes + tree.above(core)).collect();
        let mut depth: Vec<usize> =
            (0..nodes).map(|core| tree.vertices()[tree.above(core)].depth + 1).collect();
        for vertex in tree.vertices() {
            parent.push(nodes + vertex.parent.unwrap_or(0));
            depth.push(vertex.depth);
        }
        Network {
            name: "machine",
            kind: NetworkKind::Tree { nodes, parent, depth },
            ties: Ties::Inside,
        }
    }

    /// A network by its name, for `nodes` nodes: `ring`, `linear`, `mesh`,
    /// `torus`, `hypercube` or `tree`. Mesh and torus take `extents`, or the
    /// squarest ones.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Network;
    /// assert_eq!(Network::named("torus", 8, None)?.to_string(), "2x4 torus");
    /// let error = Network::named("hypercube", 6, None).unwrap_err();
    /// assert_eq!(error.to_string(), "a hypercube has a power of two of nodes, and 6 is none");
    /// # Ok::<(), phalanx_model::BadNetwork>(())
    /// ```
    pub fn named(name: &str, nodes: usize, extents: Option<&Extents>) -> Result<Self, BadNetwork> {
        if nodes == 0 {
            return Err(BadNetwork::Empty);
        }
        if nodes > MOST_NODES {
            return Err(BadNetwork::TooLarge(nodes));
        }
        let extents = || match extents {
            Some(e) if e.ranks() != nodes => Err(BadNetwork::Extents { extents: e.clone(), nodes }),
            Some(e) => Ok(e.clone()),
            None => Ok(Extents::squarest(nodes)),
        };
        match name {
            "ring" => Ok(Network::ring(nodes)),
            "linear" => Ok(Network::linear(nodes)),
            "mesh" => Ok(Network::mesh(extents()?)),
            "torus" => Ok(Network::torus(extents()?)),
            "tree" => Ok(Network::tree(nodes)),
            "hypercube" if nodes.is_power_of_two() => {
                Ok(Network::hypercube(nodes.trailing_zeros() as usize))
            }
            "hypercube" => Err(BadNetwork::PowerOfTwo(nodes)),
            _ => Err(BadNetwork::Name(name.to_string())),
        }
    }

    /// The names that [`Network::named`] takes.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Network;
    /// assert!(Network::NAMES.iter().all(|name| Network::named(name, 8, None).is_ok()));
    /// ```
    pub const NAMES: [&'static str; 6] = ["ring", "linear", "mesh", "torus", "hypercube", "tree"];

    /// Changes which way messages go where both ways round a ring are equally
    /// long.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::{Network, Ties};
    /// let ring = Network::ring(8).ties(Ties::Up);
    /// assert_eq!(ring.route(6, 2)[0].to, 7); // over the wrap-around link
    /// assert_eq!(Network::ring(8).route(6, 2)[0].to, 5);
    /// ```
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// The name: one of [`Network::NAMES`], or `machine`.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Network::tree(8).name(), "tree");
    /// ```
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The number of nodes, on which ranks can be placed.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Network::hypercube(4).nodes(), 16);
    /// ```
    pub fn nodes(&self) -> usize {
        match &self.kind {
            NetworkKind::Grid { extents, .. } => extents.ranks(),
            NetworkKind::Tree { nodes, .. } => *nodes,
        }
    }

    /// The node on which a rank of `algorithm` lives: of the same number,
    /// except that the Gray-code shifts on a hypercube lay their ring along
    /// the code.
    ///
    /// # Examples
    /// ```
    /// use phalanx::schedule::Algorithm;
    /// use phalanx_model::Network;
    /// let cube = Network::hypercube(3);
    /// assert_eq!(cube.home(Algorithm::CS_HC_RGC_F, 2), 3);
    /// assert_eq!(cube.home(Algorithm::CS_HC_ECUBE, 2), 2);
    /// ```
    pub fn home(&self, algorithm: Algorithm, rank: usize) -> usize {
        let gray_coded = matches!(algorithm, Algorithm::CS_HC_RGC_F | Algorithm::CS_HC_RGC_FB);
        if gray_coded && self.name == "hypercube" { gray(rank) } else { rank }
    }

    /// The channels from one node to another, in order; none if they are the
    /// same, or if one does not exist.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::{Channel, Network};
    /// let ring = Network::ring(5);
    /// assert_eq!(ring.route(0, 3), [Channel { from: 0, to: 4 }, Channel { from: 4, to: 3 }]);
    /// assert_eq!(ring.route(2, 2), []);
    /// ```
    pub fn route(&self, from: usize, to: usize) -> Vec<Channel> {
        let mut path = Vec::new();
        self.walk(from, to, |_, channel| path.push(channel));
        path
    }

    /// The number of channels from one node to another.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Network::ring(8).distance(0, 5), 3);
    /// ```
    pub fn distance(&self, from: usize, to: usize) -> usize {
        let mut far = 0;
        self.walk(from, to, |_, _| far += 1);
        far
    }

    /// Above all numbers of channels that [`Network::walk`] speaks of.
    pub(super) fn channels(&self) -> usize {
        match &self.kind {
            NetworkKind::Grid { extents, .. } => 2 * extents.ranks() * extents.dimensions(),
            NetworkKind::Tree { parent, .. } => 2 * parent.len(),
        }
    }

    /// The level of a channel: the depth of its upper end, or its dimension, the fastest 0.
    pub(super) fn level(&self, channel: usize) -> usize {
        match &self.kind {
            NetworkKind::Grid { extents, .. } => channel / (2 * extents.ranks()),
            NetworkKind::Tree { depth, .. } => depth[channel / 2].saturating_sub(1),
        }
    }

    /// Calls `visit` with the number and the ends of every channel on the way.
    pub(super) fn walk(&self, from: usize, to: usize, mut visit: impl FnMut(usize, Channel)) {
        if from.max(to) >= self.nodes() {
            return;
        }
        match &self.kind {
            NetworkKind::Grid { extents, wraps } => {
                let mut at = from;
                for level in 0..extents.dimensions() {
                    let dim = extents.dimensions() - 1 - level;
                    let (up, hops) = self.line(extents, *wraps, dim, at, to);
                    for _ in 0..hops {
                        let next = extents.neighbour(at, dim, if up { 1 } else { -1 });
                        let number = 2 * (level * extents.ranks() + at) + usize::from(up);
                        visit(number, Channel { from: at, to: next });
                        at = next;
                    }
                }
            }
            NetworkKind::Tree { parent, depth, .. } => {
                let mut down = Vec::new();
                let (mut a, mut b) = (from, to);
                while a != b {
                    let (above_a, above_b) = (depth[a] <= depth[b], depth[b] <= depth[a]);
                    if above_a {
                        down.push(b);
                        b = parent[b];
                    }
                    if above_b {
                        visit(2 * a + 1, Channel { from: a, to: parent[a] });
                        a = parent[a];
                    }
                }
                for &child in down.iter().rev() {
                    visit(2 * child, Channel { from: parent[child], to: child });
                }
            }
        }
    }

    /// In which direction, and how far, along one dimension.
    fn line(
        &self,
        extents: &Extents,
        wraps: bool,
        dim: usize,
        from: usize,
        to: usize,
    ) -> (bool, usize) {
        let n = extents.extent(dim);
        let (a, b) = (extents.coordinate(from, dim), extents.coordinate(to, dim));
        let inside = a.abs_diff(b);
        // An extent of 2 has one link, not two.
        if !wraps || n == 2 || 2 * inside < n {
            return (b > a, inside);
        }
        let up = match self.ties {
            _ if 2 * inside > n => b < a,
            Ties::Inside => b > a,
            Ties::Up => true,
            Ties::Split => a.is_multiple_of(2),
        };
        (up, inside.min(n - inside))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NetworkKind::Grid { extents, .. } if ["mesh", "torus"].contains(&self.name) => {
                f.pad(&format!("{extents} {}", self.name))
            }
            _ => f.pad(&format!("{} of {}", self.name, self.nodes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every route is a path from its source to its destination, and no longer
    /// than the way back.
    #[test]
    fn routes_are_paths() {
        for n in 1..=12 {
            let mut networks = vec![Network::ring(n), Network::linear(n), Network::tree(n)];
            networks.push(Network::mesh(Extents::squarest(n)));
            networks.push(Network::torus(Extents::squarest(n)));
            networks.extend(Network::named("hypercube", n, None));
            networks.push(Network::torus(Extents::squarest(n)).ties(Ties::Split));
            for network in networks {
                for (a, b) in (0..n * n).map(|i| (i / n, i % n)) {
                    let path = network.route(a, b);
                    assert_eq!(path.first().map_or(b, |c| c.from), if a == b { b } else { a });
                    assert_eq!(path.last().map_or(a, |c| c.to), if a == b { a } else { b });
                    assert!(path.windows(2).all(|w| w[0].to == w[1].from), "{network}");
                    assert_eq!(path.len(), network.distance(b, a), "{network} {a} {b}");
                    network.walk(a, b, |number, _| assert!(number < network.channels()));
                }
                assert_eq!(network.route(0, n), []);
            }
        }
    }
}
