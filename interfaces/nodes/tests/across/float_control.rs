//! Ranks whose thread rounds or flushes in its own way.

#[path = "../../../../tests/common/float_register.rs"]
mod float_register;

use super::{good, run_on};
use phalanx::op;
use phalanx_nodes::NodeComm;

/// The bits of all calls that combine.
fn bits(comm: &mut NodeComm) -> Vec<u64> {
    let (r, p) = (comm.rank(), comm.size());
    let mut all = vec![];
    for n in [1, 300, 3000] {
        let number = |i: usize| match i % 2 {
            0 => f64::from_bits((i + 3 * r + 1) as u64),
            _ => f64::from_bits(0x3fb9_9999_9999_999a + ((i * 7 + r) as u64 * 0x2_0000_0001)),
        };
        let x: Vec<f64> = (0..n).map(number).collect();
        for order in [phalanx::Order::Ranked, phalanx::Order::Fixed] {
            let mut comm = comm.with_order(order);
            let (mut a, mut b, mut c, mut d) = (x.clone(), x.clone(), x.clone(), vec![0.0; n]);
            comm.all_reduce(&mut a, op::Prod);
            comm.reduce(&mut b, op::commutative(|a: f64, b| a + b), 0);
            comm.scan(&mut c, op::Sum);
            comm.reduce_scatter_into(&x.repeat(p), &mut d, op::Sum);
            all.extend([a, b, c, d].concat());
        }
        all.push(comm.fixed_sum(&x, r * n));
        all.push(comm.fixed_dot(&x, &x, r * n));
    }
    all.into_iter().map(f64::to_bits).collect()
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
