//! Phalanx: shared-memory SPMD with zero-copy collectives.

pub mod schedule;
pub mod topology;
pub mod machine;
pub mod placement;
