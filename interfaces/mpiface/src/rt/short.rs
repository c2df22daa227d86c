//! The library's short ways: for solid data, which lie without gaps, and for numbers that it has an
//! operator for. Nothing is packed, copied or looked up before.

use super::basic::Element;
use super::coll::Call;
use super::comm::Terms;
use super::complex::{Complex, ComplexProduct, ComplexSum};
use super::handle::Handle;
use super::kernel::{MAX, MIN, PROD, SUM, built_in};
use super::ops::Mark;
use super::reduction::{Plain, To, typed};
use super::types::move_bytes;
use phalanx::op::{self, Operator as LibraryOperator};
use std::slice;

impl Call<'_> {
    /// The root's bytes for all.
    ///
    /// # Safety
    /// The memory, an address and so many bytes, is the program's, and may be written but at the
    /// root.
    pub unsafe fn broadcast_solid(&self, (at, bytes): (usize, usize), root: usize) {
        let terms = Terms { root: Some(root), bytes: Some(bytes), op: Mark::None };
        // SAFETY: the caller's promise.
        let data = unsafe { slice::from_raw_parts_mut(at as *mut u8, bytes) };
        self.library(terms, |comm| comm.broadcast(data, root));
    }

    /// Every rank's bytes, in their order, at the root: `all` is given there.
    ///
    /// # Safety
    /// The memory is the program's, so many bytes for each rank at the root, and does not overlap.
    pub unsafe fn gather_solid(&self, own: (usize, usize), all: Option<usize>, root: usize) {
        let terms = Terms { root: Some(root), bytes: Some(own.1), op: Mark::None };
        let length = own.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let own = slice::from_raw_parts(own.0 as *const u8, own.1);
            let all =
                all.map_or(&mut [][..], |at| slice::from_raw_parts_mut(at as *mut u8, length));
            self.library(terms, |comm| comm.gather_into(own, all, root));
        }
    }

    /// A part of the root's bytes for each: `all` is given there.
    ///
    /// # Safety
    /// As `gather_solid`.
    pub unsafe fn scatter_solid(&self, all: Option<usize>, own: (usize, usize), root: usize) {
        let terms = Terms { root: Some(root), bytes: Some(own.1), op: Mark::None };
        let length = own.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let own = slice::from_raw_parts_mut(own.0 as *mut u8, own.1);
            let all = all.map_or(&[][..], |at| slice::from_raw_parts(at as *const u8, length));
            self.library(terms, |comm| comm.scatter_into(all, own, root));
        }
    }

    /// Every rank's bytes, in their order, for all.
    ///
    /// # Safety
    /// As `gather_solid`, for all ranks.
    pub unsafe fn all_gather_solid(&self, own: (usize, usize), all: usize) {
        let terms = Terms { bytes: Some(own.1), ..Terms::default() };
        let length = own.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let own = slice::from_raw_parts(own.0 as *const u8, own.1);
            let all = slice::from_raw_parts_mut(all as *mut u8, length);
            self.library(terms, |comm| comm.all_gather_into(own, all));
        }
    }

    /// Each rank gives each a part: `from` is the first one's.
    ///
    /// # Safety
    /// As `all_gather_solid`, of both.
    pub unsafe fn all_to_all_solid(&self, from: (usize, usize), to: usize) {
        let terms = Terms { bytes: Some(from.1), ..Terms::default() };
        let length = from.1 * self.comm.size();
        // SAFETY: the caller's promise.
        unsafe {
            let from = slice::from_raw_parts(from.0 as *const u8, length);
            let to = slice::from_raw_parts_mut(to as *mut u8, length);
            self.library(terms, |comm| comm.all_to_all_into(from, to));
        }
    }

    /// The same of numbers, without the checks that `reduce_scatter` makes for the rest: they are
    /// read where they lie.
    ///
    /// # Safety
    /// The memory is the program's: as many numbers, aligned, and the target, which may be written,
    /// has this rank's part, and lies elsewhere.
    pub unsafe fn reduce_scatter_plain(&self, it: Plain, counts: &[usize]) {
        let Plain { from, to, count, size, element, op } = it;
        let op = (op, element);
        let terms = Terms { root: None, op: Mark::Known(op.0, op.1), bytes: Some(count * size) };
        let parts = To::Parts(counts, to.cast());
        // SAFETY: the caller's promise.
        unsafe { self.plain(terms, op, (from.cast_mut().cast(), count), parts) };
    }

    /// Combines the numbers of the ranks up to this one.
    ///
    /// # Safety
    /// As `reduce_plain`.
    pub unsafe fn scan_plain(&self, it: Plain) {
        // SAFETY: passed on.
        unsafe { self.numbers_in_place(it, None, To::Prefix) };
    }

    /// Combines all ranks' numbers for all, or for the root: without the checks that `reduce` makes
    /// for the rest.
    ///
    /// # Safety
    /// The memory is the program's: as many numbers, and the target may be written.
    #[inline(always)]
    pub unsafe fn reduce_plain(&self, it: Plain, root: Option<usize>) {
        // SAFETY: passed on.
        unsafe { self.numbers_in_place(it, root, root.map_or(To::All, To::Root)) };
    }

    /// # Safety
    /// As `reduce_plain`.
    #[inline(always)]
    unsafe fn numbers_in_place(&self, it: Plain, root: Option<usize>, target: To<'_>) {
        let Plain { from, to, count, size, element, op } = it;
        let bytes = count * size;
        if !std::ptr::addr_eq(from, to) {
            // SAFETY: the caller's promise; they may overlap.
            unsafe { move_bytes(from as usize, to as usize, bytes) };
        }
        let terms = Terms { root, op: Mark::Known(op, element), bytes: Some(bytes) };
        // SAFETY: the caller's promise.
        unsafe { self.plain(terms, (op, element), (to.cast(), count), target) };
    }

    /// A reduction by one of the library's operators: `is_built_in` was asked. Which it is is asked
    /// first, so that the rest is compiled for it.
    ///
    /// # Safety
    /// As `typed`, of elements of this kind.
    #[inline(always)]
    unsafe fn plain(
        &self,
        terms: Terms,
        (op, element): (Handle, Element),
        memory: (*mut u8, usize),
        to: To<'_>,
    ) {
        use Element::{C32, C64, F32, F64, I32, I64, U64};
        macro_rules! carried_out {
            ($(($element:pat, $op:pat) => $type:ty, $by:expr, $rounds:expr;)*) => {
                match (element, op) {
                    $(($element, $op) => {
                        // SAFETY: passed on.
                        unsafe { self.plain_typed::<$type, _>(terms, memory, to, $by, $rounds) }
                    })*
                    _ => {}
                }
            };
        }
        built_in!(carried_out);
    }

    /// # Safety
    /// As `typed`.
    #[inline(never)]
    unsafe fn plain_typed<T: phalanx::Element, O: LibraryOperator<T> + Copy>(
        &self,
        terms: Terms,
        memory: (*mut u8, usize),
        to: To<'_>,
        op: O,
        rounds: bool,
    ) {
        // SAFETY: passed on.
        self.library(terms, |comm| unsafe { typed::<T, O>(comm, memory, to, op, rounds) });
    }
}
