//! The models, each a macro over the modules that it takes its types from: the package's own, or
//! one with a mistake.

use loom::cell::UnsafeCell;
use loom::thread;

/// Memory that no word orders by itself: loom reports an access that races with another.
struct Memory(UnsafeCell<u64>);

// SAFETY: loom reports a data race before it happens.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new() -> Self {
        Memory(UnsafeCell::new(0))
    }

    fn write(&self, value: u64) {
        // SAFETY: loom reports a data race before it happens.
        self.0.with_mut(|it| unsafe { *it = value });
    }

    fn read(&self) -> u64 {
        // SAFETY: as above.
        self.0.with(|it| unsafe { *it })
    }
}

fn explore(bound: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.max_branches = 100_000;
    builder.check(model);
}

/// Whether exploring ends in a panic.
fn fails(model: impl FnOnce() + std::panic::UnwindSafe) -> bool {
    std::panic::catch_unwind(model).is_err()
}

/// Two members in two calls, one after the other: in each the first piece is given before the gate.
macro_rules! calls {
    ($pieces:ident, $gate:ident, $bound:expr, $calls:expr) => {{
        use crate::$gate::{Gate, Head};
        use crate::$pieces::{Members, Parts, Position, Progress, Work, give_first, run};
        use loom::sync::Arc;

        const MEMBERS: usize = 2;

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
                    thread::yield_now();
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

        let calls: &'static [(Parts, u64)] = $calls;
        explore($bound, move || {
            let desk = |_| Desk {
                gate: Gate::new(),
                progress: Progress::new(0),
                given: [Memory::new(), Memory::new()],
                made: [Memory::new(), Memory::new()],
            };
            let desks = Arc::new((0..MEMBERS).map(desk).collect::<Vec<_>>());
            let rank = move |desks: Arc<Vec<Desk>>, me: usize| {
                let mut first = 0;
                for (episode, (parts, pieces)) in calls.iter().enumerate() {
                    let episode = episode as u64 + 1;
                    let mut rank = Rank { desks: Arc::clone(&desks), me, first, parts: *parts };
                    let place = Position { me, members: MEMBERS, first };
                    if parts.givers.has(me) {
                        give_first(&mut rank, place).unwrap();
                    }
                    let head = Head { kind: 1, length: *pieces, place: 0 };
                    desks[me].gate.show(episode, head, |_| 0, 0);
                    while !desks[1 - me].gate.has_shown(episode) {
                        thread::yield_now();
                    }
                    assert!(desks[1 - me].gate.head(episode).agrees(&head), "another head");
                    run(&mut rank, place, *parts, *pieces).unwrap();
                    first += pieces;
                }
            };
            let other = Arc::clone(&desks);
            let peer = thread::spawn(move || rank(other, 1));
            rank(desks, 0);
            peer.join().unwrap();
            let _ = Members::All;
        });
    }};
}

macro_rules! all_reduces {
    ($pieces:ident, $gate:ident) => {{
        use crate::$pieces::{Members, Parts};
        const ALL: Parts = Parts { givers: Members::All, folds: true, takers: Members::All };
        calls!($pieces, $gate, 2, &[(ALL, 3)])
    }};
}

macro_rules! broadcasts {
    ($pieces:ident, $gate:ident) => {{
        use crate::$pieces::{Members, Parts};
        const ONE: Parts = Parts { givers: Members::One(0), folds: false, takers: Members::All };
        calls!($pieces, $gate, 2, &[(ONE, 3), (ONE, 2)])
    }};
}

macro_rules! mixed {
    ($pieces:ident, $gate:ident) => {{
        use crate::$pieces::{Members, Parts};
        const REDUCE: Parts = Parts { givers: Members::All, folds: true, takers: Members::One(0) };
        const GATHER: Parts = Parts { givers: Members::All, folds: false, takers: Members::One(1) };
        calls!($pieces, $gate, 1, &[(GATHER, 2), (REDUCE, 1)])
    }};
}

#[test]
fn pieces_of_all_reduces() {
    all_reduces!(pieces, gate);
}

#[test]
fn pieces_of_broadcasts() {
    broadcasts!(pieces, gate);
}

