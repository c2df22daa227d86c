//! Placement of ranks: the topology (`topology.rs`), the result and its output (`outcome.rs`), and
//! its drawing (`drawing.rs`).

mod drawing;
pub mod outcome;
pub mod topology;
