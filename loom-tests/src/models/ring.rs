//! The ring of messages from one rank to another, which tagged messages, started ones, and those of
//! C and MPI use.

use crate::harness::{model, must_fail, reached};
use crate::sync::{Arc, Site::*, yield_now};
use loom::thread;

/// The models' bodies, for the real ring and for its mutants.
macro_rules! bodies {
    ($name:ident, $($ring:ident)::+) => {
        mod $name {
            use super::*;
            use $($ring)::+::{LongRoom, MessageMemory, MessageRing};

            include!("ring/bodies.rs");
        }
    };
}

bodies!(real, crate::shared);
bodies!(overrunning, crate::mutants::message_ring_overrunning);
bodies!(with_a_room_for_two, crate::mutants::message_ring_with_a_room_for_two);
bodies!(passing_early, crate::mutants::message_ring_passing_early);
bodies!(passing_what_stays, crate::mutants::message_ring_passing_what_stays);

model! {
    messages_in_order; name: "ring: 3 messages over 2 slots, taken by either rank", ranks: 2,
    bound: None, floor: 105, reaches: &["full"], catches: &[Word, Ack], body: real::short_messages;
    must_fail("ring: a slot is used again before its time", None, "another order",
        overrunning::short_messages);
}

model! {
    long_messages_in_order; name: "ring: 3 messages in a room or beside their slots", ranks: 2,
    bound: None, floor: 129, reaches: &["full", "in a room", "beside a slot"],
    catches: &[Word, Ack], body: real::long_messages;
    must_fail("ring: a room for two messages", None, "another order",
        with_a_room_for_two::long_messages);
}

model! {
    slots_are_used_again; name: "ring: 3 messages over 2 slots, the sender waits", ranks: 2,
    bound: Some(3), floor: 269, reaches: &["full"], catches: &[Word, Ack],
    body: real::slots_are_used_again;
    must_fail("ring: a slot is used again before its time", Some(3), "violation",
        overrunning::slots_are_used_again);
    must_fail("ring: a message is passed before it is read", Some(3), "violation",
        passing_early::slots_are_used_again);
}

model! {
    a_message_that_stays; name: "ring: a message that was looked at stays", ranks: 2, bound: None,
    floor: 4, reaches: &["looked at"], catches: &[Word], silent: &[Ack],
    body: real::a_message_that_stays;
    must_fail("ring: a message that stays is passed", None, "passed",
        passing_what_stays::a_message_that_stays);
}
