//! Programs with hundreds of short parallel regions a step, of which each kernel has one source for
//! all pools of threads: [`Pool`]. `docs/regions.md` has what they take; the pools of other crates
//! are in `peers/`, a workspace of its own, so that nobody else compiles them.

pub mod agents;
pub mod components;
pub mod decode;
pub mod nbody;
mod pool;
mod random;
pub mod rows;
pub mod split_decode;
pub mod triangular;

pub use pool::{Pool, Serial, Task, ThreadsAtBarrier};
pub use random::Random;

use std::ops::Range;

/// The part of `len` elements that task `task` of `tasks` has.
pub fn part(len: usize, task: usize, tasks: usize) -> Range<usize> {
    len * task / tasks..len * (task + 1) / tasks
}
