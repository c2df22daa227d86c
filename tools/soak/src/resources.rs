//! The resources of this process: memory, descriptors, threads.

use crate::heap;

/// Holdings at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holdings {
    /// Bytes allocated and not freed since they are counted ([`heap::count`]).
    pub(crate) heap: i64,
    /// Memory in use, in KiB: the heap, the memory that the library has from the system by
    /// itself (mailboxes), stacks, the program. Less the part that the allocator keeps of
    /// memory that was freed, if it can be asked to give that back.
    pub(crate) rss_kib: u64,
    /// Open file descriptors.
    pub(crate) descriptors: usize,
    /// Threads.
    pub(crate) threads: usize,
}

impl Holdings {
    /// Those of now; none where the system does not say (no `/proc`).
    pub(crate) fn now() -> Option<Self> {
        let heap = heap::live_bytes();
        heap::trim();
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        // Less the one that reads the directory.
        let descriptors = std::fs::read_dir("/proc/self/fd").ok()?.count() - 1;
        Some(Holdings {
            heap,
            rss_kib: number("VmRSS:")?,
            descriptors,
            threads: number("Threads:")? as usize,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted() {
        heap::count();
        let before = Holdings::now().unwrap();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let with_block = Holdings::now().unwrap();
        assert!(with_block.heap > before.heap + (32 << 20), "{before:?} {with_block:?}");
        assert!(with_block.rss_kib > before.rss_kib + (32 << 10), "{before:?} {with_block:?}");
        drop(block);
        let files: Vec<_> = (0..100).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        // Other tests open files, too, but not that many.
        assert!(Holdings::now().unwrap().descriptors >= files.len());
        assert!(before.threads >= 1);
    }
}
