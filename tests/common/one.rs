//! One call of any operation of the catalogue, against a sequential oracle.

use phalanx::schedule::Operation;
use phalanx::{Comm, op};

fn value(rank: usize, i: usize, salt: usize) -> u64 {
    ((rank as u64) << 32 | (i as u64) << 8 | salt as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn vector(rank: usize, n: usize, salt: usize) -> Vec<u64> {
    (0..n).map(|i| value(rank, i, salt)).collect()
}

fn sum(ranks: std::ops::Range<usize>, n: usize, salt: usize) -> Vec<u64> {
    let add = |i| ranks.clone().fold(0u64, |s, r| s.wrapping_add(value(r, i, salt)));
    (0..n).map(add).collect()
}

/// One call of `operation` on blocks (or vectors) of `n` elements, checked; `v` is the root or the
/// distance.
pub(crate) fn one_call(comm: &mut Comm, operation: Operation, v: usize, n: usize, salt: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let own = vector(r, n, salt);
    let all: Vec<u64> = (0..p).flat_map(|q| vector(q, n, salt)).collect();
    let wide = vector(r, n * p, salt);
    let mut x = own.clone();
    let mut mine = vec![9; n];
    let mut out = vec![9; n * p];
    let block = r * n..(r + 1) * n;
    let only = |rank: usize, data: &[u64]| if r == rank { data.to_vec() } else { vec![] };
    match operation {
        Operation::Broadcast => {
            comm.broadcast(&mut x, v);
            assert_eq!(x, vector(v, n, salt));
        }
        Operation::Reduce => {
            comm.reduce(&mut x, op::Sum, v);
            assert_eq!(x, if r == v { sum(0..p, n, salt) } else { own });
        }
        Operation::AllGather => {
            comm.all_gather_into(&own, &mut out);
            assert_eq!(out, all);
            let mut out = vec![9; n * p];
            out[block].copy_from_slice(&own);
            comm.all_gather_in_place(&mut out);
            assert_eq!(out, all);
        }
        Operation::ReduceScatter => {
            comm.reduce_scatter_into(&wide, &mut mine, op::Sum);
            assert_eq!(mine, sum(0..p, n * p, salt)[block]);
        }
        Operation::AllReduce => {
            comm.all_reduce(&mut x, op::Sum);
            assert_eq!(x, sum(0..p, n, salt));
        }
        Operation::Barrier => comm.barrier(),
        Operation::Scan => {
            comm.scan(&mut x, op::Sum);
            assert_eq!(x, sum(0..r + 1, n, salt));
        }
        Operation::ExclusiveScan => {
            comm.exclusive_scan(&mut x, op::Sum);
            assert_eq!(x, sum(0..r, n, salt));
        }
        Operation::Scatter => {
            comm.scatter_into(&only(v, &wide), &mut mine, v);
            assert_eq!(mine, vector(v, n * p, salt)[block]);
        }
        Operation::Gather => {
            let mut out = only(v, &out);
            comm.gather_into(&own, &mut out, v);
            assert_eq!(out, only(v, &all));
            let mut data = own.clone();
            if r == v {
                data = vec![9; n * p];
                data[block].copy_from_slice(&own);
            }
            comm.gather_in_place(&mut data, v);
            assert_eq!(data, if r == v { all } else { own });
        }
        Operation::AllToAll => {
            comm.all_to_all_into(&wide, &mut out);
            let wanted = (0..p).flat_map(|q| vector(q, n * p, salt)[block.clone()].to_vec());
            assert_eq!(out, wanted.collect::<Vec<_>>());
        }
        Operation::AllToAllInPlace => {
            let mut x = wide;
            comm.all_to_all_in_place(&mut x);
            let wanted = (0..p).flat_map(|q| vector(q, n * p, salt)[block.clone()].to_vec());
            assert_eq!(x, wanted.collect::<Vec<_>>());
        }
        Operation::Shift => {
            comm.shift(&mut x, v as isize);
            assert_eq!(x, vector((r + p - v) % p, n, salt));
        }
        other => panic!("no test for {other}"),
    }
}
