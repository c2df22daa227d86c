//! Phalanx: shared-memory SPMD, with collectives that make no copies in between.
//!
//! Pinned threads, one per core, run the same closure and exchange slices through cache-aligned
//! mailboxes. It has MPI's means inside one process: ranks, messages, collectives over
//! rings, meshes, hypercubes and trees; without sockets or a launcher. Large messages are copied
//! once, from the sender's slice to the receiver's; views ([`Comm::with_peers`]) and windows copy
//! nothing.
//!
//! ```
//! use phalanx::op;
//!
//! // Four ranks; each contributes its share of a dot product.
//! let dots = phalanx::run(4, |comm| {
//!     let (r, p) = (comm.rank(), comm.size());
//!     let mine: Vec<f64> = (0..1000).filter(|i| i % p == r).map(|i| i as f64).collect();
//!     let mut dot = [mine.iter().map(|x| x * x).sum::<f64>()];
//!     comm.all_reduce(&mut dot, op::Sum);
//!     dot[0]
//! })?;
//! assert_eq!(dots, [332_833_500.0; 4]);
//! # Ok::<(), phalanx::Error>(())
//! ```
//!
//! # Where things are
//! - Starting: [`run`], [`Team`], [`Builder`], [`Wait`], [`placement::Placement`].
//! - On a rank: [`Comm`] (all collectives, messages, views, splits), [`call`] (calls as values:
//!   started, set up, overlapped), [`Forced`] (a forced algorithm or topology), [`Peers`]; memory
//!   that all share: [`Window`], [`AtomicWindow`].
//! - Between runs: memory next to the ranks ([`DistributedArray`]), a copy in each memory
//!   ([`MirroredArray`]).
//! - For solvers: [`Cart`] (grids of ranks, halo exchange), [`dist`] (the owners of
//!   which elements), [`Order`] (sums with the same bits whatever the ranks).
//! - Data: [`Element`], operators in [`op`].
//! - Errors: [`Error`], [`guide::errors`]; errors of one's own: [`try_run`]; ending a run:
//!   [`Canceller`].
//! - By task: the table at the head of [`Comm`]; pages on errors, arrays, Ctrl-C, servers, Rayon
//!   and BLAS, and for users of MPI, OpenMP and Rayon, in [`guide`]; there, too, the textbook, a
//!   page per operation (figures, costs, which one wins).
//! - Algorithms as data, for looking at: [`schedule`], [`topology`]; the
//!   hardware: [`machine`], [`placement`].
//! - Interfaces of other languages, and layers on this library: [`engine`], which is not stable.
//!
//! # Promises
//! 1. No undefined behaviour from safe code, whatever the ranks do.
//! 2. Nobody hangs because another rank failed: one that panics, returns early,
//!    or calls something else ends the run with an error that names ranks and
//!    source lines.
//! 3. Waiting fits the machine: spinning where there are cores enough,
//!    yielding and parking where ranks outnumber them.
//! 4. Reductions give the same bits on every rank, and from run to run for
//!    the same p, length and choice; operators that are not commutative are
//!    applied in rank order. With [`Order::Fixed`] for every topology, too, and
//!    by [`Comm::fixed_sum`] and its relatives for every p.
//! 5. Ranks are bound within the affinity mask that the process was given.
//! 6. A [`barrier`](Comm::barrier) is a release/acquire point for all ranks.
//!
//! Out of scope: `pthread_exit` or `longjmp` inside a rank. (A child of `fork`
//! gets errors of its parent's teams: [`Error::Forked`].) With
//! `panic = "abort"` a failure ends the process, as everywhere.
//!
//! # Crate features
//! - **hwloc** (default): reads the machine through libhwloc, on Linux, if its
//!   headers are there when the crate is built and the library when the program
//!   runs; otherwise, and without the feature, from sysfs.
//! - **profile** (default): reads the profile that `phalanx calibrate` writes
//!   ([`tuning::Profile`]).
//! - **complex**: `Sum` and `Prod` for `num_complex::Complex`.
//! - **half**: operators for `half::f16` and `bf16`; sums and products are made in `f32`, and
//!   rounded once ([`op`]).
//! - **tracing**: phases ([`Comm::phase`]) are spans of the crate `tracing`; calls and waits are
//!   events, for a subscriber of level TRACE.

mod comm;
mod decimal;
pub mod dist;
mod element;
pub mod engine;
mod error;
mod error_type;
mod exec;
mod file;
mod fork;
pub mod guide;
mod loaded;
pub mod machine;
mod mailbox;
mod mix;
mod shared;

pub mod op;
mod order;
pub mod placement;
pub mod schedule;
mod sorted;
mod sync;
mod team;
pub mod topology;
pub mod tuning;
mod wait;

pub use comm::call;
pub use comm::{AtomicElement, AtomicF32, AtomicF64, AtomicWindow, Window};
pub use comm::{CallStatistics, Canceller, Cart, Choice, Comm, Forced, Global};
pub use comm::{Neighborhood, Peers};
pub use comm::{OpenRequest, Persistent, Requests, Source, Status, Tag};
pub use element::Element;
pub use error::{
    Activity, CallSite, Error, Payload, RankReport, ReturnedError, SourceLine, TryError, Waiting,
};
pub use exec::{Hazard, check_hazards};
pub use mailbox::{HugePages, MAX_RANKS};
pub use order::Order;
pub use schedule::Algorithm;
pub use team::{Binding, Builder, Chunks, DistributedArray, MirroredArray, Team, run, try_run};
pub use wait::Wait;

/// Runs the program of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
