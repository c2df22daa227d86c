//! Windows: memory of all ranks that each reads where it lies, between two updates.

use crate::arguments::put;
use crate::call::{From, call};
use crate::error::{Answer, answer, fail};
use crate::names::*;
use crate::objects::Objects;
use crate::types::{Type, with_type};
use phalanx::{Comm, Element, Window};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

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

pub(crate) struct RankWindow {
    rank: usize,
    /// Rust elements in one of C's.
    size: usize,
    parts: Box<dyn Parts>,
}

/// None of a window is there while it is in an update.
pub(crate) static WINDOWS: Objects<RankWindow> = Objects::new(7, "window", |it| WINDOWS.free(it));

pub(crate) fn window_new(comm: &mut Comm, n: usize, ty: Type) -> Result<RankWindow, String> {
    let (rank, size, n) = (comm.rank(), ty.parts(), ty.count(n)?);
    let parts: Box<dyn Parts> = with_type!(ty, T => Box::new(comm.shared::<T>(n)));
    Ok(RankWindow { rank, size, parts })
}

pub(crate) unsafe fn window_part(
    window: *const phx_window,
    rank: c_int,
    data: *mut *const c_void,
    n: *mut usize,
) -> Answer {
    let seat = WINDOWS.seat(window)?;
    // SAFETY: of this thread alone, which nothing else of the user's enters meanwhile.
    let made = unsafe { seat.it() }.as_ref().ok_or_else(|| WINDOWS.busy())?;
    let made = &made.it;
    let rank = if rank == -1 { made.rank } else { usize::try_from(rank).unwrap_or(usize::MAX) };
    match catch_unwind(AssertUnwindSafe(|| made.parts.part(rank))) {
        Ok(Some((at, len))) => {
            // SAFETY: by the contract.
            unsafe {
                put(data, at);
                put(n, len / made.size);
            }
            Ok(())
        }
        Ok(None) => Err(fail(PHX_ERR_ARGUMENT, "phx_window_part: no such rank")),
        Err(_) => Err(fail(PHX_ERR_DEAD, "the window cannot be read: an update of it has failed")),
    }
}

pub(crate) unsafe fn window_update(
    window: *mut phx_window,
    from: From,
    f: phx_update_fn,
    argument: *mut c_void,
) -> Answer {
    let seat = WINDOWS.seat(window)?;
    // SAFETY: of this thread alone. It is taken out, so that nothing enters it a second time.
    let mut made = unsafe { seat.it() }.take().ok_or_else(|| WINDOWS.busy())?;
    // SAFETY: by the contract.
    let code = unsafe {
        call(made.comm, from, |comm| {
            let f = f.ok_or("the function is null")?;
            let size = made.it.size;
            made.it.parts.update(comm, &mut |at, len| f(at, len / size, argument));
            Ok(())
        })
    };
    // SAFETY: as above.
    unsafe { *seat.it() = Some(made) };
    answer(code)
}
