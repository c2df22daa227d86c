//! Phalanx: shared-memory SPMD with zero-copy collectives.

mod comm;
pub mod element;
mod engine;
mod error;
mod fabric;
pub mod machine;
mod mailbox;
pub mod model;
pub mod op;
pub mod placement;
pub mod schedule;
mod sync;
mod team;
pub mod topology;
mod wait;

pub use comm::{Choice, Comm, Peers, View};
pub use element::Element;
pub use error::{CallSite, Error, Payload, Waiting};
pub use fabric::MAX_RANKS;
pub use schedule::Algorithm;
pub use team::{Binding, Builder, Team, run};
pub use wait::Wait;
