//! Memory that nobody has touched, for elements that their ranks write first: each page will lie in
//! the memory of the core that does.

use super::memory::RefusedMemory;
use super::pages::{HugeRequest, Pages};
#[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
use super::pages::{advise_huge_pages, huge_page, keep_at_home, page};
use std::alloc::{Layout, alloc, dealloc};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Room for `len` elements, of which nothing is read, written or dropped here: from a page on, in
/// pages of its own, and in huge ones where the system allows it.
pub(crate) struct FreshMemory<T> {
    at: NonNull<T>,
    len: usize,
    huge: HugeRequest,
    backing: Backing,
    _elements: PhantomData<T>,
}

/// Where the room comes from, until it goes back.
enum Backing {
    /// Nothing: elements of no bytes.
    None,
    #[allow(dead_code)] // Held until dropped; only made on Linux.
    Pages(Pages),
    Heap(Layout),
}

// SAFETY: it owns its room, as a box would, and hands out an address only.
unsafe impl<T: Send> Send for FreshMemory<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for FreshMemory<T> {}

/// No two rooms share a pair of lines, which a core fetches at once.
const APART: usize = 128;

impl<T> FreshMemory<T> {
    /// Room for `len` elements. At `cuts`, ascending places among them, another memory's ranks
    /// begin to write: no huge page has elements from both sides of one.
    pub(crate) fn new(len: usize, cuts: &[usize]) -> Result<Self, RefusedMemory> {
        let size = size_of::<T>();
        let refused = RefusedMemory { bytes: len.saturating_mul(size) };
        let bytes = len.checked_mul(size).filter(|&bytes| bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or(refused)?;
        if bytes == 0 {
            let (at, backing) = (NonNull::dangling(), Backing::None);
            return Ok(FreshMemory {
                at,
                len,
                huge: HugeRequest::Small,
                backing,
                _elements: PhantomData,
            });
        }
        Self::in_pages(len, bytes, cuts).or_else(|| Self::on_the_heap(len, bytes)).ok_or(refused)
    }

    #[cfg(all(target_os = "linux", not(miri), not(any(loom, shuttle))))]
    fn in_pages(len: usize, bytes: usize, cuts: &[usize]) -> Option<Self> {
        if bytes < page() || align_of::<T>().max(APART) > page() {
            return None;
        }
        let map = |bytes: usize| memmap2::MmapOptions::new().len(bytes).map_anon().ok();
        // From a huge page's begin on, if there are addresses enough: else one fewer is whole.
        let huge = huge_page();
        let aligned = (bytes >= huge).then(|| map(bytes.checked_add(huge)?)).flatten();
        let offset = aligned.as_ref().map_or(0, |pages| {
            let at = pages.as_ptr().addr();
            at.next_multiple_of(huge) - at
        });
        let mut pages = aligned.or_else(|| map(bytes))?;
        let cuts = cuts.iter().map(|&place| place * size_of::<T>());
        let huge = advise_huge_pages(&pages, offset..offset + bytes, cuts);
        keep_at_home(pages[offset..].as_ptr(), bytes);
        let at = NonNull::new(pages[offset..].as_mut_ptr().cast())?;
        Some(FreshMemory { at, len, huge, backing: Backing::Pages(pages), _elements: PhantomData })
    }

    /// There are no pages from the system elsewhere.
    #[cfg(not(all(target_os = "linux", not(miri), not(any(loom, shuttle)))))]
    fn in_pages(_: usize, _: usize, _: &[usize]) -> Option<Self> {
        None
    }

    fn on_the_heap(len: usize, bytes: usize) -> Option<Self> {
        let (align, page) = (align_of::<T>().max(APART), super::pages::page());
        let align = if bytes >= page { align.max(page) } else { align };
        let layout = Layout::from_size_align(bytes, align).ok()?;
        // SAFETY: of more than no bytes.
        let at = NonNull::new(unsafe { alloc(layout) }.cast())?;
        let (huge, backing) = (HugeRequest::Small, Backing::Heap(layout));
        Some(FreshMemory { at, len, huge, backing, _elements: PhantomData })
    }

    pub(crate) fn at(&self) -> NonNull<T> {
        self.at
    }

    /// A place for each element.
    pub(crate) fn places(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: there is room for so many, borrowed exclusively; they may hold anything.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr().cast(), self.len) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The answer to the request for huge pages.
    pub(crate) fn huge_request(&self) -> HugeRequest {
        self.huge
    }
}

impl<T> Drop for FreshMemory<T> {
    fn drop(&mut self) {
        // Pages go with their field.
        if let Backing::Heap(layout) = self.backing {
            // SAFETY: made by `alloc` with this layout, and nobody borrows it any more.
            unsafe { dealloc(self.at.as_ptr().cast(), layout) };
        }
    }
}
