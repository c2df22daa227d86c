//! The transports of small calls: through the gates, in a slot's first line, its second, both,
//! through the eager buffer. Panics in operators, ranks that leave, other communicators.

use super::common::{
    Canary, add_alive, bomb, bomb_if, check_usable, fails, failure, runs, team, watch,
};
use super::is_bomb_of;
use phalanx::{Comm, Error, call, op};
use std::cell::{Cell, RefCell};

/// Lengths in `u64`: 40, 64, 96 and 1024 bytes are limits.
const LENGTHS: [usize; 7] = [1, 5, 8, 12, 13, 128, 129];

/// A call that combines canaries of so many elements.
type Reduction = fn(&mut Comm, usize, &dyn Fn(u64, u64) -> u64);

const REDUCTIONS: [Reduction; 5] = [
    |c, n, add| c.all_reduce(&mut Canary(vec![1; n]).0, op::ordered(add)),
    |c, n, add| c.scan(&mut Canary(vec![1; n]).0, op::ordered(add)),
    |c, n, add| c.exclusive_scan(&mut Canary(vec![1; n]).0, op::ordered(add)),
    |c, n, add| c.overlap(call::all_reduce(&mut Canary(vec![1; n]).0, op::ordered(add)), || ()).1,
    |c, n, add| {
        c.with_order(phalanx::Order::Fixed)
            .all_reduce(&mut Canary(vec![1; n]).0, op::commutative(add))
    },
];

/// The first call of the operator on each rank, one in the middle, and the last.
#[test]
fn an_operator_that_panics() {
    let watch = watch();
    for p in [2, 3, 5, 8] {
        let team = team(p);
        for (i, reduction) in REDUCTIONS.iter().enumerate() {
            for n in LENGTHS {
                watch.case(format!("p={p}, reduction {i}, n={n}"));
                let counts = team.run(|comm| {
                    let calls = Cell::new(0);
                    reduction(comm, n, &|a, b| {
                        calls.set(calls.get() + 1);
                        add_alive(a, b)
                    });
                    calls.get()
                });
                let who = (i + n) % p;
                let calls: usize = counts.unwrap()[who];
                // Rank 0 of a scan combines nothing.
                for k in [0, calls / 2, calls.saturating_sub(1)] {
                    if k >= calls {
                        continue;
                    }
                    let error = failure(team.run(|comm| {
                        let (rank, left) = (comm.rank(), Cell::new(k));
                        reduction(comm, n, &|a, b| {
                            if rank == who {
                                match left.get() {
                                    0 => bomb(),
                                    more => left.set(more - 1),
                                }
                            }
                            add_alive(a, b)
                        });
                        comm.barrier();
                    }));
                    is_bomb_of(&error, who);
                }
                check_usable(&team, n as u64);
            }
        }
    }
}

/// All sorts of small calls on `n` elements; the last rank has something to wait for in each.
const CALLS: [fn(&mut Comm, usize); 6] = [
    |c, n| c.overlap(call::barrier(), || assert!(n > 0)).1,
    |c, n| c.broadcast(&mut Canary(vec![1; n]).0, 0),
    |c, n| {
        let mut all = Canary(vec![0; n * c.size()]);
        c.all_gather_into(&Canary(vec![1; n]).0, &mut all.0);
        assert!(all.0.iter().all(|&x| x == 1));
    },
    |c, n| c.scan(&mut Canary(vec![1; n]).0, op::commutative(add_alive)),
    |c, n| c.exclusive_scan(&mut Canary(vec![1; n]).0, op::commutative(add_alive)),
    |c, n| c.all_reduce(&mut Canary(vec![1; n]).0, op::commutative(add_alive)),
];

/// Whoever has shown or sent its part may go: the others have it all the same. Whoever goes
/// before is missed by name.
#[test]
fn a_rank_that_goes_after_its_part() {
    let watch = watch();
    for p in [2, 3, 5] {
        let team = team(p);
        for (i, call) in CALLS.iter().enumerate() {
            for n in LENGTHS {
                watch.case(format!("p={p}, call {i}, n={n}"));
                for late in [0, p - 1] {
                    runs(&team, format!("p={p}, call {i}, n={n}"), |comm| {
                        if comm.rank() == late {
                            std::thread::yield_now();
                        }
                        call(comm, n);
                    });
                }
                let who = if i == 1 { 0 } else { n % p };
                let error = failure(team.run(|comm| {
                    if comm.rank() != who {
                        call(comm, n);
                        comm.barrier();
                    }
                }));
                assert!(matches!(error, Error::Left { peer, .. } if peer == who), "{error}");
            }
            check_usable(&team, i as u64);
        }
    }
}

/// In an operator of a call through the gates a rank waits in another communicator, and its
/// peer there panics; then both go on as if nothing were.
#[test]
fn an_operator_in_another_communicator() {
    let _watch = watch();
    // Four: small scans of three go by a chain where ranks outnumber cores. In an exclusive
    // scan rank 1 has nothing to combine.
    let team = team(4);
    for (reduction, first) in REDUCTIONS[..3].iter().zip([1, 1, 2]) {
        for who in first..4 {
            for caught in [false, true] {
                let error = fails(&team, |comm| {
                    let child = RefCell::new(comm.split(0, comm.rank()));
                    let rank = comm.rank();
                    reduction(comm, 8, &|a, b| {
                        bomb_if(rank == who);
                        let wait = || {
                            let mut y = Canary(vec![1; 1000]);
                            let add = op::commutative(add_alive);
                            child.borrow_mut().all_reduce(&mut y.0, add);
                        };
                        if caught {
                            let wait = std::panic::AssertUnwindSafe(wait);
                            assert!(std::panic::catch_unwind(wait).is_err());
                        } else {
                            wait();
                        }
                        add_alive(a, b)
                    });
                    comm.barrier();
                });
                is_bomb_of(&error, who);
            }
        }
    }
}
