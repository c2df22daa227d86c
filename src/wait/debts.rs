//! The settings that a rank's thread has asked of the system for a run, to be given back when its
//! part ends, however that ends: threads and processes that it starts inherit them, and the caller
//! of a run wants its own back.

use std::cell::{Cell, RefCell};

type Debt = Box<dyn FnOnce()>;

crate::sync::thread_local! {
    static HAS_DEBTS: Cell<bool> = const { Cell::new(false) };
    static DEBTS: RefCell<Vec<Debt>> = const { RefCell::new(Vec::new()) };
}

/// `debt` is to be called at the end of this thread's part of the run.
#[cfg(not(loom))]
pub(super) fn owe(debt: impl FnOnce() + 'static) {
    // A thread that is ending takes part in no run any more.
    let is_noted = DEBTS.try_with(|all| all.borrow_mut().push(Box::new(debt))).is_ok();
    HAS_DEBTS.set(is_noted);
}

/// Gives back the calling thread's settings.
#[inline(always)]
pub(crate) fn give_back() {
    if HAS_DEBTS.get() {
        give_back_now();
    }
}

#[cold]
fn give_back_now() {
    HAS_DEBTS.set(false);
    let debts = DEBTS.try_with(RefCell::take).unwrap_or_default();
    debts.into_iter().for_each(|debt| debt());
}
