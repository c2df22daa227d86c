//! Neighbourhoods against serial computation: random unsymmetric graphs, several plans at once,
//! lists with duplicates, empty lists, all forms of lists; and mistakes: bad lists, other plans,
//! ranks that leave, panic, or never come.

use crate::common::{Canary, Dice, bomb, check_usable, failure, look_alive, succeeds, team, watch};
use phalanx::dist::{Block, BlockCyclic, Distribution};
use phalanx::{Error, Neighborhood, Team, op};
use std::cell::RefCell;
use std::time::Duration;

/// Element `i` of a vector, in a case.
fn value(salt: u64, i: usize) -> u64 {
    salt.wrapping_mul(0x9e37_79b9).wrapping_add(i as u64 * 31 + 7)
}

/// Neither commutative nor associative: the order of application shows.
fn mixed(a: u64, b: u64) -> u64 {
    a.wrapping_mul(31).wrapping_add(b ^ a >> 7)
}

/// The elements that the ranks want of `n`: random indices, runs, strides, duplicates, or nothing.
fn wanted(dice: &mut Dice, p: usize, n: usize, most: usize) -> Vec<Vec<usize>> {
    let mut of_rank = |_| {
        let len = dice.below(most + 1);
        let start = dice.below(n.max(1));
        match dice.below(5) {
            _ if n == 0 => vec![],
            0 => vec![],
            1 => (0..len).map(|_| dice.below(n)).collect(),
            2 => (0..len).map(|k| (start + k) % n).collect(),
            3 => (0..len).map(|k| (start + 3 * k) % n).collect(),
            _ => (0..len).map(|k| (start + k / 2 * 5) % n).collect(),
        }
    };
    (0..p).map(&mut of_rank).collect()
}

/// All elements after all ranks' ghosts were combined into them, in the documented order.
fn assembled(
    salt: u64,
    n: usize,
    wants: &[Vec<usize>],
    ghost: impl Fn(usize, usize) -> u64,
) -> Vec<u64> {
    let mut all: Vec<u64> = (0..n).map(|i| value(salt, i)).collect();
    for (rank, wanted) in wants.iter().enumerate() {
        for (k, &i) in wanted.iter().enumerate() {
            all[i] = mixed(all[i], ghost(rank, k));
        }
    }
    all
}

fn ghost_of(rank: usize, k: usize) -> u64 {
    value(rank as u64 + 99, k)
}

/// All methods of `plan` once, beside the oracle.
fn check<D: Distribution>(
    plan: &Neighborhood,
    comm: &mut phalanx::Comm,
    shared: &D,
    wants: &[Vec<usize>],
    salt: u64,
) {
    let (rank, n) = (comm.rank(), shared.len());
    let want = &wants[rank];
    assert_eq!((plan.owned(), plan.ghosts()), (shared.count(rank), want.len()));
    let own = |salt| shared.indices(rank).map(|i| value(salt, i)).collect::<Vec<u64>>();
    let right = |salt| want.iter().map(|&i| value(salt, i)).collect::<Vec<u64>>();
    let mut ghosts = vec![0; want.len()];
    plan.gather(comm, &own(salt), &mut ghosts);
    assert_eq!(ghosts, right(salt));

    let mine = own(salt + 1);
    let sum = plan.gather_while(comm, &mine, &mut ghosts, || mine.iter().fold(0, |a, b| a ^ b));
    assert_eq!((ghosts, sum), (right(salt + 1), mine.iter().fold(0, |a, b| a ^ b)));

    // Elements of an odd size, packed where others are shown.
    let bytes: Vec<[u8; 3]> = own(salt).iter().map(|v| [*v as u8, (*v >> 8) as u8, 3]).collect();
    let mut ghosts = vec![[0; 3]; want.len()];
    plan.gather(comm, &bytes, &mut ghosts);
    assert!(ghosts.iter().zip(right(salt)).all(|(g, v)| *g == [v as u8, (v >> 8) as u8, 3]));
    plan.gather(comm, &vec![(); plan.owned()], &mut vec![(); want.len()]);

    let ghosts: Vec<u64> = (0..want.len()).map(|k| ghost_of(rank, k)).collect();
    let all = assembled(salt, n, wants, ghost_of);
    let right: Vec<u64> = shared.indices(rank).map(|i| all[i]).collect();
    let mut mine = own(salt);
    plan.scatter_with(comm, &ghosts, &mut mine, op::ordered(mixed));
    assert_eq!(mine, right);

    let mut counted = vec![0u64; plan.owned()];
    plan.scatter_add(comm, &vec![1; want.len()], &mut counted);
    let times = |i: usize| wants.iter().flatten().filter(|&&j| j == i).count() as u64;
    assert_eq!(counted, shared.indices(rank).map(times).collect::<Vec<u64>>());
}

