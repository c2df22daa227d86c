//! Ports: the waits of a rank on mailboxes and boards, and waits that fail: poison, a peer that has
//! left, a circle.

use super::{Cell, read, write};
use crate::error::Error;
use crate::harness::{model, must_fail, reached};
use crate::mailbox::{FoundCard, NoticeCard};
use crate::shared::{CallParams, CommState, PayloadKind, Signature, StartedPart, StartedProgress};
use crate::shared::{TeamState, Thread};
use crate::sync::{Arc, Site::*};
use crate::wait::Wait;
use loom::thread;
use std::panic::Location;
use std::time::Duration;

/// The models' bodies, for the real port and for its mutants.
macro_rules! bodies {
    ($name:ident, $($port:ident)::+) => {
        mod $name {
            use super::*;
            use $($port)::+::{GivenPart, RankCards, Port, Stop, WordBytes};

            include!("port/bodies.rs");
        }
    };
}

bodies!(real, crate::shared);
bodies!(without_last_look, crate::mutants::port_without_last_look);
bodies!(with_early_poison, crate::mutants::port_with_early_poison);
bodies!(confirming_early, crate::mutants::port_confirming_early);
bodies!(leaving_unpoisoned, crate::mutants::port_leaving_unpoisoned);
bodies!(quiescing_by_poison, crate::mutants::port_quiescing_by_poison);
bodies!(judging_unseen, crate::mutants::port_judging_unseen);
bodies!(settling_unseen, crate::mutants::port_settling_unseen);
bodies!(giving_up_in_silence, crate::mutants::port_giving_up_in_silence);
bodies!(sleeping_without_limit, crate::mutants::port_sleeping_without_limit);
bodies!(claiming_early, crate::mutants::port_claiming_early);
bodies!(claiming_the_next_unseen, crate::mutants::port_claiming_the_next_unseen);
bodies!(port_lean, crate::mutants::port_lean);

/// The same for models of worlds.
macro_rules! worlds {
    ($name:ident, $($shared:ident)::+) => {
        mod $name {
            use crate::error::Error;
            use crate::harness::reached;
            use crate::sync::Arc;
            use crate::wait::Wait;
            use loom::thread;
            use std::panic::Location;
            use crate::sync::{AtomicU64, Ordering};
            use $($shared)::+::{Background, CallParams, OpenCalls, CommState, Port, RankCards};
            use $($shared)::+::{EVERY_RUN, Signature, Stop, TeamState, Thread};
            use $($shared)::+::run_pass;

            static SIG: Signature = Signature::of::<u64>("model", "");

            include!("port/worlds.rs");
        }
    };
}

worlds!(worlds, crate::shared);
worlds!(joining_blindly, crate::mutants::shared_joining_blindly);
worlds!(cancelling_unordered, crate::mutants::shared_cancelling_unordered);
worlds!(reopening_unordered, crate::mutants::shared_reopening_unordered);
worlds!(of_separate_worlds, crate::mutants::shared_of_separate_worlds);
worlds!(answering_unannounced, crate::mutants::shared_answering_unannounced);
worlds!(waiting_for_one, crate::mutants::shared_waiting_for_one);

use crate::shared::{Port, Stop};
use real::*;

model! {
    exchange_twice; name: "port: exchange inline x2, no false circle", ranks: 2, bound: Some(2),
    floor: 16_000, catches: &[Word, Waiting], silent: &[Ack],
    body: || ranks(2, |port| exchange(port, 2))
}

model! {
    question_and_answer; name: "port: question and answer, no false circle", ranks: 2, bound: None,
    floor: 8_700, catches: &[Word, Waiting], silent: &[Ack], body: || ranks(2, question)
}

model! {
    parts_are_lent; name: "port: a part is lent, and settled soon or late; x2", ranks: 2,
    bound: Some(2), floor: 17_000, reaches: &["settled soon", "settled late", "came soon"],
    catches: &[Word, Ack, Waiting], body: || ranks(2, lend);
    must_fail("port: a part is settled unseen", Some(2), "Causality violation",
        || settling_unseen::ranks(2, settling_unseen::lend));
}

model! {
    settle_twice; name: "port: address posted, taken, settled; x2", ranks: 2, bound: Some(2),
    floor: 10_400, catches: &[Word, Ack, Waiting], body: || ranks(2, settle)
}

