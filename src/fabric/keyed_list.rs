//! A list of entries in the order in which they came, of which the first with a key is found
//! without a look at the others.
//!
//! Up to [`FEW`] entries are looked at one after the other: that is quicker than any table. Of more
//! there is a table, until few are left: it has a chain for each key, of the entries that have it,
//! in their order. An entry has a key in each of a few families, or in some of them. A family gets
//! its chains when it is first asked for, so nobody pays for questions that are never asked.
//!
//! Each call takes a time that does not grow with the number of entries, on the average over all
//! calls; the memory is in proportion to the entries that are there.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Entries up to which there is no table.
const FEW: usize = 16;
/// Places beyond which memory is given back.
const KEPT: usize = 64;
/// No place.
const NONE: u32 = u32::MAX;
/// Families of keys.
pub(super) const FAMILIES: usize = 5;

/// An entry that is found by keys.
pub(super) trait Keyed {
    /// A key; those of different families never meet.
    type Key: Copy + Eq + Hash;

    /// Its key in a family, if it has one there, which never changes.
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
struct ListPlace<E> {
    /// On the chain of all entries.
    links: Links,
    /// None: vacant.
    entry: Option<E>,
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
pub(super) struct KeyedList<E: Keyed> {
    places: Vec<ListPlace<E>>,
    vacant: u32,
    count: usize,
    all: ChainEnds,
    table: Option<Box<Table<E::Key>>>,
    /// Entries and chains that were looked at.
    #[cfg(all(test, not(loom)))]
    pub(super) looks: std::cell::Cell<usize>,
}

impl<E: Keyed> Default for KeyedList<E> {
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
    fn add(&mut self, at: u32, entry: &impl Keyed<Key = K>) {
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
                self.link(family, at, entry);
            }
        }
    }

    /// Puts the entry at a place at the end of its chain of a family that has chains.
    fn link(&mut self, family: usize, at: u32, entry: &impl Keyed<Key = K>) {
        let Some(key) = entry.key(family) else { return };
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
    fn remove(&mut self, at: u32, entry: &impl Keyed<Key = K>) {
        for family in 0..FAMILIES {
            let (Some(count), Some(key)) = (self.counts[family], entry.key(family)) else {
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

impl<E: Keyed> KeyedList<E> {
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
    pub(super) fn push(&mut self, entry: E) {
        let place =
            ListPlace { links: Links { before: self.all.last, next: NONE }, entry: Some(entry) };
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
        if self.count > FEW || self.table.is_some() {
            self.add_to_table(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_to_table(&mut self, at: u32) {
        if let (Some(table), Some(entry)) = (&mut self.table, &self.places[at as usize].entry) {
            return table.add(at, entry);
        }
        // No family has chains yet: whoever asks first has them made.
        let mut table = Box::new(Table::new());
        self.all().for_each(|(at, entry)| table.add(at as u32, entry));
        self.table = Some(table);
    }

    /// The first entry that `fits`: that has one of these keys, each in its family.
    #[inline]
    pub(super) fn find<const N: usize>(
        &mut self,
        keys: [(usize, E::Key); N],
        fits: impl Fn(&E) -> bool,
    ) -> Option<usize> {
        if self.table.is_some() {
            return self.find_in_table(&keys);
        }
        let mut at = self.all.first;
        while at != NONE {
            self.look();
            let place = &self.places[at as usize];
            if place.entry.as_ref().is_some_and(&fits) {
                return Some(at as usize);
            }
            at = place.links.next;
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn find_in_table(&mut self, keys: &[(usize, E::Key)]) -> Option<usize> {
        for &(family, _) in keys {
            self.make_chains(family);
        }
        let table = self.table.as_ref()?;
        let firsts = keys.iter().filter_map(|&(family, key)| {
            self.look();
            table.first(family, key)
        });
        firsts.min_by_key(|&at| table.places[at as usize].number).map(|at| at as usize)
    }

    /// Makes the chains of a family, unless it has them.
    fn make_chains(&mut self, family: usize) {
        let made = |table: &mut Box<Table<E::Key>>| table.counts[family].is_none();
        let Some(mut table) = self.table.take_if(made) else { return };
        table.counts[family] = Some(0);
        for (at, entry) in self.all() {
            self.look();
            table.link(family, at as u32, entry);
        }
        self.table = Some(table);
    }

    /// The entry at a place that was found after the last change.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> Option<&E> {
        self.places.get(at)?.entry.as_ref()
    }

    /// Takes the entry at a place that was found after the last change.
    #[inline]
    pub(super) fn take(&mut self, at: usize) -> Option<E> {
        let place = self.places.get_mut(at)?;
        let entry = place.entry.take()?;
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
        if self.table.is_some() {
            self.take_off_table(at, &entry);
        }
        Some(entry)
    }

    #[cold]
    #[inline(never)]
    fn take_off_table(&mut self, at: usize, entry: &E) {
        // Between half of that and all of it nothing is made and dropped in turns.
        if self.count <= FEW / 2 {
            self.table = None;
        }
        if let Some(table) = &mut self.table {
            table.remove(at as u32, entry);
        }
        let room = if self.table.is_some() { self.places.len() / 4 } else { self.places.len() };
        if self.places.len() > KEPT && self.count < room {
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
            place.entry.take().into_iter().for_each(|entry| kept.push(entry));
        }
        *self = kept;
    }

    /// All entries and their places, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &E)> {
        let at = |at: u32| (at != NONE).then_some(at as usize);
        std::iter::successors(at(self.all.first), move |&it| at(self.places[it].links.next))
            .filter_map(|it| Some((it, self.places[it].entry.as_ref()?)))
    }

    /// Places that there is memory for.
    #[cfg(all(test, not(loom)))]
    pub(super) fn capacity(&self) -> usize {
        self.places.capacity()
    }
}
