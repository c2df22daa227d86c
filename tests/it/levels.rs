//! Hierarchical collectives on real threads: with given groups, and with the automatic choice on a
//! simulated machine with levels. Their results do not depend on the cores of the ranks.

use crate::common::{OneCall, compose, map, sizes};
use phalanx::op;
use phalanx::placement::{Placement, assign};
use phalanx::schedule::{Hierarchy, Operation};
use phalanx::tuning::{LevelModel, MachineCosts};
use phalanx::{Algorithm, Comm, Error, Team};

fn value(rank: usize, i: usize) -> f64 {
    (rank * 31 + i * 7 % 11) as f64
}

/// Every operation of `n` elements, against a serial computation.
fn all_operations(comm: &mut Comm, n: usize, root: usize) {
    for it in OneCall::all(comm, n, &[root], &[1]) {
        it.check(comm, op::Sum, &value);
        if it.operation.combines() {
            it.check(comm, op::Max, &value);
        }
        // A reduce-scatter over groups has no rank order.
        if it.operation.combines() && it.operation != Operation::ReduceScatter {
            it.check(comm, op::ordered(compose), &map(n));
        }
    }
}

#[test]
fn every_operation_over_given_groups() {
    for (p, groups) in [
        (8, Hierarchy::even(8, &[4])),
        (8, Hierarchy::even(8, &[2, 2]).degrees(&[0, 1])),
        (16, Hierarchy::even(16, &[4, 2]).degrees(&[2])),
        (16, Hierarchy::even(16, &[8])),
        (7, Hierarchy::even(7, &[3]).degrees(&[2, 2])),
        (1, Hierarchy::even(1, &[4])),
    ] {
        let team = Team::builder().ranks(p).build().unwrap();
        for n in [0, 1, 5, 3000] {
            team.run(|comm| {
                for root in [0, p / 2, p - 1] {
                    all_operations(&mut comm.groups(&groups), n, root);
                }
            })
            .unwrap_or_else(|e| panic!("{p} ranks, {groups}, {n} elements: {e}"));
        }
    }
}

#[test]
fn groups_of_ranks_that_are_not_neighbours() {
    let groups = Hierarchy::new(8, &[(0..8).map(|r| r % 3).collect()]).unwrap();
    phalanx::run(8, |comm| {
        let mut comm = comm.groups(&groups);
        comm.barrier();
        let mut x = [1.5, comm.rank() as f64];
        comm.all_reduce(&mut x, op::Sum);
        assert_eq!(x, [12.0, 28.0]);
        let mut x = [comm.rank()];
        comm.broadcast(&mut x, 5);
        assert_eq!(x, [5]);
        let mut all = [0; 8];
        let mine = [comm.rank()];
        comm.all_gather_into(&mine, &mut all);
        assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7]);
    })
    .unwrap();
    // Leader by leader would not be rank order.
    let error = phalanx::run(8, |comm| {
        comm.groups(&groups).all_reduce(&mut [(1, 1)], op::ordered(compose));
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("AR-HIER does not combine in rank order"), "{error}");
}

#[test]
fn groups_that_do_not_fit_are_refused() {
    let error = phalanx::run(4, |comm| comm.groups(&Hierarchy::even(8, &[4])).barrier());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("groups of 8 ranks do not fit a call of 4"), "{error}");
    let different = phalanx::run(4, |comm| {
        let size = if comm.rank() == 3 { 3 } else { 2 };
        comm.groups(&Hierarchy::even(4, &[size])).barrier();
    });
    assert!(different.is_err());
}

#[test]
fn each_hierarchical_algorithm_can_be_forced_without_groups() {
    for p in [1, 2, 6, 9] {
        phalanx::run(p, |comm| {
            comm.with(Algorithm::BAR_HIER).barrier();
            let mut x = vec![1; 100];
            comm.with(Algorithm::AR_HIER_SPLIT).all_reduce(&mut x, op::Sum);
            assert_eq!(x, vec![comm.size(); 100]);
        })
        .unwrap();
    }
}

fn rome(p: usize, placement: &Placement) -> LevelModel {
    let costs = MachineCosts::named("epyc-7742-2s-nps4").unwrap();
    let machine = costs.machine().unwrap();
    let there = assign(placement, &machine, p).unwrap();
    LevelModel::new(&machine, &there, costs).unwrap().expect("a machine with levels")
}

/// `auto` on a machine with levels that these threads only pretend to be on: right results whatever
/// is chosen, also in sub-communicators.
#[test]
fn auto_on_levels_is_right() {
    for (p, placement) in
        [(8, Placement::Scatter), (16, Placement::Compact), (5, Placement::Scatter)]
    {
        let team = Team::builder().ranks(p).model(rome(p, &placement)).build().unwrap();
        for n in [1, 40, 700] {
            team.run(|comm| {
                for root in 0..2 {
                    all_operations(comm, n, root);
                }
                let mut half = comm.split(comm.rank() % 2, 0);
                all_operations(&mut half, n, 0);
            })
            .unwrap_or_else(|e| panic!("{p} ranks, {placement}, {n}: {e}"));
        }
    }
}

