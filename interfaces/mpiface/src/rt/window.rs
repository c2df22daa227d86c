//! One-sided access. All ranks share one memory, so the rank that calls moves the data at once: a
//! put is a copy into the target's memory, and needs no call of the target.
//!
//! What is left is to say when (`api/epochs.rs`). Accumulating calls on one target come one at a
//! time, by the target's gate.

use super::attributes::{Holder, Kind, Note};
use super::comm::{Comm, Hints};
use super::error::{Class, Outcome, error};
use super::handle::Handle;
use super::handlers::{Attached, Handler};
use super::mutex::lock;
use super::ops;
use super::standard::{self, NO_OP, REPLACE, WIN_FLAVOR_DYNAMIC as DYNAMIC};
use super::types::{AnyType, Place, Type, bytes_at, copy, pack, predefined, unpack};
use super::window_part::Part;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

/// The accesses that a rank may make now (`api/epochs.rs`).
#[derive(Debug, Default)]
pub(super) struct Epochs {
    /// Between fences.
    pub(super) fence: bool,
    /// Whether it has accessed anything since the fence.
    pub(super) is_used: bool,
    /// The targets of MPI_Win_start.
    pub(super) started: Option<Vec<usize>>,
    /// The ranks of MPI_Win_post.
    pub(super) posted: Option<Vec<usize>>,
    /// The targets with a lock of this rank's, and whether alone.
    pub(super) locks: BTreeMap<usize, bool>,
    pub(super) lock_all: bool,
    /// By rank: how often it has posted to it, and has started an access to it.
    pub(super) posts: Vec<u64>,
    pub(super) starts: Vec<u64>,
}

impl Epochs {
    /// Whether it has locked the target, or any.
    pub(super) fn has_locked(&self, target: usize) -> bool {
        self.lock_all || self.locks.contains_key(&target)
    }

    pub(super) fn has_locks(&self) -> bool {
        self.lock_all || !self.locks.is_empty()
    }
}

/// One rank's window.
#[derive(Debug)]
pub struct Win {
    /// The communicator of its ranks, of its own.
    pub comm: Rc<Comm>,
    /// The parts that the ranks have brought.
    pub parts: Vec<Arc<Part>>,
    /// The handler of errors.
    pub errhandler: Attached,
    /// The program's handle of it.
    pub handle: Cell<Handle>,
    /// Its attributes and name.
    pub note: Note,
    /// The program's hints.
    pub hints: Hints,
    /// How it was made: the standard's number.
    pub flavor: c_int,
    /// Numbers whose addresses programs get: bytes, and bytes of a unit.
    pub numbers: (isize, c_int),
    pub(super) epochs: RefCell<Epochs>,
}

impl Win {
    /// Of these parts.
    pub fn new(comm: Rc<Comm>, parts: Vec<Arc<Part>>, flavor: c_int) -> Win {
        let own = &parts[comm.rank];
        let zeros = || vec![0; parts.len()];
        Win {
            numbers: (own.size as isize, own.unit as c_int),
            epochs: RefCell::new(Epochs { posts: zeros(), starts: zeros(), ..Epochs::default() }),
            comm,
            parts,
            errhandler: Attached::new(Handler::FATAL),
            handle: Cell::new(standard::WIN_NULL),
            note: Note::default(),
            hints: Hints::default(),
            flavor,
        }
    }

