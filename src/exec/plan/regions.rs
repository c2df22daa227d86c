//! Ranges of a memory, with the facts known about each part.
//!
//! The binder asks of each block that it moves whether anything else is there, and whether a peer
//! may be reading. The ranges are kept cut into parts at each other's ends, so that an answer
//! takes the parts of the range in question and one look-up, however many ranges there are. (The
//! ranges of one plan are blocks, or runs of blocks: nearly all begin and end together.)

use super::search_tree::SearchTree;
use std::ops::Range;

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

    /// Changes the values of all parts of `range`; those that are in no range yet begin with the
    /// default.
    pub(super) fn enter(&mut self, range: Range<usize>, change: &mut dyn FnMut(&mut V)) {
        if range.is_empty() {
            return;
        }
        self.cut(range.start);
        self.cut(range.end);
        let (mut at, mut gaps) = (range.start, Vec::new());
        self.looks += self.parts.each_in(range.clone(), &mut |start, (end, value)| {
            if at < start {
                gaps.push(at..start);
            }
            change(value);
            at = *end;
            true
        });
        if at < range.end {
            gaps.push(at..range.end);
        }
        for gap in gaps {
            self.looks += 1;
            let mut value = V::default();
            change(&mut value);
            self.parts.insert((gap.start, 0), (gap.end, value));
        }
    }

    /// Changes the values of the parts that overlap `range`, and forgets those of which `change`
    /// says so by false.
    pub(super) fn retain(&mut self, range: Range<usize>, change: &mut dyn FnMut(&mut V) -> bool) {
        let (mut over, span) = (Vec::new(), self.span(&range));
        self.looks += self.parts.each_in(span, &mut |start, (_, value)| {
            if !change(value) {
                over.push(start);
            }
            true
        });
        for start in over {
            self.parts.remove((start, 0));
        }
    }

    /// Whether a part that overlaps `range` is such: where it begins, and its value.
    pub(super) fn any(&mut self, range: Range<usize>, is: &dyn Fn(usize, &V) -> bool) -> bool {
        let (mut found, span) = (false, self.span(&range));
        self.looks += self.parts.each_in(span, &mut |start, (_, value)| {
            found = is(start, value);
            !found
        });
        found
    }

    /// Where the parts begin that overlap `range`.
    fn span(&mut self, range: &Range<usize>) -> Range<usize> {
        if range.is_empty() {
            return 0..0;
        }
        let before = self.parts.before((range.start, 0));
        let first = before.filter(|(_, (end, _))| *end > range.start).map(|(key, _)| key.0);
        first.unwrap_or(range.start)..range.end
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
        let (mut low, mut left) = (None, Self::FIRST);
        self.by_start.each((0, 0), &mut |(start, _), &mut room| {
            low = (room >= len).then_some((room, start));
            left -= 1;
            low.is_none() && left > 0
        });
        let fits = low.or_else(|| self.by_len.from((len, 0)));
        self.looks += 1;
        let (room, start) = fits?;
        self.remove(start, room);
        if room > len {
            self.insert(start + len, room - len);
        }
        Some(start)
    }

    fn insert(&mut self, start: usize, len: usize) {
        self.by_start.insert((start, 0), len);
        self.by_len.insert((len, start), ());
    }

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
                    regions.retain(range, &mut |n| {
                        *n -= 1;
                        *n > 0
                    });
                } else {
                    plain[range.clone()].iter_mut().for_each(|n| *n += 1);
                    regions.enter(range.clone(), &mut |n| *n += 1);
                    inside.push(range);
                }
                for (from, to) in (0..PLACES).flat_map(|a| (a..PLACES).map(move |b| (a, b))) {
                    for most in 0..3 {
                        let wanted = plain[from..to].iter().any(|&n| n > most);
                        assert_eq!(regions.any(from..to, &|_, &n| n > most), wanted, "{plain:?}");
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
        assert_eq!(free.by_start.from((0, 0)).zip(free.by_start.get((0, 0))), Some(((0, 0), &40)));
        assert_eq!(free.by_start.from((1, 0)), None);
        assert_eq!((free.take(15), free.take(30), free.take(25)), (Some(0), None, Some(15)));
        assert_eq!((free.by_start.from((0, 0)), free.by_len.from((0, 0))), (None, None));
        // Many small ones, and one behind them all.
        (0..100).for_each(|i| free.give(2 * i..2 * i + 1));
        free.give(1000..1100);
        assert_eq!((free.take(50), free.take(1)), (Some(1000), Some(0)));
    }
}
