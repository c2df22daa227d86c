//! Results of all calls.

#[path = "../../../../tests/common/float_register.rs"]
mod float_register;
#[path = "../../../../tests/common/one_call.rs"]
mod one_call;

use crate::start::{name, run};
use half::{bf16, f16};
use one_call::{Buffers, OneCall};
use phalanx::schedule::Operation;
use phalanx_processes::{Plain, Team, op};
use std::fmt::Debug;

/// Around the sizes at which calls go another way: bytes in a slot, beside it, in one piece, in
/// several.
const LENGTHS: [usize; 13] = [0, 1, 2, 4, 5, 8, 9, 24, 25, 1000, 4097, 20_000, 110_001];

/// Tests in which teams of these numbers of ranks have a role.
macro_rules! teams {
    ($($test:ident: $role:literal of $($ranks:literal)*;)*) => {$(
        #[test]
        fn $test() {
            [$($ranks),*].into_iter().for_each(|p| run($role, p));
        }
    )*};
}

teams! {
    one_to_four_ranks: "calls" of 1 2 3 4;
    five_and_eight_ranks: "calls" of 5 8;
    messages_between_four_ranks: "messages" of 4;
    groups_of_seven_ranks: "groups" of 7;
    symmetric_memory_of_three_ranks: "symmetric" of 3;
    three_ranks_that_round_in_their_way: "float control" of 3;
    many_small_calls_of_eight_ranks: "small" of 8;
}

/// Small numbers, so that no sum rounds.
trait Number: Plain + PartialEq + Debug {
    fn of(x: usize) -> Self;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            fn of(x: usize) -> Self {
                x as $t
            }
        }
    )*};
}
numbers!(u8, i32, u64, f32, f64, u128);

impl Number for bf16 {
    fn of(x: usize) -> Self {
        bf16::from_f32(x as f32)
    }
}

impl Number for [f32; 3] {
    fn of(x: usize) -> Self {
        [x as f32, 1.0, 2.0 * x as f32]
    }
}

/// 2^-60.
const LITTLE: f64 = 1.0 / (1_u64 << 60) as f64;

fn value(rank: usize, i: usize) -> usize {
    (rank * 3 + i * 7 + i / 1000) % 8
}

fn vector<T: Number>(rank: usize, n: usize) -> Vec<T> {
    (0..n).map(|i| T::of(value(rank, i))).collect()
}

fn sums<T: Number>(ranks: std::ops::Range<usize>, from: usize, n: usize) -> Vec<T> {
    (from..from + n).map(|i| T::of(ranks.clone().map(|rank| value(rank, i)).sum())).collect()
}

fn equal<T: Plain + PartialEq + Debug>(got: &[T], right: &[T], call: &str, team: &Team) {
    if got != right {
        let place = got.iter().zip(right).position(|(a, b)| a != b);
        let at = place.map(|i| (i, &got[i], &right[i]));
        panic!("{call}: rank {} of {}: {at:?}, of {}", team.rank(), team.size(), got.len());
    }
}

/// The call of the catalogue, if teams have it.
fn check<T: Plain + PartialEq + Debug, O: op::Operator<T>>(
    team: &mut Team,
    it: &OneCall,
    op: O,
    make: &dyn Fn(usize, usize) -> T,
) {
    let Buffers { input, mut output, wanted } = it.buffers(&op, make);
    let (x, y, root) = (&input[..], &mut output[..], it.v as usize);
    let made = match it.operation {
        Operation::Barrier => team.barrier(),
        Operation::Broadcast => team.broadcast(y, root),
        Operation::Gather => team.gather(x, y, root),
        Operation::Scatter => team.scatter(x, y, root),
        Operation::AllGather => team.all_gather(x, y),
        Operation::AllToAll => team.all_to_all(x, y),
        Operation::Reduce => team.reduce(y, op, root),
        Operation::AllReduce => team.all_reduce(y, op),
        Operation::ReduceScatter => team.reduce_scatter(x, y, op),
        Operation::Scan => team.scan(y, op),
        Operation::ExclusiveScan => team.exclusive_scan(y, op),
        _ => return,
    };
    made.unwrap();
    equal(&output, &wanted, &format!("{it:?} of {}", T::name()), team);
}

