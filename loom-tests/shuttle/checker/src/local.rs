//! Thread-locals of shuttle's threads.

use std::any::Any;
use std::cell::{Cell, RefCell};

thread_local! {
    static KEPT: RefCell<Vec<&'static dyn Any>> = const { RefCell::new(Vec::new()) };
}

/// A new execution begins.
pub(crate) fn begin() {
    KEPT.with_borrow_mut(Vec::clear);
}

/// Keeps the object that a thread leaves behind for a later one of the same execution.
pub fn keep<T: 'static>(it: &'static T) {
    KEPT.with_borrow_mut(|all| all.push(it));
}

/// The latest that was kept.
pub fn kept<T: 'static>() -> Option<&'static T> {
    KEPT.with_borrow_mut(|all| {
        let at = all.iter().rposition(|it| it.is::<T>())?;
        all.remove(at).downcast_ref()
    })
}

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

    /// # Errors
    /// In a destructor of the thread's after this key's own.
    pub fn try_with<R>(
        &'static self,
        f: impl FnOnce(&T) -> R,
    ) -> Result<R, shuttle::thread::AccessError> {
        self.0.try_with(f)
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

/// As `std::thread_local!`.
#[macro_export]
macro_rules! thread_local {
    ($($(#[$doc:meta])* $vis:vis static $name:ident: $t:ty = const $init:block);* $(;)?) => {$(
        $(#[$doc])*
        $vis static $name: $crate::threads::LocalKey<$t> =
            $crate::threads::LocalKey::new(|| $init);
    )*};
    ($($(#[$doc:meta])* $vis:vis static $name:ident: $t:ty = $init:expr);* $(;)?) => {$(
        $(#[$doc])*
        $vis static $name: $crate::threads::LocalKey<$t> =
            $crate::threads::LocalKey::new(|| $init);
    )*};
}
