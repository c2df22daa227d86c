//! Measurements between two processing units: the transfer of a cache line, a message, a buffer.
//! One team has a rank on every unit; a pair's two ranks measure while the others sleep.
//!
//! | file | contents |
//! |---|---|
//! | `team.rs` | the measured units, and a team on them |
//! | `probe_rounds.rs` | the loop: samples in rounds between two probes |
//! | `flags.rs` | two flags on a fresh page, first touched by a chosen side |
//! | `latency.rs` | round trips and one-way times, by flags and by the library's mailbox |
//! | `message.rs` | messages by length |
//! | `bandwidth.rs` | read, copy and combine rates, of pairs and of all cores at once |

pub mod bandwidth;
pub(crate) mod flags;
pub(crate) mod latency;
pub mod message;
pub mod probe_rounds;
pub mod team;
