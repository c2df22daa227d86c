//! Kernels: element type and operator, erased, called once per slice.
//!
//! Every loop is compiled twice (`loops!`): for the baseline of the
//! architecture, and on x86-64 for AVX2, chosen when the program runs. So a
//! program built for any x86-64 uses the vectors of the machine that it runs
//! on, with the user's operators and closures, which are inlined into both. The
//! results are the same bits: each element is combined by itself, in rank
//! order, and Rust never contracts a multiplication and an addition.
//!
//! On aarch64 the baseline has NEON. AVX-512 gains up to a tenth at some sizes and
//! loses it at others (docs/measurements.md), so it is left out.

mod copy;
mod foreign_operator;
mod scratch;
pub(super) mod stream;

pub(crate) use copy::copy;
pub(crate) use foreign_operator::ForeignOperator;
pub(crate) use scratch::Scratch;

use crate::element::Element;
use crate::op::Operator;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// The most inputs that one pass combines ([`Kernel::fold`]).
pub(crate) const MOST_INPUTS: usize = 8;

/// `dst[i] = left[i] (+) right[i]` for `n` elements.
type Combine = unsafe fn(op: *const (), dst: *mut u8, left: *const u8, right: *const u8, n: usize);
/// Two vectors of `n` elements, both read and written.
type Pair = unsafe fn(op: *const (), a: *mut u8, b: *mut u8, n: usize);
/// `dst[i] = inputs[0][i] (+) .. (+) inputs[k-1][i]` for `n` elements.
type FoldFn = unsafe fn(op: *const (), dst: *mut u8, inputs: &[*mut u8], at: usize, n: usize);
/// `dst[i] = value` for `n` elements.
type Fill = unsafe fn(dst: *mut u8, value: *const u8, n: usize);
/// `(dst[i], src[i]) = (src[i], value)` for `n` elements.
type Replace = unsafe fn(op: *const (), dst: *mut u8, src: *mut u8, value: *const u8, n: usize);
/// `(a[i], b[i]) = (b[i], a[i])` for `n` elements.
type Swap = unsafe fn(a: *mut u8, b: *mut u8, n: usize);

/// What the engine knows of elements: how large they are and how they combine. Two words: calls
/// are moved with it.
#[derive(Clone, Copy)]
pub(crate) struct Kernel<'a> {
    loops: &'a Loops,
    op: *const (),
    _op: PhantomData<&'a ()>,
}

/// That of a type and an operator's type.
struct Loops {
    size: usize,
    align: usize,
    line: u32,
    combine: Combine,
    both: Pair,
    carry: Pair,
    fold: FoldFn,
    fill: Fill,
    replace: Replace,
    swap: Swap,
}

impl<'a> Kernel<'a> {
    /// For elements that are only moved.
    #[inline(always)]
    pub(crate) fn mover<T: Element>() -> Self {
        let loops = const {
            &Loops {
                size: size_of::<T>(),
                align: align_of::<T>(),
                line: line(size_of::<T>()),
                combine: no_combine,
                both: no_pair,
                carry: no_pair,
                fold: no_fold,
                fill: fill::<T>,
                replace: no_replace,
                swap: swap::<T>,
            }
        };
        Kernel { loops, op: std::ptr::null(), _op: PhantomData }
    }

    /// For elements that `op` combines.
    #[inline(always)]
    pub(crate) fn combiner<T: Element, O: Operator<T>>(op: &'a O) -> Self {
        let loops = const {
            &Loops {
                size: size_of::<T>(),
                align: align_of::<T>(),
                line: line(size_of::<T>()),
                combine: combine::<T, O>,
                both: both::<T, O>,
                carry: carry::<T, O>,
                fold: fold::<T, O>,
                fill: fill::<T>,
                replace: replace::<T, O>,
                swap: swap::<T>,
            }
        };
        Kernel { loops, op: std::ptr::from_ref(op).cast(), _op: PhantomData }
    }

