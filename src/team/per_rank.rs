//! Items and blocks for ranks out of one exclusive borrow.

use std::marker::PhantomData;
use std::ops::Range;

/// `&mut [T]`, handed out to the ranks item by item, or block by block.
#[derive(Debug)]
pub struct PerRank<'a, T> {
    at: *mut T,
    len: usize,
    _items: PhantomData<&'a mut [T]>,
}

// SAFETY: `get` and `slice` hand each item to one thread at a time (their contract), which is
// sending `&mut T`.
unsafe impl<T: Send> Sync for PerRank<'_, T> {}

impl<'a, T> PerRank<'a, T> {
    pub(crate) fn new(items: &'a mut [T]) -> Self {
        PerRank { at: items.as_mut_ptr(), len: items.len(), _items: PhantomData }
    }

    /// Item `rank`.
    ///
    /// # Safety
    /// - While the result lives, nobody else calls this with the same `rank`.
    ///
    /// # Panics
    /// If there is no such item.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn get(&self, rank: usize) -> &'a mut T {
        assert!(rank < self.len);
        // SAFETY: within the slice; exclusive by the contract.
        unsafe { &mut *self.at.add(rank) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The items of `range`.
    ///
    /// # Safety
    /// - The range ascends, and ends at `len` or before.
    /// - While the result lives, nobody else has an item of it.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn slice(&self, range: Range<usize>) -> &'a mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the slice, and exclusive, by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(range.start), range.len()) }
    }
}