#[test]
fn random_graphs_agree_with_a_serial_computation() {
    for p in 1..=8 {
        let team = team(p);
        for round in 0..6 * crate::common::rounds() as u64 {
            let mut dice = Dice(crate::common::seed(19) + round * 8 + p as u64);
            let n = [0, 1, p, 40, 600, 3000][dice.below(6)];
            // Up to 8 KiB from one rank: by message and in place.
            let wants: Vec<_> =
                [5, 200, 1000].map(|most| wanted(&mut dice, p, n, most)).into_iter().collect();
            let _watch = watch();
            let run = team.run(|comm| {
                let block = Block::new(n, comm.size());
                let cyclic = BlockCyclic::new(n, 2, comm.size());
                let plans = [0, 1, 2].map(|k| comm.ghosts(&block, &wants[k][comm.rank()]));
                let other = comm.ghosts(&cyclic, &wants[1][comm.rank()]);
                for again in 0..3 {
                    for (k, plan) in plans.iter().enumerate() {
                        check(plan, comm, &block, &wants[k], round + again);
                    }
                    check(&other, comm, &cyclic, &wants[1], round);
                    comm.barrier();
                }
                // In a communicator of the same ranks, reversed, beside the others.
                let rank = comm.rank();
                let mut child = comm.split(0, comm.size() - rank);
                let plan = child.ghosts(&block, &wants[2][child.rank()]);
                check(&plan, &mut child, &block, &wants[2], round);
                check(&plans[2], comm, &block, &wants[2], round);
            });
            if let Err(error) = run {
                panic!("p = {p}, round {round}, n = {n}: {error}");
            }
        }
    }
}

/// Rank 0 reads from all others, which read nothing: an unsymmetric star, and a rank that nobody
/// knows. Its calls return while all others are far behind.
#[test]
fn a_rank_waits_for_its_neighbours_alone() {
    for len in [1, 4000] {
        let (told, hear) = std::sync::mpsc::channel();
        let hear = std::sync::Mutex::new(hear);
        let _watch = watch();
        let ghosts = succeeds(&team(4), |comm| {
            let wanted: Vec<usize> =
                if comm.rank() == 0 { (len..2 * len).collect() } else { vec![] };
            let plan = comm.ghosts(&Block::new(4 * len, 4), &wanted);
            let (mine, mut ghosts) = (vec![comm.rank(); len], vec![9; wanted.len()]);
            match comm.rank() {
                // Waits for the ranks that are no neighbours of its, in its own code.
                2 => drop(hear.lock().unwrap().recv()),
                _ => (0..3).for_each(|_| plan.gather(comm, &mine, &mut ghosts)),
            }
            match comm.rank() {
                2 => (0..3).for_each(|_| plan.gather(comm, &mine, &mut ghosts)),
                0 => told.clone().send(()).unwrap(),
                _ => {}
            }
            ghosts
        });
        assert_eq!(ghosts[0], vec![1; len]);
    }
}

