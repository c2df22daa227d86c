//! Operators on elements of a datatype, and folds of many places by one.

use super::basic::Element;
use super::handle::Handle;
use super::ops::{Mark, apply};
use super::types::{AnyType, Place, copy};
use super::user_function::UserFunction;

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

    /// `b = a op b`.
    ///
    /// # Safety
    /// As `fold`.
    pub unsafe fn combine(self, a: &Place, b: &Place) {
        match self {
            Operator::Known(op, element) => {
                // SAFETY: both places hold as many elements of this kind, in the type's extents.
                unsafe {
                    apply(op, element, a.address as *const u8, b.address as *mut u8, b.count)
                };
            }
            Operator::User(function, ty) => {
                let elements = (b.count, b.ty.extent);
                // SAFETY: both places hold as many elements of the datatype.
                unsafe { function.call(a.address, b.address, elements, ty) };
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
    let depth = places.len().next_power_of_two().trailing_zeros();
    let length = out.count.min(BLOCK);
    let rooms: Vec<Temporary> = (0..depth).map(|_| Temporary::new(&out.ty, length)).collect();
    let mut at = 0;
    while at < out.count {
        let count = (out.count - at).min(BLOCK);
        let parts: Vec<Place> = places.iter().map(|it| it.moved(at as isize, count)).collect();
        // SAFETY: parts of the caller's places; the rooms are new.
        unsafe { tree(&parts, &out.moved(at as isize, count), &rooms, op) };
        at += count;
    }
}

/// # Safety
/// As `fold`; the rooms hold as many elements, and are used by nobody.
unsafe fn tree(places: &[Place], out: &Place, rooms: &[Temporary], op: Operator) {
    // SAFETY: the caller's promise, for each part.
    unsafe {
        if let [one] = places {
            copy(one, out);
            return;
        }
        let (left, right) = places.split_at(places.len().next_power_of_two() / 2);
        tree(right, out, rooms, op);
        if let [one] = left {
            op.combine(one, out);
        } else {
            let room = rooms[0].place.moved(0, out.count);
            tree(left, &room, &rooms[1..], op);
            op.combine(&room, out);
        }
    }
}
