//! Memory straight from the system: pages that nobody has touched, each of which will lie in the
//! memory of the core that first writes to it.

#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) use memmap2::MmapMut as Pages;

#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
use memmap2::Advice::{HugePage, NoHugePage};
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
use std::ops::Range;

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

/// The answer to a request for huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HugeRequest {
    /// There is no room for one, or no system to ask.
    Small,
    /// The system has taken the request, of so many bytes.
    #[allow(dead_code)] // Made on Linux only, as is the next.
    Taken(usize),
    /// It has not, with this error's number.
    #[allow(dead_code)]
    Refused(i32),
}

/// The size of a huge page: as much as a table of pages holds, of which each entry takes 8 bytes.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) fn huge_page() -> usize {
    page() * (page() / 8)
}

/// Asks for huge pages where one lies within `elements`, between two of the `cuts` (places in
/// there, ascending), and for none elsewhere: the kernel joins mappings that meet, and a huge page
/// that ranks of several memories write to lies in the memory of one.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
pub(crate) fn advise_huge_pages(
    pages: &Pages,
    elements: Range<usize>,
    cuts: impl Iterator<Item = usize>,
) -> HugeRequest {
    let (huge, at) = (huge_page(), pages.as_ptr().addr());
    // A hint: its answer does not matter.
    let small = |from: usize, to: usize| {
        if from < to {
            drop(pages.advise_range(NoHugePage, from, to - from));
        }
    };
    let (mut taken, mut refused) = (0, None);
    let (mut from, mut done) = (elements.start, 0);
    for to in cuts.map(|cut| elements.start + cut).chain([elements.end]) {
        let first = (at + from).next_multiple_of(huge) - at;
        let last = ((at + to) / huge * huge).saturating_sub(at);
        if first < last {
            small(done, first);
            match pages.advise_range(HugePage, first, last - first) {
                Ok(()) => taken += last - first,
                Err(why) => refused = Some(why.raw_os_error().unwrap_or_default()),
            }
            done = last;
        }
        from = to;
    }
    small(done, pages.len());
    match (taken, refused) {
        (0, None) => HugeRequest::Small,
        (0, Some(why)) => HugeRequest::Refused(why),
        (taken, _) => HugeRequest::Taken(taken),
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
