//! Memory with checked accesses: cells of the library, and buffers of the models.

use crate::clock::{Shadow, fail, is_exploring};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// `std::cell::UnsafeCell` behind loom's closure interface, watched.
pub struct UnsafeCell<T> {
    value: std::cell::UnsafeCell<T>,
    shadow: Cell<Shadow>,
}

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> Self {
        UnsafeCell { value: std::cell::UnsafeCell::new(value), shadow: Cell::new(Shadow::NEW) }
    }

    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        crate::trace::note(crate::thread::this_thread, "read", self, 0, 0);
        self.note(false);
        f(self.value.get())
    }

    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        crate::trace::note(crate::thread::this_thread, "write", self, 0, 0);
        self.note(true);
        f(self.value.get())
    }

    fn note(&self, writes: bool) {
        let mut shadow = self.shadow.get();
        if let Err(race) = shadow.note(writes) {
            fail(format!("{race}, in the library's own memory"));
        }
        self.shadow.set(shadow);
    }
}

impl<T> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnsafeCell")
    }
}

/// Bytes that are watched as one.
const GRAIN: usize = 8;

struct Watched {
    from: usize,
    to: usize,
    freed: bool,
    grains: Vec<Shadow>,
    /// Kept until the end of the execution: nobody else gets the memory.
    _kept: Option<Box<dyn std::any::Any>>,
}

thread_local! {
    static WATCHED: RefCell<Vec<Watched>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn begin() {
    WATCHED.with_borrow_mut(Vec::clear);
}

/// Notes an access to memory, as far as it is watched.
pub(crate) fn note(at: *const u8, bytes: usize, writes: bool) {
    if bytes == 0 || !is_exploring() {
        return;
    }
    let (from, to) = (at.addr(), at.addr() + bytes);
    let failure = WATCHED.with_borrow_mut(|all| {
        for watched in all.iter_mut().filter(|w| w.from < to && from < w.to) {
            if watched.freed {
                let what = if writes { "written" } else { "read" };
                return Some(format!("memory is {what} after it was freed"));
            }
            let (from, to) = (from.max(watched.from), to.min(watched.to));
            let (first, last) = ((from - watched.from) / GRAIN, (to - 1 - watched.from) / GRAIN);
            for grain in &mut watched.grains[first..=last] {
                if let Err(race) = grain.note(writes) {
                    return Some(race);
                }
            }
        }
        None
    });
    if let Some(what) = failure {
        fail(what);
    }
}

/// Notes that the current thread looks at `values` now: at memory that it was lent some time ago.
pub fn seen<T>(values: &[T]) {
    note(values.as_ptr().cast(), size_of_val(values), false);
}

/// A buffer of a rank's, watched from its first to its last day and beyond.
#[derive(Debug)]
pub struct Memory<T: Copy + 'static>(Option<Vec<T>>);

impl<T: Copy + 'static> Memory<T> {
    pub fn new(values: Vec<T>) -> Self {
        let (from, bytes) = (values.as_ptr().addr(), size_of_val(values.as_slice()));
        WATCHED.with_borrow_mut(|all| {
            all.push(Watched {
                from,
                to: from + bytes,
                freed: false,
                grains: vec![Shadow::NEW; bytes.div_ceil(GRAIN)],
                _kept: None,
            });
        });
        let memory = Memory(Some(values));
        memory.note(true);
        memory
    }

    fn note(&self, writes: bool) {
        let values = self.0.as_deref().unwrap_or_default();
        note(values.as_ptr().cast(), size_of_val(values), writes);
    }
}

impl<T: Copy + 'static> Deref for Memory<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.note(false);
        self.0.as_deref().unwrap_or_default()
    }
}

impl<T: Copy + 'static> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.note(true);
        self.0.as_deref_mut().unwrap_or_default()
    }
}

impl<T: Copy + 'static> Drop for Memory<T> {
    fn drop(&mut self) {
        // Freeing is a write; but a destructor must not panic while its thread unwinds.
        let values = self.0.take();
        let from = values.as_deref().map_or(0, |v| v.as_ptr().addr());
        let race = WATCHED.with_borrow_mut(|all| {
            let watched = all.iter_mut().rev().find(|w| w.from == from && !w.freed)?;
            let race = watched.grains.iter_mut().find_map(|grain| grain.note(true).err());
            watched.freed = true;
            watched._kept = Some(Box::new(values));
            race
        });
        if let Some(race) = race {
            crate::clock::keep_failure(format!("{race}, by freeing it"));
        }
    }
}

/// The functions that the library's ways to memory are made to go by (the models' `build.rs`): as
/// those of the standard library, watched.
pub mod raw {
    use super::note;

    /// # Safety
    /// As `std::ptr::copy_nonoverlapping`.
    pub unsafe fn copy_nonoverlapping<T>(src: *const T, dst: *mut T, count: usize) {
        note(src.cast(), count * size_of::<T>(), false);
        note(dst.cast(), count * size_of::<T>(), true);
        // SAFETY: passed on.
        unsafe { std::ptr::copy_nonoverlapping(src, dst, count) }
    }

    /// # Safety
    /// As `std::ptr::swap_nonoverlapping`.
    pub unsafe fn swap_nonoverlapping<T>(a: *mut T, b: *mut T, count: usize) {
        note(a.cast(), count * size_of::<T>(), true);
        note(b.cast(), count * size_of::<T>(), true);
        // SAFETY: passed on.
        unsafe { std::ptr::swap_nonoverlapping(a, b, count) }
    }

    /// Noted when it is made, not when it is looked at.
    ///
    /// # Safety
    /// As `std::slice::from_raw_parts`.
    pub unsafe fn from_raw_parts<'a, T>(at: *const T, len: usize) -> &'a [T] {
        note(at.cast(), len * size_of::<T>(), false);
        // SAFETY: passed on.
        unsafe { std::slice::from_raw_parts(at, len) }
    }

    /// Noted when it is made, not when it is looked at.
    ///
    /// # Safety
    /// As `std::slice::from_raw_parts_mut`.
    pub unsafe fn from_raw_parts_mut<'a, T>(at: *mut T, len: usize) -> &'a mut [T] {
        note(at.cast(), len * size_of::<T>(), true);
        // SAFETY: passed on.
        unsafe { std::slice::from_raw_parts_mut(at, len) }
    }
}
