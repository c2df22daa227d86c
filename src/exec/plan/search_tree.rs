//! Values in the order of their keys, for any number of them: each look-up, insertion and removal
//! takes O(log n) steps.
//!
//! A treap: a search tree of the keys that is a heap of random weights. Its order is compiled once,
//! whatever the values are; the standard library's trees are compiled for each type.

use crate::mix::SplitMix;

/// A number, and another one where the first may be the same.
pub(super) type Key = (usize, usize);

/// No node.
const NONE: usize = usize::MAX;

#[derive(Debug)]
struct Node {
    key: Key,
    weight: u64,
    left: usize,
    right: usize,
}

/// The order of the keys. A key's node stays where it is for as long as the key is there.
#[derive(Debug)]
struct KeyOrder {
    nodes: Vec<Node>,
    root: usize,
    /// The nodes of keys that were removed, linked by `left`.
    unused: usize,
    weights: SplitMix,
}

impl Default for KeyOrder {
    fn default() -> Self {
        KeyOrder { nodes: Vec::new(), root: NONE, unused: NONE, weights: SplitMix(0) }
    }
}

impl KeyOrder {
    /// The node of the first key from `key` on.
    #[inline(never)]
    fn from(&self, key: Key) -> Option<usize> {
        let (mut at, mut found) = (self.root, None);
        while let Some(node) = self.nodes.get(at) {
            at = match node.key >= key {
                true => {
                    found = Some(at);
                    node.left
                }
                false => node.right,
            };
        }
        found
    }

    /// The node of the last key before `key`.
    #[inline(never)]
    fn before(&self, key: Key) -> Option<usize> {
        let (mut at, mut found) = (self.root, None);
        while let Some(node) = self.nodes.get(at) {
            at = match node.key < key {
                true => {
                    found = Some(at);
                    node.right
                }
                false => node.left,
            };
        }
        found
    }

    #[inline(never)]
    fn find(&self, key: Key) -> Option<usize> {
        self.from(key).filter(|&at| self.nodes[at].key == key)
    }

    /// Where the tree below a node is named: at its parent, on the side of `key`, or at the root.
    fn link(&mut self, parent: usize, key: Key) -> &mut usize {
        match self.nodes.get_mut(parent) {
            None => &mut self.root,
            Some(node) if node.key < key => &mut node.right,
            Some(node) => &mut node.left,
        }
    }

    /// From the root towards `key` for as long as `goes_on` says so of a node: the last node of
    /// which it did, and the next one.
    fn descend(&self, key: Key, goes_on: impl Fn(usize, &Node) -> bool) -> (usize, usize) {
        let (mut parent, mut at) = (NONE, self.root);
        while let Some(node) = self.nodes.get(at)
            && goes_on(at, node)
        {
            (parent, at) = (at, if node.key < key { node.right } else { node.left });
        }
        (parent, at)
    }