model! {
    barrier_twice; name: "port: dissemination barrier x2", ranks: 2, bound: Some(3), floor: 85_000,
    catches: &[Word, Waiting], silent: &[Ack], body: || ranks(2, |port| barriers(port, barrier))
}

model! {
    gate_barrier_twice; name: "port: barrier through the gates x2", ranks: 2, bound: Some(3),
    floor: 85_000, catches: &[Gate, Waiting], body: || ranks(2, |port| barriers(port, meeting))
}

model! {
    eager_buffers; name: "port: long payloads, shown and posted", ranks: 2, bound: Some(2),
    floor: 10_400, catches: &[Gate, Word, Waiting], silent: &[Ack], body: || ranks(2, eager)
}

model! {
    last_episode_of_a_run; name: "port: last episode of the gates, then rank leaves", ranks: 2,
    bound: Some(3), floor: 4_100, catches: &[Gate, Left, Waiting], silent: &[Poison],
    body: || ranks(2, last_episode)
}

model! {
    poison_while_reading; name: "port: poison while the peer takes my block", ranks: 2,
    bound: Some(3), floor: 11_600, reaches: &["read", "stopped before reading"],
    catches: &[Word, Ack, Left], silent: &[Poison, Waiting], body: || ranks(2, fail_with_message)
}

model! {
    poison_with_memory_both_ways; name: "port: poison, memory given away both ways", ranks: 2,
    bound: Some(3), floor: 6_100, catches: &[Word, Ack, Left], silent: &[Poison, Waiting],
    body: || ranks(2, fail_with_messages)
}

model! {
    poison_while_looking; name: "port: poison while the peer uses my notice", ranks: 2,
    bound: Some(3), floor: 11_600, reaches: &["read", "stopped before reading"],
    catches: &[Entered, Finished, Left], silent: &[Poison, Waiting],
    body: || ranks(2, fail_with_notice)
}

model! {
    poison_by_the_reader; name: "port: poison by the peer that reads my memory", ranks: 2,
    bound: Some(3), floor: 9_400, catches: &[Entered, Waiting],
    // Both ranks take the cause's lock in `poison` before they leave or give up, which orders them
    // here even without `Left`.
    silent: &[Left, Poison], body: || ranks(2, reader_fails)
}

model! {
    cause; name: "world: who sees the poison finds the cause", ranks: 2, bound: None, floor: 4,
    reaches: &["poisoned"], silent: &[Poison], body: cause_of_poison
}

model! {
    last_message_of_a_run; name: "port: last message, then rank leaves the run", ranks: 2,
    bound: None, floor: 39, catches: &[Word, Left], silent: &[Ack, Poison, Waiting],
    body: || ranks(2, |port| last_message(port, |port| leave(port)))
}

model! {
    last_message_of_a_communicator; name: "port: last message, then communicator dropped", ranks: 2,
    bound: None, floor: 39, catches: &[Word, Left], silent: &[Ack, Poison, Waiting],
    body: || ranks(2, |port| last_message(port, |port| port.leave(false)))
}

model! {
    a_communicator_dropped_by_a_panic; name: "port: communicator dropped by a panic, then poison",
    ranks: 2, bound: None, floor: 165, catches: &[Left], silent: &[Poison, Waiting],
    body: || ranks(2, |port| unwind(port, true))
}

model! {
    circle_of_two; name: "port: a circle is found", ranks: 2, bound: Some(3), floor: 2_900,
    reaches: &["circle", "told"], silent: &[Left, Poison, Waiting], body: || ranks(2, circle)
}

model! {
    late_join; name: "world: who joins late hears of the poison", ranks: 2, bound: None, floor: 10,
    reaches: &["open"], silent: &[Poison], body: worlds::late_join;
    must_fail("world: a rank joins by a plain store", None, "never hears",
        joining_blindly::late_join);
}

model! {
    cancelled_at_the_start; name: "world: a run begins while it is cancelled", ranks: 2,
    bound: None, floor: 51, reaches: &["met by the caller", "heard in a call", "the next call"],
    body: worlds::cancelled_at_the_start;
    must_fail("world: a cancel that is not ordered", None, "a cancel is lost",
        cancelling_unordered::cancelled_at_the_start);
    must_fail("world: reopened without the reason", None, "a cancel is lost",
        reopening_unordered::cancelled_at_the_start);
}

