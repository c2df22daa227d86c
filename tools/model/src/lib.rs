//! Models of cost: the cost of a schedule on paper and on a network.
//!
//! | file | contents |
//! |---|---|
//! | `arcs.rs` | the messages of a schedule, a line a step ([`arcs()`]) |
//! | `cost.rs` | the start-ups and words, counted message by message ([`Cost`]) |
//! | `closed_form/` | the formulas of the book ([`closed_form()`]), and those over levels |
//! | `network.rs` | networks and the links of a message ([`Network`]) |
//! | `network_error.rs` | the errors of networks ([`BadNetwork`]) |
//! | `congestion.rs` | the cost with dilation and congestion ([`Congestion`]) |
//! | `rates.rs` | t_s and t_w of a message ([`Rates`]), the segments of a chain |
//! | `ranking.rs` | the algorithms by cost, for given t_s, t_w, p and m ([`rank`]) |
//! | `levels.rs` | the cost with a t_s and a t_w for each level of a machine ([`Levels`]) |
//! | `joules.rs`, `median.rs` | for tools and benches: energy, the middle |
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

mod arcs;
mod closed_form;
mod congestion;
mod cost;
mod joules;
mod levels;
mod median;
#[path = "../../../src/mix.rs"]
pub mod mix;
mod network;
mod network_error;
mod ranking;
mod rates;
mod rational;
#[cfg(test)]
mod tests;

pub use arcs::arcs;
pub use closed_form::{ClosedForm, Exactness, bound, closed_form};
pub use congestion::{Congestion, Crossing, StepOn};
pub use cost::Cost;
pub use joules::Joules;
pub use levels::Levels;
pub use median::median;
pub use network::{Channel, MOST_NODES, Network, Ties};
pub use network_error::BadNetwork;
pub use ranking::{Ranked, rank};
pub use rates::{Rates, best_segments};
pub use rational::Ratio;
use rational::ratio;