#[test]
fn columns_are_renumbered() {
    for p in 1..=6 {
        for n in [6usize, 97] {
            succeeds(&team(p), |comm| {
                let rows = Block::new(n, comm.size());
                let own = rows.range(comm.rank());
                let row = |i: usize| [i, i * i % n, (i * 7 + 3) % n, (i + n - 1) % n];
                let columns: Vec<usize> = own.clone().flat_map(row).collect();
                let (plan, renumbered) = comm.ghosts_of_columns(&rows, &columns);
                let mut x: Vec<u64> = own.map(|i| value(1, i)).collect();
                x.resize(plan.owned() + plan.ghosts(), 0);
                let (mine, ghosts) = x.split_at_mut(plan.owned());
                plan.gather(comm, mine, ghosts);
                let foreign: std::collections::BTreeSet<_> =
                    columns.iter().filter(|&&c| rows.owner(c) != comm.rank()).collect();
                assert_eq!(plan.ghosts(), foreign.len());
                assert!(plan.sources().all(|source| source != comm.rank()));
                let got: Vec<u64> = renumbered.iter().map(|&c| x[c]).collect();
                assert_eq!(got, columns.iter().map(|&c| value(1, c)).collect::<Vec<_>>());
            });
        }
    }
}

#[test]
fn lists_for_each_neighbour() {
    for (p, len) in (1..=5).flat_map(|p| [(p, 3), (p, 600)]) {
        succeeds(&team(p), |comm| {
            let (rank, p) = (comm.rank(), comm.size());
            // To each rank not lower: every second own element, backwards; and one more twice.
            let list = |_: usize| (0..len).rev().map(|k| 2 * k).chain([0, 0]).collect::<Vec<_>>();
            let gives: Vec<(usize, Vec<usize>)> = (rank..p).map(|q| (q, list(q))).collect();
            let n = len + 2;
            let wants: Vec<(usize, Vec<usize>)> =
                (0..=rank).map(|q| (q, (q * n..(q + 1) * n).rev().collect())).collect();
            // The last ghost is in no list.
            let ghosts_len = (rank + 1) * n + 1;
            let plan = comm.neighborhood(2 * len, &gives, ghosts_len, &wants);
            let own: Vec<u64> = (0..2 * len).map(|i| value(rank as u64, i)).collect();
            let mut ghosts = vec![77; ghosts_len];
            plan.gather(comm, &own, &mut ghosts);
            for (q, part) in ghosts[..ghosts_len - 1].chunks(n).enumerate() {
                let right = list(q).into_iter().rev().map(|i| value(q as u64, i));
                assert_eq!(part, right.collect::<Vec<u64>>());
            }
            assert_eq!(ghosts[ghosts_len - 1], 77);
            let mut sums = vec![0; 2 * len];
            plan.scatter_add(comm, &vec![1; ghosts_len], &mut sums);
            let times = |i: usize| if i == 0 { 3 } else { 1 - i % 2 } * (p - rank);
            assert_eq!(sums, (0..2 * len).map(times).collect::<Vec<_>>());
        });
    }
}

/// The text of the error of `f` on `p` ranks, and the error.
fn fails(p: usize, f: impl Fn(&mut phalanx::Comm) + Sync) -> (Error, String) {
    let team = team(p);
    let _watch = watch();
    let error = failure(team.run(f));
    check_usable(&team, 3);
    let text = error.to_string();
    (error, text)
}

