//! Calls that only move data: roots, poison, uneven lengths, odd addresses.

use crate::common::{common_counts, pairs, runs, sizes, team, watch};
use phalanx::op;

fn value(r: usize, i: usize) -> u32 {
    (r as u32 + 1).wrapping_mul(0x9e37_79b9) ^ i as u32
}

#[test]
fn broadcasts_into_poison() {
    let watch = watch();
    for p in [1, 2, 3, 5, 8] {
        let team = team(p);
        // The largest from two roots only: every rank writes and compares it.
        for n in [1, p - 1, 100, 64 << 10, 128 << 10, 1 << 20] {
            watch.case(format!("p={p}, n={n}"));
            runs(&team, format!("p={p}, n={n}"), |comm| {
                let r = comm.rank();
                for root in (0..p).step_by(if n > 1 << 10 { p.max(2) - 1 } else { 1 }) {
                    let data: Vec<u32> = (0..n).map(|i| value(root, i)).collect();
                    let mut x = vec![0; n];
                    for again in 0..if n > 1 << 17 { 1 } else { 5 } {
                        x.fill(0xdead_0000 | again);
                        if r == root {
                            x.copy_from_slice(&data);
                        }
                        comm.broadcast(&mut x, root);
                        assert!(x == data, "from {root}, time {again}");
                    }
                }
            });
        }
    }
}

#[test]
fn no_elements() {
    let _watch = watch();
    for p in sizes(1..=8) {
        runs(&team(p), format!("p={p}"), |comm| {
            // On some ranks only: each sends to its successor elements that nobody
            // else gets, or nothing at all.
            for n in [0, 1, 300] {
                pairs::<u64>(comm, &|i, j| if j == (i + 1) % p { n } else { 0 }, |x| x);
                let counts: Vec<usize> = (0..p).map(|q| q % 2 * n).collect();
                common_counts::<u64>(comm, &counts, |x| x);
            }
            // The surroundings of nothing stay as they are.
            let mut units = [1u8, 2, 3];
            let (a, b) = units.split_at_mut(1);
            comm.broadcast(&mut a[1..], 0);
            comm.all_reduce(&mut b[2..], op::Sum);
            assert_eq!(units, [1, 2, 3]);
        });
    }
}

#[test]
fn uneven_exchanges() {
    let _watch = watch();
    for p in sizes(1..=9) {
        runs(&team(p), format!("p={p}"), |comm| {
            type Length = fn(usize, usize, usize) -> usize;
            let lengths: [Length; 4] = [
                |i, j, _| i * j,
                |i, j, _| (i + 1) * 40 + j,
                // Both neighbours on a ring only.
                |i, j, p| if (i + 1) % p == j || (j + 1) % p == i { 20 } else { 0 },
                |i, j, _| if i == j { 500 } else { usize::from(i > j) },
            ];
            let make = |x: u64| (x ^ x >> 20) as u32;
            for length in lengths {
                pairs(comm, &|i, j| length(i, j, p), make);
            }
            // i * 13 elements of rank i.
            common_counts(comm, &(0..p).map(|i| i * 13).collect::<Vec<_>>(), make);
        });
    }
}

/// Nothing relies on more than an element's own alignment.
#[test]
fn odd_addresses() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C, packed)]
    struct Packed {
        a: u8,
        b: u64,
        c: u16,
    }
    let _watch = watch();
    for p in [2, 3, 8] {
        runs(&team(p), format!("p={p}"), |comm| {
            let r = comm.rank();
            for (shift, n) in (0..9).flat_map(|s| [1, 3, 9, 100, 5000].map(|n| (s, n))) {
                // Another offset on each rank.
                let at = (shift + r) % 9;
                let mut bytes = vec![0u8; n + 9];
                bytes[at..at + n].iter_mut().enumerate().for_each(|(i, x)| *x = value(r, i) as u8);
                comm.all_reduce(&mut bytes[at..at + n], op::Sum);
                for (i, x) in bytes[at..at + n].iter().enumerate() {
                    let sum = (0..p).fold(0u8, |s, q| s.wrapping_add(value(q, i) as u8));
                    assert_eq!(*x, sum);
                }
                let make = |q: usize, i: usize| Packed {
                    a: q as u8,
                    b: u64::from(value(q, i)),
                    c: i as u16,
                };
                let mine: Vec<Packed> = (0..n).map(|i| make(r, i)).collect();
                let mut all = vec![make(99, 0); n * p + 9];
                comm.all_gather_into(&mine, &mut all[at..at + n * p]);
                assert!((0..n * p).all(|i| all[at + i] == make(i / n, i % n)));
                let mut floats = vec![0f64; n + 9];
                floats[at..at + n].fill(r as f64);
                for root in 0..p {
                    let mut x = floats[at..at + n].to_vec();
                    comm.reduce(&mut x, op::Sum, root);
                    let sum = (p * (p - 1) / 2) as f64;
                    assert_eq!(x, vec![if r == root { sum } else { r as f64 }; n]);
                }
            }
        });
    }
}

#[test]
fn small_rings() {
    let _watch = watch();
    for p in [1, 2] {
        runs(&team(p), format!("p={p}"), |comm| {
            let r = comm.rank();
            for n in [0, 1, 5, 6, 1000] {
                for _ in 0..10 {
                    // On a ring of 2 both neighbours are one, on a ring of 1 oneself.
                    let (left, right) = ((r + p - 1) % p, (r + 1) % p);
                    let (mut a, mut b) = (vec![9; n], vec![9; n]);
                    comm.exchange(&vec![value(r, 0); n], right, &mut a, left);
                    comm.exchange(&vec![value(r, 1); n], left, &mut b, right);
                    assert_eq!((a, b), (vec![value(left, 0); n], vec![value(right, 1); n]));
                    for by in [-2, -1, 0, 1, 2, isize::MAX, isize::MIN] {
                        let mut x = vec![value(r, 2); n];
                        comm.shift(&mut x, by);
                        let from = (r as i128 - by as i128).rem_euclid(p as i128) as usize;
                        assert_eq!(x, vec![value(from, 2); n]);
                    }
                }
            }
        });
    }
}
