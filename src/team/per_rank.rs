//! One item per rank out of one exclusive borrow.

use std::marker::PhantomData;

/// `&mut [T]`, handed out item by item to the ranks.
pub(crate) struct PerRank<'a, T> {
    at: *mut T,
    len: usize,
    _items: PhantomData<&'a mut [T]>,
}

// SAFETY: `get` hands each item to one thread at a time (its contract), which
// is sending `&mut T`.
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
}
