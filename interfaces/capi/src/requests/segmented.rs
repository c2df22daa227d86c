//! Segmented scans, started or not: of a type that is known, as each element is combined with the
//! one before it.

use super::Starting;
use crate::names::*;
use crate::types::{ByOperator, Elements, OnBoth, with_operator, with_type};
use phalanx::engine::{PreparedCall, UserElement, UserOperator};
use phalanx::op::Operator;
use phalanx::{Comm, Element};
use std::ffi::c_int;
use std::sync::Arc;

/// How a call is made: run, or started.
pub(crate) trait Way {
    const WAITS: bool;
    /// # Safety
    /// As C's function says.
    unsafe fn make(self, call: PreparedCall<'static>);
}

impl Way for &mut Comm {
    const WAITS: bool = true;
    unsafe fn make(self, call: PreparedCall<'static>) {
        call.run(self);
    }
}

impl Way for Starting<'_> {
    const WAITS: bool = false;
    unsafe fn make(self, call: PreparedCall<'static>) {
        // SAFETY: passed on.
        unsafe { self.go(None, call) }
    }
}

/// An operator of the program's, on elements one by one.
struct OneByOne(Arc<UserOperator>);

impl<T: Element> Operator<T> for OneByOne {
    const NAME: &'static str = "an operator of one's own";
    const COMMUTATIVE: bool = false;

    fn combine(&self, left: T, right: T) -> T {
        // SAFETY: of the type that the program names.
        unsafe { self.0.combine_one(left, right) }
    }
}

/// The elements and their flags; whether it is exclusive, and whether it waits.
type Making = (Elements, Vec<bool>, bool, bool);

/// # Safety
/// The elements are of type `T`, and valid as C's function says.
unsafe fn made<T: Element, U: Element, O: OnBoth<T, U> + 'static>(
    (elements, flags, is_exclusive, waits): Making,
    op: O,
) -> Result<PreparedCall<'static>, String> {
    // SAFETY: passed on.
    unsafe {
        let values = elements.output::<U>("the buffer")?;
        Ok(PreparedCall::segmented::<T, U, O>((values, flags), op, is_exclusive, waits))
    }
}

impl ByOperator for Making {
    type Output = Result<PreparedCall<'static>, String>;

    fn by<T: Element, U: Element, O: OnBoth<T, U>>(self, op: &'static O) -> Self::Output {
        // SAFETY: by the contract of `with_operator`.
        unsafe { made::<T, U, &O>(self, op) }
    }

    fn by_user(self, op: &Arc<UserOperator>, _: UserElement) -> Self::Output {
        let ty = self.0.ty;
        if ty.is_bytes() {
            return Err("a segmented scan is of elements of a type, and not of bytes".into());
        }
        // SAFETY: as above.
        with_type!(ty, T => unsafe { made::<T, T, _>(self, OneByOne(op.clone())) })
    }
}

macro_rules! functions {
    ($($name:ident $is_exclusive:literal;)*) => {$(
        /// # Safety
        /// As C's function says.
        pub(crate) unsafe fn $name<W: Way>(
            way: W, elements: Elements, flags: &[c_int], op: phx_op,
        ) -> Result<(), String> {
            let flags = flags.iter().map(|&it| it != 0).collect();
            let making = (elements, flags, $is_exclusive, W::WAITS);
            // SAFETY: passed on.
            unsafe { way.make(with_operator(elements.ty, op, making)??) };
            Ok(())
        }
    )*};
}

functions! {
    segmented_scan false;
    exclusive_segmented_scan true;
}
