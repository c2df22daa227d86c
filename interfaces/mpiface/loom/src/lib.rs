//! Loom models of the MPI interface's own synchronisation: the word of a request and of a meeting,
//! the history of a rank's calls, and the lock of a window's target. (Waiting, sleeping and waking,
//! the rings of short messages, and the cards of started collectives are the library's:
//! `loom-tests/`. Queues are mutexes.)
#![cfg(test)]
#![allow(dead_code)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

#[path = "../../src/rt/history.rs"]
mod history;
#[path = "../../src/rt/target_lock.rs"]
mod target_lock;
#[path = "../../src/rt/word.rs"]
mod word;

// The copies with a mistake.
include!(concat!(env!("OUT_DIR"), "/mutants.rs"));

/// A word, weakened or not.
trait Told: Default + Send + Sync + 'static {
    fn tell(&self, number: u64);
    fn has_told(&self, number: u64) -> bool;
}

macro_rules! told {
    ($($room:ident),*) => {$(
        impl Told for $room::Word {
            fn tell(&self, number: u64) {
                $room::Word::tell(self, number);
            }

            fn has_told(&self, number: u64) -> bool {
                $room::Word::has_told(self, number)
            }
        }
    )*};
}
told!(word, weak_store, weak_load);

/// Memory of the program. Loom tracks it: an access that is not ordered after the last one of
/// another thread is a failure.
type Memory = UnsafeCell<u64>;

fn write(memory: &Memory, value: u64) {
    // SAFETY: loom reports a data race before it happens.
    memory.with_mut(|it| unsafe { *it = value });
}

fn read(memory: &Memory) -> u64 {
    // SAFETY: as above.
    memory.with(|it| unsafe { *it })
}

fn wait<W: Told>(word: &W, number: u64) {
    while !word.has_told(number) {
        thread::yield_now();
    }
}

/// The second comer copies into the receiver's buffer, and tells the request.
fn a_request<W: Told>() {
    loom::model(|| {
        let shared = Arc::new((Memory::new(0), W::default()));
        let other = Arc::clone(&shared);
        let sender = thread::spawn(move || {
            write(&other.0, 7);
            other.1.tell(1);
        });
        wait(&shared.1, 1);
        assert_eq!(read(&shared.0), 7);
        sender.join().expect("it ends");
    });
}

/// Two ranks meet, read each other's buffers, meet again, and write their own.
fn a_meeting<W: Told>() {
    loom::model(|| {
        type Seat<W> = (Memory, W);
        fn rank<W: Told>(own: &Seat<W>, other: &Seat<W>, value: u64) {
            write(&own.0, value);
            own.1.tell(1);
            wait(&other.1, 1);
            assert_eq!(read(&other.0), 3 - value);
            own.1.tell(2);
            wait(&other.1, 2);
            write(&own.0, 10);
        }
        let seat = || (Memory::new(0), W::default());
        let seats = Arc::new([seat(), seat()]);
        let others = Arc::clone(&seats);
        let second = thread::spawn(move || rank(&others[1], &others[0], 2));
        rank(&seats[0], &seats[1], 1);
        second.join().expect("it ends");
    });
}

#[test]
fn requests_and_meetings_hand_memory_over() {
    a_request::<word::Word>();
    a_meeting::<word::Word>();
}

/// A rank notes four calls, two of which are kept, and the other reads: it is given the
/// words of one call, the one that it has asked for.
macro_rules! a_history {
    ($room:ident) => {
        loom::model(|| {
            type Calls = ($room::History<2, 2>, word::Word);
            fn given(calls: &Calls, number: u64) -> bool {
                let words = calls.0.past(&calls.1, number);
                assert!(words.is_none_or(|it| it == [10 * number, 10 * number + 1]), "mixed");
                words.is_some()
            }
            let shared = Arc::new(Calls::default());
            let other = Arc::clone(&shared);
            let writer = thread::spawn(move || {
                for number in 1..=4 {
                    other.0.note(&other.1, number, [10 * number, 10 * number + 1]);
                }
            });
            given(&shared, 1);
            given(&shared, 2);
            writer.join().expect("it ends");
            assert!(given(&shared, 4), "the last one is kept");
            assert!(!given(&shared, 2), "an older one is not");
        });
    };
}

#[test]
fn a_history_gives_the_words_of_one_call() {
    a_history!(history);
}

/// Ranks take a target's lock, use its memory (an exclusive holder writes, a shared one reads), and
/// give it back. A rank that does not get it sleeps until woken. (A wake before the sleep is not
/// lost: that is the library's part, and here the notification's.)
macro_rules! a_lock {
    ($room:ident, $kinds:expr) => {
        loom::model(|| {
            type Bell = loom::sync::Notify;
            let kinds: [bool; 2] = $kinds;
            let bells: Vec<Bell> = kinds.iter().map(|_| Bell::new()).collect();
            let shared = Arc::new(($room::TargetLock::default(), Memory::new(0), bells));
            let rank = move |me: usize, shared: Arc<($room::TargetLock, Memory, Vec<Bell>)>| {
                let (lock, memory, bells) = &*shared;
                while !lock.take(me, kinds[me]) {
                    bells[me].wait();
                }
                if kinds[me] {
                    write(memory, me as u64);
                } else {
                    read(memory);
                }
                for other in lock.give_back(kinds[me]) {
                    bells[other].notify();
                }
            };
            let other = Arc::clone(&shared);
            let second = thread::spawn(move || rank(1, other));
            rank(0, shared);
            second.join().expect("it ends");
        });
    };
}

#[test]
fn a_lock_keeps_ranks_apart_and_wakes_those_who_wait() {
    a_lock!(target_lock, [true, true]);
    a_lock!(target_lock, [true, false]);
    a_lock!(target_lock, [false, false]);
}

/// Mistakes that a model detects: what it says, and the model.
macro_rules! detected {
    ($($test:ident: $says:tt $model:expr;)*) => {$(
        #[test]
        #[should_panic(expected = $says)]
        fn $test() {
            $model;
        }
    )*};
}

detected! {
    a_request_with_a_relaxed_store_is_detected:
        "Causality violation" a_request::<weak_store::Word>();
    a_request_with_a_relaxed_load_is_detected: "Causality violation" a_request::<weak_load::Word>();
    a_meeting_with_a_relaxed_store_is_detected:
        "Causality violation" a_meeting::<weak_store::Word>();
    a_meeting_with_a_relaxed_load_is_detected: "Causality violation" a_meeting::<weak_load::Word>();
    a_history_without_the_writers_fence_is_detected: "mixed" a_history!(history_weak_store);
    a_history_without_the_readers_fence_is_detected: "mixed" a_history!(history_weak_load);
    a_history_that_keeps_calls_too_long_is_detected: "mixed" a_history!(history_kept_too_long);
    a_lock_that_forgets_who_waits_is_detected: "deadlock" a_lock!(lock_forgets, [true, true]);
    a_lock_that_two_have_alone_is_detected:
        "Causality violation" a_lock!(lock_of_two, [true, true]);
}
