//! Phalanx: shared-memory SPMD with zero-copy collectives.

pub mod machine;
pub mod placement;
pub mod schedule;
pub mod topology;
