//! Any call moves everything that its rank has started: ranks that test in different orders, or
//! make other calls meanwhile, come to an end.

use crate::common::{Dice, succeeds, team, watch};
use phalanx::dist::{Block, Halo};
use phalanx::{Comm, OpenRequest, Requests, Tag, Team, call, op};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Lengths of brief calls, and of one that needs each rank's part of the work.
const LENGTHS: [usize; 3] = [1, 70, 1500];

/// Until `word` has this value; makes no call meanwhile.
fn await_word(word: &AtomicUsize, value: usize, what: &str) {
    let since = Instant::now();
    while word.load(SeqCst) < value {
        assert!(since.elapsed() < Duration::from_secs(60), "{what} has not moved the others");
        std::thread::yield_now();
    }
}

#[test]
fn ranks_that_test_in_other_orders_end() {
    let watch = watch();
    for p in 2..=4 {
        for n in LENGTHS {
            for seed in 0..6 {
                watch.case(format!("{p} ranks, {n} elements, seed {seed}"));
                succeeds(&team(p), |comm| {
                    let (rank, p) = (comm.rank(), comm.size() as u64);
                    let mut x = vec![vec![1u64; n]; 4];
                    let counts = vec![n; comm.size()];
                    let (mine, mut all) = (vec![rank as u64; n], vec![9; n * comm.size()]);
                    let mut again = vec![2u64; n];
                    let mut dice = Dice(seed * 64 + rank as u64);
                    comm.requests(|scope| {
                        let persistent = scope.set_up(call::all_reduce(&mut again, op::Sum));
                        let mut open: Vec<_> = x
                            .iter_mut()
                            .map(|x| scope.start(call::all_reduce(x, op::Sum)))
                            .collect();
                        let mut varied =
                            scope.start(call::all_gather_varied_into(&mine, &mut all, &counts));
                        let mut started = scope.start(persistent);
                        let mut order = [0, 1, 2, 3, 4, 5];
                        for i in 0..6 {
                            order.swap(i, i + dice.below(6 - i));
                        }
                        for i in order {
                            match i {
                                4 => while !scope.test(&mut varied) {},
                                5 => while !scope.test(&mut started) {},
                                i => while !scope.test(&mut open[i]) {},
                            }
                        }
                        assert_eq!(scope.wait(started).buf()[n - 1], 2 * p);
                        assert_eq!(scope.wait(varied)[n], 1);
                        for sum in scope.wait_all(open) {
                            assert_eq!(sum[n - 1], p);
                        }
                    });
                });
            }
        }
    }
}

/// A rank and its communicators, while calls are under way.
struct Busy<'a, 'scope, 'env> {
    scope: &'a mut Requests<'scope, 'env>,
    /// Of this rank alone, and so no call there ever waits.
    own: &'a mut Comm,
    done: Option<OpenRequest<'scope, &'env mut [u64]>>,
    awaited: Option<OpenRequest<'scope, (&'env mut [u8], phalanx::Status)>>,
}

