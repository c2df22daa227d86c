//! Memory for the channels of a communicator, in rows: one row for each reader.
//!
//! Linux puts a page into the memory of the core that first *writes* to it. So where ranks sit in
//! several memories, each row begins on a page of its own, and its reader writes to it before
//! anybody sends ([`Channel::touch`]). That needs pages that nobody has touched: straight from the
//! system, since an allocator fills over-aligned memory with zeros itself (the standard library's
//! does), in the thread that asks for it. The same makes mailboxes that are never used cost no
//! memory, in large communicators.

use super::channel::{Channel, channels};
use super::memory::RefusedMemory;
use super::pages::Pages;
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
use super::pages::{keep_at_home, page};
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
use memmap2::{Advice, MmapOptions};
use std::ops::Deref;
use std::ptr::NonNull;

/// Channels that began as zeros, in rows of [`pitch`](ChannelTable::pitch).
pub(crate) struct ChannelTable {
    channels: NonNull<[Channel]>,
    pitch: usize,
    /// Whether the rows are pages apart.
    apart: bool,
    /// The memory, if it came from the system; else the allocator gave it.
    pages: Option<Pages>,
}

// SAFETY: a block owns its channels, as a box would, and they are `Send`.
unsafe impl Send for ChannelTable {}
// SAFETY: as above, and they are `Sync`.
unsafe impl Sync for ChannelTable {}

/// From this size on the memory comes from the system; below, page faults and system calls cost
/// more than zeros do.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
const LARGE: usize = 128 << 10;

impl ChannelTable {
    /// `rows` rows of `rows` channels, all empty; with `apart` no two rows share a page (as far as
    /// the system has pages to give).
    pub(crate) fn new(rows: usize, apart: bool) -> Result<ChannelTable, RefusedMemory> {
        #[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
        {
            // A channel is nine times 128 bytes, so `page / 128` channels are exactly nine pages.
            const { assert!(size_of::<Channel>() == 9 * 128) }
            let pitch = if apart { rows.next_multiple_of(page() / 128) } else { rows };
            let bytes = rows * pitch * size_of::<Channel>();
            if (apart || bytes >= LARGE)
                && let Some((at, pages)) = map(bytes)
            {
                if apart {
                    keep_at_home(at.as_ptr().cast(), bytes);
                }
                let channels = NonNull::slice_from_raw_parts(at, rows * pitch);
                return Ok(ChannelTable { channels, pitch, apart, pages: Some(pages) });
            }
        }
        let _ = apart;
        let boxed = NonNull::from(Box::leak(channels(rows * rows)?));
        Ok(ChannelTable { channels: boxed, pitch: rows, apart: false, pages: None })
    }

    /// From one row to the next.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn pitch(&self) -> usize {
        self.pitch
    }

    /// Moves the pages of row `row` into the memory of the core that this is called on. (Its reader
    /// comes late: a sender has touched them.) A hint: where the system refuses, they stay.
    #[cfg(not(loom))]
    pub(crate) fn bring_home(&self, row: usize) {
        #[cfg(all(target_os = "linux", not(miri), not(shuttle)))]
        if self.apart {
            let first = std::ptr::from_ref(&self[row * self.pitch]).addr();
            let bytes = self.pitch * size_of::<Channel>();
            let mut pages = Vec::new();
            for at in (first..first + bytes).step_by(page()) {
                pages.push(at);
            }
            bring(pages);
        }
        #[cfg(not(all(target_os = "linux", not(miri), not(shuttle))))]
        let _ = row;
    }

    /// Whether no two rows share a page.
    pub(crate) fn is_apart(&self) -> bool {
        self.apart
    }
}

impl Deref for ChannelTable {
    type Target = [Channel];

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deref(&self) -> &[Channel] {
        // SAFETY: the block owns the slice, and only ever lends it out shared.
        unsafe { self.channels.as_ref() }
    }
}

impl Drop for ChannelTable {
    fn drop(&mut self) {
        // Pages go with their field: channels need no drop.
        if self.pages.is_none() {
            // SAFETY: made by `Box::leak`, and nobody borrows it any more.
            drop(unsafe { Box::from_raw(self.channels.as_ptr()) });
        }
    }
}

/// How often a page is asked to move that somebody uses at that moment.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
const TRIES: usize = 20;

