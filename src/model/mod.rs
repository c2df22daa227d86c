//! Models of cost: what a schedule costs, on paper and on a network, and the
//! choices that follow.
//!
//! | file | question |
//! |---|---|
//! | `cost.rs` | how many start-ups and words, counted message by message ([`Cost`]) |
//! | `closed.rs`, `formulas.rs`, `closed_levels.rs` | what the book's formula says ([`closed_form`]), and ours over levels |
//! | `network.rs` | which links a message takes ([`Network`]) |
//! | `bad_network.rs` | why there is no such network ([`BadNetwork`]) |
//! | `congestion.rs` | what that costs, with dilation and congestion ([`Congestion`]) |
//! | `ranking.rs` | which algorithm is cheapest for given t_s, t_w, p and m ([`rank`]) |
//! | `levels.rs` | the same where t_s and t_w differ by level of a machine ([`Levels`]) |
//! | `nodes.rs` | what a call on several nodes costs, with a network of its own t_s and t_w ([`Across`]) |
//! | `profile/` | what was measured of this machine ([`Profile`]) |
//! | `choice.rs` | what the library does by default, and from which sizes on ([`Tuning`]) |
//! | `simulation/` | what a schedule would take on a published machine ([`Simulation`]) |
//! | `rational.rs` | the exact fractions all of it is counted in ([`Ratio`]) |
//!
//! m is the length of the vector for broadcast, reduce, all-reduce, scan and
//! shift, and of one block for the operations with p blocks per rank. Parts of
//! m/p words count as exactly that; a run rounds them to whole elements.
//!
//! # Examples
//! ```
//! use phalanx::model::{Congestion, Cost, Network, Ratio, closed_form};
//! use phalanx::schedule::{Algorithm, Operation, Request};
//! let call = Request::new(Operation::AllGather, 64);
//! let cube = Algorithm::AG_HCUBE.schedule(&call)?;
//! // On a hypercube: t_s log p + t_w m (p - 1), as Eq. 4.4 says ...
//! assert_eq!(Cost::of(&cube), closed_form(Algorithm::AG_HCUBE, &call)?.cost());
//! // ... but on a ring the long messages meet on the same links.
//! let ring = Congestion::on(&Network::ring(64), &cube).unwrap();
//! assert_eq!(ring.cost.tw, Ratio::from(1365));
//! # Ok::<(), phalanx::schedule::Unfit>(())
//! ```

mod bad_network;
pub(crate) mod choice;
mod closed;
mod closed_levels;
mod congestion;
mod cost;
mod formulas;
mod levels;
mod network;
mod nodes;
mod profile;
mod ranking;
mod rational;
mod simulation;
#[cfg(test)]
mod tests;

pub use bad_network::BadNetwork;
pub use choice::Tuning;
pub use closed::{ClosedForm, Kind, bound, closed_form};
pub use congestion::{Congestion, Crossing, StepOn};
pub use cost::Cost;
pub use levels::{Level, Levels};
pub use network::{Channel, MOST_NODES, Network, Ties};
pub use nodes::Across;
pub use profile::{
    Fingerprint, LevelRates, Origin, Payloads, Piece, Profile, ProfileError, ProfileReport,
};
pub(crate) use profile::{Rules, for_process};
pub use ranking::{Ranked, Rates, best_segments, rank};
pub use rational::Ratio;
pub use simulation::{
    CostsError, Decision, Effect, Effects, LINES_IN_FLIGHT, LevelCost, LevelModel, MachineCosts,
    MemoryCosts, Outcome, Simulation, Transport,
};
