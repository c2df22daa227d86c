//! Memory aligned to cache lines, with pages that are touched before use.

use std::ops::{Deref, DerefMut, Range};

const LINE: usize = 64;

/// Elements from the begin of a cache line on. (The allocator's memory begins 16 bytes behind
/// one: a block of lines would then touch one line more.)
pub(crate) struct Lines<T> {
    all: Vec<T>,
    at: Range<usize>,
}

impl<T> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.at.clone()]
    }
}

impl<T> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.at.clone()]
    }
}

/// `len` zeros in pages of their own, in the memory of the thread that asks. (`vec![0.0; len]`
/// alone comes as one page of zeros mapped over and over, which costs nothing to read and a fault
/// to write.)
pub(crate) fn zeros<T: Copy + Default>(len: usize) -> Lines<T> {
    let mut all = vec![T::default(); len + LINE / size_of::<T>().min(LINE)];
    std::hint::black_box(&mut all).fill(T::default());
    let first = all.as_ptr().align_offset(LINE);
    Lines { all, at: first..first + len }
}
