//! Checks every collective on any number of ranks and nodes. The same file runs on one node, on
//! nodes inside one process, and over MPI.

use phalanx::dist::{Block, Distribution, Halo};
use phalanx::op::{self, Operator};
use phalanx::{Element, Order, call};
use phalanx_nodes::NodeComm;

/// A number that depends on all its arguments.
fn x(rank: usize, i: usize, seed: usize) -> u64 {
    let n = (rank * 1_000_003 + i * 97 + seed * 31 + 1) as u64;
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24
}

/// Numbers of very different sizes, with a sum that depends on the order.
pub(crate) fn rough(i: usize) -> f64 {
    let size = [1e16, -1e16, 1.0, 1e-8, 3e8][(x(i, 0, 7) % 5) as usize];
    size * ((x(i, 1, 7) % 1000) as f64 / 1000.0 + 0.5)
}

/// A 2 x 2 matrix: products do not commute.
type Matrix = [u32; 4];

fn times(a: Matrix, b: Matrix) -> Matrix {
    let e = |i: usize, j: usize| {
        let left = a[2 * i].wrapping_mul(b[j]);
        left.wrapping_add(a[2 * i + 1].wrapping_mul(b[2 + j]))
    };
    [e(0, 0), e(0, 1), e(1, 0), e(1, 1)]
}

fn matrix(rank: usize, i: usize) -> Matrix {
    [0, 1, 2, 3].map(|k| x(rank, i, k) as u32)
}

fn product(ranks: impl Iterator<Item = usize>, i: usize) -> Option<Matrix> {
    ranks.map(|r| matrix(r, i)).reduce(times)
}

/// Lengths: nothing, a line, more than a mailbox holds, more than rails and pieces
/// need.
const LENGTHS: [usize; 5] = [0, 1, 7, 300, 9_000];
/// In sub-communicators.
const FEWER: [usize; 2] = [1, 290];

/// Runs everything; returns a digest of all results that must not depend on
/// how ranks are spread over nodes.
pub(crate) fn all(comm: &mut NodeComm) -> u64 {
    let digest = one(comm, &LENGTHS);
    // Operators with bits that are not MPI's.
    for n in [1, 300] {
        one_result(comm, n, op::Min, float, |x| vec![x.to_bits()]);
        one_result(comm, n, op::Max, float, |x| vec![x.to_bits()]);
        let place = |x, i| (float(x, i), (x >> 16) as u32 % 3);
        one_result(comm, n, op::MaxLoc, place, |(x, at)| vec![x.to_bits(), u64::from(at)]);
    }
    values(comm);
    // The same in communicators: halves, reversed, interleaved.
    let (r, p) = (comm.rank(), comm.size());
    one(&mut comm.split(r % 2, r), &FEWER);
    one(&mut comm.split(0, p - r), &FEWER);
    one(&mut comm.split(2 * r / p, r), &FEWER);
    // Even ranks before odd ones: nodes and ranks are not in one order.
    one(&mut comm.split(7, r % 2 * p + r), &FEWER);
    let mut node = NodeComm::from(comm.split_by_node());
    assert_eq!(node.nodes(), 1);
    one(&mut node, &FEWER);
    drop(node);
    grid(comm);
    large(comm);
    comm.barrier();
    digest
}

/// A zero of either sign, a number, an infinity or a NaN, of several payloads.
fn float(x: usize, i: usize) -> f64 {
    const FLOATS: [u64; 12] = {
        let (nan, sign) = (f64::NAN.to_bits(), 1 << 63);
        let (one, most, all) = (1.5f64.to_bits(), f64::MAX.to_bits(), f64::INFINITY.to_bits());
        [0, sign, one, one | sign, 1, most, all, all | sign, nan, nan | sign, nan | 77, u64::MAX]
    };
    // Of zeros only, of numbers, with NaNs, of NaNs only.
    let pick = [x % 2, x % 8, x % 12, 8 + x % 4][i % 4];
    f64::from_bits(FLOATS[pick])
}

