//! The results of calls, left where C says; and memory that is C's until it frees it, of results
//! whose length that only other ranks know.

use crate::arguments::put;
use crate::error::{Answer, fail};
use crate::names::*;
use phalanx::Status;
use phalanx::engine::Lock;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// The function that frees memory that was handed out.
type Free = Box<dyn FnOnce() + Send>;

/// By its address.
static GIVEN: Lock<BTreeMap<usize, Free>> = Lock::new(BTreeMap::new());

/// Hands the elements out; null for none.
fn give<T: Send + 'static>(data: Vec<T>) -> *mut c_void {
    if data.is_empty() {
        return std::ptr::null_mut();
    }
    let at = Box::into_raw(data.into_boxed_slice());
    let place = at.cast::<T>().addr();
    let length = at.len();
    // SAFETY: made above, and taken back once.
    let free = move || unsafe {
        let at = std::ptr::with_exposed_provenance_mut::<T>(place);
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)));
    };
    at.cast::<T>().expose_provenance();
    GIVEN.with(|given| given.insert(place, Box::new(free)));
    at.cast()
}

pub(crate) fn free(data: *mut c_void) -> Answer {
    if !data.is_null() {
        let free = GIVEN.with(|given| given.remove(&data.addr()));
        let no = || fail(PHX_ERR_ARGUMENT, "phx_free: no such memory, or it was freed before");
        free.ok_or_else(no)?();
    }
    Ok(())
}

/// The result of a method, for the places that a function has for it.
pub(crate) trait Leave<P> {
    /// Leaves it there, of elements that are `parts` Rust elements each.
    ///
    /// # Safety
    /// Each place is valid, or null if it need not be there; a list has room for one number for
    /// each rank.
    unsafe fn leave(self, places: P, parts: usize);
}

impl Leave<*mut f64> for f64 {
    unsafe fn leave(self, place: *mut f64, _: usize) {
        // SAFETY: by the contract; it was looked at.
        unsafe { *place = self };
    }
}

impl Leave<*mut phx_status> for Status {
    unsafe fn leave(self, place: *mut phx_status, parts: usize) {
        let (source, tag) = (self.source as c_int, self.tag as c_int);
        // SAFETY: by the contract.
        unsafe { put(place, phx_status { source, tag, n: self.len / parts }) };
    }
}

impl Leave<(*mut c_int, *mut phx_status)> for Option<Status> {
    unsafe fn leave(self, (found, status): (*mut c_int, *mut phx_status), parts: usize) {
        // SAFETY: by the contract.
        unsafe {
            put(found, c_int::from(self.is_some()));
            if let Some(it) = self {
                it.leave(status, parts);
            }
        }
    }
}

type Collected<T> = (Vec<T>, Vec<usize>);

impl<T: Send + 'static> Leave<(*mut *mut c_void, *mut usize)> for Collected<T> {
    unsafe fn leave(self, (all, counts): (*mut *mut c_void, *mut usize), parts: usize) {
        // SAFETY: by the contract; `all` was looked at.
        unsafe {
            *all = give(self.0);
            if !counts.is_null() {
                for (rank, count) in self.1.into_iter().enumerate() {
                    *counts.add(rank) = count / parts;
                }
            }
        }
    }
}

/// Nothing where the rank is not the root.
impl<T: Send + 'static> Leave<(*mut *mut c_void, *mut usize)> for Option<Collected<T>> {
    unsafe fn leave(self, places: (*mut *mut c_void, *mut usize), parts: usize) {
        // SAFETY: passed on.
        unsafe { self.unwrap_or_default().leave(places, parts) };
    }
}

impl<T: Send + 'static> Leave<(*mut *mut c_void, *mut phx_status)> for (Vec<T>, Status) {
    unsafe fn leave(self, (data, status): (*mut *mut c_void, *mut phx_status), parts: usize) {
        // SAFETY: by the contract; `data` was looked at.
        unsafe {
            *data = give(self.0);
            self.1.leave(status, parts);
        }
    }
}
