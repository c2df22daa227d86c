//! Elements that tasks write, each its own.

use std::marker::PhantomData;
use std::ops::Range;

/// A slice of which each task of a region writes another part.
#[derive(Debug)]
pub struct Rows<'a, T> {
    at: *mut T,
    len: usize,
    _slice: PhantomData<&'a mut [T]>,
}

// SAFETY: `part` hands out parts that are apart (its contract).
unsafe impl<T: Send> Sync for Rows<'_, T> {}

impl<'a, T> Rows<'a, T> {
    /// Of a slice.
    pub fn new(slice: &'a mut [T]) -> Self {
        Rows { at: slice.as_mut_ptr(), len: slice.len(), _slice: PhantomData }
    }

    /// The elements of `range`.
    ///
    /// # Safety
    /// No other task has an element of the range.
    ///
    /// # Panics
    /// If it is not within the slice.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the slice, and exclusive by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(range.start), range.len()) }
    }

    /// Elements of `range`, to be read.
    ///
    /// # Safety
    /// No task writes an element of the range meanwhile.
    ///
    /// # Panics
    /// If it is not within the slice.
    pub unsafe fn read(&self, range: Range<usize>) -> &'a [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: within the slice, and shared by the contract.
        unsafe { std::slice::from_raw_parts(self.at.add(range.start), range.len()) }
    }
}
