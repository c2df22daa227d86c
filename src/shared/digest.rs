//! The digest of a call's extents or counts. It distinguishes calls that agree in operation, type,
//! length, root and algorithm.

use crate::mix::{STEP, mix};
use std::fmt;

/// Extents, counts, or nothing, in a word: extents as they are, where they fit;
/// anything else hashed.
///
/// | bits 62..64 | bits 0..62 |
/// |---|---|
/// | 0 | 0: nothing to tell apart; else hash of extents that do not fit |
/// | 1 | 56..62: number of extents, up to 5; below it 11 bits of each |
/// | 2 | the same with up to 11 extents of 5 bits |
/// | 3 | 57..62: low bits of the number of these counts (`counts.rs`); below them a hash |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) u64);

const HASH: u64 = (1 << 62) - 1;
pub(super) const NUMBERS_AT: u32 = 57;
pub(super) const NUMBER: u64 = 0x1f;
/// By tag, 1 or 2: extents that fit, and bits of each; ranks are at most 2^10.
const PACKED: [(usize, u32); 2] = [(5, 11), (11, 5)];

fn hash(numbers: impl Iterator<Item = usize>) -> u64 {
    numbers.fold(STEP, |h, n| mix(h ^ n as u64).wrapping_add(h << 1 | 1)) & HASH
}

impl Digest {
    pub(crate) const NONE: Digest = Digest(0);

    /// A mesh's.
    pub(crate) fn of_mesh(extents: &[usize]) -> Self {
        let n = extents.len();
        for (tag, (most, bits)) in (1..).zip(PACKED) {
            if n <= most && extents.iter().all(|&e| e < 1 << bits) {
                let extents = extents.iter().rev();
                let packed = extents.fold(0, |packed, &e| packed << bits | e as u64);
                return Digest(tag << 62 | (n as u64) << 56 | packed);
            }
        }
        Digest(hash(extents.iter().copied()) | 1)
    }

    /// That of varied blocks, the rank's change `number` of counts.
    pub(crate) fn of_counts(number: u64, counts: impl Iterator<Item = usize>) -> Self {
        Digest(3 << 62 | (number & NUMBER) << NUMBERS_AT | hash(counts) & ((1 << NUMBERS_AT) - 1))
    }

    /// That of a plan, which call `number` has made. (The parameter of its calls has the number's
    /// low bits only.)
    #[inline(always)]
    pub(crate) fn of_plan(number: usize) -> Self {
        Digest(number as u64 & HASH)
    }

    /// That of a tagged message, for its record only: no fingerprint has it. None: any tag.
    pub(crate) fn of_tag(tag: Option<u32>) -> Self {
        Digest(1 << 32 | u64::from(tag.is_none()) << 33 | u64::from(tag.unwrap_or(0)))
    }

    /// What a tagged message's record says beside the call, which names a rank or any
    /// (`has_rank`).
    pub(crate) fn tag_in_words(self, has_rank: bool) -> String {
        let from = if has_rank { "" } else { ", from any rank" };
        match self.0 >> 33 {
            0 => format!("{from}, tag {}", self.0 as u32),
            _ => format!("{from}, any tag"),
        }
    }

    pub(crate) fn is_of_counts(self) -> bool {
        self.0 >> 62 == 3
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 >> 62 {
            0 if self.0 == 0 => f.write_str("none"),
            0 => write!(f, "those of hash {:x}", self.0),
            3 => f.write_str("other counts"),
            tag => {
                let (_, bits) = PACKED[tag as usize - 1];
                let n = (self.0 >> 56 & 0x3f) as u32;
                let extent = |i: u32| self.0 >> (i * bits) & ((1 << bits) - 1);
                (0..n).try_for_each(|i| {
                    let sep = if i == 0 { "" } else { "x" };
                    write!(f, "{sep}{}", extent(i))
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn digests_are_told_apart_and_shown() {
        let mesh = Digest::of_mesh;
        assert_eq!(mesh(&[2, 3]).to_string(), "2x3");
        assert_eq!(mesh(&[1024]).to_string(), "1024");
        assert_eq!(mesh(&[2, 2, 2, 2, 2]).to_string(), "2x2x2x2x2");
        assert_eq!(mesh(&[31, 1, 1, 1, 2, 2, 1, 2]).to_string(), "31x1x1x1x2x2x1x2");
        assert!(mesh(&[2; 12]).to_string().starts_with("those of hash "));
        assert_ne!(mesh(&[2; 12]), mesh(&[2; 13]));
        assert_ne!(mesh(&[2, 3]), mesh(&[3, 2]));
        assert_ne!(mesh(&[6, 1]).bits(), mesh(&[6]).bits());
        assert_eq!(Digest::NONE.bits(), 0);
    }

    /// Of counts the number is in the bits that are in no other field.
    #[test]
    fn numbers_of_counts_are_told_apart() {
        for number in 0..100u64 {
            let digest = |n: u64| Digest::of_counts(n, [1, 2, 3].into_iter());
            assert!(digest(number).is_of_counts());
            assert_eq!(digest(number).bits() & 0x1f, number & 0x1f);
            assert_ne!(digest(number).bits() & 1, digest(number + 1).bits() & 1);
        }
    }
}