#[test]
fn wrong_lists() {
    let none: [(usize, [usize; 1]); 0] = [];
    let (error, text) = fails(2, |comm| drop(comm.ghosts(&Block::new(5, 2), &[1, 5])));
    assert!(matches!(error, Error::Argument { .. }) && text.contains("element 5 of 5"), "{text}");
    let (error, text) = fails(2, |comm| drop(comm.ghosts(&Block::new(5, 3), &[1])));
    assert!(matches!(error, Error::Argument { .. }) && text.contains("among 3 ranks"), "{text}");
    // Rank 2 believes in another distribution.
    let (error, text) = fails(3, |comm| {
        let n = if comm.rank() == 2 { 300 } else { 3 };
        let wanted: &[usize] = if comm.rank() == 2 { &[150] } else { &[] };
        drop(comm.ghosts(&Block::new(n, 3), wanted));
    });
    let named = |error: &Error, pair: [usize; 2]| match *error {
        Error::Mismatch { rank, peer, .. } => [rank.min(peer), rank.max(peer)] == pair,
        _ => false,
    };
    assert!(named(&error, [1, 2]) && text.contains("element 50 of 1 that rank 1 has"), "{text}");
    // One list is shorter, or not there at all.
    for give in [&[0usize, 1, 2][..], &[]] {
        let (error, text) = fails(3, |comm| match comm.rank() {
            1 => drop(comm.neighborhood(9, &[(2, give)], 0, &none)),
            2 => drop(comm.neighborhood(9, &none, 9, &[(1, [3, 4])])),
            _ => drop(comm.neighborhood(9, &none, 0, &none)),
        });
        let words = format!("the owner lists {}, the reader 2", give.len());
        assert!(named(&error, [1, 2]) && text.contains(&words), "{text}");
    }
    for (list, words) in [
        ((5, [0]), "a list for rank 5, which is none of 2"),
        ((1, [4]), "element 4 of 4, in the list for rank 1"),
    ] {
        let (error, text) = fails(2, |comm| drop(comm.neighborhood(4, &[list], 0, &none)));
        assert!(matches!(error, Error::Argument { .. }) && text.contains(words), "{text}");
    }
    for (lists, words) in [
        (vec![(0, vec![0]), (0, vec![1])], "two lists for rank 0"),
        (vec![(0, vec![1]), (1, vec![1])], "ghost 1 twice: in the lists for rank 0 and 1"),
        (vec![(0, vec![1, 1])], "ghost 1 twice"),
        (vec![(1, vec![2])], "ghost 2 of 2"),
    ] {
        let (error, text) = fails(2, |comm| drop(comm.neighborhood(4, &none, 2, &lists)));
        assert!(matches!(error, Error::Argument { .. }) && text.contains(words), "{text}");
    }
}

#[test]
fn wrong_arguments() {
    let ring = |comm: &mut phalanx::Comm| {
        let p = comm.size();
        comm.ghosts(&Block::new(p, p), &[(comm.rank() + 1) % p])
    };
    let (error, text) = fails(3, |comm| {
        let plan = ring(comm);
        let n = if comm.rank() == 1 { 2 } else { 1 };
        plan.gather(comm, &[1], &mut vec![0; n]);
    });
    assert!(matches!(error, Error::Argument { rank: 1, .. }), "{text}");
    assert!(text.contains("1 own elements and 2 ghosts; the plan made at"), "{text}");
    assert!(text.contains("has 1 and 1"), "{text}");
    // Another communicator, of the same ranks; by mem::swap, too.
    let (error, text) = fails(2, |comm| {
        let plan = ring(comm);
        let mut child = comm.split(0, comm.rank());
        plan.gather(&mut child, &[1], &mut [0]);
    });
    assert!(matches!(error, Error::Argument { .. }), "{text}");
    assert!(text.contains("belongs to another communicator"), "{text}");
    let (error, text) = fails(2, |comm| {
        let mut child = comm.split(0, comm.rank());
        let plan = ring(&mut child);
        std::mem::swap(comm, &mut child);
        plan.scatter_add(comm, &[1], &mut [0]);
        plan.gather(&mut child, &[1], &mut [0]);
    });
    assert!(text.contains("belongs to another communicator"), "{text}");
    assert!(matches!(error, Error::Argument { .. } | Error::Stale { .. }), "{text}");
}

