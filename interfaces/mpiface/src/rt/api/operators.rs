//! Operators.

use super::operands::Operands;
use super::prelude::*;
use crate::rt::user_function::{FarFunction, NearFunction, UserFunction};

pub(super) fn op_create(
    _: Caller<'_>,
    function: NearFunction,
    commutes: c_int,
) -> Outcome<(UserFunction, bool)> {
    Ok((UserFunction::Near(function), commutes != 0))
}

pub(super) fn op_create_c(
    _: Caller<'_>,
    function: FarFunction,
    commutes: c_int,
) -> Outcome<(UserFunction, bool)> {
    Ok((UserFunction::Far(function), commutes != 0))
}

pub(super) fn op_free(caller: Caller<'_>, handle: Out<Handle>) -> Outcome {
    if !caller.ops.borrow().is_given(handle.get()) {
        return error(Class::Op, format!("{:#x} is no operator of a user", handle.get()));
    }
    caller.ops.borrow_mut().free(handle.get());
    handle.set(standard::OP_NULL);
    caller.sweep()
}

pub(super) fn op_commutative(caller: Caller<'_>, op: Handle) -> Outcome<c_int> {
    Ok(c_int::from(caller.ops.borrow().get(op).is_none_or(|it| it.1)))
}

pub(super) fn reduce_local(caller: Caller<'_>, operands: Operands) -> Outcome {
    let (from, op) = operands.own(caller)?;
    let to = operands.target(caller)?;
    operands.apart(&from, &to)?;
    // SAFETY: both are memory of the program, as the standard asks of these arguments.
    unsafe { op.combine(from.address, to.address, (to.count, to.ty.extent)) };
    Ok(())
}
