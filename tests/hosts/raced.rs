//! What `.ci/tsan short` runs of `it`, all of which takes the compiler minutes: `--test raced`.

#[path = "../it/collectives.rs"]
mod collectives;
#[path = "../common/mod.rs"]
mod common;
#[path = "../it/deadline.rs"]
mod deadline;
