//! What every measurement of this tool rests on.
//!
//! A virtual machine's cores move, the clock has steps, and other people use
//! the machine. So: ranks are pinned; all leave one `gate` at one moment; the
//! [`probe`] says what a raw exchange of two flags costs right now, every few
//! milliseconds, and with that at which [`place`] the two cores are; only
//! samples between two probes that agree count, under that place; the
//! [`clock`]'s own cost is measured and taken off; [`stats`] gives medians with
//! confidence intervals and counts outliers; [`steal`] tells what the host took
//! away.
//!
//! | file | what |
//! |---|---|
//! | `clock.rs` | what reading the clock costs, and how fine it is |
//! | `conditions.rs` | the conditions of a run, in words |
//! | `gate.rs` | a meeting of all ranks that uses nothing of the library, with one start |
//! | `probe.rs` | the raw exchange of two flags between two threads |
//! | `place.rs` | smt, ccx, far: what an exchange says of where two cores are |
//! | `record.rs` | samples and probes in the order in which they came, filed by place |
//! | `stats.rs` | median, order-statistic interval, percentiles, outliers |
//! | `steal.rs` | time that the host gave to others |

pub mod clock;
pub mod conditions;
pub(crate) mod gate;
pub mod place;
pub mod probe;
pub(crate) mod record;
pub mod stats;
pub mod steal;
