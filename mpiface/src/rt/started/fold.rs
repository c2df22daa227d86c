//! Reductions over values of all ranks, wherever they lie.

use super::part::Gives;
use crate::rt::operator::{Operator, Temporary, fold};
use crate::rt::ops::apply;
use crate::rt::types::{Place, copy};
use std::ops::Range;

/// Results of long reductions are made in parts of so many bytes, which stay in the nearest cache.
const BLOCK: usize = 8 << 10;

/// Values of ranks without gaps: where they lie, the operator, and bytes of an element.
pub(super) struct Stored<A> {
    pub(super) at: A,
    pub(super) op: Operator,
    pub(super) element: usize,
}

impl<A: Fn(usize) -> usize> Stored<A> {
    /// As `fold`, to a place.
    ///
    /// # Safety
    /// As `fold`.
    #[inline]
    pub(super) unsafe fn fold_to(&self, ranks: Range<usize>, target: &Place) {
        if target.is_contiguous() {
            // SAFETY: passed on.
            return unsafe { self.fold(ranks, target.address, target.count) };
        }
        let length = target.count * self.element;
        let mut room = vec![0_u128; length.div_ceil(16)];
        let at = room.as_mut_ptr() as usize;
        // SAFETY: passed on; the room has as many bytes.
        unsafe {
            self.fold(ranks, at, target.count);
            target.write(std::slice::from_raw_parts(at as *const u8, length));
        }
    }

    /// The values of these ranks, which are some, go to so many elements at an address, as a tree:
    /// as `coll::fold`.
    ///
    /// # Safety
    /// All have as many elements; nobody writes them or uses the target.
    #[inline]
    unsafe fn fold(&self, ranks: Range<usize>, to: usize, count: usize) {
        let depth = ranks.len().next_power_of_two().trailing_zeros() as usize;
        // Two ranks need no room.
        let each = (count * self.element).div_ceil(16);
        let mut rooms = vec![0_u128; if depth > 1 { depth * each } else { 0 }];
        let (first, step) = (rooms.as_mut_ptr() as usize, 16 * each);
        // SAFETY: the caller's promise; the rooms are new.
        unsafe { self.tree(ranks, to, count, (first, step)) };
    }

    /// # Safety
    /// As `fold`; there is a room for each level but the last.
    unsafe fn tree(&self, ranks: Range<usize>, to: usize, count: usize, rooms: (usize, usize)) {
        // SAFETY: the caller's promise, for each part.
        unsafe {
            if ranks.len() == 1 {
                let from = (self.at)(ranks.start) as *const u8;
                std::ptr::copy_nonoverlapping(from, to as *mut u8, count * self.element);
                return;
            }
            let middle = ranks.start + ranks.len().next_power_of_two() / 2;
            self.tree(middle..ranks.end, to, count, rooms);
            if middle - ranks.start == 1 {
                self.combine((self.at)(ranks.start), to, count);
            } else {
                let (room, step) = rooms;
                self.tree(ranks.start..middle, room, count, (room + step, step));
                self.combine(room, to, count);
            }
        }
    }

    /// # Safety
    /// As `fold`.
    #[inline]
    unsafe fn combine(&self, from: usize, to: usize, count: usize) {
        // SAFETY: the caller's promise: as many elements without gaps.
        unsafe {
            match self.op {
                Operator::Known(op, element) => {
                    _ = apply(op, element, from as *const u8, to as *mut u8, count);
                }
                Operator::User(function, ty) => {
                    function.call(from, to, (count, self.element as isize), ty);
                }
            }
        }
    }
}

/// The result of all at these elements goes to each target, in blocks: so a target may be where
/// values lie.
///
/// # Safety
/// The places are memory as their types say, of these elements of all; nobody else writes them.
pub(super) unsafe fn fold_part(
    owns: &[Place],
    targets: &[Place],
    elements: Range<usize>,
    op: Operator,
) {
    let ty = &owns[0].ty;
    let count = elements.len();
    let block = (BLOCK / ty.size.max(1)).max(1).min(count.max(1));
    let is_flat = |it: &Place| it.is_contiguous();
    let are_flat = owns.iter().all(is_flat) && targets.iter().all(is_flat);
    let room = Temporary::new(ty, block);
    for start in elements.clone().step_by(block) {
        let length = block.min(elements.end - start);
        // SAFETY: the caller's promise; the room is new.
        unsafe {
            if are_flat {
                let at = |rank: usize| owns[rank].address + start * ty.size;
                let values = Stored { at, op, element: ty.size };
                values.fold(0..owns.len(), room.place.address, length);
                for target in targets {
                    let to = (target.address + start * ty.size) as *mut u8;
                    let from = room.place.address as *const u8;
                    std::ptr::copy_nonoverlapping(from, to, length * ty.size);
                }
                continue;
            }
            let at = |it: &Place| it.moved(start as isize, length);
            let parts: Vec<Place> = owns.iter().map(at).collect();
            let made = room.place.moved(0, length);
            fold(&parts, &made, op);
            targets.iter().for_each(|it| _ = copy(&made, &at(it)));
        }
    }
}

/// Results, each of these ranks from this element on, go to their places.
///
/// # Safety
/// As [`fold_part`]; of all that is given.
pub(super) unsafe fn fold_whole(owns: &[Place], gives: &[Gives], op: Operator) {
    // All are made before one is given: a result may go where values lie.
    let mut made: Vec<(Range<usize>, Range<usize>, Temporary)> = Vec::new();
    let of = |it: &Gives| (it.1.clone(), it.2..it.2 + it.0.count);
    for it in gives {
        let (ranks, elements) = of(it);
        let is_made = made.iter().any(|it| it.0 == ranks && it.1 == elements);
        if is_made || ranks.is_empty() {
            continue;
        }
        let room = Temporary::new(&it.0.ty, elements.len());
        let part = |it: &Place| it.moved(elements.start as isize, elements.len());
        let parts: Vec<Place> = owns[ranks.clone()].iter().map(part).collect();
        // SAFETY: the caller's promise; the room is new.
        unsafe { fold(&parts, &room.place, op) };
        made.push((ranks, elements, room));
    }
    for it in gives {
        let (ranks, elements) = of(it);
        if let Some(made) = made.iter().find(|it| it.0 == ranks && it.1 == elements) {
            // SAFETY: as above; nobody reads the values any more.
            unsafe { copy(&made.2.place, &it.0) };
        }
    }
}
