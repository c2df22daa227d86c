//! Operators on `f16` and `bf16`: sums and products in `f32`.
//!
//! A vector of `bf16` is taken as words of two, of which each half is an `f32` without its lower 16
//! bits: no shuffle is needed. AVX2 rounds by steps of its own where no number is NaN, AVX-512 by
//! VCVTNE2PS2BF16 where none is subnormal, either. (By Intel's manual, volume 2, that rounds to the
//! nearest, of two the even one, and never looks at MXCSR; subnormal operands are 0 to it, and of a
//! NaN it keeps the upper bits.) `f16` is converted by F16C.

use super::accumulation::{Accumulation, Sealed, Vectors};
use super::extremes::Extremes;
use super::{Max, Min, Operator, OperatorOrigin, Prod, Sum};
use crate::element::Element;
use half::{bf16, f16};
use std::ops::Mul;

/// A float of 16 bits.
trait Half: Element {
    fn widen(self) -> f32;
    /// The nearest, of two the even one; NaN with all bits set, as in [`Min`].
    fn round(x: f32) -> Self;
    /// In an order that [`round_all`](Half::round_all) undoes.
    fn widen_all<const K: usize, V: Vectors>(x: [Self; K], has: V) -> [f32; K];
    fn round_all<const K: usize, V: Vectors>(x: [f32; K], has: V) -> [Self; K];
}

/// Partial results are `f32`.
struct InF32;

impl Sealed for InF32 {}

impl<T: Half, O: Operator<f32>> Accumulation<T, O> for InF32 {
    type Wide = f32;
    const IS_WIDE: bool = true;

    #[inline(always)]
    fn widen(x: T) -> f32 {
        x.widen()
    }

    #[inline(always)]
    fn combine(op: &O, left: f32, right: f32) -> f32 {
        op.combine(left, right)
    }

    #[inline(always)]
    fn round(x: f32) -> T {
        T::round(x)
    }

    /// Of so few bits the product is exact, but for the range of `f32`.
    #[inline(always)]
    fn product(x: T, y: T) -> f32
    where
        T: Mul<Output = T>,
    {
        x.widen() * y.widen()
    }

    #[inline(always)]
    fn widen_all<const K: usize, V: Vectors>(x: [T; K], has: V) -> [f32; K] {
        T::widen_all(x, has)
    }

    #[inline(always)]
    fn round_all<const K: usize, V: Vectors>(x: [f32; K], has: V) -> [T; K] {
        T::round_all(x, has)
    }
}

/// The bits of the nearest `bf16`, before 16 others.
#[inline(always)]
fn rounded(x: f32) -> u32 {
    let bits = x.to_bits();
    let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    if x.is_nan() { !0 } else { nearest }
}

/// To words of one number of the lower half and one of the upper half; of an even number.
#[inline(always)]
fn round_words<const K: usize>(x: [f32; K]) -> [bf16; K] {
    let mut all = [bf16::ZERO; K];
    let (lower, upper) = x.split_at(K / 2);
    let to = all.as_mut_ptr().cast::<u32>();
    for (j, (&lower, &upper)) in lower.iter().zip(upper).enumerate() {
        let word = rounded(lower) >> 16 | rounded(upper) & 0xffff_0000;
        // SAFETY: word `j` of the array's `K / 2`.
        unsafe { to.add(j).write_unaligned(word) };
    }
    all
}

impl Half for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn round(x: f32) -> Self {
        Self::from_bits((rounded(x) >> 16) as u16)
    }

    #[inline(always)]
    fn widen_all<const K: usize, V: Vectors>(x: [Self; K], _: V) -> [f32; K] {
        if K % 2 == 1 {
            return x.map(Self::widen);
        }
        let mut all = [0.0; K];
        let (lower, upper) = all.split_at_mut(K / 2);
        for (j, (lower, upper)) in lower.iter_mut().zip(upper).enumerate() {
            // SAFETY: word `j` of the array's `K / 2`.
            let word = unsafe { x.as_ptr().cast::<u32>().add(j).read_unaligned() };
            *lower = f32::from_bits(word << 16);
            *upper = f32::from_bits(word & 0xffff_0000);
        }
        all
    }

    #[inline(always)]
    fn round_all<const K: usize, V: Vectors>(x: [f32; K], _: V) -> [Self; K] {
        if K % 2 == 1 {
            return x.map(Self::round);
        }
        #[cfg(target_arch = "x86_64")]
        match const { (V::HALVES, K) } {
            // SAFETY: the processor has the instructions: there is a value that says so.
            (256, 32) => return unsafe { x86::round_bf16(x) },
            // SAFETY: as above.
            (512, 32) => return unsafe { x86::round_bf16_by_avx512(x) },
            _ => {}
        }
        round_words(x)
    }
}

