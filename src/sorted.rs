//! Sorting, and maps in the order of their keys, in little code: the standard library's sorts and
//! trees are compiled for each type and each closure, for speeds that nothing here
//! needs. Sorted here are the parts of a machine, and the ranks of a team.

use std::borrow::Borrow;
use std::cmp::Ordering;

/// A list, by places. (Closures would have two bodies each: `dyn FnMut` is `FnOnce`, too.)
trait Places {
    fn is_before(&mut self, a: usize, b: usize) -> bool;
    fn swap(&mut self, a: usize, b: usize);
}

struct OrderedBy<'a, T, C>(&'a mut [T], C);

impl<T, C: FnMut(&T, &T) -> Ordering> Places for OrderedBy<'_, T, C> {
    fn is_before(&mut self, a: usize, b: usize) -> bool {
        (self.1)(&self.0[a], &self.0[b]).is_lt()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }
}

/// The places `0..n` in their order, of which equal ones stay as they are; none if
/// they are in that order. A merge sort, compiled once.
fn places(n: usize, list: &mut dyn Places) -> Vec<usize> {
    // Most lists are in order.
    if !(1..n).any(|at| list.is_before(at, at - 1)) {
        return Vec::new();
    }
    let mut from = numbers(n);
    let mut to = Vec::with_capacity(n);
    let mut width = 1;
    while width < n {
        for start in (0..n).step_by(2 * width) {
            let (mut left, middle) = (start, (start + width).min(n));
            let (mut right, end) = (middle, (start + 2 * width).min(n));
            while left < middle || right < end {
                let takes_right =
                    left == middle || right < end && list.is_before(from[right], from[left]);
                let next = if takes_right { &mut right } else { &mut left };
                to.push(from[*next]);
                *next += 1;
            }
        }
        std::mem::swap(&mut from, &mut to);
        to.clear();
        width *= 2;
    }
    from
}

/// Puts each element where it belongs, by swaps. Compiled once, too.
fn put(mut places: Vec<usize>, list: &mut dyn Places) {
    // Round by round of the permutation; an element in its place names itself.
    for start in 0..places.len() {
        let mut at = start;
        loop {
            let from = std::mem::replace(&mut places[at], at);
            if from == start {
                break;
            }
            list.swap(at, from);
            at = from;
        }
    }
}

/// Slices that can be put in order. Equal elements stay in theirs.
pub(crate) trait Arrange<T> {
    /// In the order of `compare`.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// In the order of their keys by `key`.
    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }

    /// In their own order. (Not inlined, as little else here: once for each type.)
    #[inline(never)]
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(T::cmp);
    }
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering) {
        let (n, mut list) = (self.len(), OrderedBy(self, compare));
        put(places(n, &mut list), &mut list);
    }
}

/// The numbers below `n`.
#[inline(never)]
pub(crate) fn numbers(n: usize) -> Vec<usize> {
    (0..n).collect()
}

/// Iterators that are listed in little code.
pub(crate) trait Listed: Iterator + Sized {
    /// Its items, each pushed: `collect` has code for the length of each kind of iterator, and for
    /// room that is had again.
    fn listed(self) -> Vec<Self::Item> {
        let mut all = Vec::new();
        for it in self {
            all.push(it);
        }
        all
    }
}

impl<I: Iterator> Listed for I {}

/// A map in the order of its keys. A new key costs a move of all that are larger.
#[derive(Clone, Debug)]
pub(crate) struct SortedMap<K, V>(Vec<(K, V)>);

/// A set in order.
pub(crate) type SortedSet<K> = SortedMap<K, ()>;

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap::new()
    }
}

impl<K, V> SortedMap<K, V> {
    pub(crate) const fn new() -> Self {
        SortedMap(Vec::new())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// The keys and values, in order.
    pub(crate) fn into_pairs(self) -> Vec<(K, V)> {
        self.0
    }

    /// Keeps the values that `keeps` accepts.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&V) -> bool) {
        self.0.retain(|(_, value)| keeps(value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where `key` is, or belongs.
    #[inline(never)]
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        // Most keys come in order.
        match self.0.last() {
            Some((last, _)) if last.borrow() < key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(other, _)| other.borrow().cmp(key)),
        }
    }

    pub(crate) fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &self.0[at].1)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &mut self.0[at].1)
    }

    /// The value before, if there was one.
    #[inline(never)]
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// The value of `key`; `value`, if it had none.
    #[inline(never)]
    pub(crate) fn or_insert(&mut self, key: K, value: V) -> &mut V {
        let at = match self.find(&key) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (key, value));
                at
            }
        };
        &mut self.0[at].1
    }

    /// The value of `key`; the default, if it had none.
    pub(crate) fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert(key, V::default())
    }
}

impl<K: Ord> SortedSet<K> {
    /// Whether it is new.
    pub(crate) fn add(&mut self, key: K) -> bool {
        self.insert(key, ()).is_none()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = SortedMap::new();
        map.extend(pairs);
        map
    }
}

impl<K: Ord> FromIterator<K> for SortedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        keys.into_iter().map(|key| (key, ())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::SplitMix;
    use std::collections::BTreeMap;

    #[test]
    fn as_the_standard_library_sorts() {
        let mut random = SplitMix(7);
        for n in (0..40).chain([100, 257, 1000]) {
            for below in [1, 3, 10_000] {
                let drawn: Vec<_> = (0..n).map(|i| (random.below(below), i.to_string())).collect();
                let (mut got, mut wanted) = (drawn.clone(), drawn.clone());
                got.arrange_by_key(|(key, _)| *key);
                wanted.sort_by_key(|(key, _)| *key);
                assert_eq!(got, wanted, "equal keys stay in order");
                got.arrange();
                wanted.sort();
                assert_eq!(got, wanted);
            }
        }
    }

    #[test]
    fn a_map_is_as_the_standard_librarys() {
        let mut random = SplitMix(8);
        let (mut got, mut wanted) = (SortedMap::new(), BTreeMap::new());
        for i in 0..500 {
            let key = random.below(100);
            assert_eq!(got.contains(&key), wanted.contains_key(&key));
            assert_eq!(got.get(&key), wanted.get(&key));
            assert_eq!(got.get_mut(&key), wanted.get_mut(&key));
            match random.below(3) {
                0 => assert_eq!(got.insert(key, i), wanted.insert(key, i)),
                1 => assert_eq!(got.or_insert(key, i), wanted.entry(key).or_insert(i)),
                _ => assert_eq!(got.or_default(key), wanted.entry(key).or_default()),
            }
            if i % 50 == 0 {
                got.retain(|v| v % 3 != 0);
                wanted.retain(|_, v| *v % 3 != 0);
            }
            assert!(got.keys().eq(wanted.keys()) && got.values().eq(wanted.values()));
        }
        assert!(got.into_pairs().into_iter().eq(wanted));
    }
}