/// An operator that does not round has the bits of the fold in rank order, in every call and order.
fn one_result<T: Element, O: Operator<T> + Copy>(
    comm: &mut NodeComm,
    n: usize,
    op: O,
    make: fn(usize, usize) -> T,
    bits: fn(T) -> Vec<u64>,
) {
    let (r, p) = (comm.rank(), comm.size());
    let value = |q: usize, i: usize| make(x(q, i, 5) as usize, i);
    let fold =
        |i: usize, upto: usize| (1..upto).fold(value(0, i), |x, q| op.combine(x, value(q, i)));
    let of = |values: &[T]| values.iter().flat_map(|&x| bits(x)).collect::<Vec<_>>();
    let list = |at: &dyn Fn(usize) -> T| of(&(0..n).map(at).collect::<Vec<_>>());
    let mine: Vec<T> = (0..n).map(|i| value(r, i)).collect();
    let all: Vec<T> = (0..n * p).map(|i| value(r, i)).collect();
    for order in [Order::Ranked, Order::Fixed] {
        let mut comm = comm.with_order(order);
        let mut got = mine.clone();
        comm.all_reduce(&mut got, op);
        assert_eq!(of(&got), list(&|i| fold(i, p)), "all-reduce, {order:?}");
        got.copy_from_slice(&mine);
        comm.reduce(&mut got, op, n % p);
        let want = |i| if r == n % p { fold(i, p) } else { mine[i] };
        assert_eq!(of(&got), list(&want), "reduce, {order:?}");
        got.copy_from_slice(&mine);
        comm.scan(&mut got, op);
        assert_eq!(of(&got), list(&|i| fold(i, r + 1)), "scan, {order:?}");
        got.copy_from_slice(&mine);
        comm.exclusive_scan(&mut got, op);
        let first = op.identity();
        let want = |i| if r > 0 { fold(i, r) } else { first.unwrap_or(mine[i]) };
        assert_eq!(of(&got), list(&want), "exclusive scan, {order:?}");
        comm.reduce_scatter_into(&all, &mut got, op);
        assert_eq!(of(&got), list(&|i| fold(r * n + i, p)), "reduce-scatter, {order:?}");
    }
}

/// Calls with blocks, from the length on where rails take part; even blocks, and such
/// of different lengths, some empty.
fn large(comm: &mut NodeComm) {
    let (r, p) = (comm.rank(), comm.size());
    let n = 1500;
    let all: Vec<Matrix> = (0..n * p).map(|i| matrix(r, i)).collect();
    let mut mine = vec![[0; 4]; n];
    comm.reduce_scatter_into(&all, &mut mine, op::ordered(times));
    let want = (r * n..(r + 1) * n).map(|i| product(0..p, i));
    assert!(mine.iter().copied().map(Some).eq(want), "reduce-scatter of {n}");
    let counts: Vec<usize> = (0..p).map(|q| (q + 1) % 3 * 5000).collect();
    let (start, end) = (counts[..r].iter().sum::<usize>(), counts[..=r].iter().sum());
    let total = counts.iter().sum();
    let all: Vec<u64> = (0..total).map(|i| x(r, i, 1)).collect();
    let mut mine = vec![0; counts[r]];
    comm.reduce_scatter_varied_into(&all, &mut mine, &counts, op::Sum);
    let want = (start..end).map(|i| (0..p).map(|q| x(q, i, 1)).sum::<u64>());
    assert!(mine.iter().copied().eq(want), "varied reduce-scatter of {total}");
    let mut whole = vec![0; total];
    comm.all_gather_varied_into(&mine, &mut whole, &counts);
    let want = (0..total).map(|i| (0..p).map(|q| x(q, i, 1)).sum::<u64>());
    assert!(whole.iter().copied().eq(want), "varied all-gather of {total}");
}

