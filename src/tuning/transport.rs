//! The cost of a message in software, and the number of transfers of its line.
//!
//! Measured as an 8-byte ping-pong less two hand-offs each way, on two cores of an EPYC virtual
//! machine (`cargo bench --bench ratios`); what was not, says so.

use crate::mailbox::EAGER;

/// Nanoseconds of software for the sender, per message.
pub(super) const SEND_NS: f64 = 2.0;
/// The part of a hand-off for which a message keeps its sender busy, beside the software: taking
/// the line back from the core that polls it. As measured for Smelt's channels.
pub(super) const SEND_SHARE: f64 = 0.18;
/// Nanoseconds of software for the receiver, per message.
pub(super) const RECEIVE_NS: f64 = 3.0;
/// Transfers of the line per message: one to take it back from the core that polls it, one to bring
/// it there.
pub(super) const TRANSFERS: f64 = 2.0;
/// Lines that a receiver fetches at once when several messages wait for it (assumed).
pub(super) const PULLS: f64 = 4.0;
/// Up to so many bytes travel in the line; more is pulled from the sender's memory.
pub(super) const INLINE_BYTES: f64 = 40.0;
/// From so many bytes on a message lends its sender's memory: the sender ends its call only when it
/// was told that the message has been taken.
pub(super) const LENT_FROM: f64 = EAGER as f64 + 1.0;
/// How many times as long as a pull from the nearest core a rank takes for the two copies of data
/// that come for memory that it still lends: a shift in place (`benches/choice.rs`, two ranks).
pub(super) const BOUNCE: f64 = 1.5;
/// Nanoseconds that a store to a shared line takes longer for each further rank that polls it
/// (assumed).
pub(super) const POLLER_NS: f64 = 5.0;

/// Nanoseconds of one message from an idle sender to a waiting receiver, where a hand-off takes `h`
/// ns.
pub(super) fn one_way(h: f64) -> f64 {
    SEND_NS + TRANSFERS * h + RECEIVE_NS
}
