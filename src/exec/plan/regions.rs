//! Ranges of a memory, with the facts known about each part.
//!
//! The binder asks of each block that it moves whether anything else is there, and whether a peer
//! may be reading. The ranges are kept cut into parts at each other's ends, so that an answer
//! takes the parts of the range in question and one look-up, however many ranges there are. (The
//! ranges of one plan are blocks, or runs of blocks: nearly all begin and end together.)

use super::search_tree::SearchTree;
use std::ops::Range;

/// A post that its receiver may still be reading from.
#[derive(Clone, Copy)]
pub(super) struct PendingReader {
    pub(super) peer: usize,
    /// Number of the message to `peer`, counted from 1 within the plan.
    pub(super) number: u32,
    pub(super) step: usize,
}

/// The facts about a part of a memory that the plan writes.
#[derive(Clone, Default)]
pub(super) struct PartUse {
    /// How many of the blocks that the rank holds are there.
    pub(super) held: u32,
    /// Ranks that may be reading, in the order of posts. Some may have been settled since.
    pub(super) readers: Vec<PendingReader>,
}

impl PartUse {
    /// Whether a post of `step` is the latest: nobody has settled it yet.
    pub(super) fn is_posted_in(&self, step: usize) -> bool {
        self.readers.last().is_some_and(|last| last.step == step)
    }

    pub(super) fn is_used(&self) -> bool {
        self.held > 0 || !self.readers.is_empty()
    }
}

/// A value for each part of a memory that is in some range.
#[derive(Debug, Default)]
pub(super) struct Regions<V> {
    /// By where the part begins: where it ends, and its value.
    parts: SearchTree<(usize, V)>,
    /// Parts looked at so far: the work that was done.
    pub(super) looks: u64,
}

impl<V: Clone + Default> Regions<V> {
    /// Makes a part begin at `at`, if that is inside of one.
    fn cut(&mut self, at: usize) {
        if let Some((_, (end, value))) = self.parts.before((at, 0))
            && *end > at
        {
            let rest = (std::mem::replace(end, at), value.clone());
            self.parts.insert((at, 0), rest);
        }
    }

    /// Makes parts begin or end with a range of `len` from `at` on: where it begins and ends, for
    /// [`enter`](Regions::enter).
    #[inline(never)]
    pub(super) fn cut_out(&mut self, at: usize, len: usize) -> (usize, usize) {
        if len > 0 {
            self.cut(at);
            self.cut(at + len);
        }
        (at, at + len)
    }

    /// The value of the part that begins at `at < end`, which is then where it ends: at `end` or
    /// before. The default, if nothing was there.
    #[inline(never)]
    pub(super) fn enter(&mut self, at: &mut usize, end: usize) -> &mut V {
        self.looks += 1;
        let start = *at;
        let (part_end, value) = self.parts.value_or((start, 0), |next| {
            let next = next.map_or(end, |key| key.0.min(end));
            (next > start).then(|| (next, V::default()))
        });
        *at = *part_end;
        value
    }

    /// Where the parts begin that overlap a range of `len` from `at` on, and where that ends: for
    /// [`next`](Regions::next).
    #[inline(never)]
    pub(super) fn span(&mut self, at: usize, len: usize) -> (usize, usize) {
        if len == 0 {
            return (at, at);
        }
        let before = self.parts.before((at, 0));
        let first = before.filter(|(_, (end, _))| *end > at).map(|(key, _)| key.0);
        (first.unwrap_or(at), at + len)
    }

    /// The first part that begins from `at` on and before `end`: where, and its value. `at` is then
    /// where it ends.
    #[inline(never)]
    pub(super) fn next(&mut self, at: &mut usize, end: usize) -> Option<(usize, &mut V)> {
        let ((start, _), (part_end, value)) = self.parts.from((*at, 0))?;
        if start >= end {
            return None;
        }
        self.looks += 1;
        *at = *part_end;
        Some((start, value))
    }

    /// Forgets the part that begins at `start`.
    #[inline(never)]
    pub(super) fn forget(&mut self, start: usize) {
        self.parts.remove((start, 0));
    }
}