fn check_type<T: Number>(team: &mut Team, lengths: &[usize])
where
    op::Sum: op::Operator<T>,
{
    let (me, p) = (team.rank(), team.size());
    for &n in lengths {
        for it in OneCall::all(&(me, p), n, &[0, p - 1], &[]) {
            check(team, &it, op::Sum, &|rank, i| T::of(value(rank, i)));
        }
    }
}

/// Rows of a matrix that is multiplied in the order of ranks: `a` after `b` is not `b` after `a`.
#[derive(Clone, Copy)]
struct Compose;

impl op::Operator<[u64; 2]> for Compose {
    const NAME: &'static str = "compose";
    const COMMUTATIVE: bool = false;

    fn combine(&self, f: [u64; 2], g: [u64; 2]) -> [u64; 2] {
        [f[0].wrapping_mul(g[0]), f[1].wrapping_mul(g[0]).wrapping_add(g[1])]
    }
}

impl op::Operator<[u64; 0]> for Compose {
    const NAME: &'static str = "compose";
    const COMMUTATIVE: bool = false;

    fn combine(&self, _: [u64; 0], g: [u64; 0]) -> [u64; 0] {
        g
    }
}

/// Elements without bytes.
fn check_nothing(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    for n in [0, 1, 5, 1000, 1 << 40] {
        let (mut x, mut y) = (vec![[0_u64; 0]; n], vec![[0_u64; 0]; n]);
        let (many, mut all) = (vec![[0_u64; 0]; n * p], vec![[0_u64; 0]; n * p]);
        for root in [0, p - 1] {
            team.broadcast(&mut x, root).unwrap();
            team.gather(&x, &mut all, root).unwrap();
            team.scatter(&many, &mut x, root).unwrap();
        }
        team.all_gather(&x, &mut all).unwrap();
        team.all_to_all(&many, &mut all).unwrap();
        team.send(&x, (me + 1) % p, 5).unwrap();
        team.receive(&mut y, (me + p - 1) % p, 5).unwrap();
        team.send(&x, (me + 1) % p, 6).unwrap();
        let got = team.receive_vec::<[u64; 0]>((me + p - 1) % p, 6).unwrap();
        assert_eq!(got.len(), n);
        // Each is combined.
        if n <= 1000 {
            team.reduce(&mut x, Compose, p - 1).unwrap();
            team.all_reduce(&mut x, Compose).unwrap();
            team.reduce_scatter(&many, &mut x, Compose).unwrap();
            team.scan(&mut x, Compose).unwrap();
            team.exclusive_scan(&mut x, Compose).unwrap();
        }
    }
    let mut group = team.split(Some(me as u32 % 2), 0).unwrap().unwrap();
    group.all_reduce(&mut [[0_u64; 0]; 7], Compose).unwrap();
}

fn check_order(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    let one = |rank: usize, i: usize| [rank as u64 + 2, (rank * i + 1) as u64];
    for n in [1, 2, 7, 500, 30_000] {
        for it in OneCall::all(&(me, p), n, &[0, p - 1], &[]) {
            if it.operation.combines() {
                check(team, &it, Compose, &one);
            }
        }
    }
}

/// Halves are summed in `f32`, whatever way they go; floats have the same bits on every rank, and
/// those of a short vector are those of a long one.
fn check_rounding(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    for n in [1, 3, 40, 3000, 100_000] {
        let mut x = vec![bf16::from_f32(if me == 0 { 256.0 } else { 1.0 }); n];
        team.all_reduce(&mut x, op::Sum).unwrap();
        assert!(x.iter().all(|x| *x == bf16::from_f32(255.0 + p as f32)), "{n}: {:?}", x[0]);
        let mut x = vec![f16::from_f32(if me == 0 { 2048.0 } else { 1.0 }); n];
        team.all_reduce(&mut x, op::Sum).unwrap();
        assert!(x.iter().all(|x| *x == f16::from_f32(2047.0 + p as f32)), "{n}: {:?}", x[0]);
        let mut x = vec![0.1_f32 + me as f32 * 1e7; n];
        team.all_reduce(&mut x, op::Sum).unwrap();
        let mut first = [x[0]];
        team.broadcast(&mut first, 0).unwrap();
        let mut one = [0.1_f32 + me as f32 * 1e7];
        team.all_reduce(&mut one, op::Sum).unwrap();
        assert!(x.iter().all(|x| x.to_bits() == first[0].to_bits()), "{n}");
        assert_eq!(first[0].to_bits(), one[0].to_bits(), "{n}");
    }
}

