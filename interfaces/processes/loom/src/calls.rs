//! Members in calls, one after the other: in each the first piece is given before the gate. Of both
//! packages of models: what is their checkers' is in `by`.

use crate::by::UnsafeCell;

/// Memory that no word orders by itself: the checker finds an access that races with another.
pub(crate) struct Memory(UnsafeCell<u64>);

// SAFETY: the checker finds a data race before it happens.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    pub(crate) fn new() -> Self {
        Memory(UnsafeCell::new(0))
    }

    pub(crate) fn write(&self, value: u64) {
        // SAFETY: the checker finds a data race before it happens.
        self.0.with_mut(|it| unsafe { *it = value });
    }

    pub(crate) fn read(&self) -> u64 {
        // SAFETY: as above.
        self.0.with(|it| unsafe { *it })
    }
}

/// The body of a model of `$members` members, and calls: parts and pieces. The types are of these
/// modules: the package's own, or one with a mistake.
macro_rules! calls {
    ($pieces:ident, $gate:ident, $members:expr, $calls:expr) => {{
        use crate::by::{Arc, join, spawn, yield_now};
        use crate::calls::Memory;
        use crate::$gate::{Gate, Head};
        use crate::$pieces::{Parts, Position, Progress, Work, give_first, run};

        const MEMBERS: usize = $members;
        const CALLS: &[(Parts, u64)] = $calls;

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

        /// The value that a member gives as piece `number`.
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
                    yield_now();
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

        fn rank(desks: Arc<Vec<Desk>>, me: usize) {
            let mut first = 0;
            for (episode, (parts, pieces)) in CALLS.iter().enumerate() {
                let episode = episode as u64 + 1;
                let mut rank = Rank { desks: Arc::clone(&desks), me, first, parts: *parts };
                let place = Position { me, members: MEMBERS, first };
                if parts.givers.has(me) {
                    give_first(&mut rank, place).unwrap();
                }
                let head = Head { kind: 1, length: *pieces, place: 0 };
                desks[me].gate.show(episode, head, |_| 0, 0);
                for other in (me + 1..MEMBERS).chain(0..me) {
                    while !desks[other].gate.has_shown(episode) {
                        yield_now();
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
                spawn(move || rank(desks, me))
            };
            let peers: Vec<_> = (1..MEMBERS).map(start).collect();
            rank(desks, 0);
            peers.into_iter().for_each(join);
        }

        body as fn()
    }};
}
pub(crate) use calls;
