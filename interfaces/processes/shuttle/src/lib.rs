//! Shuttle models of the words of pieces and gates: three and four members in calls of all sorts,
//! one after the other, of which loom's exploration does not end. Random schedules; clocks that
//! follow the orderings find what is read without an order.
#![cfg(test)]
#![allow(dead_code, reason = "the sources have what only the package needs")]

mod sync {
    pub(crate) use checker::AtomicU64;
    pub(crate) use std::sync::atomic::Ordering;
}

#[path = "../../src/gate.rs"]
mod gate;
#[path = "../../src/pieces.rs"]
mod pieces;

/// The copies with a mistake.
macro_rules! mutants {
    ($($name:ident)*) => {$(
        #[allow(unused, clippy::all, reason = "with a mistake")]
        mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
        }
    )*};
}

mutants! {
    weak_shown weak_folded weak_done weak_shown_load weak_folded_load weak_done_load
    no_wait_to_give no_wait_before_the_gate weak_gate
}

/// Memory that no word orders by itself.
struct Memory(checker::UnsafeCell<u64>);

// SAFETY: all threads of an execution are coroutines of one thread of the system.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new() -> Self {
        Memory(checker::UnsafeCell::new(0))
    }

    fn write(&self, value: u64) {
        // SAFETY: a race is found before; nobody else goes on meanwhile.
        self.0.with_mut(|it| unsafe { *it = value });
    }

    fn read(&self) -> u64 {
        // SAFETY: as above.
        self.0.with(|it| unsafe { *it })
    }
}

/// The first failure in so many schedules of `$members` members.
macro_rules! calls {
    ($pieces:ident, $gate:ident, $members:expr, $schedules:expr) => {{
        use crate::$gate::{Gate, Head};
        use crate::$pieces::{Members, Parts, Position, Progress, Work, give_first, run};
        use std::sync::Arc;

        const MEMBERS: usize = $members;

        struct Desk {
            gate: Gate,
            progress: Progress,
            given: [Memory; 2],
            made: [Memory; 2],
        }

        struct Rank {
            desks: Arc<Vec<Desk>>,
            me: usize,
            first: u64,
            parts: Parts,
        }

        fn given(member: usize, number: u64) -> u64 {
            10 * number + member as u64 + 1
        }

        impl Work for Rank {
            type Error = ();

            fn progress(&self, member: usize) -> &Progress {
                &self.desks[member].progress
            }

            fn wait(
                &mut self,
                member: usize,
                ready: fn(&Progress, u64) -> bool,
                pieces: u64,
            ) -> Result<(), ()> {
                while !ready(&self.desks[member].progress, pieces) {
                    checker::threads::yield_now();
                }
                Ok(())
            }

            fn tell(&mut self) {}

            fn give(&mut self, piece: u64, slot: usize) {
                self.desks[self.me].given[slot].write(given(self.me, self.first + piece));
            }

            fn fold(&mut self, piece: u64, slot: usize) {
                let sum: u64 = self.desks.iter().map(|desk| desk.given[slot].read()).sum();
                let right: u64 = (0..MEMBERS).map(|it| given(it, self.first + piece)).sum();
                assert_eq!(sum, right, "a piece that is not there");
                self.desks[self.me].made[slot].write(sum);
            }

            fn take(&mut self, piece: u64, slot: usize) {
                let number = self.first + piece;
                let all: u64 = (0..MEMBERS).map(|it| given(it, number)).sum();
                for (member, desk) in self.desks.iter().enumerate() {
                    if self.parts.folds {
                        assert_eq!(desk.made[slot].read(), all, "a result that is not there");
                    } else if self.parts.givers.has(member) {
                        let got = desk.given[slot].read();
                        assert_eq!(got, given(member, number), "a piece that is not there");
                    }
                }
            }
        }

        const ALL: Members = Members::All;
        const fn sort(givers: Members, folds: bool, takers: Members) -> Parts {
            Parts { givers, folds, takers }
        }
        /// An all-reduce, broadcasts, a gather, a reduction, an all-gather.
        const CALLS: [(Parts, u64); 7] = [
            (sort(ALL, true, ALL), 3),
            (sort(Members::One(1), false, ALL), 3),
            (sort(ALL, false, Members::One(0)), 2),
            (sort(Members::One(0), false, ALL), 1),
            (sort(ALL, true, Members::One(2)), 1),
            (sort(ALL, false, ALL), 2),
            (sort(ALL, true, ALL), 1),
        ];

        fn rank(desks: &Arc<Vec<Desk>>, me: usize) {
            let mut first = 0;
            for (episode, (parts, pieces)) in CALLS.iter().enumerate() {
                let episode = episode as u64 + 1;
                let mut rank = Rank { desks: Arc::clone(desks), me, first, parts: *parts };
                let place = Position { me, members: MEMBERS, first };
                if parts.givers.has(me) {
                    give_first(&mut rank, place).unwrap();
                }
                let head = Head { kind: 1, length: *pieces, place: 0 };
                desks[me].gate.show(episode, head, |_| 0, 0);
                for other in (me + 1..MEMBERS).chain(0..me) {
                    while !desks[other].gate.has_shown(episode) {
                        checker::threads::yield_now();
                    }
                    assert!(desks[other].gate.head(episode).agrees(&head), "another head");
                }
                run(&mut rank, place, *parts, *pieces).unwrap();
                first += pieces;
            }
        }

        fn body() {
            let desk = |_| Desk {
                gate: Gate::new(),
                progress: Progress::new(0),
                given: [Memory::new(), Memory::new()],
                made: [Memory::new(), Memory::new()],
            };
            let desks = Arc::new((0..MEMBERS).map(desk).collect::<Vec<_>>());
            let start = |me| {
                let desks = Arc::clone(&desks);
                checker::threads::spawn(move || rank(&desks, me))
            };
            let threads: Vec<_> = (0..MEMBERS).map(start).collect();
            for thread in threads {
                if let Err(payload) = thread.join() {
                    checker::panic::resume_unwind(payload);
                }
            }
        }

        checker::explore(body, checker::Plan::Sound, 20_261_126, $schedules, None).failure
    }};
}

#[test]
fn pieces_of_three_members_in_calls_of_all_sorts() {
    assert_eq!(calls!(pieces, gate, 3, 40_000), None);
}

#[test]
fn pieces_of_four_members_in_calls_of_all_sorts() {
    assert_eq!(calls!(pieces, gate, 4, 20_000), None);
}

#[test]
fn mistakes_are_found() {
    assert!(calls!(weak_shown, gate, 3, 3_000).is_some(), "shown");
    assert!(calls!(weak_folded, gate, 3, 3_000).is_some(), "folded");
    assert!(calls!(weak_done, gate, 3, 3_000).is_some(), "done");
    assert!(calls!(weak_shown_load, gate, 3, 3_000).is_some(), "the load of shown");
    assert!(calls!(weak_folded_load, gate, 3, 3_000).is_some(), "the load of folded");
    assert!(calls!(weak_done_load, gate, 3, 3_000).is_some(), "the load of done");
    assert!(calls!(no_wait_to_give, gate, 3, 3_000).is_some(), "a slot that is still read");
    assert!(calls!(no_wait_before_the_gate, gate, 3, 3_000).is_some(), "the call before");
    assert!(calls!(pieces, weak_gate, 3, 3_000).is_some(), "the gate");
}