/// Memory that is free: ranges that do not touch.
#[derive(Debug, Default)]
pub(super) struct Free {
    /// Their lengths.
    by_start: SearchTree<usize>,
    /// By length, then by start.
    by_len: SearchTree<()>,
    pub(super) looks: u64,
}

impl Free {
    /// Free ranges that are looked at in order before the smallest that serves is taken. What is
    /// low is filled first, so that blocks that are used together lie together.
    const FIRST: usize = 32;

    /// Adds a range that is not free.
    pub(super) fn give(&mut self, range: Range<usize>) {
        self.looks += 1;
        let (mut start, mut end) = (range.start, range.end);
        if let Some(((before, _), &mut len)) = self.by_start.before((start, 0))
            && before + len == start
        {
            self.remove(before, len);
            start = before;
        }
        if let Some(&len) = self.by_start.get((end, 0)) {
            self.remove(end, len);
            end += len;
        }
        self.insert(start, end - start);
    }

    /// Takes `len` elements, if so many are free in one place.
    pub(super) fn take(&mut self, len: usize) -> Option<usize> {
        self.looks += 1;
        let (mut low, mut from) = (None, 0);
        for _ in 0..Self::FIRST {
            let Some(((start, _), &mut room)) = self.by_start.from((from, 0)) else { break };
            if room >= len {
                low = Some((room, start));
                break;
            }
            from = start + 1;
        }
        let (room, start) = low.or_else(|| self.by_len.from((len, 0)).map(|(key, _)| key))?;
        self.remove(start, room);
        if room > len {
            self.insert(start + len, room - len);
        }
        Some(start)
    }

    #[inline(never)]
    fn insert(&mut self, start: usize, len: usize) {
        self.by_start.insert((start, 0), len);
        self.by_len.insert((len, start), ());
    }

    #[inline(never)]
    fn remove(&mut self, start: usize, len: usize) {
        self.by_start.remove((start, 0));
        self.by_len.remove((len, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against an array with a value for every place.
    #[test]
    fn as_place_by_place() {
        const PLACES: usize = 40;
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        for _ in 0..200 {
            let (mut regions, mut plain) = (Regions::<u32>::default(), [0u32; PLACES]);
            let mut inside: Vec<Range<usize>> = Vec::new();
            for _ in 0..30 {
                let from = random(PLACES);
                let range = from..from + random(PLACES - from + 1).min(8);
                if inside.len() > 5 {
                    let range = inside.swap_remove(random(inside.len()));
                    plain[range.clone()].iter_mut().for_each(|n| *n -= 1);
                    let (mut at, end) = regions.span(range.start, range.len());
                    while let Some((start, n)) = regions.next(&mut at, end) {
                        *n -= 1;
                        if *n == 0 {
                            regions.forget(start);
                        }
                    }
                } else {
                    plain[range.clone()].iter_mut().for_each(|n| *n += 1);
                    let (mut at, end) = regions.cut_out(range.start, range.len());
                    while at < end {
                        *regions.enter(&mut at, end) += 1;
                    }
                    inside.push(range);
                }
                for (from, to) in (0..PLACES).flat_map(|a| (a..PLACES).map(move |b| (a, b))) {
                    for most in 0..3 {
                        let wanted = plain[from..to].iter().any(|&n| n > most);
                        let (mut at, end) = regions.span(from, to - from);
                        let mut found = false;
                        while let Some((_, n)) = regions.next(&mut at, end) {
                            found |= *n > most;
                        }
                        assert_eq!(found, wanted, "{plain:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_given_back_is_one_again() {
        let mut free = Free::default();
        for start in [10, 30, 20, 0] {
            free.give(start..start + 10);
        }
        assert_eq!(free.by_start.from((0, 0)), Some(((0, 0), &mut 40)));
        assert_eq!(free.by_start.from((1, 0)), None);
        assert_eq!((free.take(15), free.take(30), free.take(25)), (Some(0), None, Some(15)));
        assert!(free.by_start.from((0, 0)).is_none() && free.by_len.from((0, 0)).is_none());
        // Many small ones, and one behind them all.
        (0..100).for_each(|i| free.give(2 * i..2 * i + 1));
        free.give(1000..1100);
        assert_eq!((free.take(50), free.take(1)), (Some(1000), Some(0)));
    }
}
