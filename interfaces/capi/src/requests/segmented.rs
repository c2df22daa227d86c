//! Segmented scans, started or not: of a type that is known, as each element is combined with the
//! one before it.

use super::Starting;
use crate::names::*;
use crate::types::{ByOperator, Elements, with_operator, with_type};
use phalanx::engine::{UserElement, UserOperator};
use phalanx::op::Operator;
use phalanx::{Comm, Element, call};
use std::ffi::c_int;
use std::sync::Arc;

pub(crate) enum Way<'a> {
    Waits(&'a mut Comm),
    Starts(Starting<'a>),
}

impl<'a> From<&'a mut Comm> for Way<'a> {
    fn from(comm: &'a mut Comm) -> Self {
        Way::Waits(comm)
    }
}

impl<'a> From<Starting<'a>> for Way<'a> {
    fn from(starting: Starting<'a>) -> Self {
        Way::Starts(starting)
    }
}

struct Segments<'a> {
    elements: Elements,
    flags: Vec<bool>,
    is_exclusive: bool,
    way: Way<'a>,
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

impl Segments<'_> {
    /// # Safety
    /// The elements are of type `T`, and valid as C's function says.
    unsafe fn made<T: Element, O: Operator<T> + 'static>(self, op: O) -> Result<(), String> {
        let Segments { elements, flags, is_exclusive, way } = self;
        // SAFETY: passed on.
        unsafe {
            let values = elements.output::<T>("the buffer")?;
            macro_rules! make {
                ($call:expr) => {
                    match way {
                        Way::Waits(comm) => drop(comm.run($call)),
                        Way::Starts(starting) => starting.go(None, $call),
                    }
                };
            }
            match is_exclusive {
                true => make!(call::exclusive_segmented_scan(values, flags, op)),
                false => make!(call::segmented_scan(values, flags, op)),
            }
        }
        Ok(())
    }
}

impl ByOperator for Segments<'_> {
    type Output = Result<(), String>;

    fn by<T: Element, O: Operator<T>>(self, op: &'static O) -> Self::Output {
        // SAFETY: by the contract of `with_operator`.
        unsafe { self.made::<T, _>(op) }
    }

    fn by_user(self, op: &Arc<UserOperator>, _: UserElement) -> Self::Output {
        if self.elements.ty.is_bytes() {
            return Err("a segmented scan is of elements of a type, and not of bytes".into());
        }
        // SAFETY: as above.
        with_type!(self.elements.ty, T => unsafe { self.made::<T, _>(OneByOne(op.clone())) })
    }
}

macro_rules! functions {
    ($($name:ident $is_exclusive:literal;)*) => {$(
        /// # Safety
        /// As C's function says.
        pub(crate) unsafe fn $name<'a>(
            way: impl Into<Way<'a>>,
            elements: Elements,
            flags: &[c_int],
            op: phx_op,
        ) -> Result<(), String> {
            let (flags, way) = (flags.iter().map(|&it| it != 0).collect(), way.into());
            let it = Segments { elements, flags, is_exclusive: $is_exclusive, way };
            // SAFETY: passed on.
            unsafe { with_operator(elements.ty, op, it)? }
        }
    )*};
}

functions! {
    segmented_scan false;
    exclusive_segmented_scan true;
}
