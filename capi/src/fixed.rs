//! Sums with the same bits for any number of ranks, and of a few values.

use crate::arguments::{input, output};
use phalanx::Comm;
use phalanx::op;
use std::ffi::c_double;

pub(crate) unsafe fn sum_f64(comm: &mut Comm, x: *mut c_double, n: usize) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let x = output::<f64>("the buffer", x.cast(), n.min(isize::MAX as usize / 8))?;
        comm.all_reduce(x, op::Sum);
        Ok(())
    }
}

pub(crate) unsafe fn fixed_sum(
    comm: &mut Comm,
    x: *const c_double,
    n: usize,
    first: usize,
    sum: *mut c_double,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let x = input::<f64>("the vector", x.cast(), n.min(isize::MAX as usize / 8))?;
        let result = output::<f64>("the place of the result", sum.cast(), 1)?;
        result[0] = comm.fixed_sum(x, first);
        Ok(())
    }
}

pub(crate) unsafe fn fixed_dot(
    comm: &mut Comm,
    x: *const c_double,
    y: *const c_double,
    n: usize,
    first: usize,
    dot: *mut c_double,
) -> Result<(), String> {
    // SAFETY: by the contract.
    unsafe {
        let n = n.min(isize::MAX as usize / 8);
        let x = input::<f64>("the first vector", x.cast(), n)?;
        let y = input::<f64>("the second vector", y.cast(), n)?;
        let result = output::<f64>("the place of the result", dot.cast(), 1)?;
        result[0] = comm.fixed_dot(x, y, first);
        Ok(())
    }
}
