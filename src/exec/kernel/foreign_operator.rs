//! A kernel for operators of other languages: a function that combines slices of elements, of which
//! only the size is known.

use super::{Kernel, Loops, line};
use std::marker::PhantomData;
use std::ptr::{copy_nonoverlapping, swap_nonoverlapping};

/// An operator of another language, on elements of `size` bytes.
///
/// `combine(arg, out, left, right, n)` stores `left[i] (+) right[i]` in `out[i]`, for `n` elements;
/// `out` is `left`, or `right`, or overlaps neither.
pub(crate) struct ForeignOperator<'a> {
    combine: &'a (dyn Fn(*mut u8, *const u8, *const u8, usize) + 'a),
    pub(crate) commutative: bool,
    loops: Loops,
}

impl<'a> ForeignOperator<'a> {
    /// Combines elements of `size` bytes, aligned to `align`.
    pub(crate) fn new(
        combine: &'a (dyn Fn(*mut u8, *const u8, *const u8, usize) + 'a),
        (size, align): (usize, usize),
        commutative: bool,
    ) -> Self {
        let loops = Loops {
            size,
            align,
            line: line(size),
            combine: combine_slices,
            both,
            carry,
            fold,
            // An exclusive scan by a foreign operator has no identity, and pairs of ranks that
            // swap blocks do not combine.
            fill: |_, _, _| unreachable!("a foreign operator has no identity"),
            replace: |_, _, _, _, _| unreachable!("a foreign operator has no identity"),
            swap: |_, _, _| unreachable!("a call that combines swaps nothing"),
        };
        ForeignOperator { combine, commutative, loops }
    }
}

/// Bytes that are copied aside at a time.
const ASIDE: usize = 1024;

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
    (op.combine)(dst, left, right, n);
}

/// # Safety
/// As [`Kernel::both`]; `op` points to a [`ForeignOperator`].
unsafe fn both(op: *const (), a: *mut u8, b: *mut u8, n: usize) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<ForeignOperator<'_>>() };
    (op.combine)(a, a, b, n);
    // SAFETY: both have n elements, and do not overlap.
    unsafe { copy_nonoverlapping(a, b, n * op.loops.size) };
}

/// # Safety
/// As [`Kernel::carry`]; `op` points to a [`ForeignOperator`].
unsafe fn carry(op: *const (), total: *mut u8, x: *mut u8, n: usize) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<ForeignOperator<'_>>() };
    // x = total (+) x, and then they change places: each is read before it is written.
    (op.combine)(x, total, x, n);
    let (mut at, bytes) = (0, n * op.loops.size);
    while at < bytes {
        let part = ASIDE.min(bytes - at);
        // SAFETY: both have so many bytes, and do not overlap.
        unsafe { swap_nonoverlapping(total.add(at), x.add(at), part) };
        at += part;
    }
}

/// # Safety
/// As [`Kernel::fold`]; `op` points to a [`ForeignOperator`].
unsafe fn fold(op: *const (), dst: *mut u8, inputs: &[*mut u8], at: usize, n: usize) {
    // SAFETY: by the contract.
    let op = unsafe { &*op.cast::<ForeignOperator<'_>>() };
    let input = |j: usize| inputs[j].wrapping_add(at).cast_const();
    (op.combine)(dst, input(0), input(1), n);
    for j in 2..inputs.len() {
        (op.combine)(dst, dst, input(j), n);
    }
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
        let op = ForeignOperator::new(&combine, (8, 8), false);
        let kernel = Kernel::foreign(&op);
        for n in [0, 1, 3, 200] {
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
                let (mut a, mut b) = (x.clone(), y.clone());
                kernel.both(at(&mut a), at(&mut b), n);
                assert_eq!((&a, &b), (&wanted(&x, &y), &wanted(&x, &y)));
                let (mut a, mut b) = (x.clone(), y.clone());
                kernel.carry(at(&mut a), at(&mut b), n);
                assert_eq!((&a, &b), (&wanted(&x, &y), &x));
                let (mut a, mut b, mut c) = (x.clone(), y.clone(), z.clone());
                let mut out = vec![0; n];
                let inputs = [at(&mut a), at(&mut b), at(&mut c)];
                kernel.fold(at(&mut out), &inputs, 0, n);
                assert_eq!(out, wanted(&wanted(&x, &y), &z));
            }
        }
    }
}
