//! The sizes, rates and rules by which the library chooses an algorithm at run time.
//!
//! | file | content |
//! |---|---|
//! | `rules.rs` | the sizes at which a call changes its algorithm ([`Tuning`]) |
//! | `profile/` | the sizes and rates measured on this machine ([`Profile`]) |
//! | `by_levels.rs` | the cheapest algorithm on a machine with levels ([`LevelModel`]) |
//! | `estimate.rs` | the sums over levels that `by_levels.rs` compares |
//! | `flat_estimate.rs` | the same of algorithms without groups |
//! | `meeting.rs` | the level at which two ranks meet |
//! | `costs.rs` | hand-off times and rates of a machine's levels ([`MachineCosts`]) |
//! | `published.rs`, `published-machines.tsv` | the machines with published measurements |
//! | `transport.rs` | the software cost of a message |
//!
//! The textbook's cost model and its networks are the package `phalanx-model` (`tools/model` in the
//! repository), which builds on [`schedule`](crate::schedule).

mod by_levels;
mod costs;
mod estimate;
mod flat_estimate;
mod meeting;
mod profile;
mod published;
pub(crate) mod rules;
#[cfg(test)]
mod tests;
mod transport;

pub(crate) use by_levels::Candidate;
pub use by_levels::{Decision, LevelModel};
pub use costs::{CostsError, LevelCost, MachineCosts, MemoryCosts};
pub use profile::{
    LevelRates, LevelTimes, MachineId, Origin, Payloads, Piece, Profile, ProfileError,
    ProfileReport,
};
pub(crate) use profile::{TuningSource, for_process};
pub use rules::Tuning;