    /// Adds a key that is not there; its node.
    fn insert(&mut self, key: Key) -> usize {
        let weight = self.weights.word();
        let (parent, below) = self.descend(key, |_, node| node.weight > weight);
        let (left, right) = self.split(below, key);
        let node = Node { key, weight, left, right };
        let at = match self.nodes.get_mut(self.unused) {
            Some(unused) => {
                let next = unused.left;
                *unused = node;
                std::mem::replace(&mut self.unused, next)
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        *self.link(parent, key) = at;
        at
    }

    /// Removes the key of the node `at`.
    fn remove(&mut self, at: usize) {
        let Node { key, left, right, .. } = self.nodes[at];
        let (parent, _) = self.descend(key, |other, _| other != at);
        *self.link(parent, key) = self.join(left, right);
        self.nodes[at].left = std::mem::replace(&mut self.unused, at);
    }

    /// Makes of the tree of `at` that of the keys before `key`, and that of the others.
    fn split(&mut self, at: usize, key: Key) -> (usize, usize) {
        let Some(&Node { key: here, left, right, .. }) = self.nodes.get(at) else {
            return (NONE, NONE);
        };
        if here < key {
            let (before, after) = self.split(right, key);
            self.nodes[at].right = before;
            (at, after)
        } else {
            let (before, after) = self.split(left, key);
            self.nodes[at].left = after;
            (before, at)
        }
    }

    /// Makes one tree of two; the keys of the first one are smaller.
    fn join(&mut self, left: usize, right: usize) -> usize {
        if left == NONE {
            return right;
        }
        if right == NONE {
            return left;
        }
        if self.nodes[left].weight > self.nodes[right].weight {
            self.nodes[left].right = self.join(self.nodes[left].right, right);
            left
        } else {
            self.nodes[right].left = self.join(left, self.nodes[right].left);
            right
        }
    }
}

/// Values by their keys.
#[derive(Debug)]
pub(super) struct SearchTree<V> {
    order: KeyOrder,
    /// By node.
    values: Vec<V>,
}

impl<V> Default for SearchTree<V> {
    fn default() -> Self {
        SearchTree { order: KeyOrder::default(), values: Vec::new() }
    }
}

impl<V: Default> SearchTree<V> {
    /// Adds the value of a key that has none; its node.
    pub(super) fn insert(&mut self, key: Key, value: V) -> usize {
        let at = self.order.insert(key);
        match self.values.get_mut(at) {
            Some(unused) => *unused = value,
            None => self.values.push(value),
        }
        at
    }

    /// Forgets `key`; its value.
    pub(super) fn remove(&mut self, key: Key) -> Option<V> {
        let at = self.order.find(key)?;
        self.order.remove(at);
        Some(std::mem::take(&mut self.values[at]))
    }

    pub(super) fn get(&self, key: Key) -> Option<&V> {
        self.order.find(key).map(|at| &self.values[at])
    }

    /// The value of `key`: the default, if it had none.
    #[inline(never)]
    pub(super) fn entry(&mut self, key: Key) -> &mut V {
        let at = match self.order.find(key) {
            Some(at) => at,
            None => self.insert(key, V::default()),
        };
        &mut self.values[at]
    }

    /// The last key before `key`.
    pub(super) fn before(&mut self, key: Key) -> Option<(Key, &mut V)> {
        let at = self.order.before(key)?;
        Some((self.order.nodes[at].key, &mut self.values[at]))
    }

    /// The value of `key`: a new one, if `new`, which is told the first key from there on, makes
    /// one.
    pub(super) fn value_or(
        &mut self,
        key: Key,
        new: impl FnOnce(Option<Key>) -> Option<V>,
    ) -> &mut V {
        let from = self.order.from(key);
        let at = match new(from.map(|at| self.order.nodes[at].key)) {
            None => from.unwrap_or(0),
            Some(value) => self.insert(key, value),
        };
        &mut self.values[at]
    }

    /// The first key from `key` on.
    pub(super) fn from(&mut self, key: Key) -> Option<(Key, &mut V)> {
        let at = self.order.from(key)?;
        Some((self.order.nodes[at].key, &mut self.values[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    impl KeyOrder {
        fn depth(&self, at: usize) -> usize {
            let below = |node: &Node| self.depth(node.left).max(self.depth(node.right)) + 1;
            self.nodes.get(at).map_or(0, below)
        }
    }

    #[test]
    fn as_the_standard_library_finds() {
        let mut random = SplitMix(7);
        let mut number = |below: usize| random.below(below);
        let (mut tree, mut plain) = (SearchTree::<usize>::default(), BTreeMap::new());
        for i in 0..20_000 {
            let key = (number(40), number(10));
            match plain.contains_key(&key) {
                true => assert_eq!(tree.remove(key), plain.remove(&key)),
                false => {
                    assert_eq!(tree.remove(key), None);
                    tree.insert(key, i);
                    plain.insert(key, i);
                }
            }
            let key = (number(42), number(12));
            assert_eq!(tree.get(key), plain.get(&key));
            let from = plain.range(key..).next().map(|(&key, &value)| (key, value));
            assert_eq!(tree.from(key).map(|(key, value)| (key, *value)), from);
            let before = plain.range(..key).next_back().map(|(&key, &value)| (key, value));
            assert_eq!(tree.before(key).map(|(key, value)| (key, *value)), before);
        }
        // Nodes of removed keys are used again.
        assert!(tree.order.nodes.len() <= 400 && plain.len() > 100);
    }

    /// In whatever order keys come and go, the tree is as deep as that of keys in random order.
    #[test]
    fn depth_grows_with_the_logarithm() {
        let depth = |n: usize, place: fn(usize, usize) -> usize| {
            let mut order = KeyOrder::default();
            let mut nodes = Vec::new();
            for i in 0..2 * n {
                nodes.push(order.insert((place(i, 2 * n), 0)));
            }
            // Every other one goes.
            nodes.iter().step_by(2).for_each(|&at| order.remove(at));
            order.depth(order.root)
        };
        let up = |i: usize, _: usize| i;
        let down = |i: usize, n: usize| n - i;
        let from_both_ends = |i: usize, n: usize| if i.is_multiple_of(2) { i } else { n - i };
        for place in [up, down, from_both_ends as fn(usize, usize) -> usize] {
            for n in [1_000, 10_000, 100_000] {
                let (depth, log) = (depth(n, place), n.ilog2() as usize);
                assert!(depth < 4 * log, "{n} keys: {depth} deep");
            }
        }
    }
}
