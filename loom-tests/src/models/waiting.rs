//! Sleeping without a time limit: until all ranks have published, until one rank has sent, until
//! the run is over. A lost wake-up makes the sleeper panic (`Word::sleep` under loom). The
//! library's sleeps have a time limit besides; here none has.

use super::{Cell, read, write};
use crate::harness::{model, must_fail};
use crate::sleepers;
use crate::sync::{Arc, AtomicU64, Site, consume, publish};
use loom::thread;

/// A word that each rank writes to, and memory behind it.
struct Shown {
    word: AtomicU64,
    cell: Cell,
}

impl Shown {
    fn new() -> Self {
        Shown { word: AtomicU64::new(0), cell: Cell::new(0) }
    }

    fn show(&self, event: u64) {
        self.word.store(event, publish(Site::Gate));
    }

    fn has(&self, event: u64) -> bool {
        self.word.load(consume(Site::Gate)) >= event
    }
}

/// A thread of a model with counted threads.
fn spawn(part: impl FnOnce() + 'static) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        sleepers::enter();
        part();
        sleepers::end();
    })
}

/// The end of the first one, and the others'.
fn join(others: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    sleepers::end();
    others.into_iter().for_each(|t| t.join().unwrap());
}

/// The bodies, for the real events and for their mutants.
macro_rules! events {
    ($name:ident, $events:path) => {
        mod $name {
            use super::*;
            use $events as library;

            /// A rank of each of `groups` takes part in `events` events; its memory for the
            /// first is shown, too.
            pub(super) fn episodes(groups: &'static [usize], events: u64) {
                let shown: Vec<_> = groups.iter().map(|_| Shown::new()).collect();
                let all = Arc::new((library::Events::new(3, 0), shown));
                let part = |me: usize| {
                    let all = all.clone();
                    move || {
                        let (words, shown) = &*all;
                        write(&shown[me].cell, me as u64);
                        for event in 1..=events {
                            shown[me].show(event);
                            words.shown();
                            let others = (0..groups.len()).filter(|&other| other != me);
                            let mut over = || shown.iter().all(|one| one.has(event));
                            while !over() {
                                let others = others.clone();
                                let near = others.filter(|&other| groups[other] == groups[me]);
                                let near = near.map(|other| shown[other].has(event));
                                let level = library::SleepLevel::of(groups[me], near);
                                words.sleep(level, event, None, &mut over);
                                // A sleep may end for no reason, and loom tries no old value
                                // twice after a yield. (Mutants, of three ranks, are found soon
                                // without.)
                                if groups.len() == 2 {
                                    thread::yield_now();
                                }
                            }
                            words.complete(groups[me], event);
                        }
                        for (rank, one) in (0..).zip(shown) {
                            assert_eq!(read(&one.cell), rank);
                        }
                    }
                };
                sleepers::begin(groups.len());
                let others: Vec<_> = (1..groups.len()).map(|r| spawn(part(r))).collect();
                part(0)();
                join(others);
            }

            /// Rank 0 waits for a rank that never comes, and rank 1 ends the run.
            pub(super) fn over() {
                let all = Arc::new((library::Events::new(1, 0), Shown::new()));
                sleepers::begin(2);
                let other = spawn({
                    let all = all.clone();
                    move || {
                        all.1.show(1);
                        all.0.wake_everybody();
                    }
                });
                let mut over = || all.1.has(1);
                while !over() {
                    all.0.sleep(library::SleepLevel::Group(0), 1, None, &mut over);
                }
                join([other]);
            }
        }
    };
}

