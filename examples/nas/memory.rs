//! Memory that is there.

/// `len` zeros in pages of their own, in the memory of the thread that asks. (`vec![0.0; len]` alone comes as one
/// page of zeros mapped over and over, which costs nothing to read and a fault to write.)
pub(crate) fn zeros<T: Copy + Default>(len: usize) -> Vec<T> {
    let mut zeros = vec![T::default(); len];
    std::hint::black_box(&mut zeros).fill(T::default());
    zeros
}