type Call = fn(&mut Busy<'_, '_, '_>);

/// Calls that are complete at their first look, or do not wait.
const CALLS: &[(&str, Call)] = &[
    ("a test", |it| {
        let mut request = it.awaited.take().unwrap();
        it.scope.test(&mut request);
        it.awaited = Some(request);
    }),
    ("a test of what is complete", |it| {
        let mut request = it.done.take().unwrap();
        assert!(it.scope.test(&mut request));
        it.done = Some(request);
    }),
    ("wait_any of what is complete", |it| {
        assert_eq!(it.scope.wait_any(it.done.as_slice()), 0);
    }),
    ("try_probe", |it| assert!(it.scope.comm().try_probe(0, Tag::Any).is_none())),
    ("try_probe elsewhere", |it| assert!(it.own.try_probe(0, Tag::Any).is_none())),
    ("check", |it| it.scope.comm().check()),
    ("check elsewhere", |it| it.own.check()),
    ("send_tagged", |it| it.own.send_tagged(&[1], 0, 0)),
    ("send_owned", |it| it.own.send_owned(String::new(), 0, 0)),
    ("send", |it| it.scope.comm().send(&[1], 0)),
    ("barrier", |it| it.own.barrier()),
    ("all_reduce", |it| it.own.all_reduce(&mut [1u64; 2], op::Sum)),
    ("all_reduce of many", |it| it.own.all_reduce(&mut vec![1u64; 9999], op::Sum)),
    ("all_gather_varied_into", |it| it.own.all_gather_varied_into(&[1], &mut [0], &[1])),
    ("shift", |it| it.own.shift(&mut [1, 2], 0)),
    ("with_peers", |it| assert_eq!(it.own.with_peers(&[1], |all| all[0][0]), 1)),
    ("split", |it| drop(it.own.split(0, 0))),
    ("a window", |it| {
        let mut window = it.own.shared::<u8>(1);
        window.update(it.own, |mine| mine[0] = 1);
    }),
    ("an atomic window", |it| {
        let mut window = it.own.shared_atomic::<u64>(1);
        window.read(it.own, |_| ());
    }),
    ("a halo", |it| {
        let halo = Halo::new(&[3], 1);
        let mut u = vec![1.0; halo.len()];
        it.own.cart(&[1], &[true]).exchange_halo(&mut u, &halo);
    }),
    ("a neighbourhood", |it| {
        let plan = it.own.ghosts(&Block::new(2, 1), &[0, 1]);
        plan.gather(it.own, &[1, 2], &mut [0; 2]);
    }),
    ("a start", |it| {
        let me = it.scope.comm().rank();
        drop(it.scope.start(call::send_tagged::<u8, _>(&[], me, 3)));
    }),
    ("a start elsewhere", |it| it.own.requests(|scope| drop(scope.start(call::sum([1]))))),
    ("a run of its own", |_| drop(phalanx::run(1, |_| ()))),
    ("a communicator of its own", |_| {
        let mut alone = Team::external(1).unwrap().pop().unwrap();
        alone.barrier();
    }),
];

/// Rank 1 makes one call after rank 0 has started, and then none until that has waited for the
/// calls that both, and a third rank that only waits, have started.
#[test]
fn one_call_of_any_kind_moves_what_was_started() {
    let watch = watch();
    for (name, call) in CALLS {
        for n in [1, 1500] {
            watch.case(format!("{name}, {n} elements"));
            let (started, over) = (AtomicUsize::new(0), AtomicUsize::new(0));
            succeeds(&team(3), |comm| {
                let rank = comm.rank();
                let mut own = comm.split(rank, 0);
                let (mut x, mut y, mut z) = (vec![1u64; n], [1u64; 2], [0u8]);
                comm.requests(|scope| {
                    let done = scope.start(call::all_reduce(&mut y, op::Sum));
                    scope.comm().barrier();
                    let mut done = Some(done);
                    if let Some(done) = &mut done {
                        while !scope.test(done) {}
                    }
                    let sum = scope.start(call::all_reduce(&mut x, op::Sum));
                    started.fetch_add(1, SeqCst);
                    if rank == 1 {
                        let awaited = Some(scope.start(call::recv_tagged(&mut z, 0, 9)));
                        await_word(&started, 3, name);
                        let mut busy = Busy { scope, own: &mut own, done, awaited };
                        call(&mut busy);
                        await_word(&over, 2, name);
                        let awaited = busy.awaited.take();
                        assert_eq!(scope.wait(awaited.unwrap()).0, [7]);
                        assert_eq!(scope.wait(sum)[n - 1], 3);
                    } else {
                        assert_eq!(scope.wait(sum)[n - 1], 3);
                        over.fetch_add(1, SeqCst);
                        if rank == 0 {
                            scope.comm().send_tagged(&[7u8], 1, 9);
                            if *name == "send" {
                                scope.comm().recv(&mut [0], 1);
                            }
                        }
                    }
                    // The messages that the call has left to itself.
                    while let Some(status) = own.try_probe(0, Tag::Any) {
                        match *name {
                            "send_owned" => drop(own.recv_owned::<String>(0, status.tag)),
                            _ => drop(own.recv_vec::<i32>(0, status.tag)),
                        }
                    }
                });
                if rank == 1 && *name == "a start" {
                    comm.recv_vec::<u8>(1, 3);
                }
            });
        }
    }
}

/// The other rank waits for a call that this one has started in a call that it never gets out of
/// before.
#[test]
fn a_rank_that_tests_moves_one_that_is_blocked() {
    type Block = fn(&mut Comm, &mut Comm);
    const BLOCKS: &[Block] = &[
        |comm, _| comm.barrier(),
        |comm, _| drop(comm.recv_vec::<u8>(1, 5)),
        |comm, _| comm.recv(&mut [0u8], 1),
        |_, pair| assert_eq!(pair.with_peers(&[1], |all| all[1][0]), 1),
        |_, pair| {
            let mut window = pair.shared::<u8>(1);
            window.update(pair, |mine| mine[0] = 1);
        },
    ];
    let watch = watch();
    for (k, block) in BLOCKS.iter().enumerate() {
        for n in LENGTHS {
            watch.case(format!("block {k}, {n} elements"));
            succeeds(&team(2), |comm| {
                let (rank, mut pair) = (comm.rank(), comm.split(0, 0));
                let (mut x, mut y) = (vec![1u64; n], vec![1u64; n]);
                comm.requests(|scope| {
                    let (mut a, mut b) = (
                        scope.start(call::all_reduce(&mut x, op::Sum)),
                        scope.start(call::all_reduce(&mut y, op::Max)),
                    );
                    if rank == 0 {
                        block(scope.comm(), &mut pair);
                    } else {
                        while !scope.test(&mut b) {}
                        while !scope.test(&mut a) {}
                        match k {
                            1 => scope.comm().send_tagged(&[1u8], 0, 5),
                            2 => scope.comm().send(&[1u8], 0),
                            _ => block(scope.comm(), &mut pair),
                        }
                    }
                    assert_eq!((scope.wait(a)[n - 1], scope.wait(b)[0]), (2, 1));
                });
            });
        }
    }
}

/// Ranks 1 and 2 meet again and again, and seldom wait for long, until rank 0 has the awaited
/// message.
#[test]
fn a_loop_of_calls_that_are_quickly_over_moves_what_was_started() {
    let _watch = watch();
    for n in LENGTHS {
        let over = AtomicUsize::new(0);
        succeeds(&team(3), |comm| {
            let (rank, mut part) = (comm.rank(), comm.split(comm.rank().min(1), 0));
            let (mut x, mut y) = (vec![1u64; n], vec![1u64; n]);
            comm.requests(|scope| {
                let sum = scope.start(call::all_reduce(&mut x, op::Sum));
                // In a scope of another communicator, which is nested.
                part.requests(|inner| {
                    let other = inner.start(call::all_reduce(&mut y, op::Sum));
                    let mut is_over = rank == 0;
                    while !is_over {
                        let seen = over.load(SeqCst) as u64;
                        is_over = inner.comm().all_reduce_values([seen], op::Min)[0] > 0;
                    }
                    inner.wait(other);
                });
                assert_eq!(scope.wait(sum)[n - 1], 3);
                over.store(1, SeqCst);
            });
        });
    }
}

/// More calls than there are cards, which rank 0 starts before rank 1 has started any but the
/// first.
#[test]
fn a_rank_that_makes_other_calls_frees_lanes() {
    let _watch = watch();
    for n in LENGTHS {
        let over = AtomicUsize::new(0);
        succeeds(&team(2), |comm| {
            let (rank, mut own) = (comm.rank(), comm.split(comm.rank(), 0));
            let mut x = vec![vec![1u64; n]; 65];
            let mut all = x.iter_mut();
            comm.requests(|scope| {
                let first = scope.start(call::all_reduce(all.next().unwrap(), op::Sum));
                if rank == 1 {
                    while over.load(SeqCst) == 0 {
                        own.barrier();
                    }
                }
                let open: Vec<_> = all.map(|x| scope.start(call::all_reduce(x, op::Sum))).collect();
                over.store(1, SeqCst);
                assert_eq!(scope.wait(first)[n - 1], 2);
                assert_eq!(scope.wait_all(open)[63][0], 2);
            });
        });
    }
}

#[test]
fn threads_of_the_programs_own_move_what_they_have_started() {
    let _watch = watch();
    for n in LENGTHS {
        // Two teams of the same threads.
        let (first, second) = (Team::external(3).unwrap(), Team::external(3).unwrap());
        std::thread::scope(|s| {
            for (mut a, mut b) in first.into_iter().zip(second) {
                s.spawn(move || {
                    let (mut x, mut y) = (vec![1u64; n], vec![1u64; n]);
                    let rank = a.rank();
                    a.requests(|outer| {
                        let mut sum = outer.start(call::all_reduce(&mut x, op::Sum));
                        b.requests(|inner| {
                            let mut other = inner.start(call::all_reduce(&mut y, op::Sum));
                            match rank {
                                0 => while !outer.test(&mut sum) {},
                                _ => while !inner.test(&mut other) {},
                            }
                        });
                        if rank == 1 {
                            outer.comm().send_tagged(&[1], 0, 0);
                        } else if rank == 0 {
                            while outer.comm().try_probe(1, 0).is_none() {}
                            outer.comm().recv_tagged(&mut [0], 1, 0);
                        }
                        assert_eq!(outer.wait(sum)[n - 1], 3);
                    });
                });
            }
        });
    }
}

/// Calls on several communicators, completed by each rank in an order and in ways of its own; in
/// between a rank gives another one leave to go on, which that awaits in one of several ways.
#[test]
fn random_orders_end() {
    const STEPS: usize = 24;
    let watch = watch();
    let first: u64 = std::env::var("SEED").map_or(39, |it| it.parse().unwrap());
    for seed in first..first + 60 {
        let p = 2 + seed as usize % 3;
        let case = format!("seed {seed}, {p} ranks");
        println!("{case}");
        watch.case(case);
        succeeds(&team(p), |comm| {
            let (rank, mut common) = (comm.rank(), Dice(seed));
            let mut own = Dice(seed * 1000 + rank as u64);
            let (mut all, mut half) = (comm.split(0, p - rank), comm.split(rank % 2, 0));
            // The started calls are the same on all ranks; so is the order in which ranks let
            // others go on.
            let lens: Vec<usize> = (0..3 * STEPS).map(|_| common.of(&LENGTHS)).collect();
            let moves: Vec<_> = (0..STEPS).map(|_| (common.below(p), common.below(p))).collect();
            let mut data: Vec<_> = lens.iter().map(|&n| vec![1u64; n]).collect();
            let (a, rest) = data.split_at_mut(STEPS);
            let (b, c) = rest.split_at_mut(STEPS);
            let mut leave = [[0u8]; STEPS];
            let mut leave = leave.iter_mut();
            comm.requests(|scope| {
                all.requests(|of_all| {
                    half.requests(|of_half| {
                        let mut open: Vec<_> = a
                            .iter_mut()
                            .map(|x| Some(scope.start(call::all_reduce(x, op::Sum))))
                            .collect();
                        let mut others: Vec<_> = b
                            .iter_mut()
                            .map(|x| Some(of_all.start(call::all_reduce(x, op::Max))))
                            .collect();
                        let mut parts: Vec<_> = c
                            .iter_mut()
                            .map(|x| Some(of_half.start(call::all_reduce(x, op::Sum))))
                            .collect();
                        for (step, &(from, to)) in moves.iter().enumerate() {
                            if rank == from && rank != to {
                                let i = own.below(STEPS);
                                match own.below(3) {
                                    0 => finish(scope, &mut open[i], &mut own),
                                    1 => finish(of_all, &mut others[i], &mut own),
                                    _ => finish(of_half, &mut parts[i], &mut own),
                                }
                                scope.comm().send_tagged(&[step as u8], to, step as u32);
                            } else if rank == to && rank != from {
                                let room = leave.next().unwrap();
                                assert_eq!(
                                    permitted(scope, room, (from, step as u32), &mut own),
                                    step as u8
                                );
                            }
                        }
                    });
                });
            });
        });
    }
}

/// Completes a request, if it was not before, and keeps it.
fn finish<'s, 'e>(
    scope: &mut Requests<'s, 'e>,
    request: &mut Option<OpenRequest<'s, &'e mut [u64]>>,
    dice: &mut Dice,
) {
    let Some(mut it) = request.take() else { return };
    match dice.below(4) {
        0 => _ = scope.wait(it),
        1 => {
            assert_eq!(scope.wait_any(std::slice::from_ref(&it)), 0);
            *request = Some(it);
        }
        2 => {
            while !scope.test(&mut it) {
                scope.comm().check();
            }
            *request = Some(it);
        }
        _ => {
            while !scope.test(&mut it) {}
            *request = Some(it);
        }
    }
}

/// Receives the message that lets this rank go on.
fn permitted<'e>(
    scope: &mut Requests<'_, 'e>,
    room: &'e mut [u8; 1],
    (from, tag): (usize, u32),
    dice: &mut Dice,
) -> u8 {
    match dice.below(4) {
        0 => scope.comm().recv_tagged(room, from, tag).source,
        1 => {
            while scope.comm().try_probe(from, tag).is_none() {}
            scope.comm().recv_tagged(room, from, tag).source
        }
        2 => {
            let mut request = scope.start(call::recv_tagged(room, from, tag));
            while !scope.test(&mut request) {}
            return scope.wait(request).0[0];
        }
        _ => {
            let request = scope.start(call::recv_tagged(room, from, tag));
            return scope.wait(request).0[0];
        }
    };
    room[0]
}

