//! Plans and windows: objects that a call on a communicator makes, and that its rank uses until
//! they are freed, at the latest with the communicator.

use crate::call::{From, adopt_object, call_for, may_use, this_thread};
use crate::error::fail;
use crate::handle::{Table, Unused};
use crate::names::*;
use phalanx::Comm;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An object, and the handle of its communicator.
pub(crate) struct Made<M> {
    pub(crate) comm: *mut phx_comm,
    pub(crate) it: M,
}

/// What is behind a handle.
pub(crate) struct ObjectSeat<M> {
    thread: AtomicUsize,
    made: UnsafeCell<Option<Made<M>>>,
}

// SAFETY: `made` is used by the thread that `thread` names only, or by one that takes it over.
unsafe impl<M> Sync for ObjectSeat<M> {}

impl<M> Unused for ObjectSeat<M> {
    const UNUSED: Self = ObjectSeat { thread: AtomicUsize::new(0), made: UnsafeCell::new(None) };
}

impl<M> ObjectSeat<M> {
    /// The object; none while it is taken out.
    ///
    /// # Safety
    /// Of this thread's, which keeps no reference while user code may run.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn made(&self) -> &mut Option<Made<M>> {
        // SAFETY: by the contract.
        unsafe { &mut *self.made.get() }
    }
}

/// All objects of one kind.
pub(crate) struct Objects<M> {
    table: Table<ObjectSeat<M>>,
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
    pub(crate) fn find<H>(&self, handle: *const H) -> Result<&ObjectSeat<M>, phx_err> {
        let own = self.table.find(handle as usize as u64).filter(|seat| {
            // SAFETY: threads use a rank's objects one after the other.
            let comm = || unsafe { seat.made() }.as_ref().map(|made| made.comm as usize);
            may_use(&seat.thread, comm)
        });
        let no = || format!("no such {}: it is null, freed, or another rank's", self.what);
        own.ok_or_else(|| fail(PHX_ERR_HANDLE, no()))
    }

    /// Makes an object by a call, and stores its handle.
    ///
    /// # Safety
    /// `place` is null or valid; the file is null or a string that stays.
    pub(crate) unsafe fn make<H>(
        &self,
        comm: *mut phx_comm,
        from: From,
        place: *mut *mut H,
        f: impl FnOnce(&mut Comm) -> Result<M, String>,
    ) -> Result<(), phx_err> {
        // SAFETY: passed on.
        let it = unsafe { call_for(comm, from, place, f)? };
        let (handle, seat) = self.table.reserve()?;
        seat.thread.store(this_thread(), Relaxed);
        // SAFETY: the handle is nobody's yet.
        unsafe { *seat.made() = Some(Made { comm, it }) };
        self.table.publish(handle);
        adopt_object(comm, handle, self.free).map_err(|_| {
            self.free(handle);
            PHX_ERR_OTHER
        })?;
        // SAFETY: passed on.
        unsafe { *place = handle as usize as *mut H };
        Ok(())
    }

    /// Frees an object of the calling thread.
    pub(crate) fn free(&self, handle: u64) {
        if let Some(seat) = self.table.find(handle)
            && self.table.retire(handle)
        {
            // SAFETY: the handle is nobody's any more, and was this thread's.
            drop(unsafe { seat.made() }.take());
            seat.thread.store(0, Relaxed);
            self.table.recycle(handle);
        }
    }
}
