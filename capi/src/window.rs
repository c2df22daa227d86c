//! Windows: memory of all ranks that each reads where it lies, between two updates.

use crate::call::{From, adopt_object, call, may_use, phx_comm, this_thread};
use crate::error::{
    PHX_ERR_ARGUMENT, PHX_ERR_BUSY, PHX_ERR_DEAD, PHX_ERR_HANDLE, PHX_ERR_OTHER, PHX_OK, fail,
    phx_err,
};
use crate::handle::{Table, Unused};
use crate::types::{Type, phx_type, with_type};
use phalanx::{Comm, Element, Window};
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Memory of all ranks of a communicator. Only pointers to it are used, and they are no addresses.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Debug)]
pub struct phx_window {
    _nothing: [u8; 0],
}

/// What writes the rank's part of a window, `n` elements at `data`. It makes no call on the
/// communicator.
#[allow(non_camel_case_types)]
pub type phx_update_fn =
    Option<unsafe extern "C-unwind" fn(data: *mut c_void, n: usize, argument: *mut c_void)>;

/// A window of elements of any type.
trait Parts {
    /// Where a rank's part is, and its length.
    fn part(&self, rank: usize) -> Option<(*const c_void, usize)>;
    fn update(&mut self, comm: &mut Comm, f: &mut dyn FnMut(*mut c_void, usize));
}

impl<T: Element> Parts for Window<T> {
    fn part(&self, rank: usize) -> Option<(*const c_void, usize)> {
        self.parts().get(rank).map(|part| (part.as_ptr().cast(), part.len()))
    }

    fn update(&mut self, comm: &mut Comm, f: &mut dyn FnMut(*mut c_void, usize)) {
        Window::update(self, comm, |own| f(own.as_mut_ptr().cast(), own.len()));
    }
}

struct MadeWindow {
    comm: usize,
    rank: usize,
    /// Rust elements in one of C's.
    size: usize,
    parts: Box<dyn Parts>,
}

/// The object of a handle.
struct WindowSeat {
    thread: AtomicUsize,
    /// None while the window is in an update.
    made: UnsafeCell<Option<MadeWindow>>,
}

// SAFETY: `made` is used by the thread that `thread` names only, or by one that takes it over.
unsafe impl Sync for WindowSeat {}

impl Unused for WindowSeat {
    const UNUSED: WindowSeat =
        WindowSeat { thread: AtomicUsize::new(0), made: UnsafeCell::new(None) };
}

static WINDOWS: Table<WindowSeat> = Table::new(7);

fn find(window: *const phx_window) -> Result<&'static WindowSeat, phx_err> {
    let seat = WINDOWS.find(window as usize as u64);
    let own = seat.filter(|seat| {
        // SAFETY: threads use a rank's objects one after the other.
        may_use(&seat.thread, || unsafe { &*seat.made.get() }.as_ref().map(|made| made.comm))
    });
    own.ok_or_else(|| fail(PHX_ERR_HANDLE, "no such window: it is null, freed, or another rank's"))
}

/// Frees a window of the calling thread.
pub(crate) fn free(handle: u64) {
    if let Some(seat) = WINDOWS.find(handle)
        && WINDOWS.retire(handle)
    {
        // SAFETY: the handle is nobody's any more, and was this thread's.
        drop(unsafe { (*seat.made.get()).take() });
        seat.thread.store(0, Relaxed);
        WINDOWS.recycle(handle);
    }
}

