//! Reductions of ranks with floating-point controls of their own: the same bits, and each thread
//! keeps its control.

use crate::common::{Bits, every_way_to, runs, sizes, succeeds, team, watch};
use float_register::{KINDS, disturbed, read, write};
use phalanx::dist::{Block, dynamic};
use phalanx::op::{self, Operator};
use phalanx::{Comm, Order, call};
use std::sync::atomic::Ordering::Relaxed;

#[path = "../common/float_register.rs"]
mod float_register;

/// For the operand `x` of element `i`: a subnormal number; or 1, or so little that 1 stays 1.
macro_rules! operand {
    ($float:ty) => {
        |x: usize, i: usize| match i % 3 {
            0 => <$float>::from_bits(x as u8 as _),
            _ if x.is_multiple_of(2) => <$float>::from(1_i8),
            1 => little!($float, 0),
            _ => little!($float, 1),
        }
    };
}

/// 2^-60 or -2^-60, of a float of 16 bits and more.
macro_rules! little {
    ($float:ty, $sign:expr) => {{
        let bits = ((f32::to_bits(1.0 / (1_u64 << 60) as f32) | $sign << 31) as u64) << 32;
        match size_of::<$float>() {
            8 => <$float>::from_bits(f64::to_bits(f32::from_bits((bits >> 32) as u32).into()) as _),
            4 => <$float>::from_bits((bits >> 32) as _),
            _ => <$float>::from_bits((bits >> 48) as _),
        }
    }};
}

/// The sum of such, in any order.
macro_rules! sum {
    ($float:ty) => {
        |all: &[$float]| {
            let ones = all.iter().filter(|x| **x == <$float>::from(1_i8)).count();
            let first = all[0];
            match (ones, all.len() as i8) {
                (_, 1) => first,
                (1.., _) => <$float>::from(ones as i8),
                _ if first.is_normal() => first * <$float>::from(all.len() as i8),
                _ => <$float>::from_bits(all.iter().map(|x| x.to_bits()).sum()),
            }
        }
    };
}

/// All ways to combine by `op`, with each control on one rank only.
fn on_one_rank<T: Bits, O: Operator<T> + Copy + 'static>(
    comm: &mut Comm,
    n: usize,
    op: O,
    make: fn(usize, usize) -> T,
    result: &dyn Fn(&[T]) -> T,
) {
    for (i, bits) in KINDS.into_iter().enumerate() {
        let bits = if comm.rank() == (n + i) % comm.size() { bits } else { 0 };
        disturbed(bits, || every_way_to(comm, n, op, make, result));
    }
}

#[test]
fn every_way_gives_the_same_bits() {
    let watch = watch();
    for p in sizes(1..=5) {
        for n in [1, 3, 10, 330] {
            watch.case(format!("p = {p}, n = {n}"));
            runs(&team(p), format!("p = {p}, n = {n}"), |comm| {
                on_one_rank(comm, n, op::Sum, operand!(f64), &sum!(f64));
                on_one_rank(comm, n, op::Sum, operand!(f32), &sum!(f32));
                let add = op::commutative(|a: f64, b| a + b);
                on_one_rank(comm, n, add, operand!(f64), &sum!(f64));
                let max = |all: &[f64]| all.iter().copied().max_by(f64::total_cmp).unwrap();
                on_one_rank(comm, n, op::Max, operand!(f64), &max);
                #[cfg(feature = "half")]
                {
                    use half::bf16;
                    let make = |x: usize, i: usize| operand!(bf16)(x % 16, i);
                    on_one_rank(comm, n, op::Sum, make, &sum!(bf16));
                }
            });
        }
    }
}

/// Numbers that round, and subnormal ones.
fn rough(rank: usize, n: usize) -> Vec<f64> {
    let number = |i: usize| match i % 3 {
        0 => f64::from_bits((i + rank) as u64 * 0x1_2345_6789),
        _ => f64::from_bits(0x3fb9_9999_9999_999a + ((i * 7 + rank) as u64 * 0x2_0000_0001)),
    };
    (0..n).map(number).collect()
}