    /// Bytes of an element.
    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.loops.size
    }

    #[inline(always)]
    pub(crate) fn align(&self) -> usize {
        self.loops.align
    }

    /// The logarithm of the number of elements that fill a cache line exactly;
    /// 0 if no power of two does.
    #[inline(always)]
    pub(crate) fn line(&self) -> u32 {
        self.loops.line
    }

    /// Copies `n` elements.
    ///
    /// # Safety
    /// - `src` is valid for reads and `dst` for writes of `n` elements.
    /// - They do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn copy(&self, dst: *mut u8, src: *const u8, n: usize) {
        // SAFETY: by the contract above.
        unsafe { copy(dst, src, n * self.loops.size) }
    }

    /// `dst[i] = value` for `n` elements.
    ///
    /// # Safety
    /// - `value` is valid for reads of an element of the kernel's type, `dst`
    ///   for writes of `n`, both aligned for it; they do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, dst: *mut u8, value: *const u8, n: usize) {
        // SAFETY: by the contract above.
        unsafe { (self.loops.fill)(dst, value, n) }
    }

    /// `(dst[i], src[i]) = (src[i], value)` for `n` elements, in one pass.
    ///
    /// # Safety
    /// - As for [`fill`](Kernel::fill), and `src` is valid for reads and writes of `n` elements,
    ///   and overlaps none of the others.
    #[inline(always)]
    pub(crate) unsafe fn replace(&self, dst: *mut u8, src: *mut u8, value: *const u8, n: usize) {
        // SAFETY: by the contract above.
        unsafe { (self.loops.replace)(self.op, dst, src, value, n) }
    }

    /// `(a[i], b[i]) = (b[i], a[i])` for `n` elements.
    ///
    /// # Safety
    /// As for [`both`](Kernel::both).
    #[inline(always)]
    pub(crate) unsafe fn swap(&self, a: *mut u8, b: *mut u8, n: usize) {
        // SAFETY: by the contract above.
        unsafe { (self.loops.swap)(a, b, n) }
    }

    /// `dst[i] = left[i] (+) right[i]` for `n` elements.
    ///
    /// # Safety
    /// - `left` and `right` are valid for reads of `n` elements of the
    ///   kernel's type, `dst` for writes, all aligned for it.
    /// - `dst` is `left`, or `right`, or overlaps neither.
    #[inline(always)]
    pub(crate) unsafe fn combine(&self, dst: *mut u8, left: *const u8, right: *const u8, n: usize) {
        // SAFETY: by the contract above; `op` is the operator that `combine`
        // was made for, borrowed for 'a.
        unsafe { (self.loops.combine)(self.op, dst, left, right, n) }
    }

    /// `a[i] = b[i] = a[i] (+) b[i]` for `n` elements.
    ///
    /// # Safety
    /// - `a` and `b` are valid for reads and writes of `n` elements of the
    ///   kernel's type, and aligned for it.
    /// - They do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn both(&self, a: *mut u8, b: *mut u8, n: usize) {
        // SAFETY: as for `combine`.
        unsafe { (self.loops.both)(self.op, a, b, n) }
    }

    /// `(total[i], x[i]) = (total[i] (+) x[i], total[i])` for `n` elements: a step
    /// of an exclusive prefix.
    ///
    /// # Safety
    /// As for [`both`](Kernel::both).
    #[inline(always)]
    pub(crate) unsafe fn carry(&self, total: *mut u8, x: *mut u8, n: usize) {
        // SAFETY: as for `combine`.
        unsafe { (self.loops.carry)(self.op, total, x, n) }
    }

    /// `dst[i] = inputs[0][i] (+) .. (+) inputs[k-1][i]` for `n` elements, each
    /// read once; input `j` begins `at` bytes after `inputs[j]`.
    ///
    /// # Safety
    /// - There are 2 to [`MOST_INPUTS`] inputs, each valid for reads of `n`
    ///   elements of the kernel's type from `at` on, `dst` for writes, all
    ///   aligned for it.
    /// - `dst` overlaps none of them.
    #[inline(always)]
    pub(crate) unsafe fn fold(&self, dst: *mut u8, inputs: &[*mut u8], at: usize, n: usize) {
        // SAFETY: as for `combine`.
        unsafe { (self.loops.fold)(self.op, dst, inputs, at, n) }
    }
}

/// See [`Kernel::line`].
const fn line(size: usize) -> u32 {
    const LINE: usize = 64;
    if size.is_power_of_two() && size < LINE { (LINE / size).ilog2() } else { 0 }
}

const NO_OPERATOR: &str = "a schedule that combines was run without an operator";

unsafe fn no_combine(_: *const (), _: *mut u8, _: *const u8, _: *const u8, _: usize) {
    unreachable!("{NO_OPERATOR}")
}

unsafe fn no_pair(_: *const (), _: *mut u8, _: *mut u8, _: usize) {
    unreachable!("{NO_OPERATOR}")
}

unsafe fn no_replace(_: *const (), _: *mut u8, _: *mut u8, _: *const u8, _: usize) {
    unreachable!("{NO_OPERATOR}")
}

