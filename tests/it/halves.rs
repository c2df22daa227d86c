//! Sums and products of halves: in `f32`, rounded once, on every way that a call can take.

use crate::common::{Bits, OneCall, every_way_to, runs, sizes, succeeds, team, watch};
use half::{bf16, f16};
use phalanx::dist::{Block, GeneralBlock, dynamic};
use phalanx::engine::FoldKernel;
use phalanx::op::{self, Operator};
use phalanx::schedule::{Operation, Request};
use phalanx::{Algorithm, Comm, Order, call};

/// A float of 16 bits.
trait Half: Bits + std::ops::Mul<Output = Self> {
    const INFINITE: Self;
    const LARGEST: Self;
    fn of(x: f64) -> Self;
    fn wide(self) -> f32;
    fn from(bits: u16) -> Self;
    fn rounded(x: f32) -> Self;
}

macro_rules! halves {
    ($($half:ty)*) => {$(
        impl Half for $half {
            const INFINITE: Self = <$half>::INFINITY;
            const LARGEST: Self = <$half>::MAX;
            fn of(x: f64) -> Self {
                Self::from_f64(x)
            }
            fn wide(self) -> f32 {
                self.to_f32()
            }
            fn from(bits: u16) -> Self {
                Self::from_bits(bits)
            }
            fn rounded(x: f32) -> Self {
                if x.is_nan() { Self::from_bits(!0) } else { Self::from_f32(x) }
            }
        }
    )*};
}

halves! { f16 bf16 }

/// Operands with a sum in `f32` that is exact in every order, but for results beyond all numbers.
fn exact<T: Half>(x: usize, i: usize) -> T {
    let sign = if x & 64 == 0 { 1.0 } else { -1.0 };
    let number =
        |low: i32| sign * (128 + x % 128) as f64 * f64::powi(2.0, low + (x >> 7) as i32 % 6);
    match i % 8 {
        // Most of them are rounded: the bits are spread over more places than an element has.
        0..=2 => T::of(number(-7)),
        // Beside the largest number.
        3 => T::of(number(-7) * 16.0),
        // Subnormal numbers and 0, of both signs.
        4 => T::from((x % 9) as u16 | if x & 64 == 0 { 0 } else { 1 << 15 }),
        // Overflow, when there are two.
        5 => T::LARGEST,
        // Infinities, and the NaN of both.
        6 if x.is_multiple_of(5) => {
            if x & 64 == 0 {
                T::INFINITE
            } else {
                T::from(T::INFINITE.bits()[0] as u16 | 1 << 15)
            }
        }
        // NaN, with all bits set so that it is the same where it has no other operand.
        7 if x.is_multiple_of(7) => T::from(!0),
        _ => T::of(number(-7)),
    }
}

/// The sum, rounded once; of one operand that.
fn exact_sum<T: Half>(all: &[T]) -> T {
    if let [one] = all {
        return *one;
    }
    let sum = all.iter().fold(-0.0, |sum, x| sum + f64::from(x.wide()));
    if sum.is_nan() { T::from(!0) } else { T::of(sum) }
}

/// Operands with an exact product in `f32`.
fn factor<T: Half>(x: usize, i: usize) -> T {
    match (x + i) % 4 {
        0 => T::of(1.5),
        1 => T::of(-0.5),
        2 => T::of(1.25),
        _ => T::of(-2.0),
    }
}

fn exact_product<T: Half>(all: &[T]) -> T {
    T::of(all.iter().fold(1.0, |product, x| product * f64::from(x.wide())))
}

fn each_way<T: Half>(comm: &mut Comm, n: usize)
where
    op::Sum: Operator<T>,
    op::Prod: Operator<T>,
{
    every_way_to(comm, n, op::Sum, exact::<T>, &exact_sum);
    every_way_to(comm, n, op::Prod, factor::<T>, &exact_product);
}

#[test]
fn sums_are_rounded_once_on_every_way() {
    let watch = watch();
    for p in sizes(1..=9) {
        for n in [1, 10, 330, 1500] {
            watch.case(format!("p = {p}, n = {n}"));
            runs(&team(p), format!("p = {p}, n = {n}"), |comm| {
                each_way::<bf16>(comm, n);
                each_way::<f16>(comm, n);
            });
        }
    }
    for (p, n) in [(2, 40_000), (3, 9000)] {
        watch.case(format!("p = {p}, n = {n}"));
        team(p).run(|comm| each_way::<bf16>(comm, n)).unwrap();
    }
}