    /// For its attributes.
    pub fn holder(&self) -> Holder<'_> {
        self.note.holder(Kind::Window, self.handle.get())
    }

    /// The rank's own part.
    pub fn own(&self) -> &Arc<Part> {
        &self.parts[self.comm.rank]
    }

    /// The memory of a target that a call names, and the target's part.
    ///
    /// # Errors
    /// If it does not lie in the window, or the rank may not access it now.
    pub fn target(
        &self,
        target: usize,
        displacement: isize,
        count: usize,
        ty: AnyType,
        is_passive: bool,
    ) -> Outcome<(&Arc<Part>, Place)> {
        {
            let mut epochs = self.epochs.borrow_mut();
            let is_locked = epochs.has_locked(target);
            let is_started = epochs.started.as_ref().is_some_and(|it| it.contains(&target));
            if is_passive && !is_locked {
                return sync("the target is not locked");
            }
            if !is_locked && !is_started {
                if !epochs.fence {
                    return sync("no epoch of access to the target has begun");
                }
                epochs.is_used = true;
            }
        }
        let part = &self.parts[target];
        let is_dynamic = self.flavor == DYNAMIC;
        let start = if is_dynamic {
            displacement
        } else {
            if displacement < 0 {
                return error(Class::Disp, format!("the displacement {displacement} is negative"));
            }
            displacement.saturating_mul(part.unit as isize)
        };
        let place = Place { address: part.base.wrapping_add_signed(start), count, ty };
        if place.bytes() > 0 {
            let (low, high) = place.ty.true_bounds();
            let steps = place.ty.extent.saturating_mul(count as isize - 1);
            let low = start.saturating_add(low).saturating_add(steps.min(0));
            let high = start.saturating_add(high).saturating_add(steps.max(0));
            let is_inside = match is_dynamic {
                true => part.is_attached(low as usize, high as usize),
                false => low >= 0 && high.cast_unsigned() <= part.size,
            };
            if !is_inside {
                let text = format!(
                    "bytes {low} to {high} of rank {}'s window, which has {}",
                    part.owner, part.size
                );
                return error(Class::RmaRange, text);
            }
        }
        Ok((part, place))
    }
}

/// The error of a call that is not for this epoch.
pub(super) fn sync<T>(text: &str) -> Outcome<T> {
    error(Class::RmaSync, text)
}

/// An operator on a target's data.
#[derive(Clone, Copy, Debug)]
pub struct Accumulation {
    op: Handle,
    /// Predefined datatype of the elements; none if the operator does not look at them.
    element: Option<&'static Type>,
}

impl Accumulation {
    /// On elements of this type.
    ///
    /// # Errors
    /// If the operator does not know them.
    pub fn new(op: Handle, ty: &Type) -> Outcome<Accumulation> {
        // Of a datatype without data nothing is combined.
        if matches!(op, REPLACE | NO_OP) || ty.size == 0 {
            return Ok(Accumulation { op, element: None });
        }
        let is_ours = |it: &&Type| it.element == ty.element && ty.element.is_some();
        // Pairs are found here; a type that is no pair has no gaps, under whichever of its names.
        let find = || (0x200..0x300).filter_map(predefined).find(is_ours);
        let element = predefined(ty.handle).or_else(find);
        match element.filter(|it| it.element.is_some_and(|it| ops::knows(op, it))) {
            Some(element) => Ok(Accumulation { op, element: Some(element) }),
            None => {
                let (op, name) = (ops::name(op), ty.name);
                error(Class::Op, format!("{op} is not defined for {name}"))
            }
        }
    }

    /// `target = origin op target`; the target's former value goes to `result`, if that is given.
    ///
    /// # Safety
    /// The places are memory as their types say: the origin is not written, the result not used,
    /// and the target used only by calls through this part, or as the standard allows.
    pub unsafe fn run(&self, part: &Part, origin: &Place, result: Option<&Place>, target: &Place) {
        let _alone = lock(&part.gate);
        // SAFETY: the caller's promise; the gate keeps other accumulating calls away.
        unsafe {
            if let Some(result) = result {
                copy(target, result);
            }
            match (self.op, self.element) {
                (NO_OP, _) => {}
                (_, None) => {
                    copy(origin, target);
                }
                (op, Some(ty)) if is_plain(ty, origin) && is_plain(ty, target) => {
                    let n = origin.bytes().min(target.bytes()) / ty.size.max(1);
                    let (from, to) = (origin.address as *const u8, target.address as *mut u8);
                    ty.element.into_iter().for_each(|it| {
                        ops::apply(op, it, from, to, n);
                    });
                }
                (op, Some(ty)) => {
                    let (new, old) = (pack(origin), pack(target));
                    let n = new.len().min(old.len()) / ty.size.max(1);
                    let (a, b) = (laid_out(ty, n, &new), laid_out(ty, n, &old));
                    if let Some(element) = ty.element {
                        let to = b.as_ptr().cast_mut().cast::<u8>();
                        ops::apply(op, element, a.as_ptr().cast(), to, n);
                    }
                    let made =
                        Place { address: b.as_ptr() as usize, count: n, ty: AnyType::Basic(ty) };
                    copy(&made, target);
                }
            }
        }
    }
}

