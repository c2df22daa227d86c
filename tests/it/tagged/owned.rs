//! Owned values are dropped once, on every way.

use super::{ignore, told};
use crate::common::{bomb, bomb_if, fails, failure, team, watch};
use phalanx::{Comm, Error, Source, Team};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Counts itself while it lives.
struct Counted<'a>(&'a AtomicUsize, &'a AtomicUsize);

static MADE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
/// The tests that count take turns.
static TURN: Mutex<()> = Mutex::new(());

impl Counted<'static> {
    fn new() -> Self {
        MADE.fetch_add(1, Relaxed);
        Counted(&MADE, &DROPPED)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
        assert!(self.1.load(Relaxed) <= self.0.load(Relaxed), "dropped twice");
    }
}

/// After a run all values that were made must be gone, once each.
#[track_caller]
fn all_are_gone(since: (usize, usize), at_least: usize) {
    let (made, dropped) = (MADE.load(Relaxed) - since.0, DROPPED.load(Relaxed) - since.1);
    assert_eq!(made, dropped, "made and dropped");
    assert!(made >= at_least, "{made}");
}

#[test]
fn owned_values_are_dropped_once_on_every_way() {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    let now = || (MADE.load(Relaxed), DROPPED.load(Relaxed));
    let _watch = watch();
    let team = team(3);
    let next = |comm: &Comm| (comm.rank() + 1) % 3;
    // Received.
    let since = now();
    team.run(|comm| {
        comm.send_owned((Counted::new(), comm.rank()), next(comm), 1);
        let ((counted, from), status) = comm.recv_owned::<(Counted<'_>, usize)>(Source::Any, 1);
        assert_eq!(from, status.source);
        counted
    })
    .map(drop)
    .unwrap();
    all_are_gone(since, 3);
    // Never received: in the team's communicator, in a child, by some ranks only.
    for in_child in [false, true] {
        let since = now();
        let error = told(&team, &["sent 2 message(s)", "never received", "send_owned"], |comm| {
            let mut child = in_child.then(|| comm.split(0, 0));
            let comm = child.as_mut().unwrap_or(comm);
            if comm.rank() == 2 {
                comm.send_owned(Counted::new(), 1, 0);
                comm.send_owned(Box::new(Counted::new()), 1, 0);
            }
        });
        assert!(matches!(error, Error::Unreceived { rank: 2, peer: 1, messages: 2, .. }));
        all_are_gone(since, 2);
    }
    // The run is poisoned: by a panic of the sender, of the receiver, of a third rank.
    for odd in 0..3 {
        let since = now();
        let error = fails(&team, |comm| {
            comm.send_owned(Counted::new(), next(comm), 9);
            comm.send_owned([Counted::new(), Counted::new()], next(comm), 10);
            bomb_if(comm.rank() == odd);
            comm.recv_owned::<Counted<'_>>(Source::Any, 9).0
        });
        assert!(matches!(error, Error::Panicked { .. }), "{error}");
        all_are_gone(since, 3);
    }
    // Of another type than the receiver asks for.
    let since = now();
    told(&team, &["expected", "u8", "an owned", "Counted"], |comm| match comm.rank() {
        0 => comm.send_owned(Counted::new(), 1, 0),
        1 => ignore(comm.recv_owned::<u8>(0, 0)),
        _ => {}
    });
    all_are_gone(since, 1);
    // Sent in a run that is over.
    let since = now();
    let error = failure(team.run(|comm| {
        bomb_if(comm.rank() == 0);
        loop {
            comm.send_owned(Counted::new(), 0, 0);
            std::thread::sleep(Duration::from_millis(1));
        }
    }));
    assert!(matches!(error, Error::Panicked { rank: 0, .. }), "{error}");
    all_are_gone(since, 1);
    // By threads of the user's own, of which one leaves.
    let since = now();
    let mut comms = Team::external(2).unwrap();
    let (mut b, mut a) = (comms.pop().unwrap(), comms.pop().unwrap());
    std::thread::scope(|s| {
        s.spawn(move || (0..5).for_each(|_| a.send_owned(Counted::new(), 1, 3)));
        s.spawn(move || ignore(b.recv_owned::<Counted<'_>>(0, 3)));
    });
    all_are_gone(since, 5);
}

/// A destructor that panics keeps no other value from its own.
struct Bad(#[allow(dead_code)] Counted<'static>);

impl Drop for Bad {
    fn drop(&mut self) {
        bomb();
    }
}

#[test]
fn a_destructor_that_panics_keeps_no_other_from_its_own() {
    let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
    let _watch = watch();
    let since = (MADE.load(Relaxed), DROPPED.load(Relaxed));
    told(&team(2), &["3 message(s)"], |comm| {
        if comm.rank() == 0 {
            (0..3).for_each(|_| comm.send_owned(Bad(Counted::new()), 1, 0));
        }
    });
    all_are_gone(since, 3);
}
