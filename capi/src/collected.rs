//! Collectives and receives that allocate what they give, as its length is known by others only.

use crate::arguments::{input, output, rank_number};
use crate::call::{From, call, phx_comm};
use crate::collective::{counts_of, sum};
use crate::error::{PHX_ERR_ARGUMENT, PHX_OK, fail, phx_err};
use crate::message::{phx_status, sender, tag_of, tell};
use crate::types::{Type, phx_type, with_type};
use phalanx::engine::Lock;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};

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

/// Frees what `phx_gather_vec` and its likes have allocated. Null is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn phx_free(data: *mut c_void) -> phx_err {
    if data.is_null() {
        return PHX_OK;
    }
    match GIVEN.with(|given| given.remove(&data.addr())) {
        Some(free) => {
            free();
            PHX_OK
        }
        None => fail(PHX_ERR_ARGUMENT, "phx_free: no such memory, or it was freed before"),
    }
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
        let size = if ty.is_bytes() { ty.size } else { 1 };
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

/// Collects all ranks' elements, of any lengths, in rank order: `all` is freed by `phx_free`,
/// `counts[r]` is the number of rank r's.
///
/// # Safety
/// `mine` has `n` elements of `ty`; `all` is null or valid; `counts` is null or has room for one
/// for each rank; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_all_gather_vec_at(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    ty: phx_type,
    all: *mut *mut c_void,
    counts: *mut usize,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let (from, places) =
        (From { function: "phx_all_gather_vec", file, line }, Places { all, counts });
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let n = ty.count(n)?;
            places.check()?;
            with_type!(ty, T => {
                places.fill(ty, comm.all_gather_vec(input::<T>("the input", mine, n)?));
            });
            Ok(())
        })
    }
}

/// The same on `root` alone; elsewhere `all` is null afterwards.
///
/// # Safety
/// As [`phx_all_gather_vec_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_gather_vec_at(
    comm: *mut phx_comm,
    mine: *const c_void,
    n: usize,
    ty: phx_type,
    root: c_int,
    all: *mut *mut c_void,
    counts: *mut usize,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let (from, places) = (From { function: "phx_gather_vec", file, line }, Places { all, counts });
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, root) = (Type::of(ty)?, rank_number("root", root)?);
            let n = ty.count(n)?;
            places.check()?;
            with_type!(ty, T => {
                let collected = comm.gather_vec(input::<T>("the input", mine, n)?, root);
                places.fill(ty, collected.unwrap_or_default());
            });
            Ok(())
        })
    }
}

/// Sends `counts[r]` elements to each rank r, and collects what all send to this one: `all` is
/// freed by `phx_free`, `received[r]` is the number of rank r's.
///
/// # Safety
/// `counts` has one for each rank, and `send` as many elements of `ty` as they sum to; else as
/// [`phx_all_gather_vec_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_all_to_all_vec_at(
    comm: *mut phx_comm,
    send: *const c_void,
    counts: *const usize,
    ty: phx_type,
    all: *mut *mut c_void,
    received: *mut usize,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_all_to_all_vec", file, line };
    let places = Places { all, counts: received };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let ty = Type::of(ty)?;
            let counts = counts_of(comm, counts, ty)?;
            let total = sum(&counts, ty)?;
            places.check()?;
            with_type!(ty, T => {
                let send = input::<T>("the input", send, total)?;
                places.fill(ty, comm.all_to_all_vec(send, &counts));
            });
            Ok(())
        })
    }
}

/// Receives a tagged message of any length: `data` is freed by `phx_free`, `status` has the number
/// of its elements.
///
/// # Safety
/// `data` is null or valid, `status` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_recv_vec_at(
    comm: *mut phx_comm,
    ty: phx_type,
    source: c_int,
    tag: c_int,
    data: *mut *mut c_void,
    status: *mut phx_status,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_recv_vec", file, line };
    let places = Places { all: data, counts: std::ptr::null_mut() };
    // SAFETY: by the contract.
    unsafe {
        call(comm, from, |comm| {
            let (ty, source, tag) = (Type::of(ty)?, sender(source)?, tag_of(tag)?);
            places.check()?;
            with_type!(ty, T => {
                let (data, come) = comm.recv_vec::<T>(source, tag);
                places.fill(ty, (data, Vec::new()));
                tell(status, come, Some(ty));
            });
            Ok(())
        })
    }
}
