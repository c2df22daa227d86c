//! Checks that reductions give the same bits. By default: every algorithm, on every rank and from
//! run to run. With `Order::Fixed`: for every topology, length and chunk. `fixed_sum` and its
//! relatives: for every number of ranks and cut.

use crate::common::{
    Canary, OneCall, POISON, add_alive, bomb_if, check_usable, compose, fails, failure, map, sizes,
    succeeds, team, watch,
};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Error, Order, Team, call, op};

/// Large, its opposite, tiny and in between: a sum that any change of order
/// changes.
fn x(rank: usize, i: usize) -> f64 {
    let h = (rank as u64 * 1_000_003 + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let size = [1e16, -1e16, 1.0, 1e-8, 3e8][(h >> 33) as usize % 5];
    size * ((h >> 40) as f64 / (1 << 24) as f64 + 0.5)
}

fn data(rank: usize, n: usize) -> Vec<f64> {
    (0..n).map(|i| x(rank, i)).collect()
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// The order that `Order::Fixed` is defined by: level by level.
fn by_levels<T: Copy>(mut row: Vec<T>, f: impl Fn(T, T) -> T) -> T {
    while row.len() > 1 {
        row = row.chunks(2).map(|c| c[1..].iter().fold(c[0], |a, &b| f(a, b))).collect();
    }
    row[0]
}

/// The data are as these tests need them: two orders do differ.
#[test]
fn the_data_depend_on_the_order() {
    let differs = |p: usize| {
        (0..1000).any(|i| {
            let row: Vec<f64> = (0..p).map(|r| x(r, i)).collect();
            let left = row.iter().copied().reduce(|a, b| a + b).unwrap();
            by_levels(row, |a, b| a + b) != left
        })
    };
    assert!((4..10).all(differs));
}

/// `Order::Ranked`: every rank has the same, and the same in a second team, for every algorithm by
/// name.
#[test]
fn every_algorithm_gives_the_same_bits_everywhere_and_again() {
    for p in sizes([1, 2, 3, 4, 5, 7, 8]) {
        let teams = [team(p), team(p)];
        for operation in [Operation::AllReduce, Operation::Reduce, Operation::ReduceScatter] {
            for algorithm in Algorithm::for_operation(operation) {
                if algorithm.schedule(&Request::new(operation, p)).is_err() {
                    continue;
                }
                for n in [1, 6, 700] {
                    let run = |team: &Team| {
                        team.run(|comm| {
                            let it = OneCall::new(comm, operation, 0, n);
                            let mut b = it.buffers(op::Sum, &x);
                            it.make(&mut *comm.with(algorithm), op::Sum, (&b.input, &mut b.output));
                            bits(&b.output)
                        })
                        .unwrap()
                    };
                    let [a, b] = [run(&teams[0]), run(&teams[1])];
                    assert_eq!(a, b, "{algorithm}, {p} ranks, {n} elements: two runs");
                    if operation == Operation::AllReduce {
                        assert!(a.iter().all(|x| *x == a[0]), "{algorithm}, {p} ranks: two ranks");
                    }
                }
            }
        }
    }
}

/// All reductions on one view in fixed order, against the definition.
fn reductions_in_fixed_order(comm: &mut Comm, n: usize) {
    let p = comm.size();
    let counts: Vec<usize> = (0..p).map(|q| (q * 7 + n) % 5).collect();
    let mut all = OneCall::all(comm, n, &[n % p], &[]);
    all.extend(OneCall::all_varied(comm, &counts, &[]));
    // Scans have an order of their own.
    let scans = [Operation::Scan, Operation::ExclusiveScan];
    all.retain(|it| it.operation.combines() && !scans.contains(&it.operation));
    let mut fixed = comm.with_order(Order::Fixed);
    for it in all {
        let sum = |row: &[f64]| by_levels(row.to_vec(), |a, b| a + b);
        let mut b = it.buffers_to(None, &x, &sum);
        it.make(&mut *fixed, op::Sum, (&b.input, &mut b.output));
        assert_eq!(bits(&b.output), bits(&b.wanted), "{it:?}");
        it.check(&mut *fixed, op::ordered(compose), &map(n));
    }
}

#[test]
fn fixed_order_is_the_same_for_every_topology_and_length() {
    for p in sizes((1..=9).chain([12])) {
        let team = team(p);
        let lens: &[usize] = if p < 10 { &[0, 1, 6, 100, 2500] } else { &[1, 300] };
        for &n in lens {
            let _watch = watch();
            succeeds(&team, |comm| {
                reductions_in_fixed_order(comm, n);
                reductions_in_fixed_order(&mut comm.ring(), n);
                reductions_in_fixed_order(&mut comm.hypercube(), n);
                reductions_in_fixed_order(&mut comm.tree(), n);
                reductions_in_fixed_order(&mut comm.with(Algorithm::AR_FUSED), n);
                for rows in (1..=p).filter(|rows| p % rows == 0) {
                    reductions_in_fixed_order(&mut comm.mesh(rows, p / rows), n);
                }
                // The work does not change the order.
                let mut a = data(comm.rank(), n);
                let mut b = a.clone();
                comm.with_order(Order::Fixed).all_reduce(&mut a, op::Sum);
                comm.overlap(call::all_reduce(&mut b, op::Sum), || ());
                assert_eq!(bits(&a), bits(&b));
            });
        }
    }
}

#[test]
fn the_order_ends_with_its_view() {
    succeeds(&team(5), |comm| {
        let plain = |comm: &mut Comm| {
            let mut s = [x(comm.rank(), 3)];
            comm.all_reduce(&mut s, op::Sum);
            s[0].to_bits()
        };
        let before = plain(comm);
        let fixed = plain(&mut comm.with_order(Order::Fixed));
        assert_eq!(plain(&mut comm.ring().with_order(Order::Fixed)), fixed);
        assert_eq!(plain(&mut comm.with_order(Order::Fixed).with_order(Order::Ranked)), before);
        assert_eq!(plain(comm), before);
    });
}

#[test]
fn what_cannot_be_in_fixed_order_is_refused() {
    let team = team(3);
    let error = failure(team.run(|comm| {
        comm.with(Algorithm::AR_RING).with_order(Order::Fixed).all_reduce(&mut [1.0], op::Sum);
    }));
    let said = error.to_string();
    assert!(matches!(error, Error::Argument { .. }) && said.contains("AR-RING"), "{said}");
    let error = fails(&team, |comm| {
        let order = if comm.rank() == 1 { Order::Fixed } else { Order::Ranked };
        comm.with_order(order).all_reduce(&mut [1.0], op::Sum);
    });
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains("all_reduce in fixed order"), "{error}");
}

/// Where rank `r` of `p` begins: evenly, at multiples of 256, or anyhow, with
/// empty parts.
fn cut(n: usize, r: usize, p: usize, how: usize) -> usize {
    match (r, how) {
        (0, _) => 0,
        (r, _) if r == p => n,
        (r, 0) => n * r / p,
        (r, 1) => (n * r / p) / 256 * 256,
        (r, 2) => {
            if r == 1 {
                n
            } else {
                cut(n, 1, p, 2)
            }
        }
        (r, _) => {
            let mut all: Vec<usize> =
                (1..p).map(|q| x(q, how).to_bits() as usize % (n + 1)).collect();
            all.sort();
            all[r - 1]
        }
    }
}

#[test]
fn sums_and_dots_do_not_depend_on_the_ranks() {
    for n in [0, 1, 100, 256, 257, 1000, 10_000] {
        let (a, b) = (data(1, n), data(2, n));
        let single: Vec<f32> = a.iter().map(|&x| (x / 1e10) as f32).collect();
        let maps: Vec<(u64, u64)> = a.iter().map(|x| (x.to_bits() | 1, x.to_bits())).collect();
        let composed = maps.iter().copied().reduce(compose);
        let mut first = None;
        for p in sizes([1, 2, 3, 4, 5, 7, 8, 64]) {
            let team = team(p);
            for how in 0..if p < 10 { 6 } else { 4 } {
                let _watch = watch();
                let got = succeeds(&team, |comm| {
                    let r = comm.rank();
                    let part = cut(n, r, p, how)..cut(n, r + 1, p, how);
                    let from = part.start;
                    let (x, y) = (&a[part.clone()], &b[part.clone()]);
                    let sum = comm.fixed_sum(x, from);
                    let dot = comm.fixed_dot(x, y, from);
                    let norms = comm.fixed_dots([(x, x), (x, y), (y, y)], from);
                    let ordered =
                        comm.fixed_reduce(&maps[part.clone()], op::ordered(compose), from);
                    let max = comm.fixed_reduce(x, op::Max, from);
                    let narrow = comm.fixed_sum(&single[part], from);
                    assert_eq!(norms[1].to_bits(), dot.to_bits());
                    assert_eq!(ordered, composed);
                    let all = [sum, dot, norms[0], norms[2], max.unwrap_or(0.0)];
                    (bits(&all), narrow.to_bits())
                });
                let first = first.get_or_insert_with(|| got[0].clone());
                assert!(got.iter().all(|x| x == first), "{n} elements, {p} ranks, cut {how}");
            }
        }
        // Close to the true sum, as far as can be said.
        let (sums, _) = first.unwrap();
        let size: f64 = a.iter().map(|x| x.abs()).sum();
        let plain: f64 = a.iter().sum();
        assert!((f64::from_bits(sums[0]) - plain).abs() <= size * 1e-12);
    }
}

/// Many cuts of one vector, on few ranks.
#[test]
fn many_cuts() {
    let n = 3000;
    let a = data(3, n);
    let want = team(1).run(|comm| comm.fixed_sum(&a, 0).to_bits()).unwrap()[0];
    for p in [2, 3, 5] {
        succeeds(&team(p), |comm| {
            for how in 3..150 {
                let part = cut(n, comm.rank(), p, how)..cut(n, comm.rank() + 1, p, how);
                let from = part.start;
                assert_eq!(comm.fixed_sum(&a[part], from).to_bits(), want, "cut {how}");
            }
        });
    }
}

#[test]
fn parts_that_do_not_follow_one_another_are_named() {
    for p in [2, 3, 5, 8] {
        let team = team(p);
        let error = fails(&team, |comm| {
            let r = comm.rank();
            comm.fixed_sum(&[1.0; 10], 10 * r + usize::from(r == p - 1))
        });
        let said = error.to_string();
        assert!(matches!(error, Error::Mismatch { .. }) && said.contains("global index"), "{said}");
    }
    // Two ranks, cut inside of a block or not, as each of them believes.
    let team_of_two = team(2);
    for (len, begin) in [(10, 11), (10, 256), (256, 250), (256, 512), (300, 0), (0, 1), (9, 0)] {
        for dots in [false, true] {
            let error = fails(&team_of_two, |comm| {
                let x = [1.0; 300];
                let (part, offset) =
                    if comm.rank() == 0 { (&x[..len], 0) } else { (&x[..], begin) };
                if dots {
                    comm.fixed_dots([(part, part); 3], offset);
                } else {
                    comm.fixed_sum(part, offset);
                }
            });
            let said = error.to_string();
            let named = format!("expected {len}, where that of rank 0 ends, got {begin}");
            assert!(said.contains(&named), "{len}, {begin}: {said}");
        }
    }
    let error = failure(team(2).run(|comm| comm.fixed_sum(&[1.0], 1 + comm.rank())));
    assert!(error.to_string().contains("`offset` is 1; on rank 0"), "{error}");
    // The call as it was made, its vector's length, and the argument.
    let error = failure(team(2).run(|comm| comm.fixed_dot(&[1.0; 10], &[2.0; 10], 0)));
    let said = error.to_string();
    assert!(said.contains("called fixed_dot of 10 f64 with sum at"), "{said}");
    assert!(said.contains("`offset`, the global index"), "{said}");
    // How many at once is compared, too; of one pair both methods are the same.
    let error = failure(team(3).run(|comm| match comm.rank() {
        0 => drop(comm.fixed_dots([(&[1.0; 10], &[2.0; 10]); 3], 0)),
        rank => drop(comm.fixed_dots([(&[1.0; 10], &[2.0; 10]); 2], 10 * rank)),
    }));
    let said = error.to_string();
    assert!(said.contains("number of pairs: expected 2, got 3"), "{said}");
    assert!(said.contains("fixed_dots of 10 f64 with sum, number of pairs 3"), "{said}");
    let dots = team(2).run(|comm| match comm.rank() {
        0 => comm.fixed_dot(&[1.0; 10], &[2.0; 10], 0),
        _ => comm.fixed_dots([(&[1.0; 10], &[2.0; 10])], 10)[0],
    });
    assert_eq!(dots.unwrap(), [40.0; 2]);
    let error = failure(team(2).run(|comm| {
        let n = if comm.rank() == 0 { 0 } else { 4 };
        comm.fixed_sum(&vec![1u8; n], if n == 0 { 0 } else { usize::MAX - 1 })
    }));
    assert!(error.to_string().contains("too many"), "{error}");
    let error = failure(team(2).run(|comm| comm.fixed_dot(&[1.0; 3], &[1.0; 4], 3 * comm.rank())));
    assert!(error.to_string().contains("a vector has 4 elements, must have 3"), "{error}");
}

/// An operator that panics in the exchange: nobody reads contributions that
/// are gone.
#[test]
fn a_panic_in_an_operator_ends_the_run() {
    for p in [2, 3, 5, 8] {
        let team = team(p);
        for bad in [1, p - 1] {
            // (Rank 0 of 3 only receives the result.)
            let _watch = watch();
            let error = failure(team.run(|comm| {
                let r = comm.rank();
                let mine = Canary(vec![1; 700]);
                let calls = std::cell::Cell::new(0);
                let op = op::ordered(|a, b| {
                    calls.set(calls.get() + 1);
                    // Beyond the own elements.
                    bomb_if(r == bad && calls.get() > 690);
                    add_alive(a, b)
                });
                let sum = comm.fixed_reduce(&mine.0, op, 700 * r);
                assert_ne!(sum, Some(POISON));
            }));
            assert!(matches!(error, Error::Panicked { rank, .. } if rank == bad), "{error}");
            check_usable(&team, 5);
        }
    }
}
