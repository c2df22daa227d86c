//! Sums with the same bits for any number of ranks, and of a few values.

use crate::arguments::{input, output};
use crate::call::{From, call, phx_comm};
use crate::error::phx_err;
use phalanx::op;
use std::ffi::{c_char, c_double, c_int};

/// Sums each of a few doubles over the ranks: `phx_all_reduce` of `PHX_F64` by `PHX_SUM`.
///
/// # Safety
/// `x` has `n` doubles, which nobody else uses meanwhile; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_sum_f64_at(
    comm: *mut phx_comm,
    x: *mut c_double,
    n: usize,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_sum_f64", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let x = output::<f64>("the buffer", x.cast(), n.min(isize::MAX as usize / 8))?;
            comm.all_reduce(x, op::Sum);
            Ok(())
        })
    }
}

/// The sum of a vector of which this rank has `n` elements, from number `first` on: the same bits
/// however many ranks there are.
///
/// # Safety
/// `x` has `n` doubles; `sum` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_fixed_sum_at(
    comm: *mut phx_comm,
    x: *const c_double,
    n: usize,
    first: usize,
    sum: *mut c_double,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_fixed_sum", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let x = input::<f64>("the vector", x.cast(), n.min(isize::MAX as usize / 8))?;
            let result = output::<f64>("the place of the result", sum.cast(), 1)?;
            result[0] = comm.fixed_sum(x, first);
            Ok(())
        })
    }
}

/// The dot product of two vectors, as [`phx_fixed_sum_at`].
///
/// # Safety
/// `x` and `y` have `n` doubles each; `dot` is null or valid; `file` is null or a string that
/// stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_fixed_dot_at(
    comm: *mut phx_comm,
    x: *const c_double,
    y: *const c_double,
    n: usize,
    first: usize,
    dot: *mut c_double,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_fixed_dot", file, line };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let n = n.min(isize::MAX as usize / 8);
            let x = input::<f64>("the first vector", x.cast(), n)?;
            let y = input::<f64>("the second vector", y.cast(), n)?;
            let result = output::<f64>("the place of the result", dot.cast(), 1)?;
            result[0] = comm.fixed_dot(x, y, first);
            Ok(())
        })
    }
}
