//! A list of entries in the order in which they came, of which the first with a key is found
//! without a look at the others.
//!
//! The first [`FEW`] entries are looked at one after the other: that is quicker than any table, and
//! enough for lists of few, and for long ones whose entries are asked for in their order. Once it
//! has been in vain, and there are more, there is a table, until few are left: it has a chain for
//! each key, of the entries that have it, in their order. An entry has a key in each of a few
//! families, or in some of them. A family gets its chains when it is first asked for, so nobody
//! pays for questions that are never asked.
//!
//! Each call takes a time that does not grow with the number of entries, on the average over all
//! calls; the memory is in proportion to the entries that are there.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Entries that are looked at where there is no table.
const FEW: usize = 16;
/// Places beyond which memory is given back.
const KEPT: usize = 64;
/// No place.
const NONE: u32 = u32::MAX;
/// Families of keys.
pub(super) const FAMILIES: usize = 5;

/// The head of an entry, by which it is found.
pub(super) trait Keyed {
    /// A key; those of different families never meet.
    type Key: Copy + Eq + Hash;

    /// Its key in a family, if it has one there.
    fn key(&self, family: usize) -> Option<Self::Key>;
}

/// The two ends of a chain.
#[derive(Clone, Copy, Debug)]
struct ChainEnds {
    first: u32,
    last: u32,
}

const EMPTY: ChainEnds = ChainEnds { first: NONE, last: NONE };

/// Neighbours on a chain; of a vacant place `next` is the next vacant one.
#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    next: u32,
}

const ALONE: Links = Links { before: NONE, next: NONE };

#[derive(Debug)]
struct ListPlace<H, V> {
    /// On the chain of all entries.
    links: Links,
    head: H,
    /// None: vacant.
    value: Option<V>,
}

/// What the table knows of a place.
#[derive(Clone, Copy, Debug)]
struct TablePlace {
    /// Grows from entry to entry.
    number: u64,
    /// On the chain of its key, by family.
    links: [Links; FAMILIES],
}

/// Mixes keys: programs choose them, by counting as a rule.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        // An odd number without a pattern, and the upper half, which depends on all bits, below.
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

type Chains<K> = HashMap<(usize, K), ChainEnds, BuildHasherDefault<KeyHasher>>;

#[derive(Debug)]
struct Table<K> {
    places: Vec<TablePlace>,
    chains: Chains<K>,
    /// Entries on the chains of a family; none: it has no chains yet.
    counts: [Option<usize>; FAMILIES],
    /// Of the next entry.
    number: u64,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct KeyedList<H: Keyed, V> {
    places: Vec<ListPlace<H, V>>,
    vacant: u32,
    count: usize,
    all: ChainEnds,
    table: Option<Box<Table<H::Key>>>,
    /// Entries and chains that were looked at.
    #[cfg(all(test, not(loom)))]
    pub(super) looks: std::cell::Cell<usize>,
}

impl<H: Keyed, V> Default for KeyedList<H, V> {
    fn default() -> Self {
        KeyedList {
            places: Vec::new(),
            vacant: NONE,
            count: 0,
            all: EMPTY,
            table: None,
            #[cfg(all(test, not(loom)))]
            looks: std::cell::Cell::new(0),
        }
    }
}

impl<K: Copy + Eq + Hash> Table<K> {
    fn new() -> Self {
        let (places, chains) = (Vec::new(), Chains::default());
        Table { places, chains, counts: [None; FAMILIES], number: 0 }
    }

    /// Takes the entry at a place in, which is later than all others.
    fn add(&mut self, at: u32, head: &impl Keyed<Key = K>) {
        let place = TablePlace { number: self.number, links: [ALONE; FAMILIES] };
        self.number += 1;
        match self.places.get_mut(at as usize) {
            Some(old) => *old = place,
            None => {
                // Vacant ones were never taken in.
                self.places.resize(at as usize + 1, place);
            }
        }
        for family in 0..FAMILIES {
            if self.counts[family].is_some() {
                self.link(family, at, head);
            }
        }
    }

    /// Puts the entry at a place at the end of its chain of a family that has chains.
    fn link(&mut self, family: usize, at: u32, head: &impl Keyed<Key = K>) {
        let Some(key) = head.key(family) else { return };
        self.counts[family] = self.counts[family].map(|count| count + 1);
        let ends = self.chains.entry((family, key)).or_insert(EMPTY);
        let before = std::mem::replace(&mut ends.last, at);
        match before {
            NONE => ends.first = at,
            before => self.places[before as usize].links[family].next = at,
        }
        self.places[at as usize].links[family] = Links { before, next: NONE };
    }