pub(crate) fn calls(team: &mut Team) {
    team.barrier().unwrap();
    if team.size() > 4 {
        // Many processes on few cores take their turns: the sizes that go different ways.
        check_type::<f32>(team, &[1, 9, 25, 1000, 5000, 70_001]);
        check_type::<bf16>(team, &[3, 9000]);
        return check_rounding(team);
    }
    check_type::<f32>(team, &LENGTHS);
    check_type::<u8>(team, &[1, 3, 32, 33, 97, 5000, 140_000]);
    check_type::<bf16>(team, &[1, 3, 50, 9000, 140_001]);
    check_type::<[f32; 3]>(team, &[1, 3, 50, 20_000]);
    check_type::<u128>(team, &[1, 3, 700, 20_000]);
    check_type::<i32>(team, &[1, 100]);
    check_type::<u64>(team, &[2, 100]);
    check_type::<f64>(team, &[3, 30_000]);
    check_order(team);
    check_nothing(team);
    check_rounding(team);
    let mut none = [[0_f32; 0]; 3];
    team.all_reduce(&mut none, op::Sum).unwrap();
    team.all_gather(&none, &mut vec![[0_f32; 0]; 3 * team.size()]).unwrap();
    let mut large = [[1_u64; 5000]];
    team.broadcast(&mut large, 0).unwrap();
}

pub(crate) fn small(team: &mut Team) {
    let p = team.size();
    for round in 0..3000_u64 {
        let mut x = [round + team.rank() as u64];
        team.all_reduce(&mut x, op::Sum).unwrap();
        assert_eq!(x[0], round * p as u64 + (p * (p - 1) / 2) as u64);
        if round % 64 == 0 {
            let mut x = vec![round as f32; 9000];
            team.all_reduce(&mut x, op::Max).unwrap();
            team.barrier().unwrap();
        }
    }
}

pub(crate) fn messages(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    let (next, before) = ((me + 1) % p, (me + p - 1) % p);
    for n in [0, 1, 3, 1000, 4086, 4087, 20_000, 300_000] {
        // All send first, more than a ring has room for.
        team.send(&vector::<f32>(me, n), next, 1).unwrap();
        let mut x = vec![0.0_f32; n];
        team.receive(&mut x, before, 1).unwrap();
        equal(&x, &vector(before, n), "send", team);
    }
    // Tags out of order, types, unknown lengths, and oneself.
    for tag in 0..10 {
        team.send(&vector::<u64>(me + tag, 3000), next, tag as u64).unwrap();
    }
    for tag in (0..10).rev() {
        let x = team.receive_vec::<u64>(before, tag as u64).unwrap();
        equal(&x, &vector(before + tag, 3000), "tags", team);
    }
    team.send(&[7_u8], me, 0).unwrap();
    team.send(&[8_u8], me, 0).unwrap();
    assert_eq!(team.receive_vec::<u8>(me, 0).unwrap(), [7]);
    let mut x = [0_u8];
    team.receive(&mut x, me, 0).unwrap();
    assert_eq!(x, [8]);
    for i in 0..2000_u32 {
        if me % 2 == 0 {
            team.send(&[i], me ^ 1, 9).unwrap();
        }
        let mut x = [0];
        team.receive(&mut x, me ^ 1, 9).unwrap_or_else(|e| panic!("{i}: {e}"));
        assert_eq!(x, [i]);
        if me % 2 == 1 {
            team.send(&[i], me ^ 1, 9).unwrap();
        }
        if me % 2 == 0 {
            continue;
        }
    }
    team.barrier().unwrap();
}

/// Elements without bytes are counted, too.
#[test]
fn messages_of_nothing_have_a_length() {
    let mut team = Team::join(&name(), 0, 1).unwrap();
    for n in [0, 5, usize::MAX] {
        team.send(&vec![[0_u8; 0]; n], 0, 1).unwrap();
        assert_eq!(team.receive_vec::<[u8; 0]>(0, 1).unwrap().len(), n);
    }
    team.send(&[[0_u8; 0]; 5], 0, 1).unwrap();
    assert_eq!(team.receive(&mut [[0_u8; 0]; 5], 0, 1), Ok(()));
    team.send(&[[0_u8; 0]; 5], 0, 1).unwrap();
    let error = team.receive(&mut [[0_u8; 0]; 4], 0, 1).unwrap_err();
    assert!(error.to_string().contains("5 elements have come from rank 0, not 4"), "{error}");
}

