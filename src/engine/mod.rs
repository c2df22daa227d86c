//! The functions that interfaces of other languages, and layers above the library, need beside the
//! methods of [`Comm`](crate::Comm). **Unstable**: outside of semantic versioning.
//!
//! Programs do without it. Its users are the C interface (package `phalanx-capi`), MPI on threads
//! (`phalanx-mpiface`) and communicators of several nodes (`phalanx-nodes`). It has only functions
//! that the typed methods cannot express: an interface makes slices, and calls methods, wherever it
//! can.
//!
//! # Promises
//! No more than each item says, for one version of the library: any release may change or remove an
//! item. So whoever uses it asks for one version exactly (`phalanx = "=0.1.0"`).
//! `cargo semver-checks` (`.ci/semver`) compares it with the rest; a report about `engine` asks
//! for a line in the changelog, and for no new major version.
//!
//! # A call of another language
//! A call in C, of MPI or of a layer goes through these steps:
//!
//! 1. *Its line.* Errors and records name lines of the user's program, and `#[track_caller]` sees
//!    Rust only. [`ForeignCall::kept`] makes the call of a function in a line of a file, once;
//!    [`ForeignCall::location`] a `Location` that stands for it, in which a [`call`](crate::call)
//!    is then made ([`made_at()`]). For all other methods [`attempt`] notes the call beside the
//!    records; [`note`] does so in a scope of requests.
//! 2. *Its thread.* A communicator of a thread of the program's own is that thread's:
//!    [`this_thread`] tells threads apart, [`adopt`], [`take_turns`] and [`take`] hand one on, and
//!    [`leave`] says that a rank makes no more calls.
//! 3. *Its arguments.* A fault that the interface finds it says by [`refuse`], within [`attempt`]:
//!    this rank's error is every rank's then. [`choose`] and [`set_order`] are settings without a
//!    borrow.
//! 4. *Its work*: the methods, or calls, on slices. Where the type of the elements is known only
//!    when the program runs: [`reduce`] and [`movement`] make a [`MemoryCall`]; to be started, it
//!    is a [`PreparedCall`]; operators that are functions of the language: [`UserOperator`].
//!    Parts of which only their givers know the lengths: [`begin_exchange`] and
//!    [`exchange`]. Of several requests: [`place_of`], [`wait_any`].
//!    Functions of the language that ranks run: [`call_back()`].
//! 5. *Its end.* A call that fails throws. [`attempt`] catches that, and the memory of the rank's
//!    slices is its own again; [`first_cause`] says why the run has ended. Where the program goes
//!    on although a call in a scope has failed: [`quiesce`].
//!
//! ```
//! use phalanx::engine::{self, ForeignCall};
//!
//! // A barrier for Fortran; its error is a text.
//! fn lib_barrier(comm: &mut phalanx::Comm, file: &str, line: u32) -> Result<(), String> {
//!     let at = ForeignCall::kept("lib_barrier", file, line).location();
//!     let call = engine::made_at(phalanx::call::barrier(), at);
//!     // SAFETY: the communicator stays in its place.
//!     let made = unsafe { engine::attempt(comm, None, |comm| comm.run(call)) };
//!     made.map_err(|payload| engine::first_cause(comm, payload, |_| ()).1)
//! }
//!
//! let err = phalanx::run(2, |comm| match comm.rank() {
//!     0 => lib_barrier(comm, "heat.f90", 12),
//!     _ => Ok(()), // returns, and leaves rank 0 alone
//! });
//! let text = err.unwrap_err().to_string();
//! assert!(text.contains("barrier") && text.contains("heat.f90:12"), "{text}");
//! ```
//!
//! # Work that an interface does itself
//! MPI's messages go by transports of the interface's own, beside the library's: [`MessageRing`],
//! [`EarlyReceives`] of such, [`MatchList`] and [`KeptBytes`]. Its started calls show cards in
//! [`CardTable`] and go on by [`StartedProgress`], as the library's own do; a [`FoldKernel`]
//! combines long vectors. A rank that waits waits by [`wait`], and is woken by [`wake`]: so it is
//! on the graph of waits, and no one hangs. [`Waits`] names the ranks that wait. A communicator
//! that only its members make is made of [`MemberSeats`]. A program's calls are recorded by
//! [`InterfaceRecord`], of a team that [`external`] has made. Shared state of threads is behind a
//! [`Lock`].
//!
//! # A layer above teams
//! [`run_by`] looks at a [`call`](crate::call) for a layer that [`Runs`] it, as a [`LayerCall`].
//! A call among several processes is steps on each: [`begin_steps`], [`end_steps`]; it waits for
//! other processes by [`wait_outside`], and ends by [`end_run`], [`cause`] and [`deadline`]. Views
//! of all processes' slices: [`with_parts`], [`global_of`]; of grids: [`FieldPart`],
//! [`fitting_fields`], [`whole_field`], [`halo_problem`]. Sums in fixed order: [`fixed_sum`],
//! [`fixed_dots`] and [`fixed_reduce`] by a layer that [`JoinsParts`] ([`Partial`], [`partial`]);
//! [`left_half`], [`by_halves`]. Operators with partial results wider than elements:
//! [`Accumulation`], [`Accumulating`]. Work that combines elements itself asks [`is_disturbed`],
//! and goes on with [`FloatControl::STANDARD`].
//!
//! # Ranks that are processes
//! The package `phalanx-processes` has words and slots of its own, in memory that processes share;
//! it waits by [`Pauses`], [`sleep_on`] and [`wake_all`], and moves data by [`copy`] and
//! [`FoldKernel`].
//!
//! # For tests and measurements
//! [`TestSettings`], [`own_memory`]; [`is_beside_load`].