#[test]
fn pieces_of_several_operations() {
    mixed!(pieces, gate);
}

#[test]
fn mistakes_with_pieces_are_found() {
    assert!(fails(|| all_reduces!(weak_shown, gate)), "shown");
    assert!(fails(|| all_reduces!(weak_folded, gate)), "folded");
    assert!(fails(|| broadcasts!(weak_done, gate)), "done");
    assert!(fails(|| all_reduces!(weak_shown_load, gate)), "the load of shown");
    assert!(fails(|| all_reduces!(weak_folded_load, gate)), "the load of folded");
    assert!(fails(|| broadcasts!(weak_done_load, gate)), "the load of done");
    assert!(fails(|| broadcasts!(no_wait_to_give, gate)), "a slot that is still read");
    assert!(fails(|| broadcasts!(no_wait_before_the_gate, gate)), "the slot of the call before");
    assert!(fails(|| all_reduces!(pieces, weak_gate)), "the gate");
}

/// Six chunks through four slots.
macro_rules! chunks {
    ($ring:ident) => {{
        use crate::$ring::{Label, SlotWords, Taken};
        use loom::sync::Arc;

        struct Ring {
            taken: Taken,
            slots: [(SlotWords, Memory); 4],
        }
        explore(3, || {
            let slot = |_| (SlotWords::new(), Memory::new());
            let ring = Ring { taken: Taken::new(), slots: std::array::from_fn(slot) };
            let ring = Arc::new(ring);
            let sender = Arc::clone(&ring);
            let sender = thread::spawn(move || {
                for n in 1..=6_u64 {
                    while !sender.taken.has_room(n) {
                        thread::yield_now();
                    }
                    let (words, chunk) = &sender.slots[(n % 4) as usize];
                    chunk.write(n);
                    let label = Label { tag: n, bytes: 1, kind: 2, site: 3 };
                    words.publish(n, Some(label));
                }
            });
            for n in 1..=6_u64 {
                let (words, chunk) = &ring.slots[(n % 4) as usize];
                while !words.has(n) {
                    thread::yield_now();
                }
                assert_eq!((words.label().tag, chunk.read()), (n, n), "another chunk");
                ring.taken.take(n);
            }
            sender.join().unwrap();
        });
    }};
}

#[test]
fn chunks_go_around() {
    chunks!(ring);
}

#[test]
fn mistakes_with_chunks_are_found() {
    assert!(fails(|| chunks!(weak_chunk)), "the chunk's word");
    assert!(fails(|| chunks!(weak_taken)), "the receiver's word");
    assert!(fails(|| chunks!(no_room)), "a slot that is still read");
}

/// A member sleeps until the other has published something, without any limit of time.
macro_rules! sleeps {
    ($bell:ident) => {{
        use crate::$bell::{Bell, Sleepers};
        use loom::sync::Arc;
        use loom::sync::atomic::{AtomicU64, Ordering};

        explore(3, || {
            let shared = Arc::new((Bell::new(), Sleepers::new(), AtomicU64::new(0)));
            let other = Arc::clone(&shared);
            let sleeper = thread::spawn(move || {
                let (bell, sleepers, word) = &*other;
                let mut ready = || word.load(Ordering::Acquire) == 1;
                bell.sleep(sleepers, Some(0), &mut ready, |word, value| {
                    // As the system does it: until the word is changed. A thread that yields does
                    // not run again before the others have.
                    for _ in 0..50 {
                        if word.load(Ordering::Relaxed) != value {
                            return;
                        }
                        thread::yield_now();
                    }
                    panic!("a wake-up was lost");
                });
            });
            let (bell, sleepers, word) = &*shared;
            word.store(1, Ordering::Release);
            if sleepers.are_there(true) {
                bell.ring(Some(0), |_| ());
            }
            sleeper.join().unwrap();
        });
    }};
}

#[test]
fn no_wake_is_lost() {
    sleeps!(bell);
}

#[test]
fn mistakes_with_bells_are_found() {
    assert!(fails(|| sleeps!(no_fence_before_the_look)), "no fence before the look");
    assert!(fails(|| sleeps!(no_fence_before_the_sleep)), "no fence before the sleep");
}
