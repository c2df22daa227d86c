//! A kernel for operators of other languages: a function that combines slices of elements, of which
//! only the size is known.

use super::{Kernel, Loops, line};
use crate::op::float_control::FloatControl;
use std::marker::PhantomData;

/// An operator of another language, on elements of `size` bytes.
///
/// `combine(arg, out, left, right, n)` stores `left[i] (+) right[i]` in `out[i]`, for `n` elements;
/// `out` is `left`, or `right`, or overlaps neither.
pub(crate) struct ForeignOperator<'a> {
    combine: &'a (dyn Fn(*mut u8, *const u8, *const u8, usize) + 'a),
    loops: Loops,
}

impl<'a> ForeignOperator<'a> {
    /// Combines elements of `size` bytes, aligned to `align`.
    pub(crate) fn new(
        combine: &'a (dyn Fn(*mut u8, *const u8, *const u8, usize) + 'a),
        (size, align): (usize, usize),
    ) -> Self {
        let loops =
            Loops { size, align, line: line(size), combine: combine_slices, fold, wide: None };
        ForeignOperator { combine, loops }
    }
}

impl<'a> Kernel<'a> {
    /// For elements that `op` combines.
    pub(crate) fn foreign(op: &'a ForeignOperator<'a>) -> Self {
        Kernel { loops: &op.loops, op: std::ptr::from_ref(op).cast(), _op: PhantomData }
    }
}

/// # Safety
/// As [`Kernel::combine`]; `op` points to a [`ForeignOperator`].
unsafe fn combine_slices(op: *const (), dst: *mut u8, left: *const u8, right: *const u8, n: usize) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<ForeignOperator<'_>>() };
    FloatControl::STANDARD.during(|| (op.combine)(dst, left, right, n));
}

/// # Safety
/// As [`Kernel::fold`] and [`Kernel::both`]; `op` points to a [`ForeignOperator`].
unsafe fn fold(op: *const (), dst: *mut u8, also: *mut u8, inputs: &[*mut u8], n: usize) {
    // SAFETY: by the contract.
    let kernel = unsafe { Kernel::foreign(&*op.cast()) };
    kernel.in_blocks(n, |at, n| {
        let (dst, also) = (dst.wrapping_add(at), also.wrapping_add(at));
        let input = |j: usize| inputs[j].wrapping_add(at);
        // Of two places in the second, which may be the right operand's: so functions write that
        // know two operands only, as those of MPI.
        //
        // SAFETY: by the contract; of the inputs only the first two may be where the result is.
        unsafe {
            kernel.combine(also, input(0), input(1), n);
            (2..inputs.len()).for_each(|j| kernel.combine(also, also, input(j), n));
            if !std::ptr::eq(also, dst) {
                kernel.copy(dst, also, n);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each loop, on an operator for which the order of the operands matters.
    #[test]
    fn loops_combine_in_order() {
        let combine = |out: *mut u8, left: *const u8, right: *const u8, n: usize| {
            let (out, left, right) = (out.cast::<u64>(), left.cast::<u64>(), right.cast::<u64>());
            for i in 0..n {
                // SAFETY: as many elements of the test's vectors.
                unsafe { *out.add(i) = (*left.add(i)).wrapping_mul(31).wrapping_add(*right.add(i)) }
            }
        };
        let op = ForeignOperator::new(&combine, (8, 8));
        let kernel = Kernel::foreign(&op);
        for n in [0, 1, 3, 2000] {
            let vector = |j: u64| (0..n as u64).map(|i| i * 7 + j * 1000).collect::<Vec<u64>>();
            let wanted = |a: &[u64], b: &[u64]| -> Vec<u64> {
                a.iter().zip(b).map(|(a, b)| a * 31 + b).collect()
            };
            let (x, y, z) = (vector(1), vector(2), vector(3));
            let at = |v: &mut Vec<u64>| v.as_mut_ptr().cast::<u8>();
            // SAFETY: vectors of n elements of 8 bytes, which overlap only where they are equal.
            unsafe {
                let (mut a, mut b) = (x.clone(), y.clone());
                kernel.combine(at(&mut a), at(&mut a), at(&mut b), n);
                assert_eq!(a, wanted(&x, &y));
                let mut a = x.clone();
                kernel.combine(at(&mut b), at(&mut a), at(&mut b), n);
                assert_eq!(b, wanted(&x, &y));
                let (mut a, mut b, mut c) = (x.clone(), y.clone(), z.clone());
                let mut out = vec![0; n];
                let inputs = [at(&mut a), at(&mut b), at(&mut c)];
                kernel.fold(at(&mut out), &inputs, n);
                assert_eq!(out, wanted(&wanted(&x, &y), &z));
                kernel.both(at(&mut a), at(&mut b), n);
                assert_eq!((&a, &b), (&wanted(&x, &y), &wanted(&x, &y)));
            }
        }
    }
}
