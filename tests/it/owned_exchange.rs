//! The sparse exchange of owned values, against one thread's result for the same outboxes; and the
//! place of each value when a call fails.

use crate::common::{
    Dice, bomb, bomb_if, check_usable, fails, failure, on_threads, runs, sizes, succeeds, team,
    watch,
};
use phalanx::{Comm, Error, Team};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Owns memory, and cannot be cloned.
#[derive(Debug, PartialEq)]
struct Event {
    text: String,
    list: Box<[usize]>,
}

/// The outbox of rank `from` of `p` in a round: nothing, a value to one rank, some to some, many to
/// all, all to one rank, all to itself.
fn outbox(p: usize, from: usize, round: usize) -> Vec<(usize, Event)> {
    let mut dice = Dice((round * 64 + from) as u64);
    let count = [0, 1, 3, 40, 900][dice.below(5)];
    let only = [None, None, Some(from), Some(dice.below(p)), Some(0)][dice.below(5)];
    let event = |i: usize, to: usize| Event {
        text: format!("{i} of round {round} from {from} to {to}"),
        list: (0..i % 5).collect(),
    };
    let destination = |_| only.unwrap_or_else(|| dice.below(p));
    let destinations: Vec<usize> = (0..count).map(destination).collect();
    destinations.into_iter().enumerate().map(|(i, to)| (to, event(i, to))).collect()
}

/// The values for rank `to` in a round.
fn expected(p: usize, to: usize, round: usize) -> Vec<(usize, Event)> {
    let from = |from| outbox(p, from, round).into_iter().map(move |it| (from, it));
    let all = (0..p).flat_map(from).filter(|(_, (it, _))| *it == to);
    all.map(|(from, (_, event))| (from, event)).collect()
}

fn rounds(comm: &mut Comm, rounds: std::ops::Range<usize>) {
    let (rank, p) = (comm.rank(), comm.size());
    let (mut out, mut inbox) = (Vec::new(), Vec::new());
    for round in rounds {
        out.append(&mut outbox(p, rank, round));
        let mut wanted = expected(p, rank, round);
        // A value that is left in an inbox stays in front.
        if round % 3 == 0 {
            inbox.push((99, Event { text: "old".to_string(), list: Box::new([1]) }));
            wanted.insert(0, (99, Event { text: "old".to_string(), list: Box::new([1]) }));
        }
        comm.all_to_all_owned(&mut out, &mut inbox);
        assert!(out.is_empty());
        assert_eq!(inbox, wanted, "rank {rank} of {p}, round {round}");
        inbox.clear();
        // Between other calls, which use the same gates, boards and scratch memory.
        match round % 4 {
            0 => comm.barrier(),
            1 => assert_eq!(comm.sum([1])[0], p),
            2 => comm.all_reduce(&mut vec![1u64; 9000], phalanx::op::Sum),
            _ => {}
        }
    }
}

#[test]
fn values_come_in_the_order_of_ranks() {
    let watch = watch();
    for p in sizes(1..=8) {
        watch.case(format!("p={p}"));
        team(p).run(|comm| rounds(comm, 0..60)).unwrap_or_else(|e| panic!("p={p}: {e}"));
    }
}

/// In groups at the same time, under a forced topology, on threads of the user's own, and in a run
/// inside a run.
#[test]
fn in_groups_and_nested() {
    let _watch = watch();
    for p in sizes([2, 3, 5, 8]) {
        let run = team(p).run(|comm| {
            let mut half = comm.split(comm.rank() % 2, 0);
            for round in 0..10 {
                rounds(&mut half, round..round + 1);
                rounds(comm, 100 + round..101 + round);
                rounds(&mut comm.ring(), 200 + round..201 + round);
            }
            let inner = phalanx::run(2, |inner| {
                rounds(inner, 0..4);
                let mut out = vec![(1 - inner.rank(), format!("inner {}", inner.rank()))];
                let mut inbox = Vec::new();
                inner.all_to_all_owned(&mut out, &mut inbox);
                inbox
            });
            // The inner values go on outside.
            let next = (comm.rank() + 1) % comm.size();
            let mut out: Vec<_> =
                inner.unwrap().into_iter().flatten().map(|(_, text)| (next, text)).collect();
            let mut inbox = Vec::new();
            comm.all_to_all_owned(&mut out, &mut inbox);
            inbox.into_iter().map(|it| it.1).collect::<Vec<_>>()
        });
        let all = run.unwrap_or_else(|e| panic!("p={p}: {e}"));
        assert!(all.iter().all(|it| *it == ["inner 1", "inner 0"]), "{all:?}");
    }
    on_threads(Team::external(3).unwrap(), |mut comm| rounds(&mut comm, 0..10));
}