model! {
    circle_of_worlds; name: "port: a circle through two worlds", ranks: 2, bound: Some(2),
    floor: 72, reaches: &["circle", "left"], silent: &[Left, Poison, Waiting],
    body: worlds::circle;
    must_fail("port: only waits in the own world count", Some(2), "maximum number of branches",
        of_separate_worlds::circle);
}

model! {
    question_in_two_worlds; name: "port: question, answer in another world", ranks: 2, bound: None,
    floor: 7_200, catches: &[Word],
    // Both must find the circle: one look that misses the message is not enough, and
    // loom does not try a second after a yield.
    silent: &[Ack, Waiting], body: worlds::question::<1>;
}

model! {
    answer_beside_a_wait; name: "port: an answer for a started call, no false circle", ranks: 2,
    bound: Some(2), floor: 480, catches: &[Waiting],
    body: || worlds::beside_a_started_call(Some(1));
    must_fail("port: a word beside a wait that is not begun again", Some(3),
        "a sound run is stopped", || answering_unannounced::beside_a_started_call(Some(1)));
}

model! {
    answer_to_a_third_rank; name: "port: an answer to a third rank, no false circle", ranks: 2,
    bound: Some(2), floor: 200, catches: &[Waiting],
    body: || worlds::beside_a_started_call(Some(2));
    must_fail("port: only one of the awaited words counts", Some(2),
        "a sound run is stopped", || waiting_for_one::beside_a_started_call(Some(2)));
}

model! {
    circle_beside_a_started_call; name: "port: a circle beside a started call", ranks: 2,
    bound: Some(2), floor: 400, reaches: &["circle", "told"], silent: &[Left, Poison, Waiting],
    body: || worlds::beside_a_started_call(None);
}

/// See `crate::lean`.
fn lean(p: usize, rank: fn(&mut crate::mutants::port_lean::Port)) {
    crate::sync::eager::set(true);
    port_lean::ranks(p, rank);
}

/// Any: under loom a wait that may end by a deadline does.
const DEADLINE: Option<Duration> = Some(Duration::ZERO);

model! {
    deadline; name: "port: deadline or answer, memory given away", ranks: 2, bound: Some(3),
    floor: 10_000, reaches: &["in time", "too late", "answered"],
    catches: &[Word, Ack, Left, Waiting], silent: &[Poison],
    body: || ranks_with(2, Wait::Auto, DEADLINE, deadline_or_message)
}

/// A communicator of both ranks, in reverse order, made by rank 1; and the message that is
/// sent in it.
fn split(port: &mut Port) {
    enter(port);
    let (mut child, ()) = fine(port.branch(&[1, 0], true, |_| ()));
    assert_eq!(child.rank(), 1 - port.rank());
    let (me, it) = (child.rank() as u64, 1 - child.rank());
    enter(&mut child);
    fine(post(&mut child, it, 10 + me));
    assert_eq!(fine(take(&mut child, it)), 11 - me);
}

/// Rank 0 fails while rank 1 asks for its seat: the memory that rank 1 is shown stays until
/// rank 1 has gone.
fn split_poisoned(port: &mut Port) {
    enter(port);
    if port.rank() == 0 {
        port.quiesce();
    } else {
        match port.branch(&[1, 0], false, |_| ()) {
            Err(Stop::Poisoned | Stop::Left { peer: 0 }) => reached("refused"),
            other => panic!("rank 0 has failed: {:?}", other.map(|(port, ())| port.rank())),
        }
    }
}

model! {
    split_and_use; name: "port: split, exchange in the child", ranks: 2, bound: Some(2),
    floor: 21_000, catches: &[Word, Entered, Waiting],
    // Memory that the shower frees after it, loom does not look at (a drop).
    silent: &[Ack, Finished], body: || ranks(2, split)
}

model! {
    split_that_fails; name: "port: split, and the other rank fails", ranks: 2, bound: Some(3),
    floor: 1_100, reaches: &["refused"], silent: &[Entered, Finished, Left, Poison, Waiting],
    body: || ranks(2, split_poisoned)
}

model! {
    parking; name: "port: exchange inline, ranks park", ranks: 2, bound: Some(3), floor: 1_100,
    catches: &[Word], silent: &[Ack, Waiting],
    body: || ranks_with(2, Wait::Park, None, |port| exchange(port, 1))
}

model! {
    barrier_of_three; name: "port, lean: dissemination barrier x1", ranks: 3, bound: None,
    floor: 1_300, catches: &[Word], silent: &[Ack], body: || lean(3, port_lean::barrier_once)
}

