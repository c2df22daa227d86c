//! The basis of every measurement of this tool.
//!
//! A virtual machine's cores move, the clock has steps, and other people use
//! the machine. So: ranks are pinned; all leave one `gate` at one moment; the
//! [`probe`] says what a raw exchange of two flags costs right now, every few
//! milliseconds, and with that at which [`proximity`] the two cores are; only
//! samples between two probes that agree count, under that place; the
//! [`clock`]'s own cost is measured and taken off; [`stats`] gives medians with
//! confidence intervals and counts outliers; [`steal`] tells what the host took
//! away.
//!
//! | file | contents |
//! |---|---|
//! | `aftermath.rs` | a barrier before and after a disturbance |
//! | `caches.rs` | the state of the caches in which a sample starts |
//! | `clock.rs` | cost and resolution of a clock reading |
//! | `conditions.rs` | the conditions of a run, as text |
//! | `core_watch.rs` | whether ranks shared a core, or lost theirs |
//! | `emulation.rs` | whether software emulates the machine, so that no time means anything |
//! | `start_gate.rs` | a common start of all ranks, independent of the library |
//! | `probe.rs` | the raw exchange of two flags between two threads |
//! | `proximity.rs` | smt, ccx, far: the distance of two cores, by their exchange |
//! | `record.rs` | samples and probes in order of time, sorted by place |
//! | `stats.rs` | median, order-statistic interval, percentiles, outliers |
//! | `steal.rs` | time that the host gave to others |

pub mod aftermath;
pub mod caches;
pub mod clock;
pub mod conditions;
pub(crate) mod core_watch;
pub mod emulation;
pub mod probe;
pub mod proximity;
pub(crate) mod record;
pub(crate) mod start_gate;
pub mod stats;
pub mod steal;
