//! Hints that a line of memory will be used soon: they have no effect but on the caches.

/// The line at `at` will be read.
#[inline(always)]
pub fn to_read<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    // SAFETY: any address will do.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    let _ = at;
}

/// The line at `at` will be written.
#[inline(always)]
pub fn to_write<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    // SAFETY: any address will do; 64-bit processors since 2006 execute it, or ignore it.
    unsafe {
        std::arch::asm!(
            "prefetchw byte ptr [{}]",
            in(reg) at,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    let _ = at;
}