    /// Takes the entry at a place off its chains.
    fn remove(&mut self, at: u32, head: &impl Keyed<Key = K>) {
        for family in 0..FAMILIES {
            let (Some(count), Some(key)) = (self.counts[family], head.key(family)) else {
                continue;
            };
            self.counts[family] = Some(count - 1);
            let Links { before, next } = self.places[at as usize].links[family];
            if before != NONE {
                self.places[before as usize].links[family].next = next;
            }
            if next != NONE {
                self.places[next as usize].links[family].before = before;
            }
            match (before, next) {
                (NONE, NONE) => _ = self.chains.remove(&(family, key)),
                (NONE, _) | (_, NONE) => {
                    if let Some(ends) = self.chains.get_mut(&(family, key)) {
                        if before == NONE {
                            ends.first = next;
                        } else {
                            ends.last = before;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The first entry of a chain.
    fn first(&self, family: usize, key: K) -> Option<u32> {
        if self.counts[family] == Some(0) {
            return None;
        }
        self.chains.get(&(family, key)).map(|ends| ends.first)
    }
}

impl<H: Keyed + Copy, V> KeyedList<H, V> {
    /// How many entries there are.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn look(&self) {
        #[cfg(all(test, not(loom)))]
        self.looks.set(self.looks.get() + 1);
    }

    /// Adds an entry, later than all others.
    #[inline]
    pub(super) fn push(&mut self, head: H, value: V) {
        let links = Links { before: self.all.last, next: NONE };
        let place = ListPlace { links, head, value: Some(value) };
        let at = match self.vacant {
            NONE => {
                self.places.push(place);
                self.places.len() as u32 - 1
            }
            at => {
                let vacant = &mut self.places[at as usize];
                self.vacant = vacant.links.next;
                *vacant = place;
                at
            }
        };
        match std::mem::replace(&mut self.all.last, at) {
            NONE => self.all.first = at,
            last => self.places[last as usize].links.next = at,
        }
        self.count += 1;
        if let Some(table) = &mut self.table {
            table.add(at, &self.places[at as usize].head);
        }
    }

    /// The first entry that `fits`: that has one of these keys, each in its family.
    #[inline]
    pub(super) fn find<const N: usize>(
        &mut self,
        keys: impl FnOnce() -> [(usize, H::Key); N],
        fits: impl Fn(&H) -> bool,
    ) -> Option<usize> {
        let mut left = if self.table.is_none() { FEW } else { 1 };
        let mut at = self.all.first;
        while at != NONE {
            if left == 0 {
                return self.find_in_table(&keys());
            }
            self.look();
            let place = &self.places[at as usize];
            if fits(&place.head) {
                return Some(at as usize);
            }
            at = place.links.next;
            left -= 1;
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn find_in_table(&mut self, keys: &[(usize, H::Key)]) -> Option<usize> {
        if self.table.is_none() {
            let mut table = Box::new(Table::new());
            self.all().for_each(|(at, head, _)| table.add(at as u32, head));
            self.table = Some(table);
        }
        for &(family, _) in keys {
            self.make_chains(family);
        }
        let table = self.table.as_ref()?;
        let mut first: Option<(u64, u32)> = None;
        for &(family, key) in keys {
            self.look();
            if let Some(at) = table.first(family, key) {
                let it = (table.places[at as usize].number, at);
                first = Some(first.map_or(it, |first| first.min(it)));
            }
        }
        first.map(|(_, at)| at as usize)
    }

    /// Makes the chains of a family, unless it has them.
    fn make_chains(&mut self, family: usize) {
        let is_new = |table: &mut Box<Table<H::Key>>| table.counts[family].is_none();
        let Some(mut table) = self.table.take_if(is_new) else { return };
        table.counts[family] = Some(0);
        for (at, head, _) in self.all() {
            self.look();
            table.link(family, at as u32, head);
        }
        self.table = Some(table);
    }

    /// The entry at a place that was found after the last change.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Option<(&H, &V)> {
        let place = self.places.get(at)?;
        Some((&place.head, place.value.as_ref()?))
    }

    /// Takes the entry at a place that was found after the last change.
    #[inline]
    pub(super) fn take(&mut self, at: usize) -> Option<V> {
        let place = self.places.get_mut(at)?;
        let value = place.value.take()?;
        let Links { before, next } = place.links;
        place.links.next = self.vacant;
        self.vacant = at as u32;
        match before {
            NONE => self.all.first = next,
            before => self.places[before as usize].links.next = next,
        }
        match next {
            NONE => self.all.last = before,
            next => self.places[next as usize].links.before = before,
        }
        self.count -= 1;
        if self.table.is_some() || self.places.len() > KEPT {
            self.tidy_up(at);
        }
        Some(value)
    }

    /// The entry at a place has been taken.
    #[cold]
    #[inline(never)]
    fn tidy_up(&mut self, at: usize) {
        // The table is made again for twice as many at least: not in turns.
        if self.count <= FEW / 2 {
            self.table = None;
        }
        if let Some(table) = &mut self.table {
            table.remove(at as u32, &self.places[at].head);
        }
        if self.places.len() > KEPT && self.count < self.places.len() / 4 {
            self.shrink();
        }
    }

    /// Gives the memory of vacant places back.
    fn shrink(&mut self) {
        let mut kept = KeyedList::default();
        #[cfg(all(test, not(loom)))]
        kept.looks.set(self.looks.get());
        kept.places.reserve(2 * self.count);
        let mut at = self.all.first;
        while at != NONE {
            kept.look();
            let place = &mut self.places[at as usize];
            at = place.links.next;
            place.value.take().into_iter().for_each(|value| kept.push(place.head, value));
        }
        *self = kept;
    }

    /// All entries and their places, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &H, &V)> {
        let at = |at: u32| (at != NONE).then_some(at as usize);
        std::iter::successors(at(self.all.first), move |&it| at(self.places[it].links.next))
            .filter_map(|it| {
                let place = &self.places[it];
                Some((it, &place.head, place.value.as_ref()?))
            })
    }

    /// Places that there is memory for.
    #[cfg(all(test, not(loom)))]
    pub(super) fn capacity(&self) -> usize {
        self.places.capacity()
    }
}