fn one(comm: &mut NodeComm, lengths: &[usize]) -> u64 {
    let (r, p) = (comm.rank(), comm.size());
    comm.barrier();
    for &n in lengths {
        moves(comm, n);
        reductions(comm, n);
    }
    messages(comm);
    views(comm);
    assert_eq!(comm.overlap(call::barrier(), || r).1, r);
    let digest = fixed(comm);
    let mut check = [digest; 1];
    comm.broadcast(&mut check, p - 1);
    assert_eq!(check[0], digest, "the same bits on every rank");
    digest
}

fn moves(comm: &mut NodeComm, n: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let mine: Vec<u64> = (0..n).map(|i| x(r, i, n)).collect();
    let of = |rank: usize| (0..n).map(move |i| x(rank, i, n));
    let everything: Vec<u64> = (0..p).flat_map(of).collect();
    for root in [0, p / 2, p - 1] {
        let mut buf = if r == root { mine.clone() } else { vec![0; n] };
        comm.broadcast(&mut buf, root);
        assert!(buf.iter().copied().eq(of(root)), "broadcast of {n} from {root}");
        let mut all = vec![0; if r == root { n * p } else { 0 }];
        comm.gather_into(&mine, &mut all, root);
        assert!(r != root || all == everything, "gather of {n} to {root}");
        let mut data = if r == root { vec![0; n * p] } else { mine.clone() };
        if r == root {
            data[r * n..][..n].copy_from_slice(&mine);
        }
        comm.gather_in_place(&mut data, root);
        assert_eq!(data, if r == root { &all } else { &mine }[..], "gather of {n} in place");
        let mut back = vec![0; n];
        comm.scatter_into(&all, &mut back, root);
        assert_eq!(back, mine, "scatter of {n} from {root}");
    }
    let mut all = vec![0; n * p];
    comm.all_gather_into(&mine, &mut all);
    assert_eq!(all, everything, "all-gather of {n}");
    all.fill(0);
    all[r * n..][..n].copy_from_slice(&mine);
    comm.all_gather_in_place(&mut all);
    assert_eq!(all, everything, "all-gather of {n} in place");
    if n <= 300 {
        let send: Vec<u64> = (0..p).flat_map(|to| (0..n).map(move |i| x(r, i, to))).collect();
        let mut recv = vec![0; n * p];
        comm.all_to_all_into(&send, &mut recv);
        let want = (0..p).flat_map(|from| (0..n).map(move |i| x(from, i, r)));
        assert!(recv.iter().copied().eq(want), "all-to-all of {n}");
        let mut x = send;
        comm.all_to_all_in_place(&mut x);
        assert_eq!(x, recv, "all-to-all of {n} in place");
        varied(comm, n);
    }
    for by in [0isize, 1, -1, p as isize / 2 + 3] {
        let mut buf = mine.clone();
        comm.shift(&mut buf, by);
        let from = (r as isize - by).rem_euclid(p as isize) as usize;
        assert!(buf.iter().copied().eq(of(from)), "shift of {n} by {by}");
    }
}