/// Makes a window of which this rank's part has `n` elements, all zero bits. Lengths may differ.
/// All ranks call it.
///
/// # Safety
/// `window` is null or valid; `file` is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_window_new_at(
    comm: *mut phx_comm,
    n: usize,
    ty: phx_type,
    window: *mut *mut phx_window,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_window_new", file, line };
    let mut made = None;
    // SAFETY: by the contract.
    let code = unsafe {
        call(comm, from, |on| {
            if window.is_null() {
                return Err("the place of the result is null".into());
            }
            let ty = Type::of(ty)?;
            let n = ty.count(n)?;
            let size = if ty.is_bytes() { ty.size } else { 1 };
            let parts: Box<dyn Parts> = with_type!(ty, T => Box::new(on.shared::<T>(n)));
            made = Some(MadeWindow { comm: comm as usize, rank: on.rank(), size, parts });
            Ok(())
        })
    };
    let (PHX_OK, Some(made)) = (code, made) else { return code };
    let (handle, seat) = match WINDOWS.reserve() {
        Ok(place) => place,
        Err(code) => return code,
    };
    seat.thread.store(this_thread(), Relaxed);
    // SAFETY: the handle is nobody's yet.
    unsafe { *seat.made.get() = Some(made) };
    WINDOWS.publish(handle);
    if adopt_object(comm, handle).is_err() {
        free(handle);
        return PHX_ERR_OTHER;
    }
    // SAFETY: by the contract.
    unsafe { *window = handle as usize as *mut phx_window };
    PHX_OK
}

/// Frees the rank's hold on a window: its memory stays as long as another rank has one. Those that
/// are left are freed with their communicator.
#[unsafe(no_mangle)]
pub extern "C" fn phx_window_free(window: *mut phx_window) -> phx_err {
    match find(window) {
        // SAFETY: of this thread alone.
        Ok(seat) if unsafe { &*seat.made.get() }.is_none() => in_update(),
        Ok(_) => {
            free(window as usize as u64);
            PHX_OK
        }
        Err(code) => code,
    }
}

fn in_update() -> phx_err {
    fail(PHX_ERR_BUSY, "the window is in an update, whose function has called this")
}

/// Where `rank`'s part of a window is, to be read only (rank -1: the own one): until the window's
/// next update, or its end.
///
/// # Safety
/// `data` and `n` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_window_part(
    window: *const phx_window,
    rank: c_int,
    data: *mut *const c_void,
    n: *mut usize,
) -> phx_err {
    let seat = match find(window) {
        Ok(seat) => seat,
        Err(code) => return code,
    };
    // SAFETY: of this thread alone, which nothing else of the user's enters meanwhile.
    let Some(made) = (unsafe { &*seat.made.get() }) else { return in_update() };
    let rank = if rank == -1 { made.rank } else { usize::try_from(rank).unwrap_or(usize::MAX) };
    match catch_unwind(AssertUnwindSafe(|| made.parts.part(rank))) {
        Ok(Some((at, len))) => {
            // SAFETY: by the contract.
            unsafe {
                if !data.is_null() {
                    *data = at;
                }
                if !n.is_null() {
                    *n = len / made.size;
                }
            }
            PHX_OK
        }
        Ok(None) => fail(PHX_ERR_ARGUMENT, "phx_window_part: no such rank"),
        Err(_) => fail(PHX_ERR_DEAD, "the window cannot be read: an update of it has failed"),
    }
}

/// Calls `f` with the rank's part of a window, which it writes, when all ranks have come: nobody
/// reads any part then. Returns when all ranks' functions have returned. All ranks call it.
///
/// # Safety
/// `f` may be called with `argument`; nobody uses what `phx_window_part` has given any more; `file`
/// is null or a string that stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phx_window_update_at(
    window: *mut phx_window,
    f: phx_update_fn,
    argument: *mut c_void,
    file: *const c_char,
    line: c_int,
) -> phx_err {
    let from = From { function: "phx_window_update", file, line };
    let seat = match find(window) {
        Ok(seat) => seat,
        Err(code) => return code,
    };
    // SAFETY: of this thread alone. It is taken out, so that nothing enters it a second time.
    let Some(mut made) = (unsafe { (*seat.made.get()).take() }) else { return in_update() };
    // SAFETY: by the contract.
    let code = unsafe {
        call(made.comm as *mut phx_comm, from, |comm| {
            let f = f.ok_or("the function is null")?;
            let size = made.size;
            made.parts.update(comm, &mut |at, len| f(at, len / size, argument));
            Ok(())
        })
    };
    // SAFETY: as above.
    unsafe { *seat.made.get() = Some(made) };
    code
}
