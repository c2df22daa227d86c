//! Small calls, at every length at which the transport changes: in a slot's first line, in its
//! second, in both behind a length, through the eager buffer, by address.

use crate::common::{OneCall, sizes};
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
                let run = phalanx::run(p, |comm| {
                    for it in OneCall::all(comm, n, &[root], &[1]) {
                        it.check(comm, op::Max, &value);
                    }
                    let (next, before) = ((comm.rank() + 1) % p, (comm.rank() + p - 1) % p);
                    let of = |r: usize| (0..n).map(|i| value(r, i)).collect::<Vec<f64>>();
                    let mut sent = of(comm.rank());
                    comm.exchange(&of(comm.rank()), next, &mut sent, before);
                    assert_eq!(sent, of(before), "exchange p {p} n {n}");
                });
                run.unwrap();
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
