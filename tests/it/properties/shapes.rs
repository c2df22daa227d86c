//! Communicators of every size and order, and many of them at a time.

use crate::common::{every_operation, right, runs, sizes, team, watch};
use phalanx::topology::Extents;
use phalanx::{Team, op};

/// Every operation on the world, a copy, the reversed world, halves, evens and
/// odds, all but the last, and each rank alone.
#[test]
fn every_shape_of_communicator() {
    let watch = watch();
    for p in sizes(1..=11) {
        let team = team(p);
        for n in [0, 1, 3, 130] {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                let r = comm.rank();
                every_operation(comm, n, 1);
                let shapes = [
                    (0, r),
                    (0, p - r),
                    (usize::from(2 * r >= p), r),
                    (r % 2, p - r),
                    (usize::from(r + 1 == p), r),
                    (r, 0),
                ];
                for (k, (color, key)) in shapes.into_iter().enumerate() {
                    let mut child = comm.split(color, key);
                    every_operation(&mut child, n, k + 2);
                }
            });
        }
    }
}

/// Rows and columns of a grid; shifts on them; a grid of a grid.
#[test]
fn sub_grids() {
    let _watch = watch();
    for (rows, cols) in [(1, 1), (1, 4), (3, 2), (2, 4), (3, 3), (2, 5)] {
        runs(&team(rows * cols), format!("{rows}x{cols}"), |comm| {
            let r = comm.rank();
            let (row, col) = (r / cols, r % cols);
            let (mut in_row, mut in_col) = (comm.split(row, col), comm.split(col, row));
            assert_eq!((in_row.rank(), in_row.size()), (col, cols));
            assert_eq!((in_col.rank(), in_col.size()), (row, rows));
            for n in [1, 60] {
                for by in [-1isize, 0, 1, 2] {
                    let mut x = vec![r; n];
                    in_row.shift(&mut x, by);
                    in_col.shift(&mut x, by);
                    let at = |i: usize, n: usize| (i as isize - by).rem_euclid(n as isize) as usize;
                    assert_eq!(x, vec![at(row, rows) * cols + at(col, cols); n]);
                }
                let mut x = vec![1; n];
                in_row.all_reduce(&mut x, op::Sum);
                in_col.all_reduce(&mut x, op::Sum);
                assert_eq!(x, vec![rows * cols; n]);
            }
            // A column of a row: each rank alone.
            assert_eq!(in_row.split(col, 0).size(), 1);
        });
    }
}

#[test]
fn squarest_extents() {
    for p in 1..=2000 {
        let dims = Extents::squarest(p);
        assert_eq!((dims.ranks(), dims.dimensions()), (p, 2));
        let (rows, cols) = (dims.extent(0), dims.extent(1));
        let (low, high) = (rows.min(cols), rows.max(cols));
        assert_eq!(low * high, p);
        // Nothing is squarer.
        assert!((low + 1..=high).all(|d| d * d > p || p % d != 0), "{p}: {dims}");
    }
}

/// Hundreds alive, used in turns, some of them dropped in between.
#[test]
fn many_communicators_at_once() {
    let _watch = watch();
    for p in [2, 5] {
        runs(&team(p), format!("p={p}"), |comm| {
            let (r, p) = (comm.rank(), comm.size());
            let mut all = Vec::new();
            for k in 0..120 {
                let parent = all.last_mut().unwrap_or(&mut *comm);
                let (color, key) = [(0, r), (0, p - r), (1, k)][k % 3];
                let child = parent.split(color, key);
                all.push(child);
            }
            for round in 0..3 {
                // Messages in one while others wait in another.
                for (k, child) in all.iter_mut().enumerate() {
                    let mut x = [child.rank() + k, round];
                    child.all_reduce(&mut x, op::Sum);
                    assert_eq!(x, [p * (p - 1) / 2 + p * k, p * round]);
                    child.shift(&mut [k; 30], 1);
                }
                all = all
                    .into_iter()
                    .enumerate()
                    .filter(|(k, _)| k % 3 != round)
                    .map(|(_, c)| c)
                    .collect();
                right(comm, round as u64);
            }
            right(all.last_mut().unwrap(), 9);
        });
    }
}

/// Teams of their own, on threads of their own, at the same time; and the
/// communicators of one set of threads used in another order on each pair.
#[test]
fn teams_side_by_side() {
    let _watch = watch();
    std::thread::scope(|s| {
        for k in 0..4u64 {
            s.spawn(move || {
                let team = team(2 + k as usize % 3);
                for salt in 0..60 {
                    team.run(|comm| right(comm, salt * 7 + k)).unwrap();
                }
            });
        }
    });
    // Three threads; each has a hand in three communicators, of two ranks
    // each, and of all three.
    let mut hands: [Vec<_>; 3] = [vec![], vec![], vec![]];
    for (k, ranks) in [vec![0, 1], vec![1, 2], vec![2, 0], vec![0, 1, 2]].into_iter().enumerate() {
        for (comm, thread) in Team::external(ranks.len()).unwrap().into_iter().zip(ranks) {
            hands[thread].push((k, comm));
        }
    }
    std::thread::scope(|s| {
        for mine in hands {
            s.spawn(move || {
                let mut mine = mine;
                mine.sort_by_key(|&(k, _)| k);
                for salt in 0..200 {
                    for (k, comm) in &mut mine {
                        right(comm, salt * 10 + *k as u64);
                    }
                }
            });
        }
    });
}
