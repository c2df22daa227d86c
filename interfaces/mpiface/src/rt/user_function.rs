//! Operators of the program's own.

use super::handle::Handle;
use crate::load::frame::Barred;
use phalanx::engine::FloatControl;
use std::ffi::{c_int, c_void};

/// A user's operator.
pub type NearFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);
/// One with large counts.
pub type FarFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut i64, *mut Handle);

/// A user's operator, as it was given.
#[derive(Clone, Copy, Debug)]
pub enum UserFunction {
    /// Takes an `int`.
    Near(NearFunction),
    /// Takes an MPI_Count.
    Far(FarFunction),
}

impl UserFunction {
    /// `b = a op b` of `n` elements, each `step` bytes from the last; of a datatype.
    ///
    /// # Safety
    /// Both are addresses of so many elements of this datatype, and `b` may be written.
    pub unsafe fn call(self, a: usize, b: usize, (n, step): (usize, isize), mut ty: Handle) {
        if !FloatControl::STANDARD.is_here() {
            // SAFETY: passed on.
            return FloatControl::STANDARD.lend(|| unsafe { self.call(a, b, (n, step), ty) });
        }
        // As many at once as their number can say.
        const MOST: usize = c_int::MAX as usize;
        let _barred = Barred::new();
        match self {
            // SAFETY: the program's own operator, on as many elements as it is told.
            UserFunction::Near(function) => unsafe {
                for start in (0..n.max(1)).step_by(MOST) {
                    let mut count = (n - start).min(MOST) as c_int;
                    let by = step.wrapping_mul(start.cast_signed());
                    let at = |it: usize| it.wrapping_add_signed(by) as *mut c_void;
                    function(at(a), at(b), &raw mut count, &raw mut ty);
                }
            },
            // SAFETY: the same.
            UserFunction::Far(function) => unsafe {
                let mut count = n as i64;
                function(a as *mut c_void, b as *mut c_void, &raw mut count, &raw mut ty);
            },
        }
    }
}
