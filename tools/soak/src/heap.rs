//! An allocator that counts the allocated bytes, once [`count`] has been called.
//!
//! The system's memory in use says little about a leak of a few bytes a call: allocators keep freed
//! memory, one heap for several threads, and more of it the longer a program runs. The memory that
//! was asked for and not given back is exact.
//!
//! Own code, since the crates that count do not pass `alloc_zeroed` on, or say
//! nothing about it: then memory that is never touched would be filled here, and
//! the memory that `bench` measures would lie elsewhere.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Whether bytes are counted. They are not where time is measured: all threads write the count, so
/// its line went from core to core four times in an exchange of two started messages, which took
/// 270 to 290 ns instead of 150 to 160.
static COUNTS: AtomicBool = AtomicBool::new(false);
/// Bytes asked for less bytes given back, since they are counted.
static LIVE: AtomicI64 = AtomicI64::new(0);

/// Counts from now on.
pub(crate) fn count() {
    COUNTS.store(true, Relaxed);
}

/// Bytes that were allocated and not freed since [`count`] was called, by all threads. Less than
/// none if more was freed that had been allocated before.
pub(crate) fn live_bytes() -> i64 {
    LIVE.load(Relaxed)
}

/// The block at `at`, if there is one, is so many bytes larger.
#[inline(always)]
fn grown(at: *mut u8, bytes: usize) -> *mut u8 {
    if !at.is_null() && COUNTS.load(Relaxed) {
        LIVE.fetch_add(bytes as i64, Relaxed);
    }
    at
}

#[inline(always)]
fn shrunk(bytes: usize) {
    if COUNTS.load(Relaxed) {
        LIVE.fetch_sub(bytes as i64, Relaxed);
    }
}

// SAFETY: everything is passed on as it came to the system's allocator; counting
// allocates nothing and does not unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        grown(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        grown(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        shrunk(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let new = grown(unsafe { System.realloc(at, layout, size) }, size);
        if !new.is_null() {
            shrunk(layout.size());
        }
        new
    }
}

/// Gives back to the system the part that the allocator keeps of memory that was freed,
/// where that can be asked for.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time, by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_is_counted() {
        // Other tests allocate meanwhile, but not that much.
        count();
        let (before, much) = (live_bytes(), 256 << 20);
        let more = much as i64;
        let mut block: Vec<u8> = std::hint::black_box(vec![0; much]);
        assert!(live_bytes() >= before + more / 2, "{before} {}", live_bytes());
        block.reserve_exact(much);
        let block = std::hint::black_box(block);
        assert!(live_bytes() >= before + more + more / 2, "{before} {}", live_bytes());
        drop(block);
        assert!(live_bytes() < before + more / 2, "{before} {}", live_bytes());
    }
}
