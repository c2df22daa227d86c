//! The reflected Gray code, which lays a ring into a hypercube.

/// The cube node of ring position `i`: positions next to each other (the last
/// and the first too) are one link apart.
///
/// # Examples
/// ```
/// use phalanx::topology::gray;
/// let ring: Vec<usize> = (0..8).map(gray).collect();
/// assert_eq!(ring, [0, 1, 3, 2, 6, 7, 5, 4]);
/// ```
pub const fn gray(i: usize) -> usize {
    i ^ (i >> 1)
}

/// The ring position of cube node `node`; the inverse of [`gray`].
///
/// # Examples
/// ```
/// use phalanx::topology::{gray, gray_inverse};
/// assert!((0..1000).all(|i| gray_inverse(gray(i)) == i));
/// ```
pub const fn gray_inverse(node: usize) -> usize {
    let mut i = node;
    let mut shift = 1;
    while shift < usize::BITS {
        i ^= i >> shift;
        shift *= 2;
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 2, EMB-RGC-RING: positions 2^j apart differ in bit j-1 and one
    /// bit above, which is what the two hops of a Gray-code shift rely on.
    #[test]
    fn powers_of_two_apart_are_two_links_apart() {
        for d in 1..=8 {
            let p = 1usize << d;
            for i in 0..p {
                assert_eq!((gray(i) ^ gray((i + 1) % p)).count_ones(), 1);
                for j in 1..d {
                    let x = gray(i) ^ gray((i + (1 << j)) % p);
                    assert_eq!(x.count_ones(), 2);
                    assert_ne!(x & (1 << (j - 1)), 0);
                }
            }
        }
    }
}
