//! Loom's atomics and cells, which note each access (`any-number/trace.rs`).

use crate::sync::{eager, weaken};
use crate::trace::note;
use loom::sync::atomic::Ordering;
use loom::thread::current;

macro_rules! atomic {
    ($name:ident, $int:ty, $may_be_eager:expr) => {
        #[derive(Debug)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        #[allow(dead_code)]
        impl $name {
            pub(crate) fn new(value: $int) -> Self {
                $name(loom::sync::atomic::$name::new(value))
            }

            /// Of [`eager`] models the latest value.
            #[track_caller]
            pub(crate) fn load(&self, ordering: Ordering) -> $int {
                let is_latest = $may_be_eager
                    && eager::is()
                    && (ordering == Ordering::Acquire || weaken::loads());
                let value =
                    if is_latest { self.0.fetch_or(0, ordering) } else { self.0.load(ordering) };
                self.note("load", value, value)
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $int, ordering: Ordering) {
                self.0.store(value, ordering);
                self.note("store", value, value);
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $int, ordering: Ordering) -> $int {
                self.note("swap", self.0.swap(value, ordering), value)
            }

            #[track_caller]
            pub(crate) fn fetch_max(&self, value: $int, ordering: Ordering) -> $int {
                let old = self.0.fetch_max(value, ordering);
                self.note("swap", old, old.max(value))
            }

            #[track_caller]
            pub(crate) fn fetch_add(&self, value: $int, ordering: Ordering) -> $int {
                let old = self.0.fetch_add(value, ordering);
                self.note("swap", old, old.wrapping_add(value))
            }

            #[track_caller]
            pub(crate) fn fetch_or(&self, value: $int, ordering: Ordering) -> $int {
                let old = self.0.fetch_or(value, ordering);
                self.note("swap", old, old | value)
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                old: $int,
                new: $int,
                done: Ordering,
                lost: Ordering,
            ) -> Result<$int, $int> {
                let result = self.0.compare_exchange(old, new, done, lost);
                let (Ok(was) | Err(was)) = result;
                self.note("swap", was, if result.is_ok() { new } else { was });
                result
            }

            #[track_caller]
            fn note(&self, what: &str, old: $int, new: $int) -> $int {
                note(|| current().id(), what, self, old.into(), new.into());
                old
            }
        }
    };
}

atomic!(AtomicU32, u32, false);
atomic!(AtomicU64, u64, true);

#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(loom::cell::UnsafeCell::new(value))
    }

    #[track_caller]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        note(|| current().id(), "read", self, 0, 0);
        self.0.with(f)
    }

    #[track_caller]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        note(|| current().id(), "write", self, 0, 0);
        self.0.with_mut(f)
    }
}
