//! Placement of ranks: the topology (`topology.rs`), the result and its output (`outcome.rs`).

pub mod outcome;
pub mod topology;
