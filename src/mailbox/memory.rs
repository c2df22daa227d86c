//! Memory that the system may refuse: what grows with the number of ranks.

/// The system has refused so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedMemory {
    pub(crate) bytes: usize,
}

/// A vector with room for `n` elements.
pub(crate) fn reserve<T>(n: usize) -> Result<Vec<T>, RefusedMemory> {
    let mut all = Vec::new();
    let refused = |_| RefusedMemory { bytes: n.saturating_mul(size_of::<T>()) };
    all.try_reserve_exact(n).map_err(refused)?;
    Ok(all)
}

/// `n` elements, of which `make` makes each.
pub(crate) fn collect<T>(
    n: usize,
    make: impl FnMut(usize) -> T,
) -> Result<Box<[T]>, RefusedMemory> {
    let mut all = reserve(n)?;
    all.extend((0..n).map(make));
    Ok(all.into_boxed_slice())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_told() {
        let bytes = usize::MAX / 2;
        assert_eq!(collect(bytes, |_| 0_u8), Err(RefusedMemory { bytes }));
        assert_eq!(collect(bytes, |_| 0_u64), Err(RefusedMemory { bytes: usize::MAX }));
        assert_eq!(collect(3, |i| i).as_deref(), Ok(&[0, 1, 2][..]));
    }
}
