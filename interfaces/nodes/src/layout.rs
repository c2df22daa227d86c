//! The map of ranks to nodes.

use phalanx::engine::{LayerCall, by_halves};
use std::ops::Range;

/// Where the ranks of a communicator are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NodeLayout {
    /// By rank: its node, and its number among that node's.
    places: Vec<(usize, usize)>,
    /// By node: its ranks, ascending.
    members: Vec<Vec<usize>>,
    /// Every node's ranks follow those of the node before.
    contiguous: bool,
}

impl NodeLayout {
    /// Of ranks that sit on the given nodes.
    pub(crate) fn new(nodes: usize, node_of: &[usize]) -> Self {
        let mut members = vec![Vec::new(); nodes];
        let places = node_of
            .iter()
            .enumerate()
            .map(|(rank, &node)| {
                members[node].push(rank);
                (node, members[node].len() - 1)
            })
            .collect();
        let contiguous = members.iter().flatten().copied().eq(0..node_of.len());
        NodeLayout { places, members, contiguous }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn nodes(&self) -> usize {
        self.members.len()
    }

    /// The node of `rank`, and its number there.
    pub(crate) fn place(&self, rank: usize) -> (usize, usize) {
        self.places[rank]
    }

    /// The ranks on `node`.
    pub(crate) fn members(&self, node: usize) -> &[usize] {
        &self.members[node]
    }

    /// All ranks, one node after the other.
    pub(crate) fn by_node(&self) -> impl Iterator<Item = usize> {
        self.members.iter().flatten().copied()
    }

    /// All ranks: the first ones of the nodes, the second ones.. (Where nodes have equally many.)
    pub(crate) fn by_place(&self) -> impl Iterator<Item = usize> {
        let of = |place| self.members.iter().map(move |ranks| ranks[place]);
        (0..self.members[0].len()).flat_map(of)
    }

    /// The number of ranks on each node.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(Vec::len)
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// The most ranks on any node.
    pub(crate) fn most(&self) -> usize {
        self.sizes().max().unwrap_or(0)
    }

    /// The largest subtrees of the tree of `Order::Fixed` with all leaves on `node`: first rank and
    /// number of leaves.
    pub(crate) fn subtrees(&self, node: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut whole = |of: Range<usize>| {
            let mine = of.clone().filter(|&r| self.places[r].0 == node).count();
            if mine == of.len() {
                found.push((of.start, of.len()));
            }
            (mine == 0 || mine == of.len()).then_some(())
        };
        by_halves(0..self.ranks(), &mut whole, &mut |(), ()| ());
        found
    }
}

/// Elements of each rank's block.
pub(crate) enum Lengths<'a> {
    Equal(usize),
    Varied(&'a [usize]),
}

impl<'a> Lengths<'a> {
    /// Those of a call.
    pub(crate) fn of_call(facts: &LayerCall<'a>) -> Self {
        match facts.counts[0] {
            [] => Lengths::Equal(facts.len),
            counts => Lengths::Varied(counts),
        }
    }

    pub(crate) fn of(&self, rank: usize) -> usize {
        match self {
            Lengths::Equal(n) => *n,
            Lengths::Varied(counts) => counts[rank],
        }
    }

    /// Elements of each node's blocks.
    pub(crate) fn by_node(&self, layout: &NodeLayout) -> Vec<usize> {
        layout.members.iter().map(|ranks| ranks.iter().map(|&r| self.of(r)).sum()).collect()
    }

    /// Where each rank's block begins; at the end, where the last one ends.
    pub(crate) fn starts(&self, layout: &NodeLayout) -> Vec<usize> {
        starts((0..layout.ranks()).map(|rank| self.of(rank)))
    }
}

/// Where blocks of these lengths begin, one after the other; at the end, where the last one ends.
pub(crate) fn starts(lens: impl Iterator<Item = usize>) -> Vec<usize> {
    std::iter::once(0)
        .chain(lens.scan(0, |end, n| {
            *end += n;
            Some(*end)
        }))
        .collect()
}

/// Blocks that lie in this order are put where each begins.
pub(crate) fn to_ranks<T: Copy>(
    order: impl Iterator<Item = usize>,
    begins: &[usize],
    from: &[T],
    to: &mut [T],
) {
    let mut rest = from;
    for block in order.map(|r| begins[r]..begins[r + 1]) {
        let (own, behind) = rest.split_at(block.len());
        to[block].copy_from_slice(own);
        rest = behind;
    }
}

/// Blocks that begin there, in this order.
pub(crate) fn in_order<T: Copy>(
    order: impl Iterator<Item = usize>,
    begins: &[usize],
    from: &[T],
) -> Vec<T> {
    order.flat_map(|r| &from[begins[r]..begins[r + 1]]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::NodeLayout;

    #[test]
    fn places_and_subtrees() {
        let even = NodeLayout::new(2, &[0, 0, 1, 1]);
        assert!(even.is_contiguous());
        assert_eq!(even.place(3), (1, 1));
        assert_eq!(even.subtrees(0), [(0, 2)]);
        assert_eq!(even.subtrees(1), [(2, 2)]);
        // 0 | 1 2 3 | 4: the tree is ((0 1) (2 3)) 4.
        let odd = NodeLayout::new(3, &[0, 1, 1, 1, 2]);
        assert_eq!(odd.subtrees(1), [(1, 1), (2, 2)]);
        assert_eq!(odd.subtrees(2), [(4, 1)]);
        let mixed = NodeLayout::new(2, &[0, 1, 0, 1]);
        assert!(!mixed.is_contiguous());
        assert_eq!(mixed.subtrees(0), [(0, 1), (2, 1)]);
        assert_eq!((mixed.most(), mixed.members(1)), (2, &[1, 3][..]));
    }
}
