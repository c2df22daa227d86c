//! Kernels: element type and operator, erased, called once per slice.

use crate::element::Element;
use crate::op::Operator;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// dst[i] = left[i] (+) right[i] for `n` elements.
type Combine = unsafe fn(op: *const (), dst: *mut u8, left: *const u8, right: *const u8, n: usize);
/// a[i] = b[i] = a[i] (+) b[i] for `n` elements.
type Both = unsafe fn(op: *const (), a: *mut u8, b: *mut u8, n: usize);

/// What the engine knows of elements: how large they are and how they combine.
#[derive(Clone, Copy)]
pub(crate) struct Kernel<'a> {
    size: usize,
    align: usize,
    combine: Combine,
    both: Both,
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
            both: no_both,
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
}

unsafe fn no_combine(_: *const (), _: *mut u8, _: *const u8, _: *const u8, _: usize) {
    unreachable!("a schedule that combines was run without an operator")
}

unsafe fn no_both(_: *const (), _: *mut u8, _: *mut u8, _: usize) {
    unreachable!("a schedule that combines was run without an operator")
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
    use std::slice::{from_raw_parts, from_raw_parts_mut};
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
        apart(op, dst, left, right);
    }
}

// One loop each, in functions of their own: the compiler vectorises well only
// what it knows not to overlap, and it knows that of arguments.

#[inline(never)]
fn onto_left<T: Element, O: Operator<T>>(op: &O, left: &mut [T], right: &[T]) {
    left.iter_mut().zip(right).for_each(|(l, &r)| *l = op.combine(*l, r));
}

#[inline(never)]
fn onto_right<T: Element, O: Operator<T>>(op: &O, left: &[T], right: &mut [T]) {
    right.iter_mut().zip(left).for_each(|(r, &l)| *r = op.combine(l, *r));
}

#[inline(never)]
fn apart<T: Element, O: Operator<T>>(op: &O, dst: &mut [MaybeUninit<T>], left: &[T], right: &[T]) {
    for ((d, &l), &r) in dst.iter_mut().zip(left).zip(right) {
        d.write(op.combine(l, r));
    }
}

#[inline(never)]
fn onto_both<T: Element, O: Operator<T>>(op: &O, a: &mut [T], b: &mut [T]) {
    for (x, y) in a.iter_mut().zip(b) {
        let z = op.combine(*x, *y);
        *x = z;
        *y = z;
    }
}

/// # Safety
/// As [`Kernel::both`]; `op` points to an `O`.
unsafe fn both<T: Element, O: Operator<T>>(op: *const (), a: *mut u8, b: *mut u8, n: usize) {
    use std::slice::from_raw_parts_mut;
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<O>() };
    // SAFETY: by the contract they are valid and disjoint.
    let (a, b) = unsafe { (from_raw_parts_mut(a.cast::<T>(), n), from_raw_parts_mut(b.cast(), n)) };
    onto_both(op, a, b);
}
