//! Threads, their naps, and the words on which they sleep.

use crate::clock::{Clock, learn, me, publish, switch, teach};
use crate::panics::catch_unwind;
use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Lets others go on, if there are any that can.
pub fn yield_now() {
    if me().is_some() {
        shuttle::thread::yield_now();
    } else {
        std::thread::yield_now();
    }
}

/// Whoever spins lets others go on.
pub fn spin_loop() {
    yield_now();
}

/// Time does not pass: a nap may end at once.
pub fn sleep(_: Duration) {
    yield_now();
}

/// An even number that no other thread of the execution has; not 0.
pub fn this_thread() -> usize {
    me().map_or(usize::MAX - 1, |me| 2 * (me + 1))
}

#[derive(Debug, Default)]
pub struct Builder(());

impl Builder {
    pub fn new() -> Self {
        Builder(())
    }

    #[must_use]
    pub fn name(self, _: String) -> Self {
        self
    }

    /// All stacks are alike.
    #[must_use]
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// # Errors
    /// None.
    pub fn spawn<T: Send + 'static>(
        self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<JoinHandle<T>> {
        Ok(spawn(f))
    }
}

/// The remains of a thread: its result, and its knowledge.
struct Left<T>(RefCell<Option<(std::thread::Result<T>, Clock)>>);

// SAFETY: all threads of an execution are coroutines of one thread of the system.
unsafe impl<T> Sync for Left<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Left<T> {}

/// A thread that panics ends by itself only, as the standard library's: `join` tells.
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let left = Arc::new(Left(RefCell::new(None)));
    let known = publish();
    let thread = shuttle::thread::spawn({
        let left = left.clone();
        move || {
            if let Some(me) = me() {
                teach(me, &known);
            }
            let result = catch_unwind(AssertUnwindSafe(f));
            *left.0.borrow_mut() = Some((result, publish()));
        }
    });
    JoinHandle { thread, left }
}

pub struct JoinHandle<T> {
    thread: shuttle::thread::JoinHandle<()>,
    left: Arc<Left<T>>,
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JoinHandle")
    }
}

impl<T> JoinHandle<T> {
    /// # Errors
    /// The payload of the thread's panic.
    ///
    /// # Panics
    /// If shuttle has lost it.
    pub fn join(self) -> std::thread::Result<T> {
        self.thread.join()?;
        let (result, known) = self.left.0.take().expect("a thread that has ended left its result");
        learn(&known);
        result
    }
}

/// Executions are sequentially consistent: nothing but a point at which others may go on.
pub fn fence(_: std::sync::atomic::Ordering) {
    switch();
}

/// Threads that sleep on a word until it is woken: the system's futex. Nothing is ordered by it.
/// A nap, which has a limit, may end at any time, but where [`Asleep::Untimed`] holds: there
/// whom nobody wakes sleeps for ever, and shuttle reports a deadlock.
///
/// [`Asleep::Untimed`]: crate::Asleep::Untimed
#[derive(Debug)]
pub struct Sleepers(RefCell<Vec<(shuttle::thread::Thread, Arc<AtomicBool>)>>);

// SAFETY: as above.
unsafe impl Sync for Sleepers {}
// SAFETY: as above.
unsafe impl Send for Sleepers {}

impl Default for Sleepers {
    fn default() -> Self {
        Self::new()
    }
}

impl Sleepers {
    pub const fn new() -> Self {
        Sleepers(RefCell::new(Vec::new()))
    }

    /// Sleeps if `is_to`: as the last operation on the word has shown; nobody else has gone on
    /// since.
    pub fn sleep(&self, is_to: bool, is_timed: bool) {
        if !is_to {
            return;
        }
        if is_timed && crate::run::are_naps_timed() {
            return yield_now();
        }
        let woken = Arc::new(AtomicBool::new(false));
        self.0.borrow_mut().push((shuttle::thread::current(), woken.clone()));
        while !woken.load(Relaxed) {
            shuttle::thread::park();
        }
    }

    pub fn wake(&self) {
        let all = self.0.take();
        for (thread, woken) in all {
            woken.store(true, Relaxed);
            thread.unpark();
        }
    }
}

/// Where a thread sleeps until it is rung for.
#[derive(Debug)]
pub struct Sleeper(Arc<Bell>);
#[derive(Debug)]
pub struct Ring(Arc<Bell>);

#[derive(Debug)]
struct Bell {
    rung: Cell<bool>,
    asleep: RefCell<Option<shuttle::thread::Thread>>,
    published: Cell<Clock>,
}

// SAFETY: as above.
unsafe impl Sync for Bell {}
// SAFETY: as above.
unsafe impl Send for Bell {}

pub fn bed() -> (Sleeper, Ring) {
    let bell = Arc::new(Bell {
        rung: Cell::new(false),
        asleep: RefCell::new(None),
        published: Cell::new(Clock::ZERO),
    });
    (Sleeper(bell.clone()), Ring(bell))
}

impl Sleeper {
    /// Ends at any time.
    pub fn nap(&self, _: Duration) {
        yield_now();
        if self.0.rung.replace(false) {
            learn(&self.0.published.get());
        }
    }

    /// Ends when it is rung for, or has been since the last sleep. Where nobody ever does,
    /// shuttle reports a deadlock.
    pub fn sleep(&self) {
        switch();
        while !self.0.rung.replace(false) {
            *self.0.asleep.borrow_mut() = Some(shuttle::thread::current());
            shuttle::thread::park();
            *self.0.asleep.borrow_mut() = None;
        }
        learn(&self.0.published.get());
    }
}

impl Ring {
    pub fn wake(&self) {
        switch();
        let mut published = self.0.published.get();
        published.join(&publish());
        self.0.published.set(published);
        self.0.rung.set(true);
        let asleep = self.0.asleep.borrow_mut().take();
        if let Some(thread) = asleep {
            thread.unpark();
        }
    }
}
