//! An allocator that counts the allocated bytes.
//!
//! The system's memory in use says little about a leak of a few bytes a call:
//! allocators keep what was freed, one heap for several threads, and more of it
//! the longer a program runs. What was asked for and not given back is exact.
//!
//! Own code, since the crates that count do not pass `alloc_zeroed` on, or say
//! nothing about it: then memory that is never touched would be filled here, and
//! what `bench` measures would lie elsewhere.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes asked for less bytes given back.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated now, by all threads.
pub(crate) fn live_bytes() -> usize {
    LIVE.load(Relaxed)
}

fn grown(at: *mut u8, bytes: usize) -> *mut u8 {
    if !at.is_null() {
        LIVE.fetch_add(bytes, Relaxed);
    }
    at
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
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let new = unsafe { System.realloc(at, layout, size) };
        if !new.is_null() {
            LIVE.fetch_add(size, Relaxed);
            LIVE.fetch_sub(layout.size(), Relaxed);
        }
        new
    }
}

/// Gives back to the system what the allocator keeps of memory that was freed,
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
        let (before, much) = (live_bytes(), 256 << 20);
        let mut block: Vec<u8> = std::hint::black_box(vec![0; much]);
        assert!(live_bytes() >= before + much / 2, "{before} {}", live_bytes());
        block.reserve_exact(much);
        let block = std::hint::black_box(block);
        assert!(live_bytes() >= before + much + much / 2, "{before} {}", live_bytes());
        drop(block);
        assert!(live_bytes() < before + much / 2, "{before} {}", live_bytes());
    }
}
