//! Memory that the system may refuse: what grows with the number of ranks.

#[cfg(not(loom))]
use super::pages::{has_space, is_space_limited};

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

/// Where address space is limited: whether there are `bytes` of it, and as much as `ranks` ranks
/// take by small allocations, which cannot fail without ending the process. (Without a limit the
/// system refuses large ones only.)
#[cfg(not(loom))]
pub(crate) fn check_room(bytes: usize, ranks: usize) -> Result<(), RefusedMemory> {
    /// Of a rank, and of a pair of ranks: `tests/alone/start.rs`.
    const SMALL: (usize, usize) = (16 << 10, 80);
    let small = (1 << 20) + ranks * (SMALL.0 + ranks * SMALL.1);
    let bytes = bytes.saturating_add(small);
    match is_space_limited() && !has_space(bytes) {
        true => Err(RefusedMemory { bytes }),
        false => Ok(()),
    }
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
