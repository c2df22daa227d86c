//! Kernels: element type and operator, erased, called once per slice.
//!
//! Every loop is compiled twice (`loops!`): for the baseline of the
//! architecture, and on x86-64 for AVX2, chosen when the program runs. So a
//! program built for any x86-64 uses the vectors of the machine that it runs
//! on, with the user's operators and closures, which are inlined into both. The
//! results are the same bits: each element is combined by itself, in rank
//! order, and Rust never contracts a multiplication and an addition.
//!
//! On aarch64 the baseline has NEON. AVX-512 was measured with a prototype and
//! gained nothing over AVX2 (such loops wait for memory), so it is left out.

use crate::element::Element;
use crate::op::Operator;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// The most inputs that one pass combines ([`Kernel::fold`]).
pub(crate) const MOST_INPUTS: usize = 8;

/// dst[i] = left[i] (+) right[i] for `n` elements.
type Combine = unsafe fn(op: *const (), dst: *mut u8, left: *const u8, right: *const u8, n: usize);
/// Two vectors of `n` elements, both read and written.
type Pair = unsafe fn(op: *const (), a: *mut u8, b: *mut u8, n: usize);
/// dst[i] = inputs[0][i] (+) .. (+) inputs[k-1][i] for `n` elements.
type Fold = unsafe fn(op: *const (), dst: *mut u8, inputs: &[*mut u8], at: usize, n: usize);

/// What the engine knows of elements: how large they are and how they combine.
#[derive(Clone, Copy)]
pub(crate) struct Kernel<'a> {
    size: usize,
    align: usize,
    combine: Combine,
    both: Pair,
    carry: Pair,
    fold: Fold,
    op: *const (),
    _op: PhantomData<&'a ()>,
}

impl<'a> Kernel<'a> {
    /// For elements that are only moved.
    #[inline(always)]
    pub(crate) fn mover<T: Element>() -> Self {
        Kernel {
            size: size_of::<T>(),
            align: align_of::<T>(),
            combine: no_combine,
            both: no_pair,
            carry: no_pair,
            fold: no_fold,
            op: std::ptr::null(),
            _op: PhantomData,
        }
    }

    /// For elements that `op` combines.
    #[inline(always)]
    pub(crate) fn combiner<T: Element, O: Operator<T>>(op: &'a O) -> Self {
        Kernel {
            size: size_of::<T>(),
            align: align_of::<T>(),
            combine: combine::<T, O>,
            both: both::<T, O>,
            carry: carry::<T, O>,
            fold: fold::<T, O>,
            op: std::ptr::from_ref(op).cast(),
            _op: PhantomData,
        }
    }

    /// Bytes of an element.
    #[inline(always)]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    #[inline(always)]
    pub(crate) fn align(&self) -> usize {
        self.align
    }

    /// Copies `n` elements.
    ///
    /// # Safety
    /// - `src` is valid for reads and `dst` for writes of `n` elements.
    /// - They do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn copy(&self, dst: *mut u8, src: *const u8, n: usize) {
        // SAFETY: by the contract above.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, n * self.size) }
    }

    /// dst[i] = left[i] (+) right[i] for `n` elements.
    ///
    /// # Safety
    /// - `left` and `right` are valid for reads of `n` elements of the
    ///   kernel's type, `dst` for writes, all aligned for it.
    /// - `dst` is `left`, or `right`, or overlaps neither.
    #[inline(always)]
    pub(crate) unsafe fn combine(&self, dst: *mut u8, left: *const u8, right: *const u8, n: usize) {
        // SAFETY: by the contract above; `op` is the operator that `combine`
        // was made for, borrowed for 'a.
        unsafe { (self.combine)(self.op, dst, left, right, n) }
    }

    /// a[i] = b[i] = a[i] (+) b[i] for `n` elements.
    ///
    /// # Safety
    /// - `a` and `b` are valid for reads and writes of `n` elements of the
    ///   kernel's type, and aligned for it.
    /// - They do not overlap.
    #[inline(always)]
    pub(crate) unsafe fn both(&self, a: *mut u8, b: *mut u8, n: usize) {
        // SAFETY: as for `combine`.
        unsafe { (self.both)(self.op, a, b, n) }
    }

    /// (total[i], x[i]) = (total[i] (+) x[i], total[i]) for `n` elements: a step
    /// of an exclusive prefix.
    ///
    /// # Safety
    /// As for [`both`](Kernel::both).
    #[inline(always)]
    pub(crate) unsafe fn carry(&self, total: *mut u8, x: *mut u8, n: usize) {
        // SAFETY: as for `combine`.
        unsafe { (self.carry)(self.op, total, x, n) }
    }

    /// dst[i] = inputs[0][i] (+) .. (+) inputs[k-1][i] for `n` elements, each
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
        unsafe { (self.fold)(self.op, dst, inputs, at, n) }
    }
}

const NO_OPERATOR: &str = "a schedule that combines was run without an operator";

unsafe fn no_combine(_: *const (), _: *mut u8, _: *const u8, _: *const u8, _: usize) {
    unreachable!("{NO_OPERATOR}")
}

unsafe fn no_pair(_: *const (), _: *mut u8, _: *mut u8, _: usize) {
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

    fn apart[K](op: &O, dst: &mut [MaybeUninit<T>], inputs: [&[T]; K]) {
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
    if std::ptr::eq(dst, left) {
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
        apart(op, dst, [left, right]);
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
        apart(op, dst, inputs);
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
