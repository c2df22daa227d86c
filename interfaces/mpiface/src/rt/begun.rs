//! The state of a message that a call has begun.

use super::p2p::Received;
use super::rank::{Active, Blank};
use super::request::{NOBODY, Req};
use std::sync::Arc;

/// The result of a call that starts a message.
#[derive(Debug)]
pub enum Begun {
    /// A message of which other ranks may know.
    Shared(Arc<Req>),
    /// A send that is complete.
    Sent,
    /// A receive that is complete.
    Received(Received),
    /// A receive that only this rank knows of: the one noted last (`receive_early`).
    Early,
    /// A message to nobody, or from there.
    Nobody,
}

impl Begun {
    /// The call under way, and whether it is an early receive, which has to be named.
    #[inline(always)]
    pub fn active(self) -> (Active, bool) {
        match self {
            Begun::Shared(req) => (Active::Shared(req), false),
            Begun::Sent => (Active::Sent(Blank::default()), false),
            Begun::Received((arrived, failed)) => (Active::Arrived(arrived, failed), false),
            Begun::Early => (Active::Early(Blank::default()), true),
            Begun::Nobody => (Active::Arrived(NOBODY, None), false),
        }
    }
}
