//! The memory of one rank's part of a window.

use crate::mailbox::FreshMemory;
use crate::sync::diagnostic::{AtomicU64, Ordering::Relaxed};
use std::ptr::NonNull;

/// `len` elements, written once by the rank that has made them: their pages lie in the memory of
/// its core. Access to them is the windows' affair.
pub(super) struct WindowPart<E> {
    memory: FreshMemory<E>,
    /// That no other part of the process has.
    number: u64,
}

impl<E> WindowPart<E> {
    /// `len` elements, each made by `fill`; or why there is no memory for them.
    pub(super) fn new(len: usize, mut fill: impl FnMut(usize) -> E) -> Result<Self, String> {
        const { assert!(!std::mem::needs_drop::<E>(), "elements are plain values") }
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let size = size_of::<E>();
        let mut memory = FreshMemory::new(len, &[]).map_err(|refused| {
            let is_countable = refused.bytes <= isize::MAX as usize;
            match is_countable {
                true => format!("there is no memory for {len} elements of {size} bytes"),
                false => format!("{len} elements of {size} bytes are more than any memory holds"),
            }
        })?;
        // Relaxed: of an RMW on one word, and it publishes nothing.
        let number = NEXT.fetch_add(1, Relaxed);
        // Of elements without a size one is enough: it is all that there is to copy.
        let count = if size == 0 { len.min(1) } else { len };
        for (i, place) in memory.places()[..count].iter_mut().enumerate() {
            place.write(fill(i));
        }
        Ok(WindowPart { memory, number })
    }

    pub(super) fn at(&self) -> NonNull<E> {
        self.memory.at()
    }

    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::page;

    #[test]
    fn parts_are_apart_and_filled() {
        #[derive(Clone, Copy, Default)]
        #[repr(align(16384))]
        struct Wide {
            _byte: u8,
        }
        for len in [0, 1, 15, 511, 512, 513, 5000] {
            let part = WindowPart::new(len, |i| i as u64).unwrap();
            let apart = if len * 8 >= page() { page() } else { 128 };
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
