//! The memory of one rank's part of a window.

use crate::mailbox::{Pages, page};
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
use crate::mailbox::{keep_apart, keep_at_home};
use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// `len` elements, written once by the rank that has made them: their pages lie in the memory of
/// its core. Access to them is the windows' affair.
pub(super) struct WindowPart<E> {
    at: NonNull<E>,
    len: usize,
    /// That no other part of the process has.
    number: u64,
    memory: PartMemory,
}

/// What the elements lie in, until the part goes.
enum PartMemory {
    /// Nothing: elements of no bytes.
    None,
    #[allow(dead_code)] // Held until dropped; only made on Linux.
    Pages(Pages),
    Heap(Layout),
}

// SAFETY: a part owns its elements, as a box would, and hands out an address only.
unsafe impl<E: Send> Send for WindowPart<E> {}
// SAFETY: as above.
unsafe impl<E: Sync> Sync for WindowPart<E> {}

/// No two parts share what a core fetches at once: lines come in pairs.
const APART: usize = 128;

impl<E> WindowPart<E> {
    /// `len` elements, each made by `fill`; or why there is no memory for them.
    pub(super) fn new(len: usize, mut fill: impl FnMut(usize) -> E) -> Result<Self, String> {
        const { assert!(!std::mem::needs_drop::<E>(), "elements are plain values") }
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let size = size_of::<E>();
        let bytes = len.checked_mul(size).filter(|&bytes| bytes <= isize::MAX as usize);
        let Some(bytes) = bytes else {
            return Err(format!("{len} elements of {size} bytes are more than any memory holds"));
        };
        let (at, memory) = memory_of::<E>(bytes)
            .ok_or_else(|| format!("there is no memory for {len} elements of {size} bytes"))?;
        // Relaxed: of an RMW on one word, and it publishes nothing.
        let number = NEXT.fetch_add(1, Relaxed);
        let part = WindowPart { at, len, number, memory };
        // Of elements without a size one is enough: it is all that there is to copy.
        for i in 0..if size == 0 { len.min(1) } else { len } {
            // SAFETY: there is room for `len` elements, which nobody else knows of yet.
            unsafe { part.at.add(i).write(fill(i)) };
        }
        Ok(part)
    }

    pub(super) fn at(&self) -> NonNull<E> {
        self.at
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// PartMemory for `bytes` bytes: from a page on, pages of its own.
fn memory_of<E>(bytes: usize) -> Option<(NonNull<E>, PartMemory)> {
    if bytes == 0 {
        return Some((NonNull::dangling(), PartMemory::None));
    }
    let align = align_of::<E>().max(APART);
    #[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
    if bytes >= page() && align <= page() {
        let mut pages = memmap2::MmapOptions::new().len(bytes).map_anon().ok()?;
        keep_apart(&pages);
        keep_at_home(pages.as_ptr(), bytes);
        return Some((NonNull::new(pages.as_mut_ptr().cast())?, PartMemory::Pages(pages)));
    }
    let align = if bytes >= page() { align.max(page()) } else { align };
    let layout = Layout::from_size_align(bytes, align).ok()?;
    // SAFETY: of more than no bytes.
    let at = unsafe { alloc(layout) };
    Some((NonNull::new(at.cast())?, PartMemory::Heap(layout)))
}

impl<E> Drop for WindowPart<E> {
    fn drop(&mut self) {
        // Pages go with their field: elements need no drop.
        if let PartMemory::Heap(layout) = self.memory {
            // SAFETY: made by `alloc` with this layout, and nobody borrows it any more.
            unsafe { dealloc(self.at.as_ptr().cast(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_apart_and_filled() {
        #[derive(Clone, Copy, Default)]
        #[repr(align(16384))]
        struct Wide {
            _byte: u8,
        }
        for len in [0, 1, 15, 511, 512, 513, 5000] {
            let part = WindowPart::new(len, |i| i as u64).unwrap();
            let apart = if len * 8 >= page() { page() } else { APART };
            assert!(len == 0 || part.at().addr().get().is_multiple_of(apart), "{len}");
            // SAFETY: of this test alone.
            let elements = unsafe { std::slice::from_raw_parts(part.at().as_ptr(), part.len()) };
            assert!(elements.iter().zip(0..).all(|(x, i)| *x == i));
        }
        let wide = WindowPart::new(3, |_| Wide::default()).unwrap();
        assert!(wide.at().addr().get().is_multiple_of(16384));
        assert_eq!(WindowPart::new(usize::MAX, |i| assert_eq!(i, 0)).unwrap().len(), usize::MAX);
    }

    /// The kernel takes a huge page within one mapping only, and none where it is told so ("nh").
    #[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
    #[test]
    fn no_huge_page_holds_two_parts() {
        use std::io::Write;
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return writeln!(std::io::stderr(), "skipped: no huge pages here").unwrap();
        }
        let lens = [1 << 16, 1 << 16, 1 << 20, 1 << 16, 1 << 20, 1 << 20];
        let parts: Vec<_> = lens.map(|len| WindowPart::new(len, |i| i as u64).unwrap()).into();
        let told = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let huge = page() * (page() / 8);
        let mut mapping = 0..0;
        let mut looked = 0;
        for line in told.lines() {
            let word = line.split(' ').next().unwrap();
            if let Some((from, to)) = word.split_once('-') {
                let address = |text| usize::from_str_radix(text, 16).unwrap();
                mapping = address(from)..address(to);
            }
            if !line.starts_with("VmFlags:") || line.contains(" nh") {
                continue;
            }
            for part in &parts {
                let from = part.at().addr().get();
                for edge in [from, from + part.len() * 8] {
                    let within = mapping.start < edge && edge < mapping.end;
                    assert!(!within || edge.is_multiple_of(huge), "{edge:x} in {mapping:x?}");
                }
                looked += usize::from(part.len() == 1 << 20 && mapping.contains(&(from + huge)));
            }
        }
        assert!(huge != 2 << 20 || looked == 3, "{looked} of 3 parts of 8 MiB may have huge pages");
    }

    #[test]
    fn what_no_memory_holds_is_refused() {
        let text = |len| WindowPart::new(len, |_| 0u64).map(drop).unwrap_err();
        assert!(text(usize::MAX / 4).contains("more than any memory holds"));
        assert!(text(isize::MAX as usize / 8).contains("there is no memory for"));
    }
}
