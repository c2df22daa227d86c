//! A reduction's arguments.
//!
//! # Safety
//! As in `arguments.rs`.

use super::arguments::IN_PLACE;
use super::prelude::*;
use crate::rt::basic::solid;
use crate::rt::kernel::is_built_in;
use crate::rt::operator::Operator;
use crate::rt::ops;
use crate::rt::overlap::apart;
use crate::rt::reduction::{Numbers, Reduction};
use std::mem::MaybeUninit;

/// Buffers, how many elements, and the operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands<C = i64> {
    send: *const c_void,
    recv: *mut c_void,
    pub(super) count: C,
    ty: Handle,
    op: Handle,
}

impl<C> Operands<C> {
    /// # Safety
    /// See the head of the file.
    pub(super) unsafe fn new(
        send: *const c_void,
        recv: *mut c_void,
        count: C,
        ty: Handle,
        op: Handle,
    ) -> Operands<C> {
        Operands { send, recv, count, ty, op }
    }

    /// The same with another number of elements.
    pub(super) fn with<D>(&self, count: D) -> Operands<D> {
        Operands { send: self.send, recv: self.recv, count, ty: self.ty, op: self.op }
    }
}

/// Room for elements that a rank combines and does not get: not written before it is used.
pub(super) type Room = MaybeUninit<[u128; 64]>;

impl Operands {
    /// The operator, where the rank has no values of its own: on those that it gets.
    pub(super) fn result_operator(&self, caller: Caller<'_>) -> Outcome<Operator> {
        let at_target = Operands { send: self.recv.cast_const(), ..*self };
        Ok(at_target.own(caller)?.1)
    }

    /// The rank's own values, and the operator on them.
    pub(super) fn own(&self, caller: Caller<'_>) -> Outcome<(Place, Operator)> {
        let Operands { send, recv, count, ty, op } = *self;
        let from = if send as usize == IN_PLACE { recv.cast_const() } else { send };
        let place = caller.place(from, count, ty)?;
        let is_predefined = op < 0x1000;
        if !is_predefined && let Some((function, _)) = caller.ops.borrow().get(op) {
            return Ok((place, Operator::User(*function, ty)));
        }
        match place.ty.element.filter(|it| ops::knows(op, *it)) {
            Some(element) if place.ty.is_known() => Ok((place, Operator::Known(op, element))),
            _ if !is_predefined || op == standard::OP_NULL => {
                error(Class::Op, format!("{op:#x} is no operator"))
            }
            _ => {
                let (op, name) = (ops::name(op), place.ty.name);
                error(Class::Op, format!("{op} is not defined for {name}"))
            }
        }
    }

    /// As the library takes them, if it can.
    pub(super) fn reduction<'a>(&self, caller: Caller<'a>) -> Outcome<Option<Reduction<'a>>> {
        let (own, op) = self.own(caller)?;
        Ok(Reduction::new(caller.rank, own, op, (self.op, self.ty)))
    }

    /// The same of numbers that the library has an operator for, contiguous and aligned: as most
    /// calls give them, without the checks and objects that the rest needs. `room`: for a result
    /// that the rank does not get, if it needs no more.
    #[inline(always)]
    pub(super) fn numbers(&self, room: Option<&mut Room>) -> Option<Numbers> {
        let Operands { send, recv, count, ty, op } = *self;
        let most = if room.is_some() { size_of::<Room>() } else { usize::MAX };
        let recv = room.map_or(recv, |it| std::ptr::from_mut(it).cast());
        let (element, size) = solid(ty)?;
        // Sizes are powers of two.
        let is_aligned = recv as usize & (size - 1) == 0;
        let is_apart = !std::ptr::addr_eq(send, recv);
        let is_there = !send.is_null() && !recv.is_null() && is_aligned && is_apart;
        let from = if send as usize == IN_PLACE { recv.cast_const() } else { send };
        let count = usize::try_from(count).ok().filter(|it| *it > 0)?;
        let fits = count.checked_mul(size).is_some_and(|bytes| bytes <= most);
        let are_numbers = fits && is_there && is_built_in(op, element);
        are_numbers.then_some(Numbers { from, to: recv, count, size, element, op })
    }

    /// Refuses values that lie where the result goes, unless the program says so.
    pub(super) fn apart(&self, own: &Place, target: &Place) -> Outcome {
        if self.send as usize == IN_PLACE { Ok(()) } else { apart(own, target) }
    }

    /// Where the result goes.
    pub(super) fn target(&self, caller: Caller<'_>) -> Outcome<Place> {
        caller.place(self.recv, self.count, self.ty)
    }
}
