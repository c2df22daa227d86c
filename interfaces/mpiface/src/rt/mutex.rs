//! Locks of state that ranks share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock with a holder that may have panicked: then the process ends anyway.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
