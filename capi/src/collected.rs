//! Collectives and receives that allocate what they give, as its length is known by others only.

use crate::arguments::{input, output};
use crate::collective::{counts_of, sum};
use crate::error::{Answer, fail};
use crate::message::{sender, tag_of, tell};
use crate::names::*;
use crate::types::{Elements, Type, with_type};
use phalanx::Comm;
use phalanx::engine::Lock;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// What frees memory that was handed out.
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

/// Where a call leaves what it has collected, and how much of each rank's.
#[derive(Clone, Copy)]
struct Places {
    all: *mut *mut c_void,
    counts: *mut usize,
}

impl Places {
    /// # Safety
    /// `all` is null or valid; `counts` is null, or has room for one for each rank.
    unsafe fn check(self) -> Result<(), String> {
        // SAFETY: by the contract.
        unsafe { output::<*mut c_void>("the place of the result", self.all.cast(), 1)? };
        Ok(())
    }

    /// # Safety
    /// As [`check`](Places::check), which has said yes.
    unsafe fn fill<T: Send + 'static>(self, ty: Type, (all, counts): (Vec<T>, Vec<usize>)) {
        let size = ty.parts();
        // SAFETY: by the contract.
        unsafe {
            *self.all = give(all);
            if !self.counts.is_null() {
                for (rank, count) in counts.into_iter().enumerate() {
                    *self.counts.add(rank) = count / size;
                }
            }
        }
    }
}

pub(crate) unsafe fn all_gather_vec(
    comm: &mut Comm,
    mine: Elements,
    all: *mut *mut c_void,
    counts: *mut usize,
) -> Result<(), String> {
    let places = Places { all, counts };
    // SAFETY: by the contract.
    unsafe {
        places.check()?;
        with_type!(mine.ty, T => {
            places.fill(mine.ty, comm.all_gather_vec(mine.input::<T>("the input")?));
        });
    }
    Ok(())
}

pub(crate) unsafe fn gather_vec(
    comm: &mut Comm,
    mine: Elements,
    root: usize,
    all: *mut *mut c_void,
    counts: *mut usize,
) -> Result<(), String> {
    let places = Places { all, counts };
    // SAFETY: by the contract.
    unsafe {
        places.check()?;
        with_type!(mine.ty, T => {
            let collected = comm.gather_vec(mine.input::<T>("the input")?, root);
            places.fill(mine.ty, collected.unwrap_or_default());
        });
    }
    Ok(())
}

pub(crate) unsafe fn all_to_all_vec(
    comm: &mut Comm,
    send: *const c_void,
    counts: *const usize,
    ty: Type,
    all: *mut *mut c_void,
    received: *mut usize,
) -> Result<(), String> {
    let places = Places { all, counts: received };
    // SAFETY: by the contract.
    unsafe {
        let counts = counts_of(comm, counts, ty)?;
        let total = sum(&counts, ty)?;
        places.check()?;
        with_type!(ty, T => {
            let send = input::<T>("the input", send, total)?;
            places.fill(ty, comm.all_to_all_vec(send, &counts));
        });
        Ok(())
    }
}

pub(crate) unsafe fn recv_vec(
    comm: &mut Comm,
    ty: Type,
    source: c_int,
    tag: c_int,
    data: *mut *mut c_void,
    status: *mut phx_status,
) -> Result<(), String> {
    let places = Places { all: data, counts: std::ptr::null_mut() };
    // SAFETY: by the contract.
    unsafe {
        let (source, tag) = (sender(source)?, tag_of(tag)?);
        places.check()?;
        with_type!(ty, T => {
            let (data, come) = comm.recv_vec::<T>(source, tag);
            places.fill(ty, (data, Vec::new()));
            tell(status, come, Some(ty));
        });
        Ok(())
    }
}
