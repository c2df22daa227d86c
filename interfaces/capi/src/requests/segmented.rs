//! Segmented scans, started or not: of a type that is known, as each element is combined with the
//! one before it.

use super::Open;
use super::Work::{self, Idle, Started};
use crate::names::*;
use crate::types::{ByOperator, Elements, with_operator, with_type};
use phalanx::engine::{UserElement, UserOperator, made_at};
use phalanx::op::Operator;
use phalanx::{Comm, Element, call};
use std::ffi::c_int;
use std::sync::Arc;

enum Way<'a> {
    Waits(&'a mut Comm),
    /// Sets it up if the number is not 0.
    Starts(Open<'a>, c_int),
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
    unsafe fn made<T: Element, O: Operator<T> + 'static>(
        self,
        op: O,
    ) -> Result<Option<Work>, String> {
        let Segments { elements, flags, is_exclusive, way } = self;
        // SAFETY: passed on.
        let values = unsafe { elements.output::<T>("the buffer")? };
        macro_rules! made {
            ($call:expr) => {
                match (way, $call) {
                    (Way::Waits(comm), call) => {
                        comm.run(call);
                        None
                    }
                    (Way::Starts((scope, _, at), 0), call) => {
                        Some(Started(Box::new(scope.start(made_at(call, at)))))
                    }
                    (Way::Starts((scope, _, at), _), call) => {
                        Some(Idle(Box::new(scope.set_up(made_at(call, at)))))
                    }
                }
            };
        }
        Ok(match is_exclusive {
            true => made!(call::exclusive_segmented_scan(values, flags, op)),
            false => made!(call::segmented_scan(values, flags, op)),
        })
    }
}

impl ByOperator for Segments<'_> {
    type Output = Result<Option<Work>, String>;

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
    ($($waits:ident $starts:ident $is_exclusive:literal;)*) => {$(
        /// # Safety
        /// As C's function says.
        pub(crate) unsafe fn $waits(
            comm: &mut Comm,
            elements: Elements,
            flags: &[c_int],
            op: phx_op,
        ) -> Result<(), String> {
            let (flags, way) = (flags.iter().map(|&it| it != 0).collect(), Way::Waits(comm));
            let it = Segments { elements, flags, is_exclusive: $is_exclusive, way };
            // SAFETY: passed on.
            unsafe { with_operator(elements.ty, op, it)?.map(drop) }
        }

        /// # Safety
        /// As C's function says.
        pub(crate) unsafe fn $starts(
            (scope, state, at): Open<'_>,
            elements: Elements,
            flags: &[c_int],
            op: phx_op,
            (persistent, request): (c_int, *mut phx_request),
        ) -> Result<(), String> {
            let flags = flags.iter().map(|&it| it != 0).collect();
            let way = Way::Starts((scope, &mut *state, at), persistent);
            let it = Segments { elements, flags, is_exclusive: $is_exclusive, way };
            // SAFETY: passed on.
            let work = unsafe { with_operator(elements.ty, op, it)?? };
            if let Some(work) = work {
                // SAFETY: passed on.
                unsafe { state.keep(None, work, request) };
            }
            Ok(())
        }
    )*};
}

functions! {
    segmented_scan start_segmented_scan false;
    exclusive_segmented_scan start_exclusive_segmented_scan true;
}