/// A plan is kept on its thread beyond its run, and used in the next.
#[test]
fn a_plan_of_an_earlier_run() {
    std::thread_local! {
        static KEPT: RefCell<Option<Neighborhood>> = const { RefCell::new(None) };
    }
    let team = team(3);
    let make = |comm: &mut phalanx::Comm| {
        let plan = comm.ghosts(&Block::new(3000, 3), &(0..3000).collect::<Vec<_>>());
        KEPT.set(Some(plan));
    };
    team.run(|comm| make(comm)).unwrap();
    let error = failure(team.run(|comm| {
        let plan = KEPT.take().unwrap();
        plan.gather(comm, &[1; 1000], &mut [0; 3000]);
    }));
    let text = error.to_string();
    assert!(matches!(error, Error::Argument { .. }) && text.contains("run that is over"), "{text}");
    check_usable(&team, 1);
    // Or simply dropped, after the team is gone.
    team.run(|comm| make(comm)).unwrap();
    drop(team);
    KEPT.take();
}

#[test]
fn ranks_that_disagree() {
    let both = |comm: &mut phalanx::Comm, len: usize| {
        let p = comm.size();
        let other = |by: usize| {
            let start = (comm.rank() + by) % p * len;
            (start..start + len).collect::<Vec<_>>()
        };
        let (one, two) = (other(1), other(2));
        let block = Block::new(p * len, p);
        (comm.ghosts(&block, &one), comm.ghosts(&block, &two))
    };
    for (p, len) in [(2, 1), (2, 1000), (3, 1), (3, 1000), (5, 300)] {
        let zeros = || vec![0u64; len];
        let mismatch = |words: &str, f: &(dyn Fn(&mut phalanx::Comm) + Sync)| {
            let (error, text) = fails(p, f);
            assert!(matches!(error, Error::Mismatch { .. }), "p = {p}, {len}: {text}");
            assert!(text.contains(words), "p = {p}, {len}: {words}: {text}");
        };
        mismatch("plan: expected", &|comm| {
            let (one, two) = both(comm, len);
            let plan = if comm.rank() == 1 { &two } else { &one };
            plan.gather(comm, &zeros(), &mut zeros());
        });
        mismatch("element type", &|comm| {
            let (one, _) = both(comm, len);
            match comm.rank() {
                1 => one.gather(comm, &vec![0i64; len], &mut vec![0i64; len]),
                _ => one.gather(comm, &zeros(), &mut zeros()),
            }
        });
        mismatch("operation", &|comm| {
            let (one, _) = both(comm, len);
            match comm.rank() {
                1 => one.scatter_add(comm, &zeros(), &mut zeros()),
                _ => one.gather(comm, &zeros(), &mut zeros()),
            }
        });
        mismatch("operator", &|comm| {
            let (one, _) = both(comm, len);
            match comm.rank() {
                1 => one.scatter_with(comm, &zeros(), &mut zeros(), op::Max),
                _ => one.scatter_with(comm, &zeros(), &mut zeros(), op::Min),
            }
        });
        mismatch("operation", &|comm| {
            let (one, _) = both(comm, len);
            match comm.rank() {
                1 => comm.barrier(),
                _ => one.gather(comm, &zeros(), &mut zeros()),
            }
        });
    }
    // A rank without neighbours that leaves its call out: noticed at the end.
    let (_, text) = fails(3, |comm| {
        let wanted: &[usize] = if comm.rank() == 0 { &[1] } else { &[] };
        let plan = comm.ghosts(&Block::new(3, 3), wanted);
        if comm.rank() != 2 {
            plan.gather(comm, &[1], &mut vec![0; wanted.len()]);
        }
    });
    assert!(text.contains("1 collective call(s) more"), "{text}");
}

/// Everybody has all elements as ghosts; `n` of each rank.
fn everything(comm: &mut phalanx::Comm, n: usize) -> (Neighborhood, Canary, Canary) {
    let p = comm.size();
    let plan = comm.ghosts(&Block::new(n * p, p), &(0..n * p).collect::<Vec<_>>());
    (plan, Canary(vec![comm.rank() as u64; n]), Canary(vec![0; n * p]))
}

