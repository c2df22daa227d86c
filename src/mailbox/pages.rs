//! Memory straight from the system: pages that nobody has touched, each of which will lie in the
//! memory of the core that first writes to it.

#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) use memmap2::MmapMut as Pages;

/// There are no pages from the system elsewhere.
#[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
pub(crate) type Pages = std::convert::Infallible;

/// The size of a page: a power of two.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) fn page() -> usize {
    // SAFETY: asks for a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(page).ok().filter(|page| page.is_power_of_two()).unwrap_or(4096).max(4096)
}

/// Keeps the pages of `bytes` bytes from `at` on, where a page begins, in the memory of the core
/// that touches each first. (A kernel that balances memories, `kernel.numa_balancing`, moves pages
/// without a policy of their own to the cores that use them.) A hint: returns whether the system
/// has taken it, which containers may forbid.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) fn keep_at_home(at: *const u8, bytes: usize) -> bool {
    // SAFETY: the policy says where pages are taken from, and nothing about their contents; it
    // reads no set of nodes, whose address is null.
    unsafe {
        let none = std::ptr::null::<libc::c_ulong>();
        libc::syscall(libc::SYS_mbind, at, bytes, libc::MPOL_LOCAL, none, 0_usize, 0_usize) == 0
    }
}

/// As far as nobody says otherwise.
#[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn page() -> usize {
    4096
}
