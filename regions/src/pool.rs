//! Pools of threads, as the kernels need them.

use phalanx::Team;
use std::cell::UnsafeCell;
use std::mem::transmute;
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

/// A task, of its number.
pub type Task<'a> = &'a (dyn Fn(usize) + Sync);

/// Threads that do a region's tasks.
pub trait Pool {
    /// How many tasks a region has.
    fn tasks(&self) -> usize;

    /// A region: calls `task` with each number below [`tasks`](Pool::tasks) once, on any threads.
    fn region(&mut self, task: Task<'_>);
}

/// The calling thread alone.
#[derive(Clone, Copy, Debug)]
pub struct Serial;

impl Pool for Serial {
    fn tasks(&self) -> usize {
        1
    }

    fn region(&mut self, task: Task<'_>) {
        task(0);
    }
}

impl Pool for Team {
    fn tasks(&self) -> usize {
        self.size()
    }

    fn region(&mut self, task: Task<'_>) {
        self.run(|comm| task(comm.rank())).expect("no task fails");
    }
}

/// Threads that meet at a [`Barrier`] before a region and after it.
#[derive(Debug)]
pub struct ThreadsAtBarrier {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    barrier: Barrier,
    /// Written by the caller before the first meeting, and read between the two.
    task: UnsafeCell<Option<Task<'static>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

// SAFETY: the barrier orders the accesses to the task, which is `Sync`.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl ThreadsAtBarrier {
    /// `tasks` threads, the calling one among them.
    pub fn new(tasks: usize) -> Self {
        let shared = Arc::new(Shared { barrier: Barrier::new(tasks), task: UnsafeCell::new(None) });
        let life = |number: usize| {
            let shared = shared.clone();
            move || {
                loop {
                    shared.barrier.wait();
                    // SAFETY: the caller writes before the first meeting and after the second.
                    let Some(task) = (unsafe { *shared.task.get() }) else { return };
                    task(number);
                    shared.barrier.wait();
                }
            }
        };
        let threads = (1..tasks).map(|number| std::thread::spawn(life(number))).collect();
        ThreadsAtBarrier { shared, threads }
    }
}

impl Pool for ThreadsAtBarrier {
    fn tasks(&self) -> usize {
        self.threads.len() + 1
    }

    fn region(&mut self, task: Task<'_>) {
        // SAFETY: no thread uses it after the second meeting, before which this does not return.
        let task: Task<'static> = unsafe { transmute::<Task<'_>, Task<'static>>(task) };
        // SAFETY: the threads are at the first meeting, or on their way to it.
        unsafe { *self.shared.task.get() = Some(task) };
        self.shared.barrier.wait();
        task(0);
        self.shared.barrier.wait();
    }
}

impl Drop for ThreadsAtBarrier {
    fn drop(&mut self) {
        // SAFETY: as in `region`.
        unsafe { *self.shared.task.get() = None };
        self.shared.barrier.wait();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