unsafe fn no_fold(_: *const (), _: *mut u8, _: &[*mut u8], _: usize, _: usize) {
    unreachable!("{NO_OPERATOR}")
}

/// Defines loops over slices, in functions of their own (the compiler
/// vectorises well only what it knows not to overlap, and it knows that of
/// arguments), each for the baseline and for AVX2.
macro_rules! loops {
    ($($(#[$doc:meta])* fn $name:ident[$($k:ident)?]($($arg:ident: $ty:ty),*) $body:block)*) => {$(
        $(#[$doc])*
        #[inline(never)]
        fn $name<T: Element, O: Operator<T> $(, const $k: usize)?>($($arg: $ty),*) {
            #[inline(always)]
            fn baseline<T: Element, O: Operator<T> $(, const $k: usize)?>($($arg: $ty),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2<T: Element, O: Operator<T> $(, const $k: usize)?>($($arg: $ty),*) {
                    baseline::<T, O $(, $k)?>($($arg),*);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { avx2::<T, O $(, $k)?>($($arg),*) };
                }
            }
            baseline::<T, O $(, $k)?>($($arg),*);
        }
    )*};
}

loops! {
    fn onto_left[](op: &O, left: &mut [T], right: &[T]) {
        left.iter_mut().zip(right).for_each(|(l, &r)| *l = op.combine(*l, r));
    }

    fn onto_right[](op: &O, left: &[T], right: &mut [T]) {
        right.iter_mut().zip(left).for_each(|(r, &l)| *r = op.combine(l, *r));
    }

    fn onto_both[](op: &O, a: &mut [T], b: &mut [T]) {
        for (x, y) in a.iter_mut().zip(b) {
            let z = op.combine(*x, *y);
            *x = z;
            *y = z;
        }
    }

    fn onto_next[](op: &O, total: &mut [T], x: &mut [T]) {
        for (t, x) in total.iter_mut().zip(x) {
            let next = op.combine(*t, *x);
            *x = *t;
            *t = next;
        }
    }

    fn from_replaced[](_op: &O, dst: &mut [MaybeUninit<T>], src: &mut [T], value: T) {
        for (to, from) in dst.iter_mut().zip(src) {
            to.write(*from);
            *from = value;
        }
    }

    fn out_of_place[K](op: &O, dst: &mut [MaybeUninit<T>], inputs: [&[T]; K]) {
        let n = dst.len();
        let inputs = inputs.map(|x| &x[..n]);
        for i in 0..n {
            let mut z = inputs[0][i];
            for x in &inputs[1..] {
                z = op.combine(z, x[i]);
            }
            dst[i].write(z);
        }
    }
}

/// # Safety
/// As [`Kernel::fill`].
unsafe fn fill<T: Element>(dst: *mut u8, value: *const u8, n: usize) {
    // SAFETY: by the contract.
    let (dst, value) =
        unsafe { (from_raw_parts_mut(dst.cast::<MaybeUninit<T>>(), n), value.cast::<T>().read()) };
    dst.fill(MaybeUninit::new(value));
}

/// # Safety
/// As [`Kernel::replace`].
unsafe fn replace<T: Element, O: Operator<T>>(
    op: *const (),
    dst: *mut u8,
    src: *mut u8,
    value: *const u8,
    n: usize,
) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    // SAFETY: by the contract they are valid and disjoint.
    let (dst, src) = unsafe {
        (from_raw_parts_mut(dst.cast::<MaybeUninit<T>>(), n), from_raw_parts_mut(src.cast(), n))
    };
    // SAFETY: as above.
    from_replaced(op, dst, src, unsafe { value.cast::<T>().read() });
}

/// # Safety
/// As [`Kernel::swap`].
unsafe fn swap<T: Element>(a: *mut u8, b: *mut u8, n: usize) {
    // SAFETY: by the contract.
    unsafe { std::ptr::swap_nonoverlapping(a.cast::<T>(), b.cast::<T>(), n) }
}

/// # Safety
/// As [`Kernel::combine`]; `op` points to an `O`.
unsafe fn combine<T: Element, O: Operator<T>>(
    op: *const (),
    dst: *mut u8,
    left: *const u8,
    right: *const u8,
    n: usize,
) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    let (dst, left, right) = (dst.cast::<T>(), left.cast::<T>(), right.cast::<T>());
    if n == 1 {
        // No loop, and none to be chosen.
        //
        // SAFETY: valid by the contract; both are read before `dst` is written.
        unsafe { dst.write(op.combine(left.read(), right.read())) };
    } else if std::ptr::eq(dst, left) {
        // SAFETY: valid by the contract; `dst` (= `left`) may only overlap
        // `right` if it is `right` as well, and then n elements are combined
        // with themselves, which no caller does.
        let (dst, right) = unsafe { (from_raw_parts_mut(dst, n), from_raw_parts(right, n)) };
        onto_left(op, dst, right);
    } else if std::ptr::eq(dst, right) {
        // SAFETY: as above, with `left`.
        let (dst, left) = unsafe { (from_raw_parts_mut(dst, n), from_raw_parts(left, n)) };
        onto_right(op, left, dst);
    } else {
        // SAFETY: valid by the contract, and `dst` overlaps neither.
        let dst = unsafe { from_raw_parts_mut(dst.cast::<MaybeUninit<T>>(), n) };
        // SAFETY: valid for reads by the contract.
        let (left, right) = unsafe { (from_raw_parts(left, n), from_raw_parts(right, n)) };
        out_of_place(op, dst, [left, right]);
    }
}

