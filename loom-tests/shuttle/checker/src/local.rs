//! Thread-locals of shuttle's threads.

use std::cell::{Cell, RefCell};

/// As the standard library's, as far as the library uses it.
#[derive(Debug)]
pub struct LocalKey<T: 'static>(shuttle::thread::LocalKey<T>);

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        LocalKey(shuttle::thread::LocalKey { init, _p: std::marker::PhantomData })
    }

    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.0.with(f)
    }
}

impl<T: Copy> LocalKey<Cell<T>> {
    pub fn get(&'static self) -> T {
        self.with(Cell::get)
    }

    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T> LocalKey<RefCell<T>> {
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }
}

/// As `std::thread_local!`, for one key with a constant to begin from.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$doc:meta])* $vis:vis static $name:ident: $t:ty = const $init:block);* $(;)?) => {$(
        $(#[$doc])*
        $vis static $name: $crate::threads::LocalKey<$t> =
            $crate::threads::LocalKey::new(|| $init);
    )*};
}