/// Moves these pages into the memory of the core that this is called on.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
fn bring(mut pages: Vec<usize>) {
    /// Of `linux/mempolicy.h`: move what this process alone has.
    const MPOL_MF_MOVE: libc::c_int = 1 << 1;
    let mut node: libc::c_uint = 0;
    // SAFETY: writes one number; the null pointers are for what is not asked for.
    let known = unsafe {
        let (none, node) = (std::ptr::null_mut::<libc::c_uint>(), &raw mut node);
        libc::syscall(libc::SYS_getcpu, none, node, std::ptr::null_mut::<libc::c_void>()) == 0
    };
    let Ok(node) = libc::c_int::try_from(node) else { return };
    if !known {
        return;
    }
    for _ in 0..TRIES {
        // The kernel ends at the first page that cannot move now: of the others it tells nothing.
        let count = pages.len();
        let (nodes, mut said) = (vec![node; count], vec![-libc::EBUSY; count]);
        // SAFETY: the kernel reads as many addresses and nodes, and writes as many numbers, as the
        // vectors have. It moves a page as a whole, whoever uses it meanwhile.
        let status = unsafe {
            let (at, to, said) = (pages.as_ptr(), nodes.as_ptr(), said.as_mut_ptr());
            libc::syscall(libc::SYS_move_pages, 0, count, at, to, said, MPOL_MF_MOVE)
        };
        for (at, no) in said.into_iter().enumerate() {
            if no == -libc::EBUSY || no == -libc::EAGAIN {
                pages.push(pages[at]);
            }
        }
        pages.drain(..count);
        if status < 0 || pages.is_empty() {
            return;
        }
        crate::sync::yield_now();
    }
}

/// Untouched pages of zeros. All-zero bytes are a valid `Channel` (see `channels`), and pages are
/// aligned to more than 128.
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
fn map(bytes: usize) -> Option<(NonNull<Channel>, Pages)> {
    let mut pages = MmapOptions::new().len(bytes).no_reserve_swap().map_anon().ok()?;
    // A huge page would belong to many readers. A hint: its answer does not matter.
    drop(pages.advise(Advice::NoHugePage));
    Some((NonNull::new(pages.as_mut_ptr().cast())?, pages))
}

#[cfg(all(test, target_os = "linux", not(miri), not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::io::Write;

    /// Which pages of a row are in memory.
    fn present(block: &ChannelTable, row: usize) -> Vec<bool> {
        let first: *const Channel = &block[row * block.pitch()];
        let bytes = block.pitch() * size_of::<Channel>();
        let mut pages = vec![0_u8; bytes / page()];
        // SAFETY: the range is part of one mapping, and there is a byte for each of its pages.
        let status =
            unsafe { libc::mincore(first.cast_mut().cast(), bytes, pages.as_mut_ptr().cast()) };
        assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
        pages.into_iter().map(|page| page & 1 == 1).collect()
    }

    #[test]
    fn a_reader_touches_its_own_pages_and_no_others() {
        for rows in [2, 11, 64] {
            let block = ChannelTable::new(rows, true).unwrap();
            assert!(block.is_apart());
            if (0..rows).any(|row| present(&block, row).contains(&true)) {
                let what = "skipped: the system does not say which pages are in memory";
                return writeln!(std::io::stderr(), "{what}").unwrap_or_default();
            }
            let mine = rows / 2;
            block[mine * block.pitch()..][..rows].iter().for_each(Channel::touch);
            let used = (rows * size_of::<Channel>()).div_ceil(page());
            for row in 0..rows {
                let wanted = if row == mine { used } else { 0 };
                let count = present(&block, row).iter().filter(|is| **is).count();
                assert_eq!(count, wanted, "row {row} of {rows}");
            }
        }
    }

    /// A kernel that balances memories moves pages without one.
    #[test]
    fn rows_that_are_apart_have_a_policy_of_their_own() {
        let block = ChannelTable::new(11, true).unwrap();
        let maps = std::fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
        if maps.is_empty() || !keep_at_home(std::ptr::from_ref(&block[0]).cast(), 0) {
            let what = "skipped: the system takes no policies of memory";
            return writeln!(std::io::stderr(), "{what}").unwrap_or_default();
        }
        let first = format!("{:x} ", std::ptr::from_ref(&block[0]).addr());
        let line = maps.lines().find_map(|line| line.trim_start_matches('0').strip_prefix(&first));
        assert!(line.is_some_and(|line| line.starts_with("local")), "{first}: {line:?} in\n{maps}");
    }

    #[test]
    fn channels_are_empty_and_aligned_in_every_kind_of_block() {
        for (rows, apart) in [(1, false), (3, false), (3, true), (40, false), (40, true)] {
            let block = ChannelTable::new(rows, apart).unwrap();
            assert!(block.len() >= rows * rows && block.pitch() >= rows);
            assert!(std::ptr::from_ref(&block[0]).addr().is_multiple_of(128));
            assert!(block.iter().all(|channel| channel.untaken() == 0));
        }
    }
}
