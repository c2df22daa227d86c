//! In which NUMA node the pages of this process lie.

/// The node of each page of `bytes` bytes from `at` on; `None` for a page that nobody has touched.
/// Without a word of the system about it: why.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn nodes_of(at: usize, bytes: usize) -> Result<Vec<Option<usize>>, String> {
    // SAFETY: asks for a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).map_err(|_| "the size of a page is not known".to_string())?;
    let pages: Vec<usize> = (at / page * page..at + bytes).step_by(page).collect();
    let mut nodes = vec![-1_i32; pages.len()];
    // SAFETY: with no nodes to move to the kernel only tells: it reads as many addresses, and
    // writes as many numbers, as the vectors have.
    let status = unsafe {
        let none = std::ptr::null::<libc::c_int>();
        let (pages, count, nodes) = (pages.as_ptr(), pages.len(), nodes.as_mut_ptr());
        libc::syscall(libc::SYS_move_pages, 0, count, pages, none, nodes, 0)
    };
    if status != 0 {
        return Err(format!("the system does not tell: {}", std::io::Error::last_os_error()));
    }
    Ok(nodes.into_iter().map(|node| usize::try_from(node).ok()).collect())
}

/// The whole pages of `bytes` bytes from `at` on: where they begin, and their bytes.
pub(super) fn whole_pages(at: usize, bytes: usize) -> (usize, usize) {
    // As large as any system's.
    const PAGE: usize = 1 << 16;
    let (first, last) = (at.next_multiple_of(PAGE), (at + bytes) / PAGE * PAGE);
    (first, last.saturating_sub(first))
}

/// Whether this process may say where pages are to be (`mbind`, which containers forbid).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn can_keep() -> bool {
    let none = std::ptr::null::<libc::c_ulong>();
    // SAFETY: of no memory at all; it reads no set of nodes: its address is null.
    unsafe {
        libc::syscall(libc::SYS_mbind, 0_usize, 0_usize, libc::MPOL_LOCAL, none, 0_usize, 0_usize)
            == 0
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn can_keep() -> bool {
    false
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn nodes_of(_at: usize, _bytes: usize) -> Result<Vec<Option<usize>>, String> {
    Err("asked for on Linux only".to_string())
}

/// Bytes in pages that nobody has touched before, each `value`, written here. (An allocator may
/// hand out memory that another thread has left.) Panics where there is no memory.
pub(super) fn fresh_bytes(len: usize, value: u8) -> memmap2::MmapMut {
    let mut bytes = memmap2::MmapMut::map_anon(len)
        .unwrap_or_else(|why| panic!("no memory for {len} bytes: {why}"));
    // The kernel joins neighbours, and a huge page of several ranks' bytes lies in one node.
    #[cfg(target_os = "linux")]
    drop(bytes.advise(memmap2::Advice::NoHugePage));
    bytes.fill(value);
    bytes
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_written_are_somewhere() {
        let bytes = vec![1_u8; 1 << 16];
        let Ok(nodes) = nodes_of(bytes.as_ptr().addr(), bytes.len()) else {
            return eprintln!("skipped: the system does not tell where pages are");
        };
        assert!(nodes.len() >= 16 && nodes.iter().all(Option::is_some), "{nodes:?}");
    }
}
