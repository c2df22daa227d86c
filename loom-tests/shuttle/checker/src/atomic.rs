//! Atomics with clocks.

use crate::clock::{Clock, learn, publish, switch};
use crate::thread::this_thread;
use crate::trace::note;
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::Ordering;

macro_rules! atomic {
    ($name:ident, $int:ty) => {
        /// As the standard library's. Every operation is a point at which others may go on.
        pub struct $name {
            value: Cell<$int>,
            /// The clock that a thread learns which acquires the present value.
            published: Cell<Clock>,
        }

        // SAFETY: all threads of an execution are coroutines of one thread of the system.
        unsafe impl Sync for $name {}
        // SAFETY: as above.
        unsafe impl Send for $name {}

        impl $name {
            pub const fn new(value: $int) -> Self {
                $name { value: Cell::new(value), published: Cell::new(Clock::ZERO) }
            }

            #[track_caller]
            pub fn load(&self, ordering: Ordering) -> $int {
                switch();
                if matches!(ordering, Ordering::Acquire | Ordering::SeqCst) {
                    learn(&self.published.get());
                }
                self.note("load", self.value.get(), self.value.get())
            }

            #[track_caller]
            pub fn store(&self, value: $int, ordering: Ordering) {
                switch();
                let releases = matches!(ordering, Ordering::Release | Ordering::SeqCst);
                self.published.set(if releases { publish() } else { Clock::ZERO });
                self.note("store", self.value.replace(value), value);
            }

            #[track_caller]
            pub fn swap(&self, value: $int, ordering: Ordering) -> $int {
                self.change(ordering, |_| value)
            }

            #[track_caller]
            pub fn fetch_add(&self, value: $int, ordering: Ordering) -> $int {
                self.change(ordering, |old| old.wrapping_add(value))
            }

            #[track_caller]
            pub fn fetch_sub(&self, value: $int, ordering: Ordering) -> $int {
                self.change(ordering, |old| old.wrapping_sub(value))
            }

            #[track_caller]
            pub fn fetch_or(&self, value: $int, ordering: Ordering) -> $int {
                self.change(ordering, |old| old | value)
            }

            #[track_caller]
            pub fn fetch_max(&self, value: $int, ordering: Ordering) -> $int {
                self.change(ordering, |old| old.max(value))
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                switch();
                let old = self.value.get();
                if old != current {
                    if failure != Ordering::Relaxed {
                        learn(&self.published.get());
                    }
                    return Err(self.note("swap", old, old));
                }
                self.update(success, new);
                Ok(self.note("swap", old, new))
            }

            /// No spurious failures.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $int,
                new: $int,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$int, $int> {
                self.compare_exchange(current, new, success, failure)
            }

            #[track_caller]
            fn change(&self, ordering: Ordering, f: impl FnOnce($int) -> $int) -> $int {
                switch();
                let old = self.value.get();
                self.update(ordering, f(old));
                self.note("swap", old, self.value.get())
            }

            #[track_caller]
            fn note(&self, what: &str, old: $int, new: $int) -> $int {
                note(this_thread, what, self, old.into(), new.into());
                old
            }

            /// The second half of a read-modify-write. It continues the clock that was published
            /// before, whatever its ordering (a release sequence).
            fn update(&self, ordering: Ordering, value: $int) {
                let mut published = self.published.get();
                if !matches!(ordering, Ordering::Relaxed | Ordering::Release) {
                    learn(&published);
                }
                if !matches!(ordering, Ordering::Relaxed | Ordering::Acquire) {
                    published.join(&publish());
                }
                self.published.set(published);
                self.value.set(value);
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.value.get().fmt(f)
            }
        }
    };
}

/// As the standard library's, as far as the library uses it.
pub struct AtomicPtr<T> {
    value: Cell<*mut T>,
    published: Cell<Clock>,
}

// SAFETY: as above.
unsafe impl<T> Sync for AtomicPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Send for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    pub const fn new(value: *mut T) -> Self {
        AtomicPtr { value: Cell::new(value), published: Cell::new(Clock::ZERO) }
    }

    pub fn load(&self, ordering: Ordering) -> *mut T {
        switch();
        if matches!(ordering, Ordering::Acquire | Ordering::SeqCst) {
            learn(&self.published.get());
        }
        self.value.get()
    }

    pub fn store(&self, value: *mut T, ordering: Ordering) {
        switch();
        let releases = matches!(ordering, Ordering::Release | Ordering::SeqCst);
        self.published.set(if releases { publish() } else { Clock::ZERO });
        self.value.set(value);
    }

    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        switch();
        let old = self.value.get();
        let (is_it, mut published) = (old == current, self.published.get());
        let ordering = if is_it { success } else { failure };
        if !matches!(ordering, Ordering::Relaxed | Ordering::Release) {
            learn(&published);
        }
        if !is_it {
            return Err(old);
        }
        // It continues the clock that was published before, whatever its ordering (a release
        // sequence).
        if !matches!(success, Ordering::Relaxed | Ordering::Acquire) {
            published.join(&publish());
        }
        self.published.set(published);
        self.value.set(new);
        Ok(old)
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.get().fmt(f)
    }
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
