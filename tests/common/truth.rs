//! Every operation against a sequential oracle.

use phalanx::{Comm, op};

/// Element `i` of rank `r`'s data in round `k`; differs in everything.
pub(crate) fn value(r: usize, i: usize, k: usize) -> u64 {
    let x = (r as u64) << 40 | (i as u64) << 12 | k as u64;
    x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7
}

pub(crate) fn data(r: usize, n: usize, k: usize) -> Vec<u64> {
    (0..n).map(|i| value(r, i, k)).collect()
}

/// A non-commutative, associative operator: the composition of affine maps.
pub(crate) type Map = (u64, u64);
pub(crate) fn compose(f: Map, g: Map) -> Map {
    (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1))
}

fn maps(r: usize, n: usize, k: usize) -> Vec<Map> {
    (0..n).map(|i| (value(r, i, k) | 1, value(r, i + n, k))).collect()
}

fn fold_maps(range: std::ops::Range<usize>, n: usize, k: usize) -> Vec<Map> {
    let mut out = maps(range.start, n, k);
    for r in range.skip(1) {
        for (a, b) in out.iter_mut().zip(maps(r, n, k)) {
            *a = compose(*a, b);
        }
    }
    out
}

pub(crate) fn sum(range: std::ops::Range<usize>, n: usize, k: usize) -> Vec<u64> {
    (0..n).map(|i| range.clone().fold(0u64, |s, r| s.wrapping_add(value(r, i, k)))).collect()
}

/// Every operation, on vectors or blocks of `n` elements, in round `k`.
pub(crate) fn every_operation(comm: &mut Comm, n: usize, k: usize) {
    let (r, p) = (comm.rank(), comm.size());
    for root in [0, p - 1, k % p] {
        let mut x = if r == root { data(root, n, k) } else { vec![77; n] };
        comm.broadcast(&mut x, root);
        assert_eq!(x, data(root, n, k), "broadcast from {root}");

        let mut x = data(r, n, k);
        comm.reduce(&mut x, op::Sum, root);
        let wanted = if r == root { sum(0..p, n, k) } else { data(r, n, k) };
        assert_eq!(x, wanted, "reduce to {root}");

        let mut x = maps(r, n, k);
        comm.reduce(&mut x, op::ordered(compose), root);
        let wanted = if r == root { fold_maps(0..p, n, k) } else { maps(r, n, k) };
        assert_eq!(x, wanted, "ordered reduce to {root}");

        let all = if r == root { data(root, n * p, k) } else { vec![] };
        let mut mine = vec![77; n];
        comm.scatter_into(&all, &mut mine, root);
        assert_eq!(mine, data(root, n * p, k)[r * n..(r + 1) * n], "scatter from {root}");

        let mut all = vec![77; if r == root { n * p } else { 0 }];
        comm.gather_into(&data(r, n, k), &mut all, root);
        if r == root {
            let wanted: Vec<u64> = (0..p).flat_map(|q| data(q, n, k)).collect();
            assert_eq!(all, wanted, "gather to {root}");
            all.fill(77);
            all[r * n..][..n].copy_from_slice(&data(r, n, k));
            comm.gather_in_place(&mut all, root);
            assert_eq!(all, wanted, "gather in place at {root}");
        } else {
            comm.gather_in_place(&mut data(r, n, k), root);
        }
    }

    let mut all = vec![77; n * p];
    comm.all_gather_into(&data(r, n, k), &mut all);
    let wanted: Vec<u64> = (0..p).flat_map(|q| data(q, n, k)).collect();
    assert_eq!(all, wanted, "all-gather");
    all.fill(77);
    all[r * n..][..n].copy_from_slice(&data(r, n, k));
    comm.all_gather_in_place(&mut all);
    assert_eq!(all, wanted, "all-gather in place");

    let mut mine = vec![77; n];
    comm.reduce_scatter_into(&data(r, n * p, k), &mut mine, op::Sum);
    assert_eq!(mine, sum(0..p, n * p, k)[r * n..(r + 1) * n], "reduce-scatter");

    let mut mine = vec![(0, 0); n];
    comm.reduce_scatter_into(&maps(r, n * p, k), &mut mine, op::ordered(compose));
    assert_eq!(mine, fold_maps(0..p, n * p, k)[r * n..(r + 1) * n], "ordered reduce-scatter");

    let mut x = data(r, n, k);
    comm.all_reduce(&mut x, op::Sum);
    assert_eq!(x, sum(0..p, n, k), "all-reduce");

    let mut x = maps(r, n, k);
    comm.all_reduce(&mut x, op::ordered(compose));
    assert_eq!(x, fold_maps(0..p, n, k), "ordered all-reduce");

    let mut x = maps(r, n, k);
    comm.scan(&mut x, op::ordered(compose));
    assert_eq!(x, fold_maps(0..r + 1, n, k), "scan");

    let mut x = data(r, n, k);
    comm.exclusive_scan(&mut x, op::Sum);
    assert_eq!(x, if r == 0 { vec![0; n] } else { sum(0..r, n, k) }, "exclusive scan");

    let mut x = maps(r, n, k);
    comm.exclusive_scan(&mut x, op::ordered(compose));
    let wanted = if r == 0 { maps(0, n, k) } else { fold_maps(0..r, n, k) };
    assert_eq!(x, wanted, "ordered exclusive scan");

    let mut recv = vec![77; n * p];
    comm.all_to_all_into(&data(r, n * p, k), &mut recv);
    let wanted: Vec<u64> =
        (0..p).flat_map(|q| data(q, n * p, k)[r * n..(r + 1) * n].to_vec()).collect();
    assert_eq!(recv, wanted, "all-to-all");

    let mut x = data(r, n * p, k);
    comm.all_to_all_in_place(&mut x);
    assert_eq!(x, wanted, "all-to-all in place");

    for q in [0, 1, -1, (k % 13) as isize, p as isize + 2] {
        let mut x = data(r, n, k);
        comm.shift(&mut x, q);
        let from = (r as isize - q).rem_euclid(p as isize) as usize;
        assert_eq!(x, data(from, n, k), "shift by {q}");
    }

    comm.barrier();
}
