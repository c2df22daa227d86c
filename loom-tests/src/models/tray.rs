//! Cards in trays and lists, without ports: the parts of started calls of all interfaces.

use super::{Cell, read, write};
use crate::harness::{model, must_fail, reached};
use crate::mailbox::{CardRow, FoundCard};
use crate::sync::{Arc, Site::*, yield_now};
use loom::thread;

/// The models' bodies, for the real sources and for mutants.
macro_rules! bodies {
    ($name:ident, $row:path) => {
        mod $name {
            use super::*;
            use $row as CardRow;

            type Row = CardRow<u64, (), 2>;

            fn take(owner: &Row, own: &Row, number: u64) {
                while !owner.has_shown(number) {
                    yield_now();
                }
                let card = owner.card(number).expect("it was shown");
                // SAFETY: it was, and this rank is not done.
                assert_eq!(unsafe { card.read(|it| *it) }, 10 * number);
                own.end(number);
            }

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
                [2, 1, 3].into_iter().for_each(|number| take(owner, own, number));
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
                (1..=3).for_each(|number| take(owner, own, number));
                first.join().unwrap();
            }
        }
    };
}

bodies!(real, crate::mailbox::CardRow);
bodies!(never_full, crate::mutants::card_row_never_full::CardRow);
bodies!(forgetting_early, crate::mutants::card_row_forgetting_early::CardRow);
bodies!(ending_early, crate::mutants::card_row_ending_early::CardRow);

/// The steps of a call, for the real source and for mutants.
macro_rules! steps {
    ($name:ident, $($progress:ident)::+) => {
        mod $name {
            use super::*;
            use $($progress)::+::{StartedPart, StartedProgress};

            type Row = CardRow<(), (), 2>;
            type Rank = (Row, Cell);

            /// Rank 0 lends its memory to rank 1; either of them does the part of that.
            struct Taking<'a> {
                ranks: &'a [Rank; 2],
                me: usize,
            }

            impl StartedPart for Taking<'_> {
                type Card = ();
                type Obstacle = ();

                fn needs(&self, index: usize) -> Option<usize> {
                    (self.me == 1 && index == 0).then_some(0)
                }

                fn lends_to(&self, index: usize) -> Option<usize> {
                    (self.me == 0 && index == 0).then_some(1)
                }

                fn meet(&mut self, number: u64, rank: usize) -> Result<Option<bool>, ()> {
                    Ok(self.has_shown(number, rank).then_some(true))
                }

                fn has_shown(&self, number: u64, rank: usize) -> bool {
                    self.ranks[rank].0.has_shown(number)
                }

                fn card(&self, number: u64, rank: usize) -> FoundCard<'_, ()> {
                    self.ranks[rank].0.card(number).expect("it was shown")
                }

                unsafe fn work(&mut self, _: u64, rank: usize, _: bool) -> Result<(), ()> {
                    if rank == 1 {
                        reached(["the lender helps", "the taker takes"][self.me]);
                        write(&self.ranks[1].1, read(&self.ranks[0].1));
                    }
                    Ok(())
                }

                fn tell(&mut self, _: u64, _: usize, _: bool) {}

                fn helps(&mut self) -> bool {
                    true
                }

                fn can_work(&self, number: u64, _: usize) -> bool {
                    self.has_shown(number, 0)
                }
            }

            fn complete(ranks: &[Rank; 2], me: usize, value: u64) {
                write(&ranks[me].1, value);
                // SAFETY: the tray is free.
                unsafe { ranks[me].0.tray(1).show(1, |()| ()) };
                let (mut call, mut part) = (StartedProgress::new(1), Taking { ranks, me });
                while !call.advance(&mut part, me).expect("nothing differs") {
                    yield_now();
                }
                ranks[me].0.end(1);
            }

            /// Then both use their own memory.
            pub(super) fn lent_memory() {
                let rank = || (Row::default(), Cell::new(0));
                let ranks: Arc<[Rank; 2]> = Arc::new([rank(), rank()]);
                let others = Arc::clone(&ranks);
                let lending = thread::spawn(move || {
                    complete(&others, 0, 7);
                    write(&others[0].1, 9);
                });
                complete(&ranks, 1, 5);
                assert_eq!(read(&ranks[1].1), 7);
                lending.join().unwrap();
            }
        }
    };
}

steps!(as_it_is, crate::shared);
steps!(unclaimed, crate::mutants::started_unclaimed);
steps!(not_awaited, crate::mutants::started_not_awaited);
steps!(not_awaiting_help, crate::mutants::started_not_awaiting_help);

model! {
    cards_in_turn; name: "trays: 3 cards over 2 trays, the second read first", ranks: 2,
    bound: None, floor: 790, catches: &[Entered, Finished], silent: &[Lock],
    body: real::shown_cards;
    must_fail("trays: never full", None, "Causality violation", never_full::shown_cards);
    must_fail("trays: a later call ends an earlier one", None, "Causality violation",
        ending_early::shown_cards);
}

model! {
    cards_in_lists; name: "trays: 3 cards, without waiting for a tray", ranks: 2, bound: Some(3),
    floor: 1_670, reaches: &["in the list"], catches: &[Entered, Finished, Lock],
    body: real::listed_cards;
    must_fail("trays: a listed card is dropped unread", Some(3), "dropped unread",
        forgetting_early::listed_cards);
}

model! {
    parts_are_claimed; name: "trays: memory is lent, either rank does the part", ranks: 2,
    bound: None, floor: 900, reaches: &["the lender helps", "the taker takes"],
    catches: &[Entered, Finished], body: as_it_is::lent_memory;
    let race = "Causality violation";
    must_fail("trays: two ranks do one part", None, race, unclaimed::lent_memory);
    must_fail("trays: a lender waits for nobody", None, race, not_awaited::lent_memory);
    must_fail("trays: help is not awaited", None, race, not_awaiting_help::lent_memory);
}
