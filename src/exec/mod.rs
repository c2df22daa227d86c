//! The executors of calls: siblings with one signature. The communicator's `route.rs` chooses one
//! of them.
//!
//! | | its work | for |
//! |---|---|---|
//! | [`alone`] | copies the rank's own block | one rank |
//! | [`all_at_once`] | shows a few bytes at the gate, reads the others | few ranks, or few cores |
//! | [`eager`] | an algorithm's messages of a few bytes, without a plan | many ranks |
//! | [`board`] | shows the rank's memory, and accesses the others' directly | long vectors |
//! | [`plan`] | a schedule, bound to the call's memory | all other calls, and forced ones |
//! | [`by_parts`] | gives each peer a block, takes those that come | lengths that not all know |
//!
//! Between two ranks `all_at_once` and `eager` are generic over element and operator: a few
//! elements are combined where they are read. All else gets a [`Kernel`], called once per slice.
//!
//! ```text
//! Schedule (blocks) --bind--> Plan (places in memory, hazards settled) --run--> mailboxes
//! ```

pub(crate) mod all_at_once;
mod alone;
pub(crate) mod board;
pub(crate) mod by_parts;
mod call;
mod eager;
mod join_list;
mod kernel;
pub(crate) mod plan;

pub use call::Partition;
pub use plan::{Hazard, check_hazards};

pub(crate) use all_at_once::Executed;
pub(crate) use call::{Buffers, Call, RawBuffers, Slices};
pub(crate) use kernel::{ForeignOperator, Kernel, Scratch, copy};

use crate::shared::Span;
use join_list::JoinList;
use plan::PlanCache;

/// What a communicator's calls leave to the next one: memory, and plans.
pub(crate) struct Workspace {
    pub(crate) spans: Vec<Span>,
    /// Room for everybody's address.
    pub(crate) addresses: Vec<*mut u8>,
    /// How everybody's vectors are combined by one rank.
    joins: JoinList,
    /// Room for a number of each rank.
    counts: Vec<usize>,
    pub(crate) scratch: Scratch,
    pub(crate) plans: PlanCache,
    /// Bytes that a call touches from which results that are not written in place
    /// are too large for any cache, and so go round them.
    stream_from: usize,
}

impl Workspace {
    pub(crate) fn new(stream_from: usize) -> Self {
        Workspace {
            spans: Vec::new(),
            addresses: Vec::new(),
            joins: JoinList::default(),
            counts: Vec::new(),
            scratch: Scratch::new(),
            plans: PlanCache::default(),
            stream_from,
        }
    }
}
