//! A communicator's own memory: grows to what its calls need and stays.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of scratch memory: two cache lines. Element types that need more
/// make their calls allocate anew.
const ALIGN: usize = 128;

/// Uninitialised memory, aligned for any element.
#[derive(Debug)]
pub(crate) struct Scratch {
    at: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is plain memory, owned.
unsafe impl Send for Scratch {}
// SAFETY: it hands out addresses only through `&mut`.
unsafe impl Sync for Scratch {}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::new()
    }
}

impl Scratch {
    pub(crate) const fn new() -> Self {
        // A dangling pointer aligned to 128, for no bytes.
        let layout = match Layout::from_size_align(0, ALIGN) {
            Ok(layout) => layout,
            Err(_) => unreachable!(),
        };
        Scratch { at: NonNull::<ScratchLine>::dangling().cast(), layout }
    }

    /// At least `bytes` bytes, aligned to `align`. What was there before may
    /// be gone. The address is good until the next call.
    ///
    /// # Panics
    /// If `bytes` is beyond what an allocation can be.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, bytes: usize, align: usize) -> *mut u8 {
        if bytes > self.layout.size() || align > self.layout.align() {
            self.grow(bytes, align);
        }
        self.at.as_ptr()
    }

    #[cold]
    fn grow(&mut self, bytes: usize, align: usize) {
        let size = bytes.max(self.layout.size()).max(4096);
        let layout = Layout::from_size_align(size, align.max(ALIGN))
            .expect("scratch memory beyond the address space");
        // SAFETY: the size is at least 4096.
        let at = unsafe { alloc(layout) };
        let at = NonNull::new(at).unwrap_or_else(|| handle_alloc_error(layout));
        // The old memory goes as this value is dropped.
        *self = Scratch { at, layout };
    }
}

#[repr(align(128))]
struct ScratchLine;

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: `at` was allocated with exactly this layout by `grow`.
            unsafe { dealloc(self.at.as_ptr(), self.layout) };
        }
    }
}