/// The bits of every other form of a reduction.
fn forms(comm: &mut Comm) -> Vec<u64> {
    let (r, p) = (comm.rank(), comm.size());
    let mut all: Vec<f64> = vec![];
    for n in [1, 5, 200, 3000] {
        let x = rough(r, n);
        let reduce = |comm: &mut Comm, all: &mut Vec<f64>| {
            let mut y = x.clone();
            comm.all_reduce(&mut y, op::Prod);
            all.append(&mut y);
        };
        reduce(comm, &mut all);
        reduce(&mut comm.ring(), &mut all);
        reduce(&mut comm.tree(), &mut all);
        reduce(&mut comm.mesh(1, p), &mut all);
        if p.is_power_of_two() {
            reduce(&mut comm.hypercube(), &mut all);
        }
        reduce(&mut comm.with_order(Order::Fixed), &mut all);
        reduce(&mut comm.with_order(Order::Fixed).ring(), &mut all);
        all.push(comm.fixed_sum(&x, r * n));
        all.extend(comm.fixed_dots([(&x, &x), (&x, &vec![0.3; n])], r * n));
        all.extend(comm.fixed_reduce(&x, op::ordered(|a, b| a / 3.0 + b), r * n));
        let (mut y, mut z) = (x.clone(), x.clone());
        comm.segmented_scan(&mut y, &vec![r == 1; n], op::Sum);
        comm.exclusive_segmented_scan(&mut z, &vec![false; n], op::Sum);
        all.extend(y.iter().chain(&z));
        let plan = comm.ghosts(&Block::new(p * n, p), &(0..p * n).step_by(2).collect::<Vec<_>>());
        plan.scatter_add(comm, &rough(r, plan.ghosts()), &mut y);
        plan.scatter_with(comm, &rough(r, plan.ghosts()), &mut y, op::Prod);
        all.append(&mut y);
        comm.overlap(call::all_reduce(&mut z, op::Sum), || ());
        all.append(&mut z);
    }
    let x = rough(r, 4);
    all.extend(comm.sum([x[0], x[1], x[2]]));
    let [(a, [b, c])] = comm.sum([(x[1], [x[2], x[3]])]);
    let [(d, at)] = comm.all_reduce_values([(x[0], r as i32)], op::MaxLoc);
    all.extend([a, b, c, d, at.into()]);
    #[cfg(feature = "complex")]
    {
        let mut y = x.chunks(2).map(|x| num_complex::Complex::new(x[0], x[1])).collect::<Vec<_>>();
        comm.scan(&mut y, op::Prod);
        all.extend(y.iter().flat_map(|y| [y.re, y.im]));
    }
    let window = comm.shared_atomic::<f64>(1);
    window.part(0)[0].fetch_max(f64::from_bits(1 + r as u64), Relaxed);
    comm.barrier();
    all.push(window.part(0)[0].load(Relaxed));
    all.into_iter().map(f64::to_bits).collect()
}

#[test]
fn every_form_gives_the_same_bits() {
    let watch = watch();
    for p in sizes(1..=4) {
        let team = team(p);
        let usual = team.run(forms).unwrap();
        for bits in KINDS {
            for rank in 0..p {
                watch.case(format!("p = {p}, rank {rank}: {bits:x}"));
                let run = team.run(|comm| {
                    disturbed(if comm.rank() == rank { bits } else { 0 }, || forms(comm))
                });
                let odd = run.unwrap();
                for (r, (odd, usual)) in odd.iter().zip(&usual).enumerate() {
                    let differ = odd.iter().zip(usual).position(|(odd, usual)| odd != usual);
                    assert_eq!(differ, None, "p = {p}, rank {rank}: {bits:x}, result of {r}");
                }
            }
        }
    }
}

#[test]
fn regions_give_the_same_bits() {
    let (team, x) = (team(3), rough(0, 100));
    let sum = |x: &[f64], at: usize| x[at % x.len()];
    let all = || {
        let parts = team.reduce_chunks(&x, |_, x, at| sum(x, at), op::Sum).unwrap();
        let cut = dynamic(7).cut(&x);
        let dealt = team.reduce_chunks(cut, |_, x, at| sum(x, at), op::Sum).unwrap();
        [parts.to_bits(), dealt.to_bits()]
    };
    let usual = all();
    for bits in KINDS {
        assert_eq!(disturbed(bits, all), usual, "{bits:x}");
    }
}

/// A thread has its control again wherever its own code runs, an operator has the standard one.
#[test]
fn threads_keep_their_control() {
    for bits in KINDS {
        let team = team(2);
        succeeds(&team, |comm| {
            let usual = read();
            let own = if comm.rank() == 1 { usual | bits } else { usual };
            write(own);
            for n in [1, 1000] {
                let standard = op::commutative(move |a: u64, b| {
                    assert_eq!(read(), usual, "the operator's");
                    a + b
                });
                let mut x = vec![1; n];
                let (_, seen) = comm.overlap(call::all_reduce(&mut x, standard), read);
                assert_eq!((seen, read(), x[0]), (own, own, 2));
            }
        });
        let before = team.run(|_| read()).unwrap();
        assert_eq!(before[1], before[0] | bits, "of the last run");
        let run = team.run(|comm| {
            comm.all_reduce(&mut [1.0], op::commutative(|_, _| panic!("no sum")));
        });
        assert!(run.unwrap_err().to_string().contains("no sum"));
        assert_eq!(team.run(|_| read()).unwrap(), before, "after a panic");
        write(before[0]);
    }
}
