//! Which thread unwinds. The standard library counts panics by thread of the system, and all
//! threads of an execution share one.

use crate::clock::{THREADS, me};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, UnwindSafe};

thread_local! {
    /// Panics under way, by thread.
    static UNWINDING: Cell<[u8; THREADS]> = const { Cell::new([0; THREADS]) };
    /// Their texts, for whoever wants to know; the first few.
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn begin() {
    UNWINDING.set([0; THREADS]);
    SAID.with_borrow_mut(Vec::clear);
}

pub(crate) fn said() -> Vec<String> {
    SAID.take()
}

fn count(me: usize) -> u8 {
    UNWINDING.get()[me]
}

fn set_count(me: usize, count: u8) {
    let mut all = UNWINDING.get();
    all[me] = count;
    UNWINDING.set(all);
}

/// The hook: a panic of an execution is no news.
pub(crate) fn hook(info: &std::panic::PanicHookInfo<'_>) -> bool {
    if let Some(me) = me() {
        set_count(me, count(me) + 1);
        SAID.with_borrow_mut(|said| {
            if said.len() < 8 {
                said.push(format!("thread {me}: {info}"));
            }
        });
        return true;
    }
    crate::clock::is_exploring()
}

/// Whether the current thread unwinds.
pub fn panicking() -> bool {
    me().map_or_else(std::thread::panicking, |me| count(me) > 0)
}

pub fn catch_unwind<R>(f: impl FnOnce() -> R + UnwindSafe) -> std::thread::Result<R> {
    let before = me().map_or(0, count);
    let result = std::panic::catch_unwind(AssertUnwindSafe(f));
    if let Some(me) = me() {
        set_count(me, before);
    }
    result
}

pub fn resume_unwind(payload: Box<dyn Any + Send>) -> ! {
    if let Some(me) = me() {
        set_count(me, count(me) + 1);
    }
    std::panic::resume_unwind(payload)
}
