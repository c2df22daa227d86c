//! The part of `it` that `.ci/tsan short` runs, as all takes the compiler minutes: `--test raced`.

#[path = "../it/collectives.rs"]
mod collectives;
#[path = "../common/mod.rs"]
mod common;
#[path = "../it/deadline.rs"]
mod deadline;