impl Half for f16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }

    #[inline(always)]
    fn round(x: f32) -> Self {
        if x.is_nan() { Self::from_bits(!0) } else { Self::from_f32(x) }
    }

    #[inline(always)]
    fn widen_all<const K: usize, V: Vectors>(x: [Self; K], _: V) -> [f32; K] {
        #[cfg(target_arch = "x86_64")]
        if const { V::HALVES > 0 && K.is_multiple_of(8) } {
            // SAFETY: the processor has F16C, and so AVX: there is a value that says so.
            return unsafe { x86::widen_f16(x) };
        }
        std::array::from_fn(|i| x[i].widen())
    }

    #[inline(always)]
    fn round_all<const K: usize, V: Vectors>(x: [f32; K], _: V) -> [Self; K] {
        #[cfg(target_arch = "x86_64")]
        if const { V::HALVES > 0 && K.is_multiple_of(8) } {
            // SAFETY: as above.
            return unsafe { x86::round_f16(x) };
        }
        std::array::from_fn(|i| <Self as Half>::round(x[i]))
    }
}

/// Conversions by vectors of x86-64, of so many numbers at a time.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::round_words;
    use half::{bf16, f16};
    use std::arch::x86_64::*;
    use std::mem::transmute;

    macro_rules! conversions {
        ($($name:ident $features:literal $n:literal $from:ty => $to:ty:
            |$numbers:ident, $x:pat_param| $vectors:ty => $made:ty = $converted:expr;)*) => {$(
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn $name<const K: usize>(x: [$from; K]) -> [$to; K] {
                let mut all = [<$to>::default(); K];
                let from = x.as_chunks::<$n>().0;
                for (to, &$numbers) in all.as_chunks_mut::<$n>().0.iter_mut().zip(from) {
                    // SAFETY: as large, and all bits are numbers and vectors.
                    *to = unsafe {
                        let $x = transmute::<[$from; $n], $vectors>($numbers);
                        transmute::<$made, [$to; $n]>($converted)
                    };
                }
                all
            }
        )*};
    }

    conversions! {
        widen_f16 "avx,f16c" 8 f16 => f32: |x, vector| __m128i => __m256 = _mm256_cvtph_ps(vector);
        // All bits of a NaN.
        round_f16 "avx,f16c" 8 f32 => f16: |x, vector| __m256 => __m128i = {
            let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(vector, vector);
            _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_or_ps(vector, nan))
        };
        round_bf16 "avx2" 32 f32 => bf16: |x, [a, b, c, d]| [__m256; 4] => [__m256i; 2] = {
            let nan = |x, y| _mm256_cmp_ps::<_CMP_UNORD_Q>(x, y);
            match _mm256_movemask_ps(_mm256_or_ps(nan(a, c), nan(b, d))) {
                0 => [nearest(a, c), nearest(b, d)],
                _ => transmute::<[bf16; 32], [__m256i; 2]>(round_words(x)),
            }
        };
        round_bf16_by_avx512 "avx512f,avx512bw,avx512dq,avx512bf16" 32 f32 => bf16:
            |x, [lower, upper]| [__m512; 2] => __m512i = {
                const SPECIAL: i32 = 1 << 0 | 1 << 5 | 1 << 7; // quiet NaN, subnormal, other NaN
                let special = |x| _mm512_fpclass_ps_mask::<SPECIAL>(x);
                match special(lower) | special(upper) {
                    0 => _mm512_permutexvar_epi16(
                        transmute::<[u16; 32], __m512i>(WORDS),
                        transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(upper, lower)),
                    ),
                    _ => transmute::<[bf16; 32], __m512i>(round_words(x)),
                }
            };
    }

    /// From which places the halves of words come: from the lower half, and the upper half.
    #[rustfmt::skip]
    const WORDS: [u16; 32] = [
        0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25,
        10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31,
    ];

    /// Words of the numbers in two vectors, of which none is NaN.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn nearest(lower: __m256, upper: __m256) -> __m256i {
        let (x, y) = (_mm256_castps_si256(lower), _mm256_castps_si256(upper));
        // The second halves of the words are those of `upper`.
        let whole = _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(x), y);
        let rest = _mm256_blend_epi16::<0b1010_1010>(x, _mm256_slli_epi32::<16>(y));
        // The rest's first bit says to round up; of an even number, not from the middle.
        let even = _mm256_andnot_si256(whole, _mm256_set1_epi16(1));
        _mm256_add_epi16(whole, _mm256_srli_epi16::<15>(_mm256_subs_epu16(rest, even)))
    }
}