/// The same for berths.
macro_rules! berths {
    ($name:ident, $berth:path) => {
        mod $name {
            use super::*;
            use $berth as library;

            type All = Arc<(library::Berth, [Shown; 2])>;

            fn new() -> All {
                Arc::new((library::Berth::new(), [Shown::new(), Shown::new()]))
            }

            fn sender(all: &All, me: usize) -> thread::JoinHandle<()> {
                let all = all.clone();
                spawn(move || {
                    let (berth, shown) = &*all;
                    write(&shown[me].cell, 7);
                    shown[me].show(1);
                    berth.call(me, || shown.iter().all(|one| one.has(1)));
                })
            }

            fn sleep(all: &All, awaited: library::Awaited, mut over: impl FnMut() -> bool) {
                while !over() {
                    all.0.sleep(awaited, None, &mut over);
                }
            }

            /// The owner waits for one of two senders, then for the other.
            pub(super) fn one_by_one() {
                let all = new();
                sleepers::begin(3);
                let senders = [sender(&all, 0), sender(&all, 1)];
                for rank in [0, 1] {
                    let one = &all.1[rank];
                    sleep(&all, library::Awaited::Rank(rank), || one.has(1));
                    assert_eq!(read(&one.cell), 7);
                }
                join(senders);
            }

            /// The owner waits for both.
            pub(super) fn everybody() {
                let all = new();
                sleepers::begin(3);
                let senders = [sender(&all, 0), sender(&all, 1)];
                let both = || all.1.iter().all(|one| one.has(1));
                sleep(&all, library::Awaited::Everybody, both);
                assert_eq!(read(&all.1[0].cell) + read(&all.1[1].cell), 14);
                join(senders);
            }

            /// The owner waits for a message that never comes, and the other ends the run.
            pub(super) fn over() {
                let all = new();
                sleepers::begin(2);
                let other = spawn({
                    let all = all.clone();
                    move || {
                        all.1[1].show(1);
                        all.0.rouse();
                    }
                });
                sleep(&all, library::Awaited::Rank(0), || all.1[1].has(1));
                join([other]);
            }
        }
    };
}

/// A berth with a mark, of which senders do not fence unless they see it.
macro_rules! marks {
    ($name:ident, $mark:path) => {
        mod $name {
            use super::*;
            use $mark as library;

            type All = Arc<(library::Mark, crate::wait::Berth, [Shown; 2])>;

            fn new() -> All {
                let berth = crate::wait::Berth::new();
                Arc::new((library::Mark::new(false), berth, [Shown::new(), Shown::new()]))
            }

            fn sender(all: &All, me: usize, events: u64) -> thread::JoinHandle<()> {
                let all = all.clone();
                spawn(move || {
                    let (mark, berth, shown) = &*all;
                    for event in 1..=events {
                        if event == 1 {
                            write(&shown[me].cell, 7);
                        }
                        shown[me].show(event);
                        if mark.is_set() {
                            berth.call(me, || false);
                        }
                    }
                })
            }

            fn sleep(all: &All, rank: usize, event: u64) {
                let (mark, berth, shown) = &**all;
                let mut over = || shown[rank].has(event);
                while !over() {
                    assert!(mark.set(), "refused");
                    berth.sleep(crate::wait::Awaited::Rank(rank), None, &mut over);
                }
            }

            /// The owner waits for one of two senders, then for the other.
            pub(super) fn one_by_one() {
                let all = new();
                sleepers::begin_with_heavy_fences(3);
                let senders = [sender(&all, 0, 1), sender(&all, 1, 1)];
                for rank in [0, 1] {
                    sleep(&all, rank, 1);
                    assert_eq!(read(&all.2[rank].cell), 7);
                }
                join(senders);
            }

            /// The owner waits for two messages of one sender; in between its mark is cleared if
            /// `clears`.
            pub(super) fn twice(clears: bool) {
                let all = new();
                sleepers::begin_with_heavy_fences(2);
                let sender = sender(&all, 0, 2);
                sleep(&all, 0, 1);
                if clears {
                    all.0.clear();
                }
                sleep(&all, 0, 2);
                assert_eq!(read(&all.2[0].cell), 7);
                join([sender]);
            }
        }
    };
}

