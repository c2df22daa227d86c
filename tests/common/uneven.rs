//! Blocks of different lengths, against what one thread makes of them.

use super::OneCall;
use phalanx::{Comm, Element, op};

fn value(from: usize, to: usize, i: usize) -> u64 {
    ((from * 1009 + to) as u64) << 32 | i as u64
}

fn block<T>(from: usize, to: usize, n: usize, make: fn(u64) -> T) -> Vec<T> {
    (0..n).map(|i| make(value(from, to, i))).collect()
}

/// Each call with counts that all know: `counts[r]` are rank `r`'s.
pub(crate) fn common_counts<T>(comm: &mut Comm, counts: &[usize], make: fn(u64) -> T)
where
    T: Element + PartialEq + std::fmt::Debug,
{
    let mut all = OneCall::all_varied(comm, counts, &[0, comm.size() - 1]);
    // `pairs` has the exchange, which a forced ring refuses.
    all.retain(|it| !it.operation.has_pairs());
    for it in all {
        it.check(comm, op::ordered(|_, b| b), &|r, i| make(value(r, 0, i)));
    }
}

/// The exchange with `between(i, j)` elements from rank `i` to rank `j`.
pub(crate) fn pairs<T>(comm: &mut Comm, between: &dyn Fn(usize, usize) -> usize, make: fn(u64) -> T)
where
    T: Element + PartialEq + std::fmt::Debug,
{
    let (r, p) = (comm.rank(), comm.size());
    let to: Vec<usize> = (0..p).map(|q| between(r, q)).collect();
    let from: Vec<usize> = (0..p).map(|q| between(q, r)).collect();
    let send: Vec<T> = (0..p).flat_map(|q| block(r, q, to[q], make)).collect();
    let wanted: Vec<T> = (0..p).flat_map(|q| block(q, r, from[q], make)).collect();
    let mut got = vec![make(u64::MAX); wanted.len()];
    comm.all_to_all_varied_into(&send, &to, &mut got, &from);
    assert_eq!(got, wanted);
    assert_eq!(comm.all_to_all_vec(&send, &to), (wanted, from));
}

/// Lists of counts for `p` ranks, with blocks of up to `n` elements.
pub(crate) fn lists(p: usize, n: usize) -> Vec<Vec<usize>> {
    let one = |r: usize| (0..p).map(|q| if q == r { n } else { 0 }).collect();
    let mixed = (0..p).map(|q| n * (q % 3) / 2 + q).collect();
    vec![vec![0; p], one(0), one(p - 1), one(p / 2), vec![n; p], mixed]
}

pub(crate) fn every_uneven(comm: &mut Comm, n: usize) {
    let p = comm.size();
    // The same counts twice, and in turn.
    for _ in 0..2 {
        for counts in lists(p, n) {
            common_counts::<u64>(comm, &counts, |x| x);
            common_counts::<[u8; 3]>(comm, &counts, |x| [x as u8, (x >> 8) as u8, 7]);
        }
    }
    let to_one = |i: usize, j: usize| if j == i / 2 { n } else { 0 };
    let mixed = |i: usize, j: usize| (i * 5 + j * 3) % 4 * n / 3;
    let ways: [&dyn Fn(usize, usize) -> usize; 4] = [&|_, _| 0, &|_, _| n, &to_one, &mixed];
    for between in ways {
        pairs::<u64>(comm, between, |x| x);
        pairs::<(u8, u64)>(comm, between, |x| (x as u8, x));
        pairs::<()>(comm, between, |_| ());
    }
}

/// Elements of 8 bytes: up to 40 and 104 bytes are in a slot, 1024 are copied, 8192 are a block.
pub(crate) const UNEVEN: [usize; 13] = [1, 2, 4, 5, 11, 12, 31, 63, 64, 127, 128, 129, 1100];