/// Halves within arrays and tuples, by operators within others.
#[test]
fn compound_sums_are_rounded_once_on_every_way() {
    type Fields = (bf16, [bf16; 2]);
    fn fields(x: usize, i: usize) -> Fields {
        let i = i % 3;
        (exact(x, i), [exact(x / 3, i), exact(x / 5, i)])
    }
    fn sum_of_fields(all: &[Fields]) -> Fields {
        let of = |field: fn(&Fields) -> bf16| exact_sum(&all.iter().map(field).collect::<Vec<_>>());
        (of(|x| x.0), [of(|x| x.1[0]), of(|x| x.1[1])])
    }
    for p in sizes(2..=6) {
        for n in [1, 10, 330] {
            runs(&team(p), format!("p = {p}, n = {n}"), |comm| {
                every_way_to(comm, n, op::Sum, fields, &sum_of_fields);
                let borrowed = &op::Sum;
                every_way_to(comm, n, borrowed, exact::<f16>, &exact_sum);
                let op = op::with_identity(op::Sum, f16::ONE);
                every_way_to(comm, n, op, exact::<f16>, &exact_sum);
            });
        }
    }
}

/// Operands with a sum that depends on the order.
fn odd<T: Half>(r: usize, i: usize) -> T {
    let x = (r * 7919 + i * 104_729) % 1000;
    T::of((x as f64 - 500.0) * f64::powi(2.0, (x % 19) as i32 - 12))
}

/// By each algorithm, and in fixed order, the result is that of the sum in `f32`, rounded once.
#[test]
fn the_order_is_that_of_f32() {
    fn same<T: Half>(comm: &mut Comm, operation: Operation, n: usize)
    where
        op::Sum: Operator<T> + Operator<f32>,
    {
        let it = OneCall::new(comm, operation, 0, n);
        let mut got = it.buffers(op::Sum, &odd::<T>);
        let mut wanted = it.buffers(op::Sum, &|r, i| odd::<T>(r, i).wide());
        it.make(comm, op::Sum, (&got.input, &mut got.output));
        it.make(comm, op::Sum, (&wanted.input, &mut wanted.output));
        for (got, wanted) in got.output.iter().zip(wanted.output) {
            assert_eq!(got.bits(), T::rounded(wanted).bits(), "{operation}, {n} elements");
        }
    }
    for p in sizes(2..=9) {
        runs(&team(p), format!("p = {p}"), |comm| {
            for operation in Operation::ALL.into_iter().filter(|it| it.combines()) {
                for n in [3, 40, 700] {
                    same::<bf16>(&mut comm.with_order(Order::Fixed), operation, n);
                    let request = Request::new(operation, p).root(0);
                    for algorithm in Algorithm::for_operation(operation) {
                        if algorithm.schedule(&request).is_ok() {
                            same::<bf16>(&mut comm.with(algorithm), operation, n);
                            same::<f16>(&mut comm.with(algorithm), operation, n);
                        }
                    }
                }
            }
        });
    }
}

