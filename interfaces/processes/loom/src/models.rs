//! The models, each a macro over the modules that it takes its types from: the package's own, or
//! one with a mistake.

use crate::calls::{Memory, calls};
use loom::thread;

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

// Two members in one call, or in two.

macro_rules! all_reduces {
    ($pieces:ident, $gate:ident) => {{
        use crate::$pieces::{Members, Parts};
        const ALL: Parts = Parts { givers: Members::All, folds: true, takers: Members::All };
        explore(2, calls!($pieces, $gate, 2, &[(ALL, 3)]))
    }};
}

macro_rules! broadcasts {
    ($pieces:ident, $gate:ident) => {{
        use crate::$pieces::{Members, Parts};
        const ONE: Parts = Parts { givers: Members::One(0), folds: false, takers: Members::All };
        explore(2, calls!($pieces, $gate, 2, &[(ONE, 3), (ONE, 2)]))
    }};
}

macro_rules! mixed {
    ($pieces:ident, $gate:ident) => {{
        use crate::$pieces::{Members, Parts};
        const REDUCE: Parts = Parts { givers: Members::All, folds: true, takers: Members::One(0) };
        const GATHER: Parts = Parts { givers: Members::All, folds: false, takers: Members::One(1) };
        explore(1, calls!($pieces, $gate, 2, &[(GATHER, 2), (REDUCE, 1)]))
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

/// One rank's part: it waits for the other as the package does, and says whether that is a circle.
macro_rules! waits {
    ($circle:ident, $shared:expr, $me:expr, $number:expr, $ready:expr) => {{
        use crate::$circle::{circle, state_of};
        let (waits, me) = (&$shared.0, $me);
        let state = state_of($number, me, 0);
        waits[me].begin(state, 0);
        let found = loop {
            if $ready() {
                break false;
            }
            let other = waits[1 - me].state();
            if other != 0 && waits[me].confirm((1 - me as u64, other), &mut $ready) {
                let at = |place: u64| waits.get(place as usize);
                if circle((me as u64, state), 2, at).is_some() {
                    break true;
                }
            }
            thread::yield_now();
        };
        waits[me].end();
        found
    }};
}

/// Two ranks that wait for each other in turns: never in a circle.
macro_rules! turns {
    ($circle:ident) => {{
        use crate::$circle::Waiting;
        use loom::sync::Arc;
        use loom::sync::atomic::{AtomicU64, Ordering};

        explore(3, || {
            let words = [AtomicU64::new(0), AtomicU64::new(0)];
            let shared = Arc::new(([Waiting::new(), Waiting::new()], words));
            let other = Arc::clone(&shared);
            let is = |word: &AtomicU64, least| word.load(Ordering::Acquire) >= least;
            let other = thread::spawn(move || {
                let found = waits!($circle, other, 1, 1, || is(&other.1[0], 1));
                other.1[1].store(2, Ordering::Release);
                found | waits!($circle, other, 1, 2, || is(&other.1[0], 2))
            });
            shared.1[0].store(1, Ordering::Release);
            let found = waits!($circle, shared, 0, 1, || is(&shared.1[1], 2));
            shared.1[0].store(2, Ordering::Release);
            assert!(!found && !other.join().unwrap(), "a circle that is none");
        });
    }};
}

#[test]
fn waits_that_end_are_no_circle() {
    turns!(circle);
}

#[test]
fn a_circle_of_waits_is_found() {
    use crate::circle::Waiting;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering};

    explore(3, || {
        let shared = Arc::new(([Waiting::new(), Waiting::new()], AtomicU64::new(0)));
        let rank = |shared: Arc<([Waiting; 2], AtomicU64)>, me: usize| {
            // The team is over when one has found it.
            if waits!(circle, shared, me, 1, || shared.1.load(Ordering::Acquire) == 1) {
                shared.1.store(1, Ordering::Release);
            }
        };
        let other = Arc::clone(&shared);
        let other = thread::spawn(move || rank(other, 1));
        rank(shared, 0);
        other.join().unwrap();
    });
}

#[test]
fn mistakes_with_circles_are_found() {
    assert!(fails(|| turns!(weak_wait)), "the state of a wait");
    assert!(fails(|| turns!(weak_wait_load)), "the load of it");
    assert!(fails(|| turns!(weak_link)), "a link");
    assert!(fails(|| turns!(no_look)), "no look after the other's wait was seen");
    assert!(fails(|| turns!(one_wait)), "two waits of one state");
}

/// Rank 0 has arrived and may give up while rank 1 arrives, which was the last: the team is
/// complete for both, or over for both. The door is a lock of the system's, which orders by itself.
macro_rules! comes_in {
    ($course:ident, $door:expr) => {{
        use crate::$course::Course;
        use loom::sync::{Arc, Mutex};

        explore(3, || {
            // Who is there; rank 1's seat; rank 0's cause.
            let there = Mutex::new([true, false]);
            let shared = Arc::new((Course::new(), there, Memory::new(), Memory::new()));
            let other = Arc::clone(&shared);
            let last = thread::spawn(move || {
                let (course, there, seat, cause) = &*other;
                let mut there = there.lock().unwrap();
                there[1] = true;
                seat.write(7);
                if there[0] {
                    course.set_complete();
                    return true;
                }
                drop(there);
                assert_eq!((course.over(), cause.read()), (Some(0), 9), "it hears why");
                false
            });
            let (course, there, seat, cause) = &*shared;
            let mut is_complete = course.is_complete();
            if !is_complete {
                let door = $door.then(|| there.lock().unwrap());
                is_complete = course.is_complete();
                if !is_complete {
                    cause.write(9);
                    course.set_over(0);
                    match door {
                        Some(mut there) => there[0] = false,
                        None => there.lock().unwrap()[0] = false,
                    }
                }
            }
            if is_complete {
                assert_eq!(seat.read(), 7);
            }
            assert_eq!(last.join().unwrap(), is_complete, "complete for one, over for the other");
        });
    }};
}

/// A rank that has been there hears, without the door, that another has given up, and why.
macro_rules! hears {
    ($course:ident) => {{
        use crate::$course::Course;
        use loom::sync::Arc;

        explore(3, || {
            let shared = Arc::new((Course::new(), Memory::new()));
            let other = Arc::clone(&shared);
            let gives_up = thread::spawn(move || {
                other.1.write(9);
                other.0.set_over(1);
            });
            if shared.0.over().is_some() {
                assert_eq!(shared.1.read(), 9);
            }
            gives_up.join().unwrap();
        });
    }};
}

#[test]
fn a_team_is_complete_for_all_or_for_none() {
    comes_in!(course, true);
    hears!(course);
}

#[test]
fn mistakes_with_the_course_are_found() {
    assert!(fails(|| comes_in!(course, false)), "no door");
    assert!(fails(|| comes_in!(weak_complete, true)), "complete");
    assert!(fails(|| comes_in!(weak_complete_load, true)), "the load of complete");
    assert!(fails(|| hears!(weak_over)), "over");
    assert!(fails(|| hears!(weak_over_load)), "the load of over");
}
