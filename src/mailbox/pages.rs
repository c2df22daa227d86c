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

/// As far as nobody says otherwise.
#[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) fn page() -> usize {
    4096
}