/// Rank 1 has started short receives, which no other rank knows of, before so much has come to it
/// that rank 2 does not ask for yet, that short messages are not copied any more.
#[test]
fn a_rank_that_makes_other_calls_receives_what_is_not_copied() {
    const MANY: usize = 4200;
    const FEW: usize = 12;
    let _watch = watch();
    let (ready, flooded, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    succeeds(&team(3), |comm| {
        let (rank, mut own) = (comm.rank(), comm.split(comm.rank(), 0));
        for _ in 0..2 {
            match rank {
                0 => comm.send_tagged(&[1u8], 1, 0),
                1 => _ = comm.recv_tagged(&mut [0u8], 0, 0),
                _ => {}
            }
            comm.barrier();
        }
        let (long, mut short) = (vec![2u8; 16 << 10], [[0u8]; FEW]);
        comm.requests(|scope| match rank {
            0 => {
                await_word(&flooded, 1, "rank 2");
                for k in 0..FEW {
                    scope.comm().send_tagged(&[k as u8], 1, 1);
                }
                over.store(1, SeqCst);
            }
            1 => {
                let all: Vec<_> =
                    short.iter_mut().map(|it| scope.start(call::recv_tagged(it, 0, 1))).collect();
                ready.store(1, SeqCst);
                while over.load(SeqCst) == 0 {
                    scope.comm().check();
                    own.barrier();
                }
                for (k, request) in all.into_iter().enumerate() {
                    assert_eq!(scope.wait(request).0, [k as u8]);
                }
                for _ in 0..MANY {
                    assert_eq!(scope.comm().recv_vec::<u8>(2, 2).0.len(), 16 << 10);
                }
            }
            _ => {
                await_word(&ready, 1, "rank 1");
                for _ in 0..MANY {
                    std::mem::forget(scope.start(call::send_tagged(&long, 1, 2)));
                }
                flooded.store(1, SeqCst);
            }
        });
    });
}
