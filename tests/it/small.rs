//! Small calls, at every length at which the transport changes: in a slot's first line, in its
//! second, in both behind a length, through the eager buffer, by address.

use crate::common::sizes;
use phalanx::{Algorithm, op};

/// Lengths in f64: 40, 64, 96 and 1024 bytes are limits.
const LENGTHS: [usize; 14] = [0, 1, 2, 4, 5, 6, 7, 8, 9, 12, 13, 14, 128, 129];

fn value(rank: usize, i: usize) -> f64 {
    // Sums of these depend on their order.
    [1e16, 1.0, -1e16, 3.0, 0.1][(rank * 7 + i * 3) % 5] * (1 + rank) as f64
}

#[test]
fn what_is_moved_arrives() {
    for p in sizes([1, 2, 3, 4, 5, 8]) {
        for n in LENGTHS {
            for root in 0..p {
                let out = phalanx::run(p, |comm| {
                    let mine: Vec<f64> = (0..n).map(|i| value(comm.rank(), i)).collect();
                    let mut one = mine.clone();
                    comm.broadcast(&mut one, root);
                    let mut all = vec![0.0; n * p];
                    comm.all_gather_into(&mine, &mut all);
                    let mut passed = mine.clone();
                    comm.shift(&mut passed, 1);
                    let mut sent = mine.clone();
                    let (next, before) = ((comm.rank() + 1) % p, (comm.rank() + p - 1) % p);
                    comm.exchange(&mine, next, &mut sent, before);
                    (one, all, passed, sent)
                })
                .unwrap();
                let of = |r: usize| (0..n).map(|i| value(r, i)).collect::<Vec<f64>>();
                for (rank, (one, all, passed, sent)) in out.iter().enumerate() {
                    let before = (rank + p - 1) % p;
                    assert_eq!(*one, of(root), "broadcast p {p} n {n} root {root}");
                    assert_eq!(*all, (0..p).flat_map(of).collect::<Vec<f64>>(), "p {p} n {n}");
                    assert_eq!(*passed, of(before), "shift p {p} n {n}");
                    assert_eq!(*sent, of(before), "exchange p {p} n {n}");
                }
            }
        }
    }
}

/// A scan through the gates has the bits of the schedule that it replaces.
#[test]
fn scans_combine_as_the_hypercube_does() {
    for p in sizes([1, 2, 3, 4, 5, 7, 8]) {
        // More go by a fused path, which combines from the left.
        for n in LENGTHS.into_iter().filter(|n| n * size_of::<f64>() <= 1024) {
            let out = phalanx::run(p, |comm| {
                let mine: Vec<f64> = (0..n).map(|i| value(comm.rank(), i)).collect();
                let of = |f: &mut dyn FnMut(&mut [f64])| {
                    let mut x = mine.clone();
                    f(&mut x);
                    x.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
                };
                let auto = [
                    of(&mut |x| comm.scan(x, op::Sum)),
                    of(&mut |x| comm.exclusive_scan(x, op::Sum)),
                ];
                let forced = [
                    of(&mut |x| comm.with(Algorithm::SCAN_HCUBE).scan(x, op::Sum)),
                    of(&mut |x| comm.with(Algorithm::SCAN_HCUBE).exclusive_scan(x, op::Sum)),
                ];
                (auto, forced)
            })
            .unwrap();
            for (rank, (auto, forced)) in out.iter().enumerate() {
                assert_eq!(auto, forced, "p {p}, n {n}, rank {rank}");
            }
        }
    }
}

/// One that is not commutative, and elements of odd sizes.
#[test]
fn operands_keep_their_order() {
    for p in sizes([2, 3, 4, 8]) {
        let out = phalanx::run(p, |comm| {
            // Affine maps x -> a x + b modulo 2^64, one after the other.
            let mut map = [[2 * comm.rank() as u64 + 3, comm.rank() as u64]];
            let after = |f: [u64; 2], g: [u64; 2]| {
                [f[0].wrapping_mul(g[0]), f[1].wrapping_mul(g[0]).wrapping_add(g[1])]
            };
            comm.scan(&mut map, op::ordered(after));
            let mut bytes = [[comm.rank() as u8; 43]];
            comm.broadcast(&mut bytes, p - 1);
            (map[0], bytes[0])
        })
        .unwrap();
        let mut expected = [1u64, 0];
        for (rank, (map, bytes)) in out.iter().enumerate() {
            let g = [2 * rank as u64 + 3, rank as u64];
            expected =
                [expected[0].wrapping_mul(g[0]), expected[1].wrapping_mul(g[0]).wrapping_add(g[1])];
            assert_eq!(*map, expected, "p {p}");
            assert_eq!(*bytes, [p as u8 - 1; 43]);
        }
    }
}
