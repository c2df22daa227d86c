//! Destructors that call collectives, or panic, while a rank unwinds.

use super::common::{
    Canary, POISON, add_alive, bomb, bomb_if, check_usable, fails, failure, team, watch,
};
use super::is_bomb_of;
use phalanx::{Algorithm, Comm, Error, op};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A payload that panics when it is dropped.
struct Spiteful;

impl Drop for Spiteful {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("spite"));
    }
}

#[test]
fn payloads_that_panic_when_dropped() {
    let _watch = watch();
    for p in 1..=3 {
        let team = team(p);
        let error = fails(&team, |_| std::panic::resume_unwind(Box::new(Spiteful)));
        let payload = error.into_panic().expect("it was a panic");
        assert!(payload.is::<Spiteful>());
        std::mem::forget(payload);
        // A failed run with an error that nobody looks at: the spite is ours.
        let result = team.run(|_| std::panic::resume_unwind(Box::new(Spiteful)));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(result))).is_err());
        check_usable(&team, 1);
    }
    // A result that panics when dropped, in a run that fails.
    let team = team(2);
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        team.run(|comm| {
            bomb_if(comm.rank() == 1);
            Spiteful
        })
    }));
    assert!(dropped.is_err());
    check_usable(&team, 1);
}

/// Calls a collective when dropped, on a buffer that dies right after it.
struct Late<'a> {
    comm: &'a mut Comm,
    kind: usize,
}

impl Drop for Late<'_> {
    fn drop(&mut self) {
        let (comm, mut x) = (&mut *self.comm, Canary(vec![1; 500]));
        let (rank, p) = (comm.rank(), comm.size());
        let mut all = Canary(vec![1; 500 * p]);
        match self.kind {
            0 => comm.all_reduce(&mut x.0, op::commutative(add_alive)),
            1 => comm.scan(&mut x.0, op::ordered(add_alive)),
            2 => comm.all_gather_into(&x.0, &mut all.0),
            3 => comm.all_reduce(&mut x.0[..1], op::commutative(add_alive)),
            4 => comm.barrier(),
            5 => comm.shift(&mut x.0, 1),
            6 if p > 1 => {
                let y = Canary(vec![5; 500]);
                comm.exchange(&y.0, (rank + 1) % p, &mut x.0, (rank + p - 1) % p);
            }
            7 => comm.broadcast(&mut x.0, 9), // No such root.
            8 => drop(comm.mesh(7, 7)),
            _ => comm.reduce(&mut x.0, op::commutative(add_alive), 0),
        }
        if x.0.contains(&POISON) || all.0.contains(&POISON) {
            eprintln!("a collective gave what its owner has freed");
            std::process::abort();
        }
    }
}

#[test]
fn collectives_in_destructors() {
    let _watch = watch();
    for p in 1..=4 {
        let team = team(p);
        for kind in 0..10 {
            for round in 0..20 {
                let who = round % p;
                let error = failure(team.run(|comm| {
                    let rank = comm.rank();
                    let late = Late { comm, kind };
                    bomb_if(rank == who);
                    late.comm.barrier();
                }));
                // The bomb's own destructor takes part in a call that the
                // others are not in: whichever is noticed first.
                assert!(!matches!(error, Error::Dead), "p={p} kind={kind} round={round} {error}");
                // All ranks fail at once.
                let error = failure(team.run(|comm| {
                    let _late = Late { comm, kind };
                    bomb();
                }));
                assert!(!matches!(error, Error::Dead), "p={p} kind={kind} round={round} {error}");
            }
            check_usable(&team, kind as u64);
        }
    }
}

#[test]
fn results_are_dropped_once() {
    struct Counted<'a>(&'a AtomicUsize, Box<u64>);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            assert_eq!(*self.1, 42);
            self.0.fetch_add(1, Relaxed);
        }
    }
    let _watch = watch();
    let team = team(3);
    let alive = AtomicUsize::new(0);
    let all = team.run(|_| Counted(&alive, Box::new(42))).unwrap();
    assert_eq!((all.len(), alive.load(Relaxed)), (3, 0));
    drop(all);
    assert_eq!(alive.swap(0, Relaxed), 3);
    // Two ranks have returned when the third panics.
    let error = failure(team.run(|comm| {
        bomb_if(comm.rank() == 1);
        Counted(&alive, Box::new(42))
    }));
    is_bomb_of(&error, 1);
    assert_eq!(alive.load(Relaxed), 2);
}

/// A panic on a communicator of a run that is over, with a payload that panics when it
/// is dropped. It must not be left for the next failure, which would drop it in a
/// rank that has given away the address of its slice.
#[test]
fn an_old_cause_that_panics_when_dropped() {
    let _watch = watch();
    for round in 0..20 {
        let team = team(2);
        let mut old = team.run(|comm| comm.split(0, comm.rank())).unwrap();
        // This thread is rank 0's; the run is over, and no other has begun.
        let late = old[0].protect(|_| std::panic::resume_unwind(Box::new(Spiteful)));
        // It has no say in any run, and comes back.
        std::mem::forget(late.unwrap_err().into_panic().unwrap());
        let error = fails(&team, |comm| {
            let mut x = Canary(vec![1; 1000]);
            let slow = |a, b| {
                std::thread::sleep(std::time::Duration::from_micros(20));
                add_alive(a, b)
            };
            if comm.rank() == round % 2 {
                comm.with(Algorithm::AR_FUSED).all_reduce(&mut x.0, op::commutative(slow));
            } else {
                comm.with(Algorithm::AR_HCUBE).all_reduce(&mut x.0, op::commutative(slow));
            }
        });
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    }
}
