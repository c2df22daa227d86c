//! Operators on elements of a datatype, and folds of many places by one.

use super::basic::Element;
use super::handle::Handle;
use super::ops::{Mark, apply};
use super::types::{AnyType, Place, copy};
use super::user_function::UserFunction;
use phalanx::engine::left_half;
use std::ops::Range;

/// Elements that are folded at once, so that they stay in the nearest cache.
const BLOCK: usize = 1024;

/// An operator on elements of a type.
#[derive(Clone, Copy, Debug)]
pub enum Operator {
    /// A predefined one.
    Known(Handle, Element),
    /// A user's, and the datatype's handle that it is told.
    User(UserFunction, Handle),
}

impl Operator {
    /// For the cards and logs: users' operators are not compared.
    pub fn mark(self) -> Mark {
        match self {
            Operator::Known(handle, element) => Mark::Known(handle, element),
            Operator::User(..) => Mark::User,
        }
    }

    /// `b = a op b`, of so many elements, each so many bytes from the last.
    ///
    /// # Safety
    /// Both are addresses of so many elements of the operator's datatype; `b` may be written, and
    /// nobody else uses it.
    #[inline]
    pub unsafe fn combine(self, a: usize, b: usize, elements: (usize, isize)) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Operator::Known(op, element) => {
                    _ = apply(op, element, a as *const u8, b as *mut u8, elements.0);
                }
                Operator::User(function, ty) => function.call(a, b, elements, ty),
            }
        }
    }
}

/// Room for elements, laid out as their type says.
#[derive(Debug)]
pub struct Temporary {
    /// The memory.
    pub room: Vec<u128>,
    /// The elements.
    pub place: Place,
}

impl Temporary {
    /// Of so many.
    pub fn new(ty: &AnyType, count: usize) -> Temporary {
        let (low, high) = ty.true_bounds();
        let steps = ty.extent * (count.max(1) as isize - 1);
        let (low, high) = (low + steps.min(0), high + steps.max(0));
        let length = usize::try_from(high - low).unwrap_or(0);
        let mut room = vec![0_u128; length.div_ceil(16)];
        let address = (room.as_mut_ptr() as usize).wrapping_add_signed(-low);
        Temporary { room, place: Place { address, count, ty: ty.clone() } }
    }
}

/// `out = places[0] op places[1] op ..`, as a tree; `out` is none of the places.
///
/// # Safety
/// All are memory as their types say, as many elements each; nobody writes the places or uses
/// `out`.
pub unsafe fn fold(places: &[Place], out: &Place, op: Operator) {
    let depth = places.len().next_power_of_two().trailing_zeros() as usize;
    let (length, extent) = (out.count.min(BLOCK), out.ty.extent);
    // Each by itself: elements may be longer than their extent.
    let one = Temporary::new(&out.ty, length);
    let begin = one.place.address.wrapping_sub(one.room.as_ptr() as usize);
    let mut rooms = vec![0_u128; depth * one.room.len()];
    let first = (rooms.as_mut_ptr() as usize).wrapping_add(begin);
    let rooms = (first, (one.room.len() * size_of::<u128>()).cast_signed());
    let mut at = 0;
    while at < out.count {
        let count = (out.count - at).min(BLOCK);
        let part = |rank: usize| places[rank].moved(at as isize, count);
        let room = |address| Place { address, count, ty: out.ty.clone() };
        let fold = Fold {
            at: |rank| part(rank).address,
            // SAFETY: the caller's promise; the rooms are new.
            copy: |rank, to| unsafe { _ = copy(&part(rank), &room(to)) },
            op,
            elements: (count, extent),
        };
        // SAFETY: parts of the caller's places; the rooms are new.
        unsafe { fold.run(0..places.len(), out.moved(at as isize, count).address, rooms) };
        at += count;
    }
}

/// The values of ranks, which an operator combines as a tree.
#[derive(Debug)]
pub struct Fold<A, C> {
    /// Where a rank's values lie.
    pub at: A,
    /// Copies a rank's values to an address.
    pub copy: C,
    /// The operator.
    pub op: Operator,
    /// How many each has, and bytes from one to the next.
    pub elements: (usize, isize),
}

impl<A: Fn(usize) -> usize, C: Fn(usize, usize)> Fold<A, C> {
    /// The values of these ranks, which are some, go to an address. There is a room for as many
    /// elements for each level of the tree but the last: the first, and bytes to the next.
    ///
    /// # Safety
    /// All are memory of such elements; nobody writes the ranks' values, or uses the rest.
    pub unsafe fn run(&self, ranks: Range<usize>, to: usize, (room, step): (usize, isize)) {
        if ranks.len() == 1 {
            return (self.copy)(ranks.start, to);
        }
        let middle = ranks.start + left_half(ranks.len());
        // SAFETY: the caller's promise, for each part.
        unsafe {
            self.run(middle..ranks.end, to, (room, step));
            let left = if middle - ranks.start == 1 {
                (self.at)(ranks.start)
            } else {
                self.run(ranks.start..middle, room, (room.wrapping_add_signed(step), step));
                room
            };
            self.op.combine(left, to, self.elements);
        }
    }
}
