//! Conjugate gradients with two sums a step (plain), with one (Chronopoulos and Gear 1989), and
//! with one that is on its way during the product (pipelined: Ghysels and Vanroose 2014).

use phalanx::{Comm, call, dist::Halo};

const N: usize = 50; // unknowns of a rank

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// y = a x + b y
fn combine(a: f64, x: &[f64], b: f64, y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = a * x + b * *y);
}

/// A v: the product needs the neighbours' nearest elements.
fn apply(comm: &mut Comm, v: &[f64]) -> [f64; N] {
    let mut w = [0.0; N + 2];
    w[1..=N].copy_from_slice(v);
    comm.cart(&[0], &[false]).exchange_halo(&mut w, &Halo::new(&[N], 1));
    std::array::from_fn(|i| 2.1 * w[i + 1] - w[i] - w[i + 2])
}

/// Solves A x = 1; returns the norm of the residual, step by step.
fn solve(comm: &mut Comm, way: &str) -> Vec<f64> {
    let ([mut x, mut p, mut s, mut z], mut r) = ([[0.0; N]; 4], [1.0; N]);
    let (mut norms, mut w, mut old, mut alpha) = (vec![], apply(comm, &r), f64::INFINITY, 1.0);
    while norms.last().is_none_or(|&norm| norm > 1e-8) {
        let ([rr, rw], q) = comm.requests(|scope| {
            let sums = scope.start(call::sum([dot(&r, &r), dot(&w, &r)]));
            let q = if way == "pipelined" { apply(scope.comm(), &w) } else { [0.0; N] };
            (scope.wait(sums), q)
        });
        norms.push(rr.sqrt());
        let beta = rr / old;
        (alpha, old) = (rr / (rw - beta * rr / alpha), rr);
        for (v, sum) in [(&r, &mut p), (&w, &mut s), (&q, &mut z)] {
            combine(1.0, v, beta, sum); // s = A p, z = A s
        }
        if way == "plain" {
            s = apply(comm, &p);
            alpha = rr / comm.sum([dot(&p, &s)])[0];
        }
        combine(alpha, &p, 1.0, &mut x);
        combine(-alpha, &s, 1.0, &mut r);
        match way {
            "pipelined" => combine(-alpha, &z, 1.0, &mut w),
            "one sum" => w = apply(comm, &r),
            _ => {}
        }
    }
    assert!(apply(comm, &x).iter().all(|y| (y - 1.0).abs() < 1e-6));
    norms
}

fn main() -> Result<(), phalanx::Error> {
    let ways = ["plain", "one sum", "pipelined"];
    let norms = phalanx::run(4, |comm| ways.map(|way| solve(comm, way)))?.swap_remove(0);
    for step in (0..norms[0].len()).step_by(10) {
        let row = norms.each_ref().map(|of| of.get(step).copied().unwrap_or(0.0));
        println!("{step:3} steps of {ways:?}: {:8.1e} {:8.1e} {:8.1e}", row[0], row[1], row[2]);
    }
    // As many steps; and the same residuals, as long as those are above the rounding.
    assert!(norms.iter().all(|of| of.len().abs_diff(norms[0].len()) <= 1));
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * norms[0][0];
    assert!(norms.iter().all(|of| of.iter().zip(&norms[0]).all(close)));
    Ok(())
}