macro_rules! accumulating {
    ($($op:ident $text:literal $identity:ident: $($t:ty)*;)*) => {$($(
        impl Operator<$t> for $op {
            const NAME: &'static str = $text;
            const COMMUTATIVE: bool = true;
            const ORIGIN: OperatorOrigin<Self, $t> = OperatorOrigin::LIBRARY;

            #[inline(always)]
            fn combine(&self, left: $t, right: $t) -> $t {
                <$t as Half>::round(Operator::<f32>::combine(self, left.widen(), right.widen()))
            }

            fn identity(&self) -> Option<$t> {
                Some(<$t>::$identity)
            }

            fn accumulation() -> impl Accumulation<$t, Self> {
                InF32
            }
        }
    )*)*};
}

macro_rules! half_floats {
    ($($t:ty)*) => {$(
        implement!(Min "min" LIBRARY: $t => |a, b| a.lower(b), T::INFINITY);
        implement!(Max "max" LIBRARY: $t => |a, b| a.upper(b), T::NEG_INFINITY);
    )*};
}

accumulating! {
    Sum "sum" ZERO: f16 bf16;
    Prod "prod" ONE: f16 bf16;
}
half_floats! { f16 bf16 }

#[cfg(test)]
mod tests {
    use super::super::accumulation::{Avx2, Avx512, Baseline};
    use super::*;

    /// Every half, and `f32` around every half and in the middle of each two, alone and in vectors,
    /// against the conversions of `half`.
    fn check<T: Half>(
        of: fn(u16) -> T,
        bits: fn(T) -> u16,
        widened: fn(T) -> f32,
        rounded: fn(f32) -> T,
        to_bits: fn(u16, u32) -> u32,
    ) {
        const K: usize = 32;
        fn vectors<T: Half>(x: [T; K], has: impl Vectors) -> ([f32; K], [T; K]) {
            let mut wide = T::widen_all(x, has);
            let back = T::round_all(wide, has);
            wide.sort_by(f32::total_cmp);
            (wide, back)
        }
        for first in (0..=u16::MAX).step_by(K) {
            let x: [T; K] = std::array::from_fn(|i| of(first + i as u16));
            let mut wide = x.map(T::widen);
            for (x, wide) in x.into_iter().zip(wide) {
                let same = widened(x);
                assert!(wide.to_bits() == same.to_bits() || wide.is_nan() && same.is_nan());
            }
            let back = wide.map(T::round).map(bits);
            for (x, back) in x.into_iter().zip(back) {
                assert_eq!(back, if x.widen().is_nan() { !0 } else { bits(x) });
            }
            let mut check = |(all, rounded): ([f32; K], [T; K])| {
                wide.sort_by(f32::total_cmp);
                let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan();
                assert!(all.iter().zip(&wide).all(same), "from {first:#x}");
                assert_eq!(rounded.map(bits), back, "from {first:#x}");
            };
            check(vectors(x, Baseline));
            Avx2::detected().inspect(|&has| check(vectors(x, has)));
            Avx512::detected().inspect(|&has| check(vectors(x, has)));
            for low in [0, 1, 2, 3, 4, 5, 6, 7] {
                let wide: [f32; K] =
                    std::array::from_fn(|i| f32::from_bits(to_bits(first + i as u16, low)));
                let nearest = wide.map(|x| if x.is_nan() { !0 } else { bits(rounded(x)) });
                assert_eq!(wide.map(T::round).map(bits), nearest);
                // The order of a vector is its own.
                let mut all = nearest;
                all.sort_unstable();
                let check = |mut got: [u16; K]| {
                    got.sort_unstable();
                    assert_eq!(got, all, "from {first:#x}");
                };
                check(T::round_all(wide, Baseline).map(bits));
                Avx2::detected().inspect(|&has| check(T::round_all(wide, has).map(bits)));
                Avx512::detected().inspect(|&has| check(T::round_all(wide, has).map(bits)));
            }
        }
    }

    #[test]
    fn conversions_are_those_of_single_numbers() {
        const LOW: [u32; 8] = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x4000, 0xc000];
        check(bf16::from_bits, bf16::to_bits, bf16::to_f32, bf16::from_f32, |bits, low| {
            u32::from(bits) << 16 | LOW[low as usize]
        });
        // Their places in an f32 are others, and subnormal ones have less.
        check(f16::from_bits, f16::to_bits, f16::to_f32, f16::from_f32, |bits, low| {
            let wide = f16::from_bits(bits).to_f32();
            let next = f16::from_bits(bits.wrapping_add(1)).to_f32();
            let middle = ((f64::from(wide) + f64::from(next)) / 2.0) as f32;
            match low {
                0 => wide.to_bits(),
                1 => middle.to_bits(),
                2 => middle.to_bits().wrapping_add(1),
                3 => middle.to_bits().wrapping_sub(1),
                4 => wide.to_bits().wrapping_add(1),
                5 => wide.to_bits().wrapping_sub(1),
                6 => f32::MAX.to_bits(),
                _ => f32::MIN_POSITIVE.to_bits(),
            }
        });
    }
}