#[test]
fn ranks_that_leave_panic_or_never_come() {
    for (p, n) in [(2, 3), (2, 400), (4, 3), (4, 400)] {
        for odd in 0..p {
            let (error, text) = fails(p, |comm| {
                let (plan, own, mut all) = everything(comm, n);
                if comm.rank() != odd {
                    plan.gather(comm, &own.0, &mut all.0);
                    look_alive(&all.0);
                    comm.barrier();
                }
            });
            assert!(matches!(error, Error::Left { peer, .. } if peer == odd), "{text}");
            let (error, text) = fails(p, |comm| {
                let (plan, own, mut all) = everything(comm, n);
                let work = || if comm_rank(&own) == odd { bomb() } else { 0 };
                plan.gather_while(comm, &own.0, &mut all.0, work);
                look_alive(&all.0);
                (0..3).for_each(|_| plan.gather(comm, &own.0, &mut all.0));
            });
            assert!(matches!(error, Error::Panicked { rank, .. } if rank == odd), "{text}");
            // The operator, in its k-th use: peers read this rank's memory then.
            for at in [0, n, 2 * n - 1] {
                let (error, text) = fails(p, |comm| {
                    let (plan, mut own, all) = everything(comm, n);
                    let (rank, used) = (comm.rank(), std::sync::atomic::AtomicUsize::new(0));
                    let op = op::ordered(|a: u64, b: u64| {
                        let count = used.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if rank == odd && count == at {
                            bomb()
                        }
                        crate::common::add_alive(a, b)
                    });
                    plan.scatter_with(comm, &all.0, &mut own.0, op);
                    (0..2).for_each(|_| plan.scatter_add(comm, &all.0, &mut own.0));
                });
                assert!(matches!(error, Error::Panicked { rank, .. } if rank == odd), "{text}");
            }
        }
    }
}

/// The rank of these elements.
fn comm_rank(own: &Canary) -> usize {
    own.0[0] as usize
}

#[test]
fn a_deadline_passes() {
    let limit = Duration::from_millis(100);
    for n in [3, 400] {
        let team = Team::builder().ranks(3).deadline(limit).build().unwrap();
        let _watch = watch();
        let error = failure(team.run(|comm| {
            let (plan, own, mut all) = everything(comm, n);
            if comm.rank() == 1 {
                std::thread::sleep(5 * limit);
            }
            plan.gather(comm, &own.0, &mut all.0);
        }));
        let text = error.to_string();
        assert!(matches!(error, Error::Deadline { peer: 1, .. }), "{text}");
        check_usable(&team, 2);
    }
}

/// Plans come and go, on each rank in another order, while others are in use.
#[test]
fn plans_come_and_go() {
    let _watch = watch();
    succeeds(&team(4), |comm| {
        let mut kept: Vec<Neighborhood> = Vec::new();
        for round in 0..60usize {
            let n = [1, 500][round % 2];
            let block = Block::new(4 * n, 4);
            let next = (comm.rank() + 1 + round % 3) % 4 * n;
            let plan = comm.ghosts(&block, &(next..next + n).collect::<Vec<_>>());
            let mut ghosts = vec![0; n];
            plan.gather(comm, &vec![comm.rank(); n], &mut ghosts);
            assert_eq!(ghosts, vec![next / n; n]);
            kept.push(plan);
            if kept.len() > 3 {
                drop(kept.swap_remove((comm.rank() + round) % 4));
            }
        }
    });
}

/// Of plans with numbers that have the same low bits, a message must not pass for the other's.
#[test]
fn plans_made_far_apart_are_told_apart() {
    for apart in [2048, 4096] {
        let _watch = watch();
        let run = team(2).run(|comm| {
            let (parts, theirs) = (Block::new(4, 2), 2 * (1 - comm.rank()));
            let first = comm.ghosts(&parts, &[theirs]);
            (1..apart).for_each(|_| comm.barrier());
            let second = comm.ghosts(&parts, &[theirs + 1]);
            let plan = if comm.rank() == 0 { first } else { second };
            plan.gather(comm, &[1, 2], &mut [0]);
            comm.barrier();
        });
        let text = failure(run).to_string();
        assert!(text.contains("plan: expected ") && !text.contains("mesh"), "{text}");
    }
}