/// Closures, nothing, values aligned beyond scratch memory, values longer than a mailbox.
#[test]
fn values_of_every_kind() {
    fn around<T: Send + 'static>(
        comm: &mut Comm,
        make: impl Fn(usize) -> T,
        look: impl Fn(&T) -> bool,
    ) {
        let p = comm.size();
        let mut out: Vec<_> = (0..3 * p).map(|i| (i % p, make(i))).collect();
        let mut inbox = Vec::new();
        comm.all_to_all_owned(&mut out, &mut inbox);
        assert!(inbox.iter().map(|it| it.0).eq((0..3 * p).map(|i| i / 3)));
        assert!(inbox.iter().all(|it| look(&it.1)));
    }
    #[derive(Debug)]
    #[repr(align(4096))]
    struct Page(u8);
    type Job = Box<dyn Fn(usize) -> usize + Send>;
    let _watch = watch();
    for p in sizes(1..=4) {
        runs(&team(p), format!("p={p}"), |comm| {
            let rank = comm.rank();
            around(comm, |i| -> Job { Box::new(move |x| x + i + rank) }, |f| f(1) >= 1);
            around(comm, |_| (), |()| true);
            around(
                comm,
                |i| Page(i as u8),
                |it| std::ptr::from_ref(it).addr() % 4096 == 0 && it.0 < 12,
            );
            around(comm, |i| [i; 300], |it| it.iter().all(|x| *x == it[0]));
            around(comm, |i| vec![i.to_string(); 2], |it| it.len() == 2);
        });
    }
}

/// Vectors that are drained keep their memory, and no value moves to the heap.
#[test]
fn buffers_are_used_again() {
    succeeds(&team(3), |comm| {
        let (mut out, mut inbox) = (Vec::with_capacity(30), Vec::with_capacity(90));
        let places = (out.as_ptr(), inbox.as_ptr());
        for round in 0..50 {
            out.extend((0..30).map(|i| (i % 3, i * round)));
            comm.all_to_all_owned(&mut out, &mut inbox);
            assert_eq!((inbox.drain(..).count(), places), (30, (out.as_ptr(), inbox.as_ptr())));
        }
    });
}

// ---- Failures ----

/// The number of a value, and how often each has been dropped.
struct Numbered<'a>(usize, &'a [AtomicUsize]);

impl Drop for Numbered<'_> {
    fn drop(&mut self) {
        self.1[self.0].fetch_add(1, Relaxed);
    }
}

type Value = Numbered<'static>;

/// The ranks' outboxes and inboxes, outside of a run.
type Boxes = Vec<Mutex<(Vec<(usize, Value)>, Vec<(usize, Value)>)>>;

/// Values of `p` ranks, `each` of every rank for every rank; and the counts of their drops.
fn values(p: usize, each: usize) -> (Boxes, &'static [AtomicUsize]) {
    let drops: &'static [AtomicUsize] =
        Vec::leak((0..p * p * each).map(|_| AtomicUsize::new(0)).collect());
    let own = |rank: usize| {
        let value = |i: usize| (i % p, Numbered(rank * p * each + i, drops));
        Mutex::new(((0..p * each).map(value).collect(), Vec::new()))
    };
    ((0..p).map(own).collect(), drops)
}

/// Each value is in one place, and none has been dropped; then all are, once. Returns how many
/// were sent to another rank, and how many of these have arrived.
fn are_all_there(p: usize, each: usize, boxes: Boxes, drops: &[AtomicUsize]) -> (usize, usize) {
    assert!(drops.iter().all(|it| it.load(Relaxed) == 0), "a value is dropped");
    let mut places = vec![0; drops.len()];
    let mut arrived = 0;
    for (rank, it) in boxes.into_iter().enumerate() {
        let (out, inbox) = it.into_inner().unwrap_or_else(|e| e.into_inner());
        for (to, value) in &out {
            assert_eq!((value.0 / (p * each), value.0 % p), (rank, *to));
            places[value.0] += 1;
        }
        for (from, value) in &inbox {
            assert_eq!((value.0 / (p * each), value.0 % p), (*from, rank));
            places[value.0] += 1;
            arrived += usize::from(*from != rank);
        }
    }
    assert!(places.iter().all(|n| *n == 1), "each value is in one place: {places:?}");
    assert!(drops.iter().all(|it| it.load(Relaxed) == 1), "each value is dropped once");
    (p * (p - 1) * each, arrived)
}

fn exchange(comm: &mut Comm, boxes: &Boxes) {
    let mut own = boxes[comm.rank()].lock().unwrap();
    let (out, inbox) = &mut *own;
    comm.all_to_all_owned(out, inbox);
}

