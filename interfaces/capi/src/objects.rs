//! Grids, plans and windows: objects that a call on a communicator makes, and that its rank uses
//! until they are freed, at the latest with the communicator.

use crate::call::{adopt_object, forget_object, look, may_use, this_thread};
use crate::error::{Answer, fail};
use crate::handle::{Table, Unused};
use crate::names::*;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An object, and the handle of its communicator.
pub(crate) struct Made<M> {
    pub(crate) comm: *mut phx_comm,
    pub(crate) it: M,
}

/// The object behind a handle of a rank's.
pub(crate) struct OwnSeat<T> {
    pub(crate) thread: AtomicUsize,
    it: UnsafeCell<Option<T>>,
}

// SAFETY: `it` is used by the thread that `thread` names only, by one that takes it over, or by the
// one that makes or retires the handle.
unsafe impl<T> Sync for OwnSeat<T> {}

impl<T> Unused for OwnSeat<T> {
    const UNUSED: Self = OwnSeat { thread: AtomicUsize::new(0), it: UnsafeCell::new(None) };
}

impl<T> OwnSeat<T> {
    /// The object; none while it is taken out.
    ///
    /// # Safety
    /// Of this thread's, which keeps no reference while user code may run.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn it(&self) -> &mut Option<T> {
        // SAFETY: by the contract.
        unsafe { &mut *self.it.get() }
    }
}

/// All objects of one kind.
pub(crate) struct Objects<M> {
    table: Table<OwnSeat<Made<M>>>,
    /// In the text of an error.
    what: &'static str,
    /// Frees one of them.
    free: fn(u64),
}

impl<M> Objects<M> {
    pub(crate) const fn new(kind: u64, what: &'static str, free: fn(u64)) -> Self {
        Objects { table: Table::new(kind), what, free }
    }

    /// The seat behind a handle of the calling thread's.
    pub(crate) fn seat<H>(&self, handle: *const H) -> Result<&OwnSeat<Made<M>>, phx_err> {
        let own = self.table.find(handle as usize as u64).filter(|seat| {
            // SAFETY: threads use a rank's objects one after the other.
            let comm = || unsafe { seat.it() }.as_ref().map(|made| made.comm as usize);
            may_use(&seat.thread, comm)
        });
        let no = || format!("no such {}: it is null, freed, or another rank's", self.what);
        own.ok_or_else(|| fail(PHX_ERR_HANDLE, no()))
    }

    /// The object behind a handle of the calling thread's, of a kind that is never taken out, and
    /// its communicator's handle.
    pub(crate) fn find<H>(&self, handle: *const H) -> Result<(*mut phx_comm, &M), phx_err> {
        // SAFETY: of this thread alone, and not changed until it is freed, which no call of the
        // object's does.
        let made = unsafe { self.seat(handle)?.it() }.as_ref().expect("it is never taken out");
        Ok((made.comm, &made.it))
    }

    /// [`find`](Objects::find) for a call on the communicator, which is the thread's, too.
    pub(crate) fn on<H>(&self, handle: *const H) -> Result<(*mut phx_comm, &M), phx_err> {
        let found = self.find(handle)?;
        look(found.0, |_| ())?;
        Ok(found)
    }

    /// Frees the object of a handle of the calling thread's; or, as it is taken out, does not.
    pub(crate) fn free_own<H>(&self, handle: *const H) -> Answer {
        // SAFETY: of this thread alone.
        let made = unsafe { self.seat(handle)?.it() }.as_ref();
        forget_object(made.ok_or_else(|| self.busy())?.comm, handle as usize as u64)?;
        self.free(handle as usize as u64);
        Ok(())
    }

    #[cold]
    pub(crate) fn busy(&self) -> phx_err {
        let text = format!("the {} is in a call, whose function has called this", self.what);
        fail(PHX_ERR_BUSY, text)
    }

    /// Keeps an object that a call on `comm` has made.
    pub(crate) fn keep<H>(&self, comm: *mut phx_comm, it: M) -> Result<*mut H, phx_err> {
        let (handle, seat) = self.table.reserve()?;
        seat.thread.store(this_thread(), Relaxed);
        // SAFETY: the handle is nobody's yet.
        unsafe { *seat.it() = Some(Made { comm, it }) };
        self.table.publish(handle);
        adopt_object(comm, handle, self.free).inspect_err(|_| self.free(handle))?;
        Ok(handle as usize as *mut H)
    }

    /// Frees an object of the calling thread.
    pub(crate) fn free(&self, handle: u64) {
        if let Some(seat) = self.table.find(handle)
            && self.table.retire(handle)
        {
            // SAFETY: the handle is nobody's any more, and was this thread's.
            drop(unsafe { seat.it() }.take());
            seat.thread.store(0, Relaxed);
            self.table.recycle(handle);
        }
    }
}
