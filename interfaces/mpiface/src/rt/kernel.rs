//! How the elements of a reduction combine: by an operator of the library, or by any over memory.

use super::basic::Element;
use super::handle::Handle;
use super::operator::Operator;
use num_complex::Complex;
use phalanx::engine::FoldKernel;
use phalanx::op;

pub(super) use super::standard::{MAX, MIN, PROD, SUM};

/// The operators of the library that reductions take: elements, operator; the type, the kernel, and
/// whether rounding depends on the order.
macro_rules! built_in {
    ($with:ident) => {
        $with! {
            (F64, SUM) => f64, op::Sum, true;
            (F64, PROD) => f64, op::Prod, true;
            (F64, MIN) => f64, op::Min, false;
            (F64, MAX) => f64, op::Max, false;
            (F32, SUM) => f32, op::Sum, true;
            (F32, PROD) => f32, op::Prod, true;
            (I32, SUM) => i32, op::Sum, false;
            (I32, MIN) => i32, op::Min, false;
            (I32, MAX) => i32, op::Max, false;
            (I64 | U64, SUM) => u64, op::Sum, false;
            (I64, MIN) => i64, op::Min, false;
            (I64, MAX) => i64, op::Max, false;
            (C64, SUM) => Complex<f64>, op::Sum, true;
            (C64, PROD) => Complex<f64>, op::Prod, true;
            (C32, SUM) => Complex<f32>, op::Sum, true;
            (C32, PROD) => Complex<f32>, op::Prod, true;
        }
    };
}
pub(super) use built_in;

/// Whether the library has this operator for these elements.
#[inline(always)]
pub fn is_built_in(op: Handle, element: Element) -> bool {
    use Element::{C32, C64, F32, F64, I32, I64, U64};
    macro_rules! known {
        ($(($element:pat, $op:pat) => $type:ty, $by:expr, $rounds:expr;)*) => {
            matches!((element, op), $(($element, $op))|*)
        };
    }
    built_in!(known)
}

/// Calls `run` with the kernel that combines elements of a size and an alignment, by an operator:
/// by one of the library's if there is one.
pub(super) fn with_kernel(
    op: Operator,
    (size, align): (usize, usize),
    run: impl FnOnce(&FoldKernel<'_>),
) {
    use Element::{C32, C64, F32, F64, I32, I64, U64};
    macro_rules! found {
        ($(($element:pat, $op:pat) => $type:ty, $by:expr, $rounds:expr;)*) => {
            match op {
                $(Operator::Known($op, $element) => run(&FoldKernel::of::<$type, _>(&$by)),)*
                _ => {
                    let arithmetic = Arithmetic { op, size };
                    // SAFETY: as the kernel asks of its caller.
                    let combine = |out, left, right, n| unsafe {
                        arithmetic.combine(out, left, right, n);
                    };
                    run(&FoldKernel::foreign(&combine, (size, align)));
                }
            }
        };
    }
    built_in!(found);
}

/// An operator on elements of so many bytes: the argument of the library's operators over memory.
pub(super) struct Arithmetic {
    pub(super) op: Operator,
    pub(super) size: usize,
}

impl Arithmetic {
    /// `out[i] = left[i] (+) right[i]`.
    ///
    /// # Safety
    /// `n` elements each, `out` being one of the operands or overlapping neither.
    pub(super) unsafe fn combine(&self, out: *mut u8, left: *const u8, right: *const u8, n: usize) {
        let bytes = n * self.size;
        let mut kept: Vec<u128> = Vec::new();
        // The standard's functions write where the right operand is.
        let target = if std::ptr::addr_eq(out, left) && !std::ptr::addr_eq(out, right) {
            kept.resize(bytes.div_ceil(16), 0);
            kept.as_mut_ptr().cast::<u8>()
        } else {
            out
        };
        // SAFETY: the caller's promise.
        unsafe {
            if !std::ptr::addr_eq(target, right) {
                std::ptr::copy_nonoverlapping(right, target, bytes);
            }
            self.op.combine(left as usize, target as usize, (n, self.size.cast_signed()));
            if !kept.is_empty() {
                std::ptr::copy_nonoverlapping(target, out, bytes);
            }
        }
    }
}
