//! Reductions over values of all ranks, wherever they lie.

use super::part::Gives;
use crate::rt::kernel::with_kernel;
use crate::rt::operator::{Fold, Operator, Temporary, fold};
use crate::rt::types::{Place, copy};
use phalanx::engine::Operation;
use std::ops::Range;

/// Results with gaps are made in parts of so many bytes, which stay in the nearest cache.
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
    /// as `operator::fold`.
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
        let (bytes, extent) = (count * self.element, self.element.cast_signed());
        let fold = Fold {
            at: &self.at,
            // SAFETY: the caller's promise; the rooms are new.
            copy: |rank, to| unsafe {
                std::ptr::copy_nonoverlapping((self.at)(rank) as *const u8, to as *mut u8, bytes);
            },
            op: self.op,
            elements: (count, extent),
        };
        // SAFETY: as above.
        unsafe { fold.run(ranks, to, (first, step.cast_signed())) };
    }
}

/// The part of `count` elements that falls to `rank` of `size`.
fn part(count: usize, rank: usize, size: usize) -> Range<usize> {
    let (each, more) = (count / size, count % size);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

/// Does the part of a rank in a reduction of values that are lent, or lie with gaps; `gives`: the
/// ranks' results. Where all are of as many elements, of the ranks from the first on, the part is
/// some elements of all results: so a result may go where its rank's values lie. Else it is the
/// rank's own result.
///
/// # Safety
/// The places are memory as their types say; nobody else writes these elements of them.
pub(super) unsafe fn fold_part(rank: usize, owns: &[Place], gives: &[Option<Gives>], op: Operator) {
    let count = owns[0].count;
    let is_even = |it: &Gives| it.1.start == 0 && it.2 == 0 && it.0.count == count;
    if owns.iter().all(|it| it.count == count) && gives.iter().flatten().all(is_even) {
        let targets: Vec<_> = gives.iter().flatten().map(|it| (it.0.clone(), it.1.end)).collect();
        // SAFETY: passed on.
        unsafe { fold_elements(rank, owns, &targets, part(count, rank, owns.len()), op) };
    } else if let Some((target, ranks, start)) = &gives[rank] {
        let elements = *start..start + target.count;
        let target = target.moved(-start.cast_signed(), elements.end);
        let (owns, targets) = (&owns[ranks.clone()], [(target, ranks.len())]);
        // SAFETY: passed on.
        unsafe { fold_elements(rank, owns, &targets, elements, op) };
    }
}

/// These elements of each result, of so many ranks from the first on, go to its target.
///
/// # Safety
/// As [`fold_part`].
unsafe fn fold_elements(
    rank: usize,
    owns: &[Place],
    targets: &[(Place, usize)],
    elements: Range<usize>,
    op: Operator,
) {
    if owns.is_empty() || targets.is_empty() || elements.is_empty() {
        return;
    }
    let ty = &owns[0].ty;
    let (size, align) = (ty.size, ty.align());
    let is_flat =
        |it: &Place| it.is_contiguous() && it.ty.size == size && it.address.is_multiple_of(align);
    let ends = || targets.iter().map(|it| it.1);
    let operation = match owns.len() {
        p if ends().all(|it| it == p) => Operation::AllReduce,
        p if ends().eq(1..=p) => Operation::Scan,
        _ => Operation::ExclusiveScan,
    };
    let mut places = owns.iter().chain(targets.iter().map(|it| &it.0));
    if places.all(is_flat) {
        let from: Vec<_> = owns.iter().map(|it| it.address as *mut u8).collect();
        let to: Vec<_> = targets.iter().map(|it| it.0.address as *mut u8).collect();
        // SAFETY: the caller's promise.
        return with_kernel(op, (size, align), |kernel| unsafe {
            kernel.fold_part(operation, elements, (&from, &to), rank);
        });
    }
    let block = (BLOCK / size.max(1)).clamp(1, elements.len());
    let rooms = [(); 2].map(|()| Temporary::new(ty, block));
    for start in elements.clone().step_by(block) {
        let length = block.min(elements.end - start);
        let at = |it: &Place| it.moved(start as isize, length);
        let parts: Vec<Place> = owns.iter().map(at).collect();
        let [mut made, mut next] = rooms.each_ref().map(|it| it.place.moved(0, length));
        // SAFETY: the caller's promise; the rooms are new.
        unsafe {
            if operation == Operation::AllReduce {
                fold(&parts, &made, op);
                targets.iter().for_each(|it| _ = copy(&made, &at(&it.0)));
                continue;
            }
            for (index, (own, (target, _))) in parts.iter().zip(targets).enumerate() {
                copy(own, &next);
                if index > 0 {
                    if operation == Operation::ExclusiveScan {
                        copy(&made, &at(target));
                    }
                    op.combine(made.address, next.address, (length, ty.extent));
                }
                std::mem::swap(&mut made, &mut next);
                if operation == Operation::Scan {
                    copy(&made, &at(target));
                }
            }
        }
    }
}
