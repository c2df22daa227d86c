//! The futex barrier.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// A barrier that sleeps at once: one counter, one generation, one wake for all.
pub(crate) struct Futex {
    left: AtomicU32,
    generation: AtomicU32,
    ranks: u32,
}

impl Futex {
    pub(crate) fn new(ranks: usize) -> Self {
        let ranks = ranks as u32;
        Futex { left: AtomicU32::new(ranks), generation: AtomicU32::new(0), ranks }
    }

    pub(crate) fn wait(&self) {
        let now = self.generation.load(Acquire);
        if self.left.fetch_sub(1, AcqRel) == 1 {
            self.left.store(self.ranks, Relaxed);
            self.generation.store(now.wrapping_add(1), Release);
            return self.call(libc::FUTEX_WAKE, u32::MAX >> 1);
        }
        while self.generation.load(Acquire) == now {
            self.call(libc::FUTEX_WAIT, now);
        }
    }

    fn call(&self, operation: i32, value: u32) {
        let word = self.generation.as_ptr();
        let none = std::ptr::null::<libc::timespec>();
        // SAFETY: the word outlives the call, which compares it or wakes by its address.
        unsafe {
            libc::syscall(libc::SYS_futex, word, operation | libc::FUTEX_PRIVATE_FLAG, value, none)
        };
    }
}