/// Recursive multiplying on any number of ranks, without groups and over a machine's: sums with the
/// same bits everywhere, in rank order, of few bytes and of many, and nobody leaves early.
#[test]
fn any_number_of_ranks_multiplies() {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    let far =
        [(13, Some(rome(13, &Placement::Compact))), (23, Some(rome(23, &Placement::Compact)))];
    let near = (1..=33).chain([47, 61]).map(|p| (p, None));
    for (p, model) in near.chain(far).filter(|(p, _)| sizes([*p]).next().is_some()) {
        let team = Team::builder().ranks(p);
        let team = match model {
            Some(model) => team.model(model),
            None => team,
        };
        let team = team.build().unwrap();
        let arrived = AtomicUsize::new(0);
        let bits = team.run(|comm| {
            let (rank, p) = (comm.rank(), comm.size());
            let mut multiply = comm.with(Algorithm::AR_RADIX);
            let mut all = Vec::new();
            for n in [0, 1, 40, 700] {
                let mut x: Vec<f64> = (0..n).map(|i| 0.1 * value(rank, i) + 1e15).collect();
                multiply.all_reduce(&mut x, op::Sum);
                all.extend(x.iter().map(|x| x.to_bits()));
                let it = OneCall::new(&*multiply, Operation::AllReduce, 0, n);
                it.check(&mut *multiply, op::Max, &value);
                it.check(&mut *multiply, op::ordered(compose), &map(n));
            }
            drop(multiply);
            for round in 1..=3 {
                arrived.fetch_add(1, SeqCst);
                comm.with(Algorithm::BAR_RADIX).barrier();
                assert!(arrived.load(SeqCst) >= round * p);
                comm.with(Algorithm::BAR_RADIX).barrier();
            }
            all
        });
        let bits = bits.unwrap_or_else(|e| panic!("{p} ranks: {e}"));
        assert!(bits.iter().all(|own| *own == bits[0]), "{p} ranks");
    }
    // Ranks dealt over packages: group by group is not rank order.
    let team = Team::builder().ranks(5).model(rome(5, &Placement::Scatter)).build().unwrap();
    let error = team.run(|comm| {
        let mut x = [comm.rank()];
        comm.with(Algorithm::AR_RADIX).all_reduce(&mut x, op::Sum);
        assert_eq!(x, [10]);
        comm.with(Algorithm::AR_RADIX).all_reduce(&mut [(1, 1)], op::ordered(compose));
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("AR-RADIX does not combine in rank order"), "{error}");
}

/// Ranks whose own part takes its turn send messages to themselves; tagged messages that nobody has
/// taken yet are none of those.
#[test]
fn messages_to_oneself_pass_tagged_ones() {
    let p = 3;
    let next = phalanx::run(p, |comm| {
        let (rank, to, from) = (comm.rank(), (comm.rank() + 1) % p, (comm.rank() + p - 1) % p);
        for i in 0..20_u32 {
            comm.send_tagged(&[rank as u32 + i], to, i);
            let mut x = [(2, rank as u64)];
            comm.with(Algorithm::AR_RADIX).all_reduce(&mut x, op::ordered(compose));
            assert_eq!(Some(x[0]), (0..p as u64).map(|rank| (2, rank)).reduce(compose));
        }
        let mut got = [0_u32; 20];
        for (i, x) in got.iter_mut().enumerate() {
            comm.recv_tagged(std::slice::from_mut(x), from, i as u32);
        }
        got.iter().zip(0..).all(|(&x, i)| x == from as u32 + i)
    });
    assert_eq!(next.unwrap(), [true; 3]);
}

#[test]
fn a_model_of_another_number_of_ranks_is_refused() {
    let error = Team::builder().ranks(4).model(rome(8, &Placement::Compact)).build().unwrap_err();
    assert!(matches!(error, Error::Model { model: 8, ranks: 4 }), "{error}");
    assert_eq!(error.to_string(), "the model of the levels is for 8 ranks, the team has 4");
}

/// Every way of exchanging, over real threads.
#[test]
fn every_exchange_over_given_groups() {
    use phalanx::schedule::Exchange;
    for (p, sizes) in [(8, vec![4]), (16, vec![4, 2]), (7, vec![3]), (14, vec![2])] {
        let team = Team::builder().ranks(p).build().unwrap();
        for exchange in [Exchange::Direct, Exchange::Tree] {
            let groups = Hierarchy::even(p, &sizes).exchanges(&[exchange; 3]);
            for n in [1, 300] {
                team.run(|comm| all_operations(&mut comm.groups(&groups), n, p - 1))
                    .unwrap_or_else(|e| panic!("{p} ranks, {groups}, {n} elements: {e}"));
                let sums = team.run(|comm| {
                    let sum = |i: usize| 0.1 * value(comm.rank(), i) + 1e15;
                    let mut x: Vec<f64> = (0..n).map(sum).collect();
                    comm.groups(&groups).all_reduce(&mut x, op::Sum);
                    x
                });
                let sums = sums.unwrap();
                assert!(sums.iter().all(|x| *x == sums[0]), "{p} ranks, {groups}: {sums:?}");
            }
        }
    }
    // Ranks that disagree about it are found out.
    let different = phalanx::run(8, |comm| {
        let exchange = if comm.rank() == 3 { Exchange::Direct } else { Exchange::Doubling };
        comm.groups(&Hierarchy::even(8, &[2]).exchanges(&[exchange; 2])).barrier();
    });
    assert!(different.is_err());
}
