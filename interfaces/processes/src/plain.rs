//! Plain data: the elements that processes exchange.

use half::{bf16, f16};
use num_complex::Complex;
use phalanx::Element;

/// A type of which every bit pattern is a value, without padding and without addresses: whatever a
/// process writes into the shared memory, another one reads a value of the type. Integers, floats
/// (also `half`'s), `Complex`, and arrays of these. Sealed: no program can add a type.
///
/// # Examples
/// A `bool` is none, since a byte that is neither 0 nor 1 is no `bool`:
/// ```compile_fail,E0277
/// fn send<T: phalanx_processes::Plain>(_: &[T]) {}
/// send(&[true]);
/// ```
/// ```
/// fn send<T: phalanx_processes::Plain>(_: &[T]) {}
/// send(&[1_u8]);
/// send(&[[1.5_f64, 2.5]]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel between processes: not every bit pattern is a value of it",
    note = "integers, floats, `f16`, `bf16`, `Complex` and arrays of these can"
)]
pub trait Plain: Element + sealed::Sealed {
    /// A number for the type, the same in every build: that of its name.
    ///
    /// # Examples
    /// ```
    /// use phalanx_processes::Plain;
    /// assert_ne!(<[u8; 4]>::DIGEST, u32::DIGEST);
    /// ```
    const DIGEST: u64;

    /// The type's name: `f32`, `[u8; 16]`.
    ///
    /// # Examples
    /// ```
    /// use phalanx_processes::Plain;
    /// assert_eq!(<[u8; 16]>::name(), "[u8; 16]");
    /// ```
    fn name() -> String;
}

pub(crate) mod sealed {
    /// Only this crate can name it.
    pub trait Sealed {}
}

/// FNV-1a of some bytes, after `digest`.
pub(crate) const fn digest_of(mut digest: u64, bytes: &[u8]) -> u64 {
    let mut i = 0;
    while i < bytes.len() {
        digest = (digest ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    digest
}

/// The start of every digest.
pub(crate) const START: u64 = 0xcbf2_9ce4_8422_2325;

macro_rules! plain {
    ($($t:ident)*) => {$(
        impl sealed::Sealed for $t {}
        impl Plain for $t {
            const DIGEST: u64 = digest_of(START, stringify!($t).as_bytes());

            fn name() -> String {
                stringify!($t).to_string()
            }
        }
    )*};
}

plain! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 f16 bf16 }

macro_rules! complex {
    ($($t:ty: $name:literal)*) => {$(
        impl sealed::Sealed for Complex<$t> {}
        impl Plain for Complex<$t> {
            const DIGEST: u64 = digest_of(START, $name.as_bytes());

            fn name() -> String {
                $name.to_string()
            }
        }
    )*};
}

complex! { f32: "complex64" f64: "complex128" }

impl<T: Plain, const N: usize> sealed::Sealed for [T; N] {}
impl<T: Plain, const N: usize> Plain for [T; N] {
    const DIGEST: u64 = digest_of(digest_of(T::DIGEST, b"[]"), &(N as u64).to_le_bytes());

    fn name() -> String {
        format!("[{}; {N}]", T::name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_differ_as_names_do() {
        let all = [
            (f32::DIGEST, f32::name()),
            (f64::DIGEST, f64::name()),
            (<[f32; 2]>::DIGEST, <[f32; 2]>::name()),
            (<[f32; 3]>::DIGEST, <[f32; 3]>::name()),
            (<[[f32; 2]; 3]>::DIGEST, <[[f32; 2]; 3]>::name()),
            (<[[f32; 3]; 2]>::DIGEST, <[[f32; 3]; 2]>::name()),
            (bf16::DIGEST, bf16::name()),
        ];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(i == j, a.0 == b.0);
                assert_eq!(i == j, a.1 == b.1);
            }
        }
        assert_eq!(all[4].1, "[[f32; 2]; 3]");
    }
}
