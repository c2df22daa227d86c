//! What the feature `tracing` shows of a rank: a span for each phase, an event for each call and
//! each wait. A call is an event, no span: no line of the library is its end (DESIGN.md, "A record
//! costs others nothing").

use crate::shared::{BeginningCall, Signature};
use std::panic::Location;
use std::time::Duration;
use tracing::span::EnteredSpan;
use tracing::{Level, enabled, info_span, trace};

/// Whether anybody wants to hear of calls. Asked once a team.
pub(crate) fn are_calls_wanted() -> bool {
    enabled!(target: "phalanx", Level::TRACE)
}

/// The team's `rank` is in phase `name` until the value is dropped.
pub(super) fn phase(rank: usize, name: &str) -> EnteredSpan {
    info_span!(target: "phalanx", "phase", phase = name, rank).entered()
}

/// The team's `rank` begins a call on communicator `comm`.
pub(super) fn call(
    rank: usize,
    comm: u64,
    sig: &Signature,
    at: &Location<'static>,
    call: &BeginningCall,
) {
    let bytes = call.bytes(sig);
    trace!(target: "phalanx", rank, comm, bytes, of = %sig.detail(), %at, "{}", sig.call);
}

/// The team's `rank` has waited for `peer`.
pub(crate) fn waited(rank: usize, peer: usize, time: Duration) {
    trace!(target: "phalanx", rank, peer, ns = time.as_nanos() as u64, "waited");
}