model! {
    barriers_of_three; name: "port, lean: dissemination barrier x2", ranks: 3, bound: None,
    floor: 524_000, catches: &[Word], silent: &[Ack],
    body: || lean(3, |port| port_lean::barriers(port, port_lean::barrier))
}

model! {
    ring_of_four; name: "port, lean: ring shift", ranks: 4, bound: None, floor: 34_000,
    catches: &[Word], silent: &[Ack], body: || lean(4, port_lean::ring)
}

model! {
    ring_of_three; name: "port, lean: ring shift", ranks: 3, bound: None, floor: 170,
    catches: &[Word], silent: &[Ack], body: || lean(3, port_lean::ring)
}

#[test]
fn mutants_are_found() {
    // A deadline that is not told to the others.
    must_fail("port: a deadline passes in silence", Some(3), "given up, and nobody", || {
        use giving_up_in_silence::*;
        ranks_with(2, Wait::Auto, DEADLINE, deadline_or_message);
    });
    must_fail("port: a deadline frees early", Some(3), "Causality violation", || {
        use quiescing_by_poison::*;
        ranks_with(2, Wait::Auto, DEADLINE, deadline_or_message);
    });
    // Only a rank that has acknowledged its block has taken it.
    must_fail("port: given is taken for taken", Some(2), "a block is lost", || {
        use judging_unseen::*;
        ranks(2, fail_with_message);
    });
    // Why naps are timed: waking is by hint.
    must_fail("port: parked without a time limit", Some(3), "a wake-up was lost", || {
        use sleeping_without_limit::*;
        ranks_with(2, Wait::Park, None, |port| exchange(port, 1));
    });
    // Whether the peer has left is looked at after the message.
    must_fail("port: the message is not looked at last", Some(3), "Left { peer: 0 }", || {
        use without_last_look::*;
        ranks(2, |port| last_message(port, |port| leave(port)));
    });
    // Poison is looked at before whether the peer has left, and not again.
    must_fail("port: poison is not looked at again", Some(3), "not poisoned: Left", || {
        use with_early_poison::*;
        ranks(2, fail_with_message);
    });
    // The peer's wait is looked at after the message.
    must_fail("port: a wait is confirmed too early", Some(3), "Circle", || {
        use confirming_early::*;
        ranks(2, question);
    });
    must_fail("port: a failing rank leaves, then poisons", Some(3), "not poisoned: Left", || {
        use leaving_unpoisoned::*;
        ranks(2, fail_with_message);
    });
    // The use of the flag.
    must_fail("port: a panic leaves as if in good order", None, "not poisoned: Left", || {
        ranks(2, |port| unwind(port, false))
    });
    must_fail("port: quiesce does not wait for the peer", Some(3), "Causality violation", || {
        use quiescing_by_poison::*;
        ranks(2, fail_with_message);
    });
}

model! {
    columns_used_twice; name: "cards: 3 started calls by copies, over 2 columns", ranks: 2,
    bound: Some(2), floor: 17_200, catches: &[Entered, Finished], silent: &[Waiting],
    body: || ranks(2, |port| started(port, 3, Way::Copies));
    must_fail("cards: claimed before all have finished", Some(2), "Causality violation",
        || claiming_early::ranks(2, |port| {
            claiming_early::started(port, 3, claiming_early::Way::Copies)
        }));
}

model! {
    cards_one_way; name: "cards: 3 started calls over 2 columns, one rank needs nobody", ranks: 2,
    bound: Some(2), floor: 17_200, catches: &[Entered, Finished, Waiting],
    body: || ranks(2, |port| started(port, 3, Way::OneWay))
}

model! {
    columns_claimed_ahead; name: "cards: 4 started calls by copies, two at a time, over 2 columns",
    ranks: 2, bound: Some(1), floor: 195_000, catches: &[Entered, Finished], silent: &[Waiting],
    body: || ranks(2, started_in_pairs);
    must_fail("cards: the next is claimed unseen", Some(2), "Causality violation",
        || claiming_the_next_unseen::ranks(2, claiming_the_next_unseen::started_in_pairs));
}

model! {
    columns_side_by_side; name: "cards: 2 started calls at a time, on memory", ranks: 2,
    bound: Some(2), floor: 4_300, catches: &[Entered, Finished],
    body: || ranks(2, |port| started(port, 2, Way::Cells))
}
