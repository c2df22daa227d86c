//! How the C library's allocator grows the heaps of ranks' threads.
//!
//! A thread's heap has 64 MiB of addresses, of which the allocator opens as much as the next block
//! lacks: with small blocks, a system call (`mprotect`) for each page. Processes have the heap of
//! their first thread, which grows by 128 KiB. So heaps are opened nearly whole when they begin; a
//! page still is taken when it is first written.

use std::ffi::c_int;

/// Bytes that are opened ahead. Fewer than a heap has: an empty heap goes back to the system as
/// soon as so many bytes are free in the one before.
const AHEAD: c_int = 60 << 20;

/// Blocks of so many bytes are mapped one by one. Otherwise the allocator learns this number, up to
/// the same one, from what a program frees; whoever sets any of the three ends that.
const MAPPED: c_int = 32 << 20;

/// Free bytes at the end of a heap that do not go back: what the allocator learns for `MAPPED`.
const KEPT: c_int = 2 * MAPPED;

/// For all heaps that begin from now on, unless the user has set the allocator.
pub(crate) fn open_ahead() {
    let is_set = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let is_own = name.starts_with("MALLOC_") && name.ends_with('_');
        is_own || name == "GLIBC_TUNABLES" && value.contains("glibc.malloc.")
    };
    if std::env::vars_os().any(is_set) {
        return;
    }
    let values = [(libc::M_TOP_PAD, AHEAD), (libc::M_MMAP_THRESHOLD, MAPPED)];
    for (what, value) in values.into_iter().chain([(libc::M_TRIM_THRESHOLD, KEPT)]) {
        // SAFETY: numbers; the allocator takes its own locks.
        unsafe { libc::mallopt(what, value) };
    }
}