/// Whether elements lie in a place one behind the other, without gaps in them.
fn is_plain(ty: &Type, place: &Place) -> bool {
    ty.size.cast_signed() == ty.extent && place.ty.is_contiguous(place.count)
}

/// Packed elements, as they lie in memory: pairs may have gaps.
fn laid_out(ty: &'static Type, n: usize, packed: &[u8]) -> Vec<u128> {
    let bytes = n * ty.extent.max(0).cast_unsigned();
    let mut room = vec![0_u128; bytes.div_ceil(16)];
    let place = Place { address: room.as_mut_ptr() as usize, count: n, ty: AnyType::Basic(ty) };
    // SAFETY: the room is new, and as long as the elements are.
    unsafe { unpack(&packed[..n * ty.size], &place) };
    room
}

/// If the target's bytes are those to compare with, they become the origin's; the former ones go
/// to `result`.
///
/// # Safety
/// As `Accumulation::run`, of as many bytes each.
pub unsafe fn compare_and_swap(
    part: &Part,
    (origin, compare, result): (usize, usize, usize),
    target: &Place,
) {
    let bytes = target.bytes();
    let at = |address| bytes_at(address, bytes);
    let _alone = lock(&part.gate);
    // SAFETY: the caller's promise.
    unsafe {
        let old = pack(target);
        let is_same = old == pack(&at(compare));
        if is_same {
            copy(&at(origin), target);
        }
        unpack(&old, &at(result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(numbers: &mut [i32]) -> Place {
        let ty = AnyType::Basic(predefined(0x209).expect("MPI_INT"));
        Place { address: numbers.as_mut_ptr() as usize, count: numbers.len(), ty }
    }

    #[test]
    fn a_target_is_combined_and_its_old_value_given() {
        let part = Part::new(0, 1, (0, 0, 1), None);
        let (mut origin, mut target, mut result) = ([1, 2], [10, 20], [0, 0]);
        let (from, to, old) = (place(&mut origin), place(&mut target), place(&mut result));
        let sum = Accumulation::new(0x21, &to.ty).expect("a sum of integers");
        // SAFETY: arrays of this test.
        unsafe { sum.run(&part, &from, Some(&old), &to) };
        assert_eq!((target, result), ([11, 22], [10, 20]));
        assert!(Accumulation::new(0x38, &to.ty).is_err());
        let nothing = Type::structure([], "empty").expect("small");
        assert!(Accumulation::new(0x21, &nothing).is_ok());
    }

    #[test]
    fn pairs_with_gaps_are_combined() {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct Pair(f64, i32);
        let mut origin = [Pair(1.0, 3), Pair(5.0, 4)];
        let mut target = [Pair(2.0, 1), Pair(4.0, 2)];
        let ty = || AnyType::Basic(predefined(0x229).expect("MPI_DOUBLE_INT"));
        let at =
            |it: &mut [Pair; 2]| Place { address: it.as_mut_ptr() as usize, count: 2, ty: ty() };
        let (from, to) = (at(&mut origin), at(&mut target));
        let least = Accumulation::new(0x38, &to.ty).expect("the place of the smallest");
        // SAFETY: arrays of this test.
        unsafe { least.run(&Part::new(0, 1, (0, 0, 1), None), &from, None, &to) };
        assert_eq!(target, [Pair(1.0, 3), Pair(4.0, 2)]);
    }

    #[test]
    fn what_is_attached_may_consist_of_neighbours() {
        let part = Part::new(0, 1, (0, 0, 1), None);
        part.attach(100, 10).expect("new");
        part.attach(110, 10).expect("new");
        assert!(part.attach(105, 1).is_err());
        assert!(part.is_attached(105, 115) && !part.is_attached(105, 121));
        part.detach(110).expect("attached");
        assert!(part.detach(110).is_err() && !part.is_attached(105, 115));
    }
}