pub(crate) fn groups(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    // More than there are areas, one after the other.
    for round in 0..100_usize {
        let color = (me + round) % 3;
        let mut group = team.split(Some(color as u32), -(me as i64)).unwrap().unwrap();
        let members: Vec<usize> = (0..p).rev().filter(|it| (it + round) % 3 == color).collect();
        assert_eq!(members[group.rank()], me);
        let mut x = vec![me as u64; if round % 10 == 0 { 50_000 } else { 1 }];
        group.all_reduce(&mut x, op::Sum).unwrap();
        assert_eq!(x[0], members.iter().sum::<usize>() as u64);
        if group.size() > 1 {
            let to = (group.rank() + 1) % group.size();
            let from = (group.rank() + group.size() - 1) % group.size();
            group.send(&[me as u64], to, 0).unwrap();
            assert_eq!(group.receive_vec::<u64>(from, 0).unwrap(), [members[from] as u64]);
        }
        let mut inner = group.split((group.rank() > 0).then_some(7), 0).unwrap();
        if let Some(inner) = &mut inner {
            inner.barrier().unwrap();
        }
        team.barrier().unwrap();
    }
    let error = (0..).find_map(|_| {
        let group = team.split(Some(0), 0);
        match group {
            Ok(group) => {
                std::mem::forget(group);
                None
            }
            Err(error) => Some(error),
        }
    });
    assert!(error.unwrap().to_string().contains("communicators at once"));
}

/// One rank in turn rounds, or flushes, in its own way: results are those of the others.
pub(crate) fn float_control(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    for (i, kind) in float_register::KINDS.into_iter().enumerate() {
        let kind = if me == i % p { kind } else { 0 };
        for n in [1, 3, 4, 5, 1000, 30_000] {
            let number = |rank: usize| [f64::from_bits(3), if rank == 0 { 1.0 } else { LITTLE }];
            float_register::disturbed(kind, || {
                let [mut x, mut y] = [0; 2].map(|_| number(me).repeat(n));
                team.all_reduce(&mut x[..n], op::Sum).unwrap();
                team.scan(&mut y[..n], op::commutative(|a: f64, b| a + b)).unwrap();
                for (x, ranks) in [(&x, p), (&y, me + 1)] {
                    let sum = [3 * ranks as u64, 1.0_f64.to_bits()];
                    assert!((0..n).all(|i| x[i].to_bits() == sum[i % 2]), "{n}, {kind:x}");
                }
            });
        }
    }
}

pub(crate) fn symmetric(team: &mut Team) {
    let (me, p) = (team.rank(), team.size());
    for n in [0, 1, 5, 1000, 200_000] {
        let a = team.symmetric::<f32>(n).unwrap();
        let b = team.symmetric::<f32>(n).unwrap();
        a.write(me, 0, &vector(me, n));
        b.write((me + 1) % p, 0, &vector(me, n));
        team.all_reduce_symmetric(&a, op::Sum).unwrap();
        let mut x = vec![0.0; n];
        a.read(me, 0, &mut x);
        equal(&x, &sums(0..p, 0, n), "all_reduce_symmetric", team);
        b.read(me, 0, &mut x);
        equal(&x, &vector((me + p - 1) % p, n), "write", team);
        team.broadcast_symmetric(&b, p - 1).unwrap();
        b.read(me, 0, &mut x);
        equal(&x, &vector((2 * p - 2) % p, n), "broadcast_symmetric", team);
        team.free(a).unwrap();
        let c = team.symmetric::<f32>(n).unwrap();
        let mut zeros = vec![1.0; n];
        c.read(me, 0, &mut zeros);
        assert!(zeros.iter().all(|x| *x == 0.0));
        team.free(c).unwrap();
        team.free(b).unwrap();
    }
    let error = team.symmetric::<u64>(1 << 40).unwrap_err();
    assert!(error.to_string().contains("too little is free"), "{error}");
}