// In the order of the page.
mod across;
mod call_back;
mod fold_kernel;
mod foreign_call;
mod interface_record;
mod made_at;
mod memory_calls;
mod ownership;
mod part_exchange;
mod request_calls;
mod settings;
mod shared_memory;
mod test_settings;
mod user_operator;
mod waits;

pub use across::{global_of, partial, with_parts};
pub use call_back::call_back;
pub use fold_kernel::FoldKernel;
pub use foreign_call::{attempt, first_cause, note, refuse};
pub use interface_record::{CallEvent, InterfaceRecord, RecordedCall, external};
pub use made_at::made_at;
pub use memory_calls::{movement, reduce};
pub use ownership::{adopt, leave, take, take_turns, this_thread};
pub use part_exchange::{COPIED_PART, ExchangeCall, ExchangeStop, GivenPart, PARTS_AHEAD};
pub use part_exchange::{PartExchange, begin_exchange, exchange};
pub use request_calls::{place_of, quiesce, wait_any};
pub use settings::{choose, set_order};
pub use shared_memory::{Pauses, copy, sleep_on, wake_all};
pub use test_settings::{TestSettings, own_memory};
pub use user_operator::{UserElement, UserFunction, UserOperator};
pub use waits::{Waits, give_way, is_beside_load, wait, wake};

pub use crate::comm::MemberSeats;
pub use crate::comm::call::made::Made;
pub use crate::comm::call::memory_call::{MemoryCall, PreparedCall, ReductionMemory};
pub use crate::comm::call::runs::{LayerCall, Runs, run_by};
pub use crate::comm::outside::{begin_steps, cause, deadline, end_run, end_steps, wait_outside};
pub use crate::comm::{FieldPart, fitting_fields, halo_problem, whole_field};
pub use crate::comm::{JoinsParts, fixed_dots, fixed_reduce, fixed_sum};
pub use crate::dist::partial::Partial;
pub use crate::error::ForeignCall;
pub use crate::exec::Partition;
pub use crate::mailbox::{CardRow, CardTable, FoundCard, Tray};
pub use crate::op::accumulation::{Accumulating, Accumulation};
pub use crate::op::float_control::FloatControl;
pub use crate::op::origin::is_disturbed;
pub use crate::order::{by_halves, left_half};
pub use crate::schedule::Operation;
pub use crate::shared::{AwaitedMessage, CoreUse, EarlyReceives, KeptBytes, LongRoom};
pub use crate::shared::{MatchList, MatchPattern, MessageMemory, MessageRing, RankWait};
pub use crate::shared::{StartedPart, StartedProgress};
pub use crate::wait::Lock;

use crate::error::At;
