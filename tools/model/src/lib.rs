//! Models of cost: the cost of a schedule on paper, on a network and on published machines.
//!
//! | file | question |
//! |---|---|
//! | `cost.rs` | how many start-ups and words, counted message by message ([`Cost`]) |
//! | `closed.rs`, `formulas.rs`, `closed_levels.rs` | the book's formula ([`closed_form`]), and ours over levels |
//! | `network.rs` | which links a message takes ([`Network`]) |
//! | `bad_network.rs` | why there is no such network ([`BadNetwork`]) |
//! | `congestion.rs` | the cost with dilation and congestion ([`Congestion`]) |
//! | `ranking.rs` | which algorithm is cheapest for given t_s, t_w, p and m ([`rank`]) |
//! | `levels.rs` | the same where t_s and t_w differ by level of a machine ([`Levels`]) |
//! | `nodes.rs` | the cost of a call on several nodes, over a network of its own t_s and t_w ([`Across`]) |
//! | `simulation/` | the time of a schedule on a published machine ([`Simulation`]) |
//! | `rational.rs` | the exact fractions of all counts ([`Ratio`]) |
//!
//! The library's own choice at run time is [`phalanx::tuning`].
//!
//! m is the length of the vector for broadcast, reduce, all-reduce, scan and
//! shift, and of one block for the operations with p blocks per rank. Parts of
//! m/p words count as exactly that; a run rounds them to whole elements.
//!
//! # Examples
//! ```
//! use phalanx::schedule::{Algorithm, Operation, Request};
//! use phalanx_model::{Congestion, Cost, Network, Ratio, closed_form};
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
mod closed;
mod closed_levels;
mod congestion;
mod cost;
mod formulas;
mod levels;
mod median;
#[path = "../../../src/mix.rs"]
pub mod mix;
mod network;
mod nodes;
mod ranking;
mod rational;
mod simulation;
#[cfg(test)]
mod tests;

pub use bad_network::BadNetwork;
pub use closed::{ClosedForm, Kind, bound, closed_form};
pub use congestion::{Congestion, Crossing, StepOn};
pub use cost::Cost;
pub use levels::Levels;
pub use median::median;
pub use network::{Channel, MOST_NODES, Network, Ties};
pub use nodes::Across;
pub use ranking::{Ranked, rank};
pub use rational::Ratio;
pub use simulation::{Effect, Effects, Outcome, Simulation, SimulationError};