/// Blocks of different lengths; elements with padding.
fn varied(comm: &mut NodeComm, n: usize) {
    let (r, p) = (comm.rank(), comm.size());
    type E = (u64, u8);
    let e = |rank: usize, i: usize| -> E { (x(rank, i, 3), rank as u8) };
    let counts: Vec<usize> = (0..p).map(|q| (n + q) % 5 * (q % 3)).collect();
    let mine: Vec<E> = (0..counts[r]).map(|i| e(r, i)).collect();
    let c = &counts;
    let want: Vec<E> = (0..p).flat_map(|q| (0..c[q]).map(move |i| e(q, i))).collect();
    let mut all = vec![(0, 0); want.len()];
    comm.all_gather_varied_into(&mine, &mut all, &counts);
    assert_eq!(all, want);
    let root = p - 1;
    let mut all = vec![(0, 0); if r == root { want.len() } else { 0 }];
    comm.gather_varied_into(&mine, &mut all, &counts, root);
    assert!(r != root || all == want);
    let mut back = vec![(0, 0); mine.len()];
    comm.scatter_varied_into(&all, &mut back, &counts, root);
    assert_eq!(back, mine);
    // From r to q: (r + 2 q + n) % 4 elements.
    let between = |from: usize, to: usize| (from + 2 * to + n) % 4;
    let (sends, recvs): (Vec<usize>, Vec<usize>) =
        (0..p).map(|q| (between(r, q), between(q, r))).unzip();
    let block = |from: usize, to: usize| (0..between(from, to)).map(move |i| e(from, i + 9 * to));
    let send: Vec<E> = (0..p).flat_map(|q| block(r, q)).collect();
    let mut recv = vec![(0, 0); recvs.iter().sum()];
    comm.all_to_all_varied_into(&send, &sends, &mut recv, &recvs);
    assert!(recv.iter().copied().eq((0..p).flat_map(|q| block(q, r))));
    assert_eq!(comm.all_to_all_vec(&send, &sends), (recv, recvs));
    assert_eq!(comm.all_gather_vec(&mine), (want.clone(), counts.clone()));
    assert_eq!(comm.gather_vec(&mine, root), (r == root).then_some((want, counts)));
}

fn reductions(comm: &mut NodeComm, n: usize) {
    let (r, p) = (comm.rank(), comm.size());
    let mine: Vec<u64> = (0..n).map(|i| x(r, i, n)).collect();
    let total = |i: usize| (0..p).map(|q| x(q, i, n)).sum::<u64>();
    let mut sum = mine.clone();
    comm.all_reduce(&mut sum, op::Sum);
    assert!(sum.iter().copied().eq((0..n).map(total)), "all-reduce of {n}");
    let captured = 1u64 << 40;
    let modular = op::commutative(|a: u64, b: u64| (a + b) % captured);
    let mut sum = mine.clone();
    comm.all_reduce(&mut sum, modular);
    let want = |i: usize| (0..p).map(|q| x(q, i, n)).reduce(|a, b| (a + b) % captured).unwrap();
    assert!(sum.iter().copied().eq((0..n).map(want)), "all-reduce of {n} by a closure");
    // A type that MPI does not have.
    let mut wide: Vec<i128> = mine.iter().map(|&v| -i128::from(v)).collect();
    comm.all_reduce(&mut wide, op::Min);
    let want = |i: usize| (0..p).map(|q| -i128::from(x(q, i, n))).min().unwrap();
    assert!(wide.iter().copied().eq((0..n).map(want)));
    let mut signed: Vec<i32> = mine.iter().map(|&v| v as i32 - 5).collect();
    comm.all_reduce(&mut signed, op::Max);
    let want = |i: usize| (0..p).map(|q| x(q, i, n) as i32 - 5).max().unwrap();
    assert!(signed.iter().copied().eq((0..n).map(want)));

    let matrices: Vec<Matrix> = (0..n).map(|i| matrix(r, i)).collect();
    let ordered = op::ordered(times);
    let mut all = matrices.clone();
    comm.all_reduce(&mut all, ordered);
    assert!(all.iter().copied().map(Some).eq((0..n).map(|i| product(0..p, i))), "ordered, {n}");
    let mut prefix = matrices.clone();
    comm.scan(&mut prefix, ordered);
    assert!(
        prefix.iter().copied().map(Some).eq((0..n).map(|i| product(0..r + 1, i))),
        "scan of {n}"
    );
    let mut before = matrices.clone();
    comm.exclusive_scan(&mut before, ordered);
    let want = (0..n).map(|i| product(0..r, i).unwrap_or(matrix(0, i)));
    assert!(before.iter().copied().eq(want), "exclusive scan of {n}");
    let mut offset = vec![r as u64 + 1; n];
    comm.exclusive_scan(&mut offset, op::Sum);
    assert_eq!(offset, vec![(r * (r + 1) / 2) as u64; n]);
    let flag = |q: usize, i: usize| (i + q) % 3 == 1;
    let flags: Vec<bool> = (0..n).map(|i| flag(r, i)).collect();
    let mut parts = mine.clone();
    comm.segmented_scan(&mut parts, &flags, op::Sum);
    let places = (0..=r).flat_map(|q| (0..n).map(move |i| (q, i)));
    let sums = places.scan(0, |sum, (q, i)| {
        *sum = if flag(q, i) { x(q, i, n) } else { *sum + x(q, i, n) };
        Some(*sum)
    });
    assert!(parts.iter().copied().eq(sums.skip(r * n)), "segmented scan of {n}");
    for root in [0, p - 1] {
        let mut one = matrices.clone();
        comm.reduce(&mut one, ordered, root);
        let want = |i| if r == root { product(0..p, i) } else { Some(matrix(r, i)) };
        assert!(one.iter().copied().map(Some).eq((0..n).map(want)), "reduce of {n} to {root}");
    }
    if n > 300 {
        return;
    }
    let all: Vec<Matrix> = (0..n * p).map(|i| matrix(r, i)).collect();
    let mut mine = vec![[0; 4]; n];
    comm.reduce_scatter_into(&all, &mut mine, ordered);
    let want = (r * n..(r + 1) * n).map(|i| product(0..p, i));
    assert!(mine.iter().copied().map(Some).eq(want), "reduce-scatter of {n}");
    let counts: Vec<usize> = (0..p).map(|q| q % 3 * (n % 4)).collect();
    let (start, end) = (counts[..r].iter().sum::<usize>(), counts[..=r].iter().sum());
    let total = counts.iter().sum();
    let all: Vec<u64> = (0..total).map(|i| x(r, i, 1)).collect();
    let mut mine = vec![0; counts[r]];
    comm.reduce_scatter_varied_into(&all, &mut mine, &counts, op::Sum);
    let want = (start..end).map(|i| (0..p).map(|q| x(q, i, 1)).sum::<u64>());
    assert!(mine.into_iter().eq(want));
}