/// Sums of vectors that are spread over the ranks: one result for each number of ranks, of as many
/// elements as swallow the next ones.
#[test]
fn spread_sums_are_rounded_once() {
    const N: usize = 3000;
    let x: Vec<bf16> = (0..N).map(|i| bf16::from_f32(1.0 + (i % 3) as f32 / 64.0)).collect();
    let y: Vec<bf16> = (0..N).map(|i| bf16::from_f32(1.0 + (i % 7) as f32 / 128.0)).collect();
    let wide = |x: &[bf16]| x.iter().map(|x| x.to_f32()).collect::<Vec<f32>>();
    let (wide_x, wide_y) = (wide(&x), wide(&y));
    let sum: f64 = wide_x.iter().map(|&x| f64::from(x)).sum();
    let dot: f64 = wide_x.iter().zip(&wide_y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
    for p in sizes(1..=8) {
        runs(&team(p), format!("p = {p}"), |comm| {
            for unit in [1, 256] {
                let cut = |r: usize| if r == p { N } else { N * r / p / unit * unit };
                let (from, to) = (cut(comm.rank()), cut(comm.rank() + 1));
                let mine = from..to;
                assert_eq!(comm.fixed_sum(&x[mine.clone()], from), bf16::from_f64(sum));
                let (a, b) = (&x[mine.clone()], &y[mine.clone()]);
                assert_eq!(comm.fixed_dot(a, b, from), bf16::from_f64(dot));
                let got = comm.fixed_reduce(&x[mine.clone()], op::Sum, from);
                let wanted = comm.fixed_reduce(&wide_x[mine], op::Sum, from);
                assert_eq!(got, wanted.map(bf16::from_f32));
            }
        });
    }
}

/// Other calls that combine: of counts, of values, beside work, on a part of the ranks.
#[test]
fn related_calls_round_once() {
    for p in sizes(2..=6) {
        runs(&team(p), format!("p = {p}"), |comm| {
            let r = comm.rank();
            let sum = |i: usize, of: &dyn Fn(usize) -> bool| {
                let all = (0..p).filter(|&q| of(q)).map(|q| exact::<bf16>(q * 37, i));
                exact_sum(&all.collect::<Vec<_>>()).bits()
            };
            let all = |_: usize| true;
            let mine = |n: usize| (0..n).map(|i| exact(r * 37, i)).collect::<Vec<bf16>>();
            for n in [1, 30, 900] {
                let counts: Vec<usize> = (0..p).map(|q| (q + 1) % 3 * n).collect();
                let before: usize = counts[..r].iter().sum();
                let (blocks, mut own) = (mine(counts.iter().sum()), vec![bf16::ZERO; counts[r]]);
                // The second time by the plan of the first one.
                for _ in 0..2 {
                    comm.reduce_scatter_varied_into(&blocks, &mut own, &counts, op::Sum);
                    for (i, x) in own.iter().enumerate() {
                        assert_eq!(x.bits(), sum(before + i, &all), "varied, {i} of {n}");
                    }
                }
                let mut x = mine(n);
                comm.overlap(call::all_reduce(&mut x, op::Sum), || ());
                for (i, x) in x.iter().enumerate() {
                    assert_eq!(x.bits(), sum(i, &all), "beside work, {i} of {n}");
                }
                let mut x = mine(n);
                comm.split(r % 2, 0).all_reduce(&mut x, op::Sum);
                for (i, x) in x.iter().enumerate() {
                    assert_eq!(x.bits(), sum(i, &|q| q % 2 == r % 2), "split, {i} of {n}");
                }
            }
            let x = [exact::<bf16>(r * 37, 0), exact(r * 37, 1)];
            let wanted = [sum(0, &all), sum(1, &all)];
            assert_eq!(comm.sum(x).map(Bits::bits), wanted);
            assert_eq!(comm.all_reduce_values(x, op::Sum).map(Bits::bits), wanted);
        });
    }
}

/// A segmented scan combines in a rank's own block, between the ranks, and in the block again.
#[test]
fn segmented_scans_round_once() {
    const N: usize = 7; // elements of a block
    let value = |k: usize| exact::<bf16>(k / N * 37, k % N % 3);
    let starts = |k: usize| k % 11 == 5;
    // Of the elements from the start of the segment of `k` to `end`.
    let wanted = |k: usize, end: usize| {
        let first = (0..=k).rev().find(|&k| k == 0 || starts(k)).expect("0 is one");
        let all: Vec<bf16> = (first..end).map(value).collect();
        if all.is_empty() { bf16::ZERO.bits() } else { exact_sum(&all).bits() }
    };
    for p in sizes(1..=6) {
        runs(&team(p), format!("p = {p}"), |comm| {
            let mine = comm.rank() * N..(comm.rank() + 1) * N;
            let own: Vec<bf16> = mine.clone().map(value).collect();
            let flags: Vec<bool> = mine.clone().map(starts).collect();
            let check = |x: &[bf16], is_exclusive: bool, way: &str| {
                for (k, x) in mine.clone().zip(x) {
                    let end = if is_exclusive { k } else { k + 1 };
                    assert_eq!(x.bits(), wanted(k, end), "{way}, {k}, exclusive: {is_exclusive}");
                }
            };
            let mut x = own.clone();
            comm.segmented_scan(&mut x, &flags, op::Sum);
            check(&x, false, "at once");
            x.clone_from(&own);
            comm.exclusive_segmented_scan(&mut x, &flags, op::Sum);
            check(&x, true, "at once");
            let (mut x, mut y) = (own.clone(), own.clone());
            comm.requests(|scope| {
                let open = scope.start(call::segmented_scan(&mut x, &flags, op::Sum));
                let idle = scope.set_up(call::exclusive_segmented_scan(&mut y, &flags, op::Sum));
                let done = scope.wait(open);
                check(done, false, "started");
                let open = scope.start(idle);
                check(scope.wait(open).buf(), true, "set up");
            });
        });
    }
}

/// Parts that an interface does on vectors of its ranks, which it shows itself: in place, apart.
#[test]
fn parts_of_an_interface_round_once() {
    const N: usize = 300;
    let kernel = FoldKernel::of::<bf16, _>(&op::Sum);
    let old = || bf16::from_bits(0x5555);
    for p in (1..=9).chain([17]) {
        let vector = |r: usize| (0..N).map(|i| exact::<bf16>(r * 37, i)).collect::<Vec<bf16>>();
        let all: Vec<Vec<bf16>> = (0..p).map(vector).collect();
        let before =
            |i: usize, n: usize| exact_sum(&all.iter().map(|x| x[i]).collect::<Vec<_>>()[..n]);
        let addresses = |x: &mut Vec<Vec<bf16>>| -> Vec<*mut u8> {
            x.iter_mut().map(|x| x.as_mut_ptr().cast()).collect()
        };
        let (mut ins, mut outs) = (all.clone(), vec![vec![old(); N]; p]);
        for in_place in [false, true] {
            for operation in [Operation::AllReduce, Operation::Scan, Operation::ExclusiveScan] {
                ins.clone_from(&all);
                let mut from = addresses(&mut ins);
                let mut to = if in_place { from.clone() } else { addresses(&mut outs) };
                if operation == Operation::ExclusiveScan && !in_place {
                    // Vectors that have no part in it.
                    (from[p - 1], to[0]) = (std::ptr::null_mut(), std::ptr::null_mut());
                }
                for part in [0..1, 1..40, 40..N] {
                    // SAFETY: vectors of so many elements, but those that the operation leaves out.
                    unsafe { kernel.fold_part(operation, part, (&from, &to), 0) };
                }
                let results = if in_place { &ins } else { &outs };
                for (r, x) in results.iter().enumerate() {
                    let operands = match operation {
                        Operation::AllReduce => p,
                        Operation::Scan => r + 1,
                        _ if r == 0 => continue,
                        _ => r,
                    };
                    for (i, x) in x.iter().enumerate() {
                        let wanted = before(i, operands).bits();
                        let case = format!("{operation}, p = {p}, in place: {in_place}");
                        assert_eq!(x.bits(), wanted, "{case}, {i} of {r}");
                    }
                }
            }
        }
    }
}

/// Values of regions, and ghosts on their owners' elements, by any way of cutting and of sending.
#[test]
fn regions_and_ghosts_round_once() {
    fn each<T: Half>()
    where
        op::Sum: Operator<T>,
    {
        let sum =
            |n: usize| exact_sum(&(0..n).map(|at| exact::<T>(at * 37, 0)).collect::<Vec<_>>());
        for p in sizes(1..=6) {
            let team = team(p);
            for n in [1, 7, 24] {
                let x = vec![0_u8; n];
                let value = |_: &mut Comm, mine: &[u8], at: usize| {
                    if mine.is_empty() { T::of(0.0) } else { exact::<T>(at * 37, 0) }
                };
                let ones = team.reduce_chunks(dynamic(1).cut(&x), value, op::Sum).unwrap();
                assert_eq!(ones.bits(), sum(n).bits(), "{p} ranks, {n} blocks");
                // A block a rank, of each kind of cut.
                let (x, aligned) = (vec![0_u8; p], Block::aligned(p, p, 1));
                let general = GeneralBlock::of_counts(vec![1; p]);
                let all = [
                    team.reduce_chunks(&x, value, op::Sum),
                    team.reduce_chunks(aligned.cut(&x), value, &op::Sum),
                    team.reduce_chunks(
                        general.cut((&x, &x)),
                        |c, (x, _), at| value(c, x, at),
                        op::Sum,
                    ),
                ];
                for got in all {
                    assert_eq!(got.unwrap().bits(), sum(p).bits(), "{p} ranks");
                }
            }
            // Short lists go in messages, long ones are read where they lie.
            for n in [1, 3000] {
                succeeds(&team, |comm| {
                    let owned = Block::new(n * p, p);
                    let r = comm.rank();
                    // All ranks have copies of rank 0's elements but the last, and rank 0 two.
                    let mut wanted: Vec<usize> = (0..n.saturating_sub(1).max(1)).collect();
                    if r == 0 {
                        wanted.extend_from_within(..);
                    }
                    let plan = comm.ghosts(&owned, &wanted);
                    let ghosts = vec![exact::<T>((r + 1) * 37, 0); wanted.len()];
                    let old = T::from(T::INFINITE.bits()[0] as u16 | 1); // a signalling NaN
                    let mut mine = vec![old; n];
                    let ends = if r == 0 { wanted.len() / 2 } else { 0 };
                    mine[..ends].fill(exact(0, 0));
                    plan.scatter_add(comm, &ghosts, &mut mine);
                    plan.scatter_with(comm, &vec![T::of(0.0); ghosts.len()], &mut mine, op::Sum);
                    let all = [0, 1].into_iter().chain(1..=p).map(|k| exact::<T>(k * 37, 0));
                    let wanted = exact_sum(&all.collect::<Vec<_>>()).bits();
                    assert!(mine[..ends].iter().all(|x| x.bits() == wanted), "{p} ranks, {n}");
                    assert!(mine[ends..].iter().all(|x| x.bits() == old.bits()), "{p} ranks, {n}");
                });
            }
        }
    }
    each::<bf16>();
    each::<f16>();
    let x = [60000.0, 60000.0, -60000.0, 1.0, -60000.0, 1.0, 1.0, 1.0].map(f16::from_f32);
    let sum = team(8).reduce_chunks(&x, |_, mine, _| mine[0], op::Sum).unwrap();
    assert_eq!(sum, f16::from_f32(4.0));
}