#[test]
fn a_rank_that_fails_before_or_after_loses_nothing() {
    let watch = watch();
    for p in sizes(2..=5) {
        let team = team(p);
        for who in 0..p {
            for kind in 0..6 {
                watch.case(format!("p={p}, rank {who}, kind {kind}"));
                let (boxes, drops) = values(p, 3);
                let error = fails(&team, |comm| match (kind, comm.rank() == who) {
                    (0, true) => bomb(),
                    // Returns early.
                    (1, true) => {}
                    // Another call, of another type, to a rank that there is not.
                    (2, true) => comm.barrier(),
                    (3, true) => comm.all_to_all_owned(&mut vec![(0, 1.0)], &mut Vec::new()),
                    (4, true) => comm.all_to_all_owned(&mut vec![(p, "no rank")], &mut Vec::new()),
                    (5, true) => {
                        exchange(comm, &boxes);
                        bomb()
                    }
                    (5, false) => {
                        exchange(comm, &boxes);
                        comm.barrier();
                    }
                    _ => {
                        // Caught, and not told of: the run fails all the same.
                        let call = || exchange(comm, &boxes);
                        let caught = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
                        std::panic::resume_unwind(caught);
                    }
                });
                let text = error.to_string();
                match kind {
                    0 | 5 => assert!(matches!(error, Error::Panicked { .. }), "{text}"),
                    2 => assert!(
                        text.contains("barrier") && text.contains("all_to_all_owned"),
                        "{text}"
                    ),
                    3 => assert!(
                        text.contains("element type: expected") && text.contains("f64"),
                        "{text}"
                    ),
                    4 => {
                        let words = format!("destination {p} is no rank of a communicator of {p}");
                        assert!(text.contains(&words), "{text}");
                    }
                    _ => assert!(text.contains("all_to_all_owned of "), "{text}"),
                }
                if kind == 2 || kind == 3 {
                    assert_eq!(text.matches("owned_exchange.rs:").count(), 2, "{text}");
                }
                let (sent, arrived) = are_all_there(p, 3, boxes, drops);
                // All or nothing, as no rank has failed within the call.
                assert_eq!(arrived, if kind == 5 { sent } else { 0 });
            }
        }
    }
}

/// Ranks pass values around until a cancel comes at any moment of a call: then some ranks have
/// taken their values, and others give up.
#[test]
fn a_cancel_in_a_call_loses_nothing() {
    let watch = watch();
    let mut halves = 0;
    for p in sizes(2..=6) {
        let team = team(p);
        let stop = team.canceller();
        for round in 0..100 {
            watch.case(format!("p={p}, round {round}"));
            let (boxes, drops) = values(p, 4);
            std::thread::scope(|s| {
                s.spawn(|| {
                    std::thread::sleep(Duration::from_micros(100 + 7 * (round % 40)));
                    stop.cancel();
                });
                failure(team.run(|comm| -> () {
                    loop {
                        exchange(comm, &boxes);
                        let mut own = boxes[comm.rank()].lock().unwrap();
                        let (out, inbox) = &mut *own;
                        out.extend(inbox.drain(..).map(|(from, it)| ((from + 1) % p, it)));
                    }
                }));
            });
            let mut places = vec![0; drops.len()];
            let mut have_taken = 0;
            for it in boxes {
                let (out, inbox) = it.into_inner().unwrap_or_else(|e| e.into_inner());
                have_taken += usize::from(!inbox.is_empty());
                out.iter().chain(&inbox).for_each(|(_, value)| places[value.0] += 1);
            }
            halves += usize::from(have_taken > 0 && have_taken < p);
            assert!(places.iter().all(|n| *n == 1), "each is in one place: {places:?}");
            assert!(drops.iter().all(|it| it.load(Relaxed) == 1), "each is dropped once");
            team.clear_cancel();
        }
        check_usable(&team, 1);
    }
    println!("{halves} calls of 500 ended on some ranks only");
}

/// Values that nobody keeps: dropped by the ranks' own unwinding.
#[test]
fn what_a_failed_run_has_is_dropped_once() {
    let _watch = watch();
    for p in sizes(2..=4) {
        let team = team(p);
        for who in 0..p {
            let (boxes, drops) = values(p, 2);
            let error = fails(&team, |comm| {
                let rank = comm.rank();
                let (mut out, mut inbox) = std::mem::take(&mut *boxes[rank].lock().unwrap());
                comm.all_to_all_owned(&mut out, &mut inbox);
                out.extend(inbox.drain(..).map(|(from, value)| ((from + 1) % p, value)));
                bomb_if(rank == who);
                comm.all_to_all_owned(&mut out, &mut inbox);
            });
            assert!(matches!(error, Error::Panicked { .. }), "{error}");
            assert!(drops.iter().all(|it| it.load(Relaxed) == 1));
        }
    }
}

/// Calls in destructors, while ranks unwind: some meet, others find that the run has failed.
#[test]
fn in_a_destructor_while_ranks_unwind() {
    struct Late<'a>(&'a mut Comm, &'a Boxes);
    impl Drop for Late<'_> {
        fn drop(&mut self) {
            exchange(self.0, self.1);
        }
    }
    let _watch = watch();
    for p in sizes(1..=4) {
        let team = team(p);
        let (boxes, drops) = values(p, 2);
        failure(team.run(|comm| -> () {
            let _late = Late(comm, &boxes);
            bomb()
        }));
        are_all_there(p, 2, boxes, drops);
        check_usable(&team, 1);
    }
}
