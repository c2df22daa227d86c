//! Calls one after the other, started together, and again and again.

use super::{Buffers, Dice, OneCall};
use phalanx::op::{self, Operator};
use phalanx::schedule::Operation;
use phalanx::{Comm, Element, call};
use std::fmt::Debug;

/// Calls that are started at once, and waited for in an order of each rank's own.
pub(crate) fn all_at_once<T, O>(
    comm: &mut Comm,
    calls: &[OneCall],
    seed: u64,
    op: O,
    make: &dyn Fn(usize, usize) -> T,
) where
    T: Element + PartialEq + Debug,
    O: Operator<T> + Copy + 'static,
{
    let calls = calls.iter().filter(|it| it.can_start());
    let mut all: Vec<_> = calls.map(|it| (it, it.buffers(op, make))).collect();
    let mut dice = Dice(seed + comm.rank() as u64);
    comm.requests(|scope| {
        let mut open: Vec<_> = all
            .iter_mut()
            .map(|(it, b)| (&*it, &b.wanted, it.start(scope, op, (&b.input, &mut b.output))))
            .collect();
        let barrier = scope.start(call::barrier());
        if seed % 2 == 1 {
            scope.comm().barrier();
        }
        while !open.is_empty() {
            let (it, wanted, request) = open.swap_remove(dice.below(open.len()));
            assert_eq!(scope.wait(request), wanted, "{it:?}");
        }
        scope.wait(barrier);
    });
    assert!(all.iter().all(|(_, it)| it.output == it.wanted));
}

/// Calls that are set up once and started again and again, each time with other elements
/// `make(time, rank, i)`, and with blocking calls beside them.
pub(crate) fn again_and_again<T, O>(
    comm: &mut Comm,
    calls: &[OneCall],
    op: O,
    make: &dyn Fn(usize, usize, usize) -> T,
) where
    T: Element + PartialEq + Debug,
    O: Operator<T> + Copy + 'static,
{
    let calls: Vec<_> = calls.iter().filter(|it| it.can_start()).collect();
    let at = |time: usize| {
        let make = move |rank: usize, i: usize| make(time, rank, i);
        calls.iter().map(|it| it.buffers(op, &make)).collect::<Vec<_>>()
    };
    let mut first = at(0);
    comm.requests(|scope| {
        let buffers = calls.iter().zip(&mut first);
        let mut set_up: Vec<_> =
            buffers.map(|(it, b)| it.set_up(scope, op, (&mut b.input, &mut b.output))).collect();
        for time in 0..4 {
            let now = at(time);
            for (call, now) in set_up.iter_mut().zip(&now) {
                if !now.input.is_empty() {
                    call.input_mut().copy_from_slice(&now.input);
                }
                call.buf_mut().copy_from_slice(&now.output);
            }
            let open: Vec<_> = set_up.into_iter().map(|it| scope.start(it)).collect();
            for it in &calls {
                it.check(scope.comm(), op, &|rank, i| make(time, rank, i));
            }
            set_up = scope.wait_all(open);
            for ((call, now), it) in set_up.iter().zip(&now).zip(&calls) {
                assert_eq!(call.buf(), now.wanted, "{it:?}, time {time}");
                assert!(now.input.is_empty() || call.input() == now.input);
            }
        }
    });
}

/// Element `i` of a rank's data in round `k`; differs in everything.
pub(crate) fn value(k: usize) -> impl Fn(usize, usize) -> u64 {
    move |rank, i| {
        let x = (rank as u64) << 40 | (i as u64) << 12 | k as u64;
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7
    }
}

/// A non-commutative, associative operator: the composition of affine maps.
pub(crate) type Map = (u64, u64);
pub(crate) fn compose(f: Map, g: Map) -> Map {
    (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1))
}

pub(crate) fn map(k: usize) -> impl Fn(usize, usize) -> Map {
    let value = value(k);
    move |rank, i| (value(rank, i) | 1, value(rank, i + (1 << 20)))
}

/// One call of `operation` on blocks (or vectors) of `n` elements; `v` is the root or the distance.
pub(crate) fn one_call(comm: &mut Comm, operation: Operation, v: usize, n: usize, salt: usize) {
    OneCall::new(comm, operation, v as isize, n).check(comm, op::Sum, &value(salt));
}

/// Every operation, on vectors or blocks of `n` elements, in round `k`.
pub(crate) fn every_operation(comm: &mut Comm, n: usize, k: usize) {
    let p = comm.size();
    let distances = [0, 1, -1, (k % 13) as isize, p as isize + 2];
    for it in OneCall::all(comm, n, &[0, p - 1, k % p], &distances) {
        it.check(comm, op::Sum, &value(k));
        if it.operation.combines() {
            it.check(comm, op::ordered(compose), &map(k));
        }
    }
}