fn messages(comm: &mut NodeComm) {
    let (r, p) = (comm.rank(), comm.size());
    for n in [0, 1, 128, 129, 50_000] {
        let mine: Vec<u64> = (0..n).map(|i| x(r, i, 4)).collect();
        let mut got = vec![0; n];
        comm.exchange(&mine, (r + 1) % p, &mut got, (r + p - 1) % p);
        assert!(got.iter().copied().eq((0..n).map(|i| x((r + p - 1) % p, i, 4))));
        // A relay there and back.
        if p > 1 {
            let mut x = vec![r as u64; n];
            if r > 0 {
                comm.recv(&mut x, r - 1);
            }
            x.iter_mut().for_each(|x| *x += 1);
            if r + 1 < p {
                comm.send(&x, r + 1);
            }
            assert!(x.iter().all(|&x| x == r as u64 + 1));
        }
    }
    // All to rank 0, several each; these arrive in order.
    for k in 0..3u32 {
        if r > 0 {
            comm.send(&[r as u32, k], 0);
        } else {
            for from in (1..p).rev() {
                let mut got = [0; 2];
                comm.recv(&mut got, from);
                assert_eq!(got, [from as u32, k]);
            }
        }
    }
}

fn views(comm: &mut NodeComm) {
    let (r, p) = (comm.rank(), comm.size());
    let mine = vec![r as u16; 3 * r];
    comm.with_peers(&mine, |all| {
        assert_eq!(all.len(), p);
        assert!(all.iter().enumerate().all(|(q, s)| s == vec![q as u16; 3 * q]));
    });
    let table: Vec<u32> = if r == p - 1 { (0..1000).collect() } else { vec![] };
    let sum = comm.with_root(&table, p - 1, |t| t.iter().sum::<u32>());
    assert_eq!(sum, 499_500);
    let n = 5 * p + 3;
    let rows = Block::new(n, p);
    let own: Vec<usize> = rows.indices(r).collect();
    comm.with_global(&own, |x| assert!((0..n).all(|i| x[i] == i)));
}

