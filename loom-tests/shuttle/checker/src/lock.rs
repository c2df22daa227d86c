//! A lock, which hands over its holder's clock.

use crate::clock::{Clock, learn, publish};
use crate::thread::yield_now;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// As the standard library's, but that it is never poisoned: the library asks for the
/// contents either way.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized> {
    published: Shared,
    value: std::sync::Mutex<T>,
}

#[derive(Debug)]
struct Shared(Cell<Clock>);

impl Default for Shared {
    fn default() -> Self {
        Shared(Cell::new(Clock::ZERO))
    }
}

// SAFETY: all threads of an execution are coroutines of one thread of the system.
unsafe impl Sync for Shared {}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        let published = Shared(Cell::new(Clock::ZERO));
        Mutex { published, value: std::sync::Mutex::new(value) }
    }

    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        crate::clock::switch();
        loop {
            if let Ok(guard) = self.take() {
                return Ok(guard);
            }
            yield_now();
        }
    }

    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        crate::clock::switch();
        self.take()
    }

    fn take(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let guard = match self.value.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
        };
        learn(&self.published.0.get());
        Ok(MutexGuard { lock: self, guard })
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    guard: std::sync::MutexGuard<'a, T>,
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.published.0.set(publish());
    }
}