events!(real, crate::wait);
events!(without_fence_after_show, crate::mutants::events_without_fence_after_show);
events!(without_fence_after_mark, crate::mutants::events_without_fence_after_mark);
events!(without_second_look, crate::mutants::events_without_second_look);
events!(without_leader, crate::mutants::events_without_leader);
events!(without_top, crate::mutants::events_without_top);
events!(rousing_unfenced, crate::mutants::events_rousing_unfenced);
berths!(berth, crate::wait);
berths!(calling_unfenced, crate::mutants::berth_calling_unfenced);
berths!(sleeping_unfenced, crate::mutants::berth_sleeping_unfenced);
berths!(calling_another, crate::mutants::berth_calling_another);
berths!(berth_rousing_unfenced, crate::mutants::berth_rousing_unfenced);

marks!(mark, crate::mutants::mark_modelled);
marks!(mark_unfenced, crate::mutants::mark_unfenced);
marks!(mark_set_late, crate::mutants::mark_set_late);

const TWO_CORES: &[usize] = &[0, 0, 1];

model! {
    two_events_on_one_core; name: "waiting: 2 events, 2 ranks on 1 core", ranks: 2, bound: Some(3),
    floor: 2390, silent: &[Site::Gate], body: || real::episodes(&[0, 0], 2)
}

model! {
    one_sender_after_the_other; name: "waiting: a berth, 2 senders one by one", ranks: 3,
    bound: Some(3), floor: 7600, catches: &[Site::Gate], body: berth::one_by_one
}

model! {
    both_senders; name: "waiting: a berth, both of 2 senders", ranks: 3, bound: Some(3),
    floor: 10900, catches: &[Site::Gate], body: berth::everybody
}

model! {
    a_mark_and_senders_that_do_not_fence; name: "waiting: a mark, 2 senders one by one", ranks: 3,
    bound: Some(2), floor: 100, catches: &[Site::Gate], body: mark::one_by_one
}

model! {
    a_mark_that_stays_set; name: "waiting: a mark that stays set", ranks: 2, bound: Some(3),
    floor: 100, catches: &[Site::Gate], body: || mark::twice(false)
}

model! {
    a_mark_that_is_cleared; name: "waiting: a mark that is cleared", ranks: 2, bound: Some(3),
    floor: 100, catches: &[Site::Gate], body: || mark::twice(true)
}

model! {
    the_end_wakes_who_sleeps_for_an_event; name: "waiting: the run ends, asleep for an event",
    ranks: 2, bound: None, floor: 130, silent: &[Site::Gate], body: real::over
}

model! {
    the_end_wakes_who_sleeps_in_a_berth; name: "waiting: the run ends, asleep in a berth",
    ranks: 2, bound: None, floor: 130, silent: &[Site::Gate], body: berth::over
}

#[test]
fn lost_wake_ups_are_found() {
    const LOST: &str = "a wake-up was lost";
    must_fail("events: no fence after showing", Some(3), LOST, || {
        without_fence_after_show::episodes(TWO_CORES, 1)
    });
    must_fail("events: no fence between mark and look", Some(3), LOST, || {
        without_fence_after_mark::episodes(&[0, 0], 1)
    });
    must_fail("events: no look after the mark", Some(3), LOST, || {
        without_second_look::episodes(&[0, 0], 1)
    });
    must_fail("events: the last of a core sleeps with it", Some(3), LOST, || {
        without_leader::episodes(TWO_CORES, 1)
    });
    must_fail("events: leaders are not woken", Some(3), LOST, || {
        without_top::episodes(TWO_CORES, 1)
    });
    must_fail("events: the end of a run, no fence", None, LOST, rousing_unfenced::over);
    must_fail("berth: the sender does not fence", Some(3), LOST, calling_unfenced::one_by_one);
    must_fail("berth: the sleeper does not fence", Some(3), LOST, sleeping_unfenced::one_by_one);
    must_fail("berth: not the one who is named", Some(3), LOST, calling_another::one_by_one);
    must_fail("mark: no heavy fence", Some(3), LOST, || mark_unfenced::twice(false));
    must_fail("mark: set after the heavy fence", Some(3), LOST, || mark_set_late::twice(false));
    must_fail("berth: the end of a run, no fence", None, LOST, berth_rousing_unfenced::over);
}