fn grid(comm: &mut NodeComm) {
    let p = comm.size();
    let me = comm.rank();
    let mut cart = comm.cart(&[0, 0], &[true, false]);
    let dims = cart.grid().dims().to_vec();
    let at = cart.coordinates();
    let mut row = cart.sub(&[false, true]);
    assert_eq!((row.size(), row.rank()), (dims[1], at[1]));
    let mut sum = [me as u64];
    row.all_reduce(&mut sum, op::Sum);
    let want: usize = (0..dims[1]).map(|c| at[0] * dims[1] + c).sum();
    assert_eq!(sum[0], want as u64);
    drop(row);
    for (width, corners) in [(1, false), (2, true)] {
        let mut halo = Halo::new(&[3, 4], width);
        if corners {
            halo = halo.with_corners();
        }
        // Each own cell has its global index; the halo a hole.
        let (rows, cols) = (3 * dims[0] as isize, 4 * dims[1] as isize);
        let w = width as isize;
        let mut field = vec![-1isize; halo.len()];
        let global = |i: isize, j: isize| {
            let (i, j) = (3 * at[0] as isize + i, 4 * at[1] as isize + j);
            (i.rem_euclid(rows), j)
        };
        for i in 0..3 {
            for j in 0..4 {
                let (gi, gj) = global(i, j);
                field[halo.index(&[i, j])] = gi * cols + gj;
            }
        }
        let own = cart.exchange_halo_while(&mut field, &halo, |f| f[halo.index(&[0, 0])]);
        assert!(own >= 0);
        for i in -w..3 + w {
            for j in -w..4 + w {
                let (gi, gj) = global(i, j);
                let corner = !(0..3).contains(&i) && !(0..4).contains(&j);
                let outside = gj < 0 || gj >= cols;
                let want = if outside || (corner && !corners) { -1 } else { gi * cols + gj };
                assert_eq!(field[halo.index(&[i, j])], want, "{i} {j} of {me} of {p}");
            }
        }
    }
}

