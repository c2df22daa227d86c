//! The types behind the library's `src/sync.rs` under `cfg(shuttle)`.
//!
//! Shuttle runs an execution's threads as coroutines on one thread of the system, and
//! decides at every operation that others can see which thread goes on. It knows sequential
//! consistency only. So the atomics here are of this crate: each keeps the vector clock
//! that its `Release` stores have published, and only an `Acquire` load takes that over.
//! Memory that is looked at without an order (`memory.rs`) ends the execution as a race,
//! even where the value would be right, as loom and `ThreadSanitizer` have it. (No load
//! ever sees an old value: that is loom's business.)

mod atomic;
mod clock;
mod local;
mod lock;
mod memory;
mod panics;
mod run;
mod thread;
mod time;
#[path = "../../../any-number/trace.rs"]
pub mod trace;

pub use atomic::{AtomicPtr, AtomicU32, AtomicU64};
pub use local::{keep, kept};
pub use lock::{Mutex, MutexGuard};
pub use memory::{Memory, UnsafeCell, raw, seen};
pub use run::{
    Asleep, Outcome, Plan, core_of, cores, crowd, explore, is_crowded, is_sleepy, is_twin, reached,
    sleep, weaken,
};

/// As `std::panic`, for coroutines: the unwinding thread is known by coroutine.
pub mod panic {
    pub use crate::panics::{catch_unwind, resume_unwind};
}

/// Threads, which are shuttle's.
pub mod threads {
    pub use crate::local::LocalKey;
    pub use crate::panics::panicking;
    pub use crate::thread::{
        Builder, JoinHandle, Ring, Sleeper, Sleepers, bed, fence, sleep, spawn, spin_loop,
        this_thread, yield_now,
    };
}

pub use time::Instant;
