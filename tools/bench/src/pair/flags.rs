//! Two flags on a page that no thread has touched before.
//!
//! The node of a line's memory can matter more than how far the cores are apart: on EPYC a
//! hand-over within one package costs twice as much if the page belongs to the other one. A page
//! belongs to the node of the core that writes it first, so that has to be one of the two, and it
//! has to be known which.

use std::sync::atomic::{AtomicU64, Ordering};

/// Room that an allocator takes straight from the system, so that its pages are
/// new: glibc's limit for that grows up to 32 MiB. Only one page of it is ever
/// written, so no more is ever there.
const FRESH: usize = 33 << 20;
/// Looks after which somebody else may have the core.
const LOOKS: u32 = 1 << 14;

/// A flag on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(256))]
struct Flag(AtomicU64);

#[derive(Debug, Default)]
#[repr(align(4096))]
struct Page([Flag; 2]);

/// Two flags, one written by side 0, one by side 1.
#[derive(Debug)]
pub(crate) struct Flags {
    pages: Vec<Page>,
}

impl Flags {
    /// Flags on a page that this thread has been the first to touch.
    pub(crate) fn touched() -> Self {
        let mut pages = Vec::with_capacity(FRESH / size_of::<Page>());
        pages.push(Page::default());
        Flags { pages }
    }

    /// Stores `number` into this side's flag.
    #[inline(always)]
    pub(crate) fn set(&self, side: usize, number: u64) {
        // Ordering: Release to the Acquire in `wait`, as every flag of the
        // library has to have.
        self.pages[0].0[side].0.store(number, Ordering::Release);
    }

    /// Waits until the other side's flag is above `number`, and returns it.
    #[inline(always)]
    pub(crate) fn wait(&self, side: usize, number: u64) -> u64 {
        let flag = &self.pages[0].0[1 - side].0;
        let mut looks = 0u32;
        loop {
            // Ordering: see `set`.
            let seen = flag.load(Ordering::Acquire);
            if seen > number {
                return seen;
            }
            looks += 1;
            if looks == LOOKS {
                looks = 0;
                std::thread::yield_now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_apart_and_heard() {
        let flags = Flags::touched();
        assert_eq!(flags.pages.len(), 1);
        assert!(size_of::<Page>() == 4096 && flags.pages[0].0.as_ptr().addr().is_multiple_of(4096));
        std::thread::scope(|s| {
            s.spawn(|| {
                for k in 1..100 {
                    assert_eq!(flags.wait(1, k - 1), k);
                    flags.set(1, k);
                }
            });
            for k in 1..100 {
                flags.set(0, k);
                assert_eq!(flags.wait(0, k - 1), k);
            }
        });
    }
}
