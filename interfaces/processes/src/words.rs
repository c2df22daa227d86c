//! Copies of memory that others read and write meanwhile: by whole words of 8 bytes, each loaded or
//! stored by one relaxed atomic operation. So there is no data race, and no element of 1, 2, 4 or 8
//! bytes is torn.

use crate::sync::{AtomicU64, Ordering};
use std::ops::Range;
use std::ptr::copy_nonoverlapping;

const WORD: usize = 8;

/// The words that have `bytes` bytes from `at` on: of each, the word, its bytes, and the place of
/// the first of them among all.
///
/// # Safety
/// The words are mapped as long as the result is used; nobody uses them but by atomics.
unsafe fn words<'a>(
    at: *const u8,
    bytes: usize,
) -> impl Iterator<Item = (&'a AtomicU64, Range<usize>, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let from = at.wrapping_add(done);
        let skip = from.addr() % WORD;
        let some = (WORD - skip).min(bytes - done);
        if some == 0 {
            return None;
        }
        // SAFETY: by the contract: the word has some of the bytes; aligned.
        let word: &AtomicU64 = unsafe { &*from.wrapping_sub(skip).cast() };
        let item = (word, skip..skip + some, done);
        done += some;
        Some(item)
    })
}

/// Copies shared bytes to the caller's own.
///
/// # Safety
/// As of `words`; and there is room for so many.
pub(crate) unsafe fn read(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: passed on.
    for (word, range, at) in unsafe { words(from, bytes) } {
        let value = word.load(Ordering::Relaxed).to_ne_bytes();
        let to = to.wrapping_add(at);
        // SAFETY: so many of the caller's bytes, and of the word's.
        unsafe {
            if range.len() == WORD {
                to.cast::<[u8; WORD]>().write_unaligned(value);
            } else {
                copy_nonoverlapping(value[range.clone()].as_ptr(), to, range.len());
            }
        }
    }
}

/// Copies the caller's own bytes to shared ones.
///
/// # Safety
/// As of `words`; and there are so many.
pub(crate) unsafe fn write(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: passed on.
    for (word, range, at) in unsafe { words(to, bytes) } {
        let from = from.wrapping_add(at);
        if range.len() == WORD {
            // SAFETY: so many of the caller's bytes.
            let value = unsafe { from.cast::<[u8; WORD]>().read_unaligned() };
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
            continue;
        }
        // The others' bytes of the word stay as they are at that moment.
        let with = |old: u64| {
            let mut value = old.to_ne_bytes();
            let part = value[range.clone()].as_mut_ptr();
            // SAFETY: so many of the caller's bytes, and of the value's.
            unsafe { copy_nonoverlapping(from, part, range.len()) };
            Some(u64::from_ne_bytes(value))
        };
        let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(bytes: [u8; 64]) -> Vec<AtomicU64> {
        let word = |bytes: &[u8]| AtomicU64::new(u64::from_ne_bytes(bytes.try_into().unwrap()));
        bytes.chunks(8).map(word).collect()
    }

    #[test]
    fn bytes_go_to_their_places_and_nowhere_else() {
        let numbers: [u8; 64] = std::array::from_fn(|i| i as u8 + 1);
        for start in 0..24 {
            for bytes in 0..40 {
                let words = shared(numbers);
                let at = words.as_ptr().cast::<u8>().wrapping_add(start).cast_mut();
                let mut got = [0; 64];
                // SAFETY: so many bytes.
                unsafe { read(got.as_mut_ptr().wrapping_add(8), at, bytes) };
                assert_eq!(got[8..8 + bytes], numbers[start..start + bytes]);
                assert!(got[..8].iter().chain(&got[8 + bytes..]).all(|it| *it == 0));
                // SAFETY: as above.
                unsafe { write(at, [0; 64].as_ptr(), bytes) };
                let all: Vec<u8> =
                    words.iter().flat_map(|it| it.load(Ordering::Relaxed).to_ne_bytes()).collect();
                for (i, byte) in all.into_iter().enumerate() {
                    let is_written = (start..start + bytes).contains(&i);
                    assert_eq!(
                        byte,
                        if is_written { 0 } else { numbers[i] },
                        "{start} {bytes} {i}"
                    );
                }
            }
        }
    }

    /// Two threads have one half of a word each.
    #[test]
    fn neighbours_in_a_word_keep_their_values() {
        let words = shared([0; 64]);
        let count = |half: usize| {
            let at = words.as_ptr().cast::<u8>().wrapping_add(4 * half).cast_mut();
            for i in 0..100_000_u32 {
                let mut got = [0; 4];
                // SAFETY: so many bytes.
                unsafe {
                    read(got.as_mut_ptr(), at, 4);
                    assert_eq!(u32::from_ne_bytes(got), i);
                    write(at, (i + 1).to_ne_bytes().as_ptr(), 4);
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| count(0));
            count(1);
        });
    }
}