/// Every kind of call as a value gives the results of the method of its name.
fn values(comm: &mut NodeComm) {
    let (r, p) = (comm.rank(), comm.size());
    let (root, n) = (p / 2, 3);
    let mine: Vec<u64> = (0..n).map(|i| x(r, i, 5)).collect();
    let all: Vec<u64> = (0..n * p).map(|i| x(r, i, 6)).collect();
    // Rank q's has q blocks' elements.
    let counts: Vec<usize> = (0..p).collect();
    let total = counts.iter().sum();
    let (some, whole) = (vec![r as u64; r], vec![1; total]);
    // The method and the value, on the same input.
    macro_rules! same {
        ($len:expr, $from:expr, $call:ident ($($input:expr),*; $($rest:expr),*)) => {{
            let (mut a, mut b) = (vec![7; $len], vec![7; $len]);
            a.iter_mut().zip($from).for_each(|(a, &from): (_, &u64)| *a = from);
            b.copy_from_slice(&a);
            comm.$call($($input,)* &mut a, $($rest),*);
            let gives = comm.run(call::$call($($input,)* &mut b, $($rest),*));
            assert_eq!(*gives, a, "{} of rank {r} of {p}", stringify!($call));
        }};
    }
    comm.run(call::barrier());
    same!(n, &mine, broadcast(; root));
    same!(n, &mine, shift(; -1));
    same!(n, &mine, reduce(; op::Sum, root));
    same!(n, &mine, all_reduce(; op::Max));
    same!(n, &mine, scan(; op::Sum));
    same!(n, &mine, exclusive_scan(; op::Sum));
    let flags: Vec<bool> = (0..n).map(|i| (i + r) % 3 == 1).collect();
    same!(n, &mine, segmented_scan(; &flags[..], op::Sum));
    same!(n, &mine, exclusive_segmented_scan(; &flags[..], op::ordered(|a, b| a * 3 + b)));
    same!(n, &[], reduce_scatter_into(&all; op::Sum));
    same!(r, &[], reduce_scatter_varied_into(&whole; &counts, op::Sum));
    same!(n * p, &[], all_gather_into(&mine;));
    same!(total, &[], all_gather_varied_into(&some; &counts));
    same!(n * p, &[], all_to_all_into(&all;));
    same!(n * p, &[], gather_into(&mine; root));
    same!(total, &[], gather_varied_into(&some; &counts, root));
    same!(n, &[], scatter_into(&all; root));
    same!(r, &[], scatter_varied_into(&whole; &counts, root));
    let (sent, to, from) = (vec![r as u64; r * p], vec![r; p], counts);
    same!(total, &[], all_to_all_varied_into(&sent, &to; &from));
    assert_eq!(comm.run(call::sum([r, 1])), [p * (p - 1) / 2, p]);
    assert_eq!(comm.run(call::all_reduce_values([r], op::Max)), [p - 1]);
    let (sums, work) = comm.overlap(call::sum([1.0]), || 7);
    assert_eq!((sums, work), ([p as f64], 7));
}

/// The sums that must have the same bits for the same ranks on any nodes.
fn fixed(comm: &mut NodeComm) -> u64 {
    let (r, p) = (comm.rank(), comm.size());
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut note = |x: f64| digest = (digest ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3);
    for n in [1, 100, 1000] {
        let mine: Vec<f64> = (0..n).map(|i| rough(i * p + r)).collect();
        let mut sum = mine.clone();
        comm.with_order(Order::Fixed).all_reduce(&mut sum, op::Sum);
        sum.iter().for_each(|&x| note(x));
        let mut to_one = mine.clone();
        comm.with_order(Order::Fixed).reduce(&mut to_one, op::Sum, p / 2);
        assert!(r != p / 2 || to_one == sum);
        let all: Vec<f64> = (0..n * p).map(|i| rough(i + 17 * r)).collect();
        let mut part = vec![0.0; n];
        comm.with_order(Order::Fixed).reduce_scatter_into(&all, &mut part, op::Sum);
        let mut whole = vec![0.0; n * p];
        comm.all_gather_into(&part, &mut whole);
        whole.iter().for_each(|&x| note(x));
        let mut lone = [mine[0]];
        comm.overlap(call::all_reduce(&mut lone, op::Sum), || ());
        note(lone[0]);
    }
    // A vector: also for any number of ranks.
    let total = 12_345;
    let (from, to) = (total * r / p, total * (r + 1) / p);
    let mine: Vec<f64> = (from..to).map(rough).collect();
    let sum = comm.fixed_sum(&mine, from);
    let [dot, square] = comm.fixed_dots([(&mine, &mine), (&mine, &vec![0.5; mine.len()])], from);
    let alone = |f: &dyn Fn(usize) -> f64| {
        let all: Vec<f64> = (0..total).map(f).collect();
        phalanx::run(1, |comm| comm.fixed_sum(&all, 0)).unwrap()[0].to_bits()
    };
    if p % 2 == 0 && r == 0 {
        assert_eq!(sum.to_bits(), alone(&rough));
        assert_eq!(dot.to_bits(), alone(&|i| rough(i) * rough(i)));
    }
    [sum, dot, square].into_iter().for_each(note);
    assert_eq!(comm.fixed_reduce(&[] as &[u8], op::Max, 0), None);
    digest
}
