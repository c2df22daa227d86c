//! Where everything is in the segment: offsets, which every process computes for itself from two
//! numbers (ranks, and bytes of user memory a rank). None is ever read from the segment.
//!
//! ```text
//! segment:  head | a seat a rank | lines a rank | areas | memory for users, a part a rank
//! area:     head | a desk a member | a ring for each pair of members
//! desk:     gate | progress | bell | wait | eager slots | pieces in (2) | pieces out (2)
//! ```
//!
//! Memory is taken where it is written only: most of a segment never is.

use crate::circle::Waiting;
use crate::gate::{Gate, SLOTS};
use crate::pieces::Progress;
use crate::ring::RING;

/// The most ranks of a team.
pub const MAX_RANKS: usize = 128;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Bytes of a payload that goes by the gate.
pub(crate) const EAGER: usize = 16 << 10;

/// Bytes of a piece: the part of a long vector that is in the segment at once. Two of them, and
/// two of results, stay in the second-level cache of most processors.
pub(crate) const PIECE: usize = 128 << 10;

/// Bytes of a seat: what the process of a rank says of itself.
pub(crate) const SEAT: usize = PAGE;

/// Lines of the program that a rank has written down, and the bytes of each.
pub(crate) const SITES: usize = 1 << 16;
pub(crate) const SITE: usize = 256;

/// In the page at the start of an area: whether a stall has been told.
pub(crate) const STALL: usize = 256;

/// In a desk.
pub(crate) const GATE: usize = 0;
pub(crate) const PROGRESS: usize = GATE + size_of::<Gate>();
pub(crate) const BELL: usize = PROGRESS + size_of::<Progress>();
/// The word that is 1 when the member has left: behind the bell's word, in its line.
pub(crate) const LEFT: usize = BELL + 64;
/// Where the member waits, if it does.
pub(crate) const WAITING: usize = LEFT + 64;
pub(crate) const EAGERS: usize = PAGE;
pub(crate) const PIECES_IN: usize = EAGERS + SLOTS * EAGER;
pub(crate) const PIECES_OUT: usize = PIECES_IN + 2 * PIECE;
pub(crate) const DESK: usize = PIECES_OUT + 2 * PIECE;

const _: () = assert!(WAITING + size_of::<Waiting>() <= EAGERS && WAITING.is_multiple_of(128));
const _: () = assert!(DESK.is_multiple_of(PAGE));
const _: () = assert!(EAGER.is_multiple_of(PAGE) && RING.is_multiple_of(PAGE));

/// See the module documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) ranks: usize,
    /// Communicators that may exist at once.
    pub(crate) areas: usize,
    /// Bytes of user memory of a rank.
    pub(crate) part: usize,
    area: usize,
    total: usize,
}

impl Layout {
    /// Of so many ranks, with so many bytes of user memory each; none if there is no such segment.
    pub(crate) fn new(ranks: usize, part: usize) -> Option<Layout> {
        if ranks == 0 || ranks > MAX_RANKS {
            return None;
        }
        let part = part.checked_next_multiple_of(PAGE)?;
        let areas = (1024 / ranks).clamp(8, 64);
        let area = PAGE + ranks * DESK + ranks * ranks * RING;
        let fixed = 2 * PAGE + ranks * (SEAT + SITES * SITE) + areas * area;
        let total = fixed.checked_add(ranks.checked_mul(part)?)?;
        (total <= isize::MAX as usize).then_some(Layout { ranks, areas, part, area, total })
    }

    /// Bytes of the segment.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// The words that say which areas are taken.
    pub(crate) fn area_words(&self) -> usize {
        PAGE
    }

    pub(crate) fn seat(&self, rank: usize) -> usize {
        assert!(rank < self.ranks);
        2 * PAGE + rank * SEAT
    }

    pub(crate) fn site(&self, rank: usize, site: usize) -> usize {
        assert!(rank < self.ranks && site < SITES);
        2 * PAGE + self.ranks * SEAT + (rank * SITES + site) * SITE
    }

    pub(crate) fn area(&self, area: usize) -> usize {
        assert!(area < self.areas);
        2 * PAGE + self.ranks * (SEAT + SITES * SITE) + area * self.area
    }

    /// Bytes of an area.
    pub(crate) fn area_bytes(&self) -> usize {
        self.area
    }

    /// The place of member `member`, in an area.
    pub(crate) fn desk(&self, member: usize) -> usize {
        assert!(member < self.ranks);
        PAGE + member * DESK
    }

    /// The ring of messages between two members, in an area.
    pub(crate) fn ring(&self, from: usize, to: usize) -> usize {
        assert!(from < self.ranks && to < self.ranks);
        PAGE + self.ranks * DESK + (from * self.ranks + to) * RING
    }

    /// Bytes `from` to `from + bytes` of the user memory of `rank`, if they are there.
    pub(crate) fn memory(&self, rank: usize, from: usize, bytes: usize) -> Option<usize> {
        let inside = from.checked_add(bytes)? <= self.part && rank < self.ranks;
        inside.then(|| self.area(0) + self.areas * self.area + rank * self.part + from)
    }
}

/// A buffer of symmetric memory that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TakenBuffer {
    /// Of the part of each rank.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) bytes: usize,
    pub(crate) number: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_all_is_inside() {
        for (ranks, part) in [(1, 0), (2, 5000), (7, 1 << 20), (128, 1 << 28)] {
            let layout = Layout::new(ranks, part).unwrap();
            let mut places = vec![(0, PAGE), (layout.area_words(), 8 * layout.areas)];
            for rank in 0..ranks {
                places.push((layout.seat(rank), SEAT));
                places.push((layout.site(rank, 0), SITES * SITE));
                places.push((layout.memory(rank, 0, layout.part).unwrap(), layout.part));
            }
            for area in 0..layout.areas {
                let at = layout.area(area);
                places.push((at, PAGE));
                for a in 0..ranks {
                    places.push((at + layout.desk(a), DESK));
                    places.extend((0..ranks).map(|b| (at + layout.ring(a, b), RING)));
                }
                let last = at + layout.ring(ranks - 1, ranks - 1) + RING;
                assert!(last <= at + layout.area_bytes());
            }
            places.sort_unstable();
            assert!(places.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0));
            let (at, bytes) = places[places.len() - 1];
            assert_eq!(at + bytes, layout.total());
            assert!(places.iter().all(|it| it.0 % 128 == 0));
            assert_eq!(
                layout.memory(0, part, layout.part),
                None.filter(|_| part > 0).or((part == 0).then(|| layout.memory(0, 0, 0).unwrap()))
            );
            assert_eq!(layout.memory(ranks, 0, 0), None);
            assert_eq!(layout.memory(0, usize::MAX, 2), None);
        }
        assert_eq!(Layout::new(0, 0), None);
        assert_eq!(Layout::new(MAX_RANKS + 1, 0), None);
        assert_eq!(Layout::new(2, usize::MAX), None);
        assert_eq!(Layout::new(2, usize::MAX / 2), None);
    }
}
