//! Many calls in a row, with nothing between them that would slow a rank down.

use crate::common::{runs, team, watch};
use phalanx::op;

/// One rank only sends, or only receives: nothing overruns.
#[test]
fn one_way() {
    let watch = watch();
    for p in [2, 3, 5, 8] {
        let team = team(p);
        for n in [1, 5, 6, 300] {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                let r = comm.rank();
                for k in 0..400 {
                    let mut x = vec![if r == 0 { k } else { 77 }; n];
                    comm.broadcast(&mut x, 0);
                    assert_eq!(x, vec![k; n]);
                }
                for k in 0..400 {
                    let mut x = vec![k; n];
                    comm.reduce(&mut x, op::Sum, p - 1);
                    assert_eq!(x, vec![if r == p - 1 { k * p } else { k }; n]);
                }
                for k in 0..200 {
                    let mut x = vec![0; n];
                    comm.scatter_into(&vec![k; n * p], &mut x, 0);
                    assert_eq!(x, vec![k; n]);
                    let mut all = vec![0; if r == 1 { n * p } else { 0 }];
                    comm.gather_into(&x, &mut all, 1);
                    assert!(all.iter().all(|&x| x == k));
                }
                for k in 0..400 {
                    if r == 0 {
                        comm.send(&vec![k; n], 1);
                    } else if r == 1 {
                        let mut x = vec![0; n];
                        comm.recv(&mut x, 0);
                        assert_eq!(x, vec![k; n]);
                    }
                }
            });
        }
    }
}

#[test]
fn one_kind_after_another() {
    let watch = watch();
    for p in [2, 3, 5, 8] {
        let team = team(p);
        for n in [1, 50] {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                let r = comm.rank();
                for k in 0..150 {
                    let send: Vec<usize> = (0..p).flat_map(|j| vec![r * 100 + j + k; n]).collect();
                    let mut got = vec![0; n * p];
                    comm.all_to_all_into(&send, &mut got);
                    comm.all_reduce(&mut got, op::Sum);
                    let sum = |j: usize| (0..p).map(|i| j * 100 + i + k).sum::<usize>();
                    assert!((0..n * p).all(|i| got[i] == sum(i / n)), "round {k}");
                    let root = k % p;
                    comm.broadcast(&mut got[..n], root);
                    comm.with_peers(&got[..1], |all| {
                        assert!(all.iter().all(|x| x == all[0].as_ref()))
                    });
                    comm.shift(&mut got, k as isize);
                    comm.barrier();
                    let seen = comm.with_root(&got, root, |x| x[0]);
                    comm.scan(&mut got, op::Max);
                    assert_eq!(got[0], seen);
                }
            });
        }
    }
}

/// A communicator keeps the plans of some dozens of calls: the same ones again
/// and again, in turn, and out of turn, with more of them than it keeps.
#[test]
fn plans_come_and_go() {
    let _watch = watch();
    for p in [3, 4] {
        runs(&team(p), format!("p={p}"), |comm| {
            let r = comm.rank();
            for round in 0..6usize {
                for step in 0..150usize {
                    let n = if round % 2 == 0 { step } else { (step * 67 + round) % 150 };
                    let root = n % p;
                    let mut x = vec![if r == root { n } else { 0 }; n];
                    match n % 3 {
                        0 => comm.broadcast(&mut x, root),
                        1 => comm.ring().broadcast(&mut x, root),
                        _ => comm.mesh(1, p).broadcast(&mut x, root),
                    }
                    assert_eq!(x, vec![n; n]);
                    let (mut all, same) = (vec![0; n * p], (n + round) % 5 == 0);
                    if same {
                        comm.all_gather_into(&vec![r; n], &mut all);
                        assert!((0..n * p).all(|i| all[i] == i / n));
                    }
                }
            }
        });
    }
}