/// # Safety
/// As [`Kernel::both`]; `op` points to an `O`.
unsafe fn both<T: Element, O: Operator<T>>(op: *const (), a: *mut u8, b: *mut u8, n: usize) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    // SAFETY: by the contract they are valid and disjoint.
    let (a, b) = unsafe { (from_raw_parts_mut(a.cast::<T>(), n), from_raw_parts_mut(b.cast(), n)) };
    onto_both(op, a, b);
}

/// # Safety
/// As [`Kernel::carry`]; `op` points to an `O`.
unsafe fn carry<T: Element, O: Operator<T>>(op: *const (), total: *mut u8, x: *mut u8, n: usize) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    // SAFETY: by the contract they are valid and disjoint.
    let (total, x) =
        unsafe { (from_raw_parts_mut(total.cast::<T>(), n), from_raw_parts_mut(x.cast(), n)) };
    onto_next(op, total, x);
}

/// # Safety
/// As [`Kernel::fold`]; `op` points to an `O`.
unsafe fn fold<T: Element, O: Operator<T>>(
    op: *const (),
    dst: *mut u8,
    inputs: &[*mut u8],
    at: usize,
    n: usize,
) {
    /// # Safety
    /// As `fold`, for `K` inputs.
    unsafe fn of<T: Element, O: Operator<T>, const K: usize>(
        op: &O,
        dst: &mut [MaybeUninit<T>],
        inputs: &[*mut u8],
        at: usize,
    ) {
        let input = |j: usize| {
            let x: *const T = inputs[j].wrapping_add(at).cast();
            // SAFETY: valid for reads by the contract.
            unsafe { from_raw_parts(x, dst.len()) }
        };
        let inputs: [&[T]; K] = std::array::from_fn(input);
        out_of_place(op, dst, inputs);
    }
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    // SAFETY: valid by the contract, and `dst` overlaps no input.
    let dst = unsafe { from_raw_parts_mut(dst.cast::<MaybeUninit<T>>(), n) };
    // SAFETY: passed on; there are as many inputs as each says.
    unsafe {
        match inputs.len() {
            2 => of::<T, O, 2>(op, dst, inputs, at),
            3 => of::<T, O, 3>(op, dst, inputs, at),
            4 => of::<T, O, 4>(op, dst, inputs, at),
            5 => of::<T, O, 5>(op, dst, inputs, at),
            6 => of::<T, O, 6>(op, dst, inputs, at),
            7 => of::<T, O, 7>(op, dst, inputs, at),
            8 => of::<T, O, 8>(op, dst, inputs, at),
            k => unreachable!("a fold of {k} inputs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op;

    /// Every loop gives, for every element, the bits that the operator gives for
    /// it alone, whatever instructions it was compiled to and wherever in a
    /// vector the element is. (`cargo test --release` tests the vectors.)
    fn check<T: Element, O: Operator<T>>(op: &O, value: impl Fn(usize) -> T, bits: fn(T) -> u128) {
        let kernel = Kernel::combiner::<T, O>(op);
        for n in [0, 1, 2, 3, 7, 8, 31, 33, 64, 100] {
            let vector = |j: usize| (0..n).map(|i| value(i * 7 + j * 13)).collect::<Vec<T>>();
            let same = |got: &[T], wanted: &dyn Fn(usize) -> T, what: &str| {
                for (i, &x) in got.iter().enumerate() {
                    assert_eq!(bits(x), bits(wanted(i)), "{} {what}, {i} of {n}", O::NAME);
                }
            };
            let (x, y) = (vector(0), vector(1));
            let one = |i: usize| op.combine(x[i], y[i]);
            let at = |v: &[T]| v.as_ptr().cast::<u8>();
            let (mut a, mut b, mut z) = (x.clone(), y.clone(), x.clone());
            // SAFETY: vectors of n elements of type T, which do not overlap but
            // where the kernel allows it.
            unsafe {
                kernel.combine(z.as_mut_ptr().cast(), at(&x), at(&y), n);
                same(&z, &one, "apart");
                let p = a.as_mut_ptr().cast();
                kernel.combine(p, p, at(&y), n);
                same(&a, &one, "onto left");
                let p = b.as_mut_ptr().cast();
                kernel.combine(p, at(&x), p, n);
                same(&b, &one, "onto right");
                let (mut a, mut b) = (x.clone(), y.clone());
                kernel.both(a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), n);
                same(&a, &one, "both");
                same(&b, &one, "both");
                let (mut a, mut b) = (x.clone(), y.clone());
                kernel.carry(a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), n);
                same(&a, &one, "carry");
                same(&b, &|i| x[i], "carry");
                kernel.swap(a.as_mut_ptr().cast(), b.as_mut_ptr().cast(), n);
                same(&b, &one, "swap");
                let five = value(5);
                kernel.fill(b.as_mut_ptr().cast(), (&raw const five).cast(), n);
                same(&b, &|_| value(5), "fill");
                let (mut a, mut b) = (x.clone(), y.clone());
                let (to, from) = (a.as_mut_ptr().cast(), b.as_mut_ptr().cast());
                kernel.replace(to, from, (&raw const five).cast(), n);
                same(&a, &|i| y[i], "taken");
                same(&b, &|_| value(5), "replaced");
                for k in 2..=MOST_INPUTS {
                    let mut all: Vec<Vec<T>> = (0..k).map(vector).collect();
                    let inputs: Vec<*mut u8> =
                        all.iter_mut().map(|v| v.as_mut_ptr().cast()).collect();
                    kernel.fold(z.as_mut_ptr().cast(), &inputs, 0, n);
                    let fold =
                        |i: usize| all[1..].iter().fold(all[0][i], |sum, v| op.combine(sum, v[i]));
                    same(&z, &fold, "fold");
                    if n > 3 {
                        kernel.fold(z.as_mut_ptr().cast(), &inputs, 3 * size_of::<T>(), n - 3);
                        same(&z[..n - 3], &|i| fold(i + 3), "fold from 3");
                    }
                }
            }
        }
    }

    #[test]
    fn loops_are_element_by_element() {
        let odd = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, -1.0];
        let float = |i: usize| odd.get(i % 11).copied().unwrap_or(i as f64 / 3.0 - 9.0);
        // Which NaN an addition of two gives is left open.
        let bits = |x: f64| u128::from(if x.is_nan() { 1 } else { x.to_bits() });
        check(&op::Sum, float, bits);
        check(&op::Prod, float, bits);
        check(&op::Min, float, |x| x.to_bits().into());
        check(&op::Max, float, |x| x.to_bits().into());
        let single = |i: usize| float(i) as f32;
        let bits = |x: f32| u128::from(if x.is_nan() { 1 } else { x.to_bits() });
        check(&op::Sum, single, bits);
        check(&op::Min, single, |x| x.to_bits().into());
        check(&op::ordered(|a: f32, b: f32| a * 0.5 + b), single, bits);
        let word = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        check(&op::Sum, word, u128::from);
        check(&op::Prod, word, u128::from);
        check(&op::Max, |i| word(i) as i8, |x| x as u8 as u128);
        check(&op::Xor, |i| word(i) as u16 % 3, u128::from);
        check(&op::And, |i| !word(i).is_multiple_of(3), u128::from);
        check(&op::Sum, |i| word(i) as u128, |x| x);
        check(
            &op::MinLoc,
            |i| (float(i) as f32, i),
            |(x, i)| u128::from(x.to_bits()) << 64 | i as u128,
        );
        let compose = |f: (u64, u64), g: (u64, u64)| {
            (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1))
        };
        let pair = |(a, b): (u64, u64)| u128::from(a) << 64 | u128::from(b);
        check(&op::ordered(compose), |i| (word(i), word(i + 1)), pair);
    }
}
