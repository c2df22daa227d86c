//! The queue of tagged messages: whoever comes second copies; entries are withdrawn meanwhile.

use super::{Cell, read, write};
use crate::harness::{model, must_fail, reached};
use crate::shared::{MatchPattern, Signature};
use crate::sync::{Arc, Site::*, yield_now};
use loom::thread;
use std::any::TypeId;
use std::panic::Location;

static SIG: Signature = Signature::of::<u64>("model", "");

/// The models' bodies, for the real queue and for its mutants.
macro_rules! bodies {
    ($name:ident, $($queue:ident)::+) => {
        mod $name {
            use super::*;
            use crate::shared::{EarlyReceive, EarlyReceives, MessageLabel, ReceiveRoom, Ticket};
            use $($queue)::+::{Data, OutgoingMessage, Received};
            use $($queue)::+::{SentMessage, TaggedQueue};

            include!("tagged/bodies.rs");
        }
    };
}

bodies!(real, crate::shared);
bodies!(withdrawing_blindly, crate::mutants::tagged_queue_withdrawing_blindly);
bodies!(completing_early, crate::mutants::tagged_queue_completing_early);
bodies!(taking_by_sight, crate::mutants::tagged_queue_taking_by_sight);
bodies!(taking_early_blindly, crate::mutants::tagged_queue_taking_early_blindly);
bodies!(not_draining, crate::mutants::tagged_queue_not_draining);

model! {
    second_comer_copies; name: "tagged: the second comer copies, memory rewritten after", ranks: 2,
    bound: Some(3), floor: 57, reaches: &["delivered", "lent"], catches: &[Lock, Ticket],
    body: real::second_comer_copies;
    must_fail("tagged: a ticket is done before the copy", Some(3), "Causality violation",
        completing_early::second_comer_copies);
}

model! {
    withdrawn_meanwhile; name: "tagged: both withdraw at once", ranks: 2, bound: Some(3), floor: 41,
    reaches: &["delivered", "withdrawn by the sender", "withdrawn by the receiver"],
    catches: &[Lock, Ticket], body: real::withdrawn_meanwhile;
    must_fail("tagged: withdrawn while it is copied", Some(3), "Causality violation",
        withdrawing_blindly::withdrawn_meanwhile);
}

model! {
    any_source; name: "tagged: from any source, two senders", ranks: 3, bound: Some(1), floor: 43,
    reaches: &["1 first", "2 first"], catches: &[Lock, Ticket], body: real::any_source;
    must_fail("tagged: two senders take one receive", Some(1), "violation",
        taking_by_sight::any_source);
}

model! {
    short_and_long_messages; name: "tagged: short messages in a ring, the last through the lock",
    ranks: 2, bound: Some(3), floor: 150,
    reaches: &["by the ring", "by the lock", "posted", "found"], catches: &[Word, Lock],
    silent: &[Ack, Ticket], body: real::short_and_long_messages;
    must_fail("tagged: a message of the lock overtakes the ring's", Some(2), "overtaken",
        not_draining::short_and_long_messages);
}

model! {
    early_receives; name: "tagged: early receives, one message of three through the lock", ranks: 2,
    bound: Some(2), floor: 100, reaches: &["early", "posted early", "none left"],
    catches: &[Word, Lock], silent: &[Ack, Ticket], body: real::early_receives;
    let name = "tagged: early receives come before what lies in the queue";
    must_fail(name, Some(2), "overtaken", taking_early_blindly::early_receives);
}
