//! Cards in trays and lists, without ports: what started calls of all interfaces are made of.

use super::{Cell, read, write};
use crate::harness::{Model, must_fail, reached};
use crate::sync::{Arc, Site::*, yield_now};
use loom::thread;

/// The models' bodies, for the real sources and for mutants.
macro_rules! bodies {
    ($name:ident, $row:path, $tray:path) => {
        mod $name {
            use super::*;
            use $row as LaneRow;
            use $tray as Tray;

            /// One tray is enough for what a rank shows next.
            type Row = LaneRow<u64, (), 2>;

            /// A rank shows three cards in two trays; the other reads them, as far behind as it may
            /// be, the second first.
            pub(super) fn shown_cards() {
                let ranks = Arc::new([Row::default(), Row::default()]);
                let others = Arc::clone(&ranks);
                let first = thread::spawn(move || {
                    let [own, reader] = &*others;
                    for number in 1..=3 {
                        while !Row::is_free(number, reader.done()) {
                            yield_now();
                        }
                        // SAFETY: the tray is free.
                        unsafe { own.tray(number).show(number, |it| *it = 10 * number) };
                    }
                });
                let [owner, own] = &*ranks;
                for number in [2, 1, 3] {
                    while !owner.has_shown(number) {
                        yield_now();
                    }
                    let card = owner.card(number).expect("it was shown");
                    // SAFETY: it was, and this rank is not done.
                    assert_eq!(unsafe { card.read(|it| *it) }, 10 * number);
                    own.end(number);
                }
                first.join().unwrap();
            }

            /// A rank has no tray for its third card, and does not wait for one.
            pub(super) fn listed_cards() {
                let ranks = Arc::new([Row::default(), Row::default()]);
                let others = Arc::clone(&ranks);
                let first = thread::spawn(move || {
                    let [own, reader] = &*others;
                    for number in 1..=3 {
                        let fill = |it: &mut u64| *it = 10 * number;
                        if Row::is_free(number, reader.done()) {
                            // SAFETY: the tray is free.
                            unsafe { own.tray(number).show(number, fill) };
                            continue;
                        }
                        reached("in the list");
                        let card = crate::mailbox::Tray::default();
                        // SAFETY: nobody else knows it.
                        unsafe { card.show(number, fill) };
                        own.put(number, card);
                        own.forget(reader.done());
                        let is_there = own.has_shown(number) || reader.done() >= number;
                        assert!(is_there, "dropped unread");
                    }
                });
                let [owner, own] = &*ranks;
                for number in 1..=3 {
                    while !owner.has_shown(number) {
                        yield_now();
                    }
                    let card = owner.card(number).expect("it was shown");
                    // SAFETY: it was, and this rank is not done.
                    assert_eq!(unsafe { card.read(|it| *it) }, 10 * number);
                    own.end(number);
                }
                first.join().unwrap();
            }

            type Rank = (Tray<u64>, Cell);

            fn part(from: &Rank, to: &Rank) {
                if to.0.claim(1) {
                    write(&to.1, read(&from.1));
                    to.0.tell_over(1);
                }
                while !to.0.is_over(1) {
                    yield_now();
                }
            }

            fn begin(own: &Rank, other: &Rank) {
                // SAFETY: the tray is free.
                unsafe { own.0.show(1, |it| *it = 1) };
                while other.0.shown() < 1 {
                    yield_now();
                }
            }

            /// A rank lends its memory to the other, whose part either of them does; then both use
            /// theirs.
            pub(super) fn lent_memory() {
                let rank = |value| (Tray::default(), Cell::new(value));
                let ranks: Arc<[Rank; 2]> = Arc::new([rank(0), rank(0)]);
                let others = Arc::clone(&ranks);
                let lending = thread::spawn(move || {
                    let [lender, taker] = &*others;
                    write(&lender.1, 7);
                    begin(lender, taker);
                    part(lender, taker);
                    write(&lender.1, 9);
                });
                let [lender, taker] = &*ranks;
                write(&taker.1, 5);
                begin(taker, lender);
                part(lender, taker);
                assert_eq!(read(&taker.1), 7);
                lending.join().unwrap();
            }
        }
    };
}

bodies!(real, crate::mailbox::LaneRow, crate::mailbox::Tray);
bodies!(never_full, crate::mutants::lane_row_never_full::LaneRow, crate::mailbox::Tray);
bodies!(forgetting_early, crate::mutants::lane_row_forgetting_early::LaneRow, crate::mailbox::Tray);
bodies!(ending_early, crate::mutants::lane_row_ending_early::LaneRow, crate::mailbox::Tray);
bodies!(of_two, crate::mailbox::LaneRow, crate::mutants::tray_of_two::Tray);

#[test]
fn cards_in_turn() {
    Model {
        name: "trays: 3 cards over 2 trays, the second read first",
        ranks: 2,
        bound: None,
        floor: 790,
        reaches: &[],
        catches: &[Entered, Finished],
        silent: &[Lock],
        body: real::shown_cards,
    }
    .check();
    must_fail("trays: never full", None, "Causality violation", never_full::shown_cards);
    must_fail("trays: a later call ends an earlier one", None, "Causality violation", || {
        ending_early::shown_cards();
    });
}

#[test]
fn cards_in_lists() {
    Model {
        name: "trays: 3 cards, without waiting for a tray",
        ranks: 2,
        bound: Some(3),
        floor: 1_670,
        reaches: &["in the list"],
        catches: &[Entered, Finished, Lock],
        silent: &[],
        body: real::listed_cards,
    }
    .check();
    must_fail("trays: a listed card is dropped unread", Some(3), "dropped unread", || {
        forgetting_early::listed_cards();
    });
}

#[test]
fn parts_are_claimed() {
    Model {
        name: "trays: memory is lent, either rank does the part",
        ranks: 2,
        bound: None,
        floor: 510,
        reaches: &[],
        catches: &[Entered, Finished],
        silent: &[],
        body: real::lent_memory,
    }
    .check();
    must_fail("trays: two ranks do one part", None, "Causality violation", of_two::lent_memory);
}
