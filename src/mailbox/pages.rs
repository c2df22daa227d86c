//! Memory straight from the system: pages that nobody has touched, each of which will lie in the
//! memory of the core that first writes to it.

#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) use memmap2::MmapMut as Pages;

#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
use memmap2::Advice::NoHugePage;

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

/// Whether the process's address space has a limit (`ulimit -v`).
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) fn is_space_limited() -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: writes two numbers.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) == 0 };
    is_known && limit.rlim_cur != libc::RLIM_INFINITY
}

/// Whether so many bytes of address space are there. (Not what an allocator has: that keeps some
/// which no thread's stack can be in.)
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) fn has_space(bytes: usize) -> bool {
    memmap2::MmapOptions::new().len(bytes).no_reserve_swap().map_anon().is_ok()
}

/// As far as nobody says otherwise.
#[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn is_space_limited() -> bool {
    false
}

/// As far as nobody says otherwise.
#[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn has_space(_: usize) -> bool {
    true
}

/// Asks the kernel for no huge page that holds the begin or the end of these: it joins mappings
/// that meet, and a huge page of several ranks' memory lies in the node of one. A hint: its answer
/// does not matter.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) fn keep_apart(pages: &Pages) {
    let small = |from: usize, to: usize| drop(pages.advise_range(NoHugePage, from, to - from));
    // As much as a table of pages holds, of which each entry takes 8 bytes.
    let huge = page() * (page() / 8);
    let (at, bytes) = (pages.as_ptr().addr(), pages.len());
    let (first, last) = (at.next_multiple_of(huge) - at, (at + bytes) / huge * huge);
    match last.checked_sub(at).filter(|last| first < *last) {
        Some(last) => {
            small(0, first);
            small(last, bytes);
        }
        None => small(0, bytes),
    }
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
