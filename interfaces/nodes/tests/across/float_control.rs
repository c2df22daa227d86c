//! Ranks whose thread rounds or flushes in its own way.

#[path = "../../../../tests/common/float_register.rs"]
mod float_register;

use super::{good, run_on};
use phalanx::op::{self, Operator};
use phalanx::{Element, Order};
use phalanx_nodes::NodeComm;
use std::ops::Mul;

/// The results of all calls that combine such numbers.
pub(crate) fn combined<T: Element + Mul<Output = T>>(
    comm: &mut NodeComm,
    number: impl Fn(usize) -> T,
    (one, other): (impl Operator<T> + Copy, impl Operator<T> + Copy),
) -> Vec<T>
where
    op::Sum: Operator<T>,
{
    let (r, p) = (comm.rank(), comm.size());
    let mut all = vec![comm.sum([number(0)])[0]];
    for n in [1, 40, 300, 3000] {
        let x: Vec<T> = (0..n).map(&number).collect();
        for order in [Order::Ranked, Order::Fixed] {
            let mut comm = comm.with_order(order);
            let mut y = [(); 5].map(|()| x.clone());
            comm.all_reduce(&mut y[0], one);
            comm.reduce(&mut y[1], other, 0);
            comm.scan(&mut y[2], op::Sum);
            comm.exclusive_scan(&mut y[3], op::Sum);
            comm.reduce_scatter_into(&x.repeat(p), &mut y[4], op::Sum);
            all.extend(y.concat());
        }
        all.push(comm.fixed_sum(&x, r * n));
        all.push(comm.fixed_dot(&x, &x, r * n));
    }
    all
}

fn bits(comm: &mut NodeComm) -> Vec<u64> {
    let r = comm.rank();
    let number = |i: usize| match i % 2 {
        0 => f64::from_bits((i + 3 * r + 1) as u64),
        _ => f64::from_bits(0x3fb9_9999_9999_999a + ((i * 7 + r) as u64 * 0x2_0000_0001)),
    };
    let ops = (op::Prod, op::commutative(|a: f64, b| a + b));
    combined(comm, number, ops).into_iter().map(f64::to_bits).collect()
}

#[test]
fn a_rank_that_rounds_or_flushes_in_its_way_gets_the_same_bits() {
    for (threads, rails) in [(&[1, 2][..], false), (&[2, 2], true), (&[1, 1, 1], false)] {
        let usual = good(run_on(threads, rails, None, bits));
        for (i, kind) in float_register::KINDS.into_iter().enumerate() {
            let odd = good(run_on(threads, rails, None, |comm| {
                let kind = if comm.rank() == i % comm.size() { kind } else { 0 };
                float_register::disturbed(kind, || bits(comm))
            }));
            assert!(odd == usual, "{threads:?}, {kind:x}");
        }
    }
}
