//! Conjugate gradients with one reduction a step (Chronopoulos and Gear 1989), and with that one
//! hidden behind the product (pipelined: Ghysels and Vanroose 2014), beside plain ones.

use phalanx::{Comm, dist::Halo};

const N: usize = 50; // unknowns of a rank

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// y = a x + b y
fn combine(a: f64, x: &[f64], b: f64, y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = a * x + b * *y);
}

/// A v: the product needs the neighbours' nearest elements.
fn apply(comm: &mut Comm, v: &[f64]) -> Vec<f64> {
    let mut w = vec![0.0; N + 2];
    w[1..=N].copy_from_slice(v);
    comm.cart(&[0], &[false]).exchange_halo(&mut w, &Halo::new(&[N], 1));
    w.windows(3).map(|w| 2.1 * w[1] - w[0] - w[2]).collect()
}

fn plain(comm: &mut Comm) -> (usize, Vec<f64>) {
    let (mut x, mut r, mut p) = (vec![0.0; N], vec![1.0; N], vec![1.0; N]);
    let [mut rr] = comm.sum([dot(&r, &r)]);
    for step in 0.. {
        if rr < 1e-16 {
            return (step, x);
        }
        let s = apply(comm, &p);
        let [ps] = comm.sum([dot(&p, &s)]);
        combine(rr / ps, &p, 1.0, &mut x);
        combine(-rr / ps, &s, 1.0, &mut r);
        let [new] = comm.sum([dot(&r, &r)]);
        combine(1.0, &r, new / rr, &mut p);
        rr = new;
    }
    unreachable!("it converges")
}

fn one_reduction(comm: &mut Comm, pipelined: bool) -> (usize, Vec<f64>) {
    let (mut x, mut r) = (vec![0.0; N], vec![1.0; N]);
    let (mut p, mut s, mut z) = (vec![0.0; N], vec![0.0; N], vec![0.0; N]);
    let mut w = apply(comm, &r);
    let (mut old, mut alpha) = (f64::INFINITY, 1.0);
    for step in 0.. {
        let dots = [dot(&r, &r), dot(&w, &r)];
        let ([rr, rw], q) = comm.requests(|scope| {
            let sums = scope.sum(dots);
            let q = if pipelined { apply(scope.comm(), &w) } else { vec![0.0; N] };
            (scope.wait(sums), q) // on their way meanwhile
        });
        if rr < 1e-16 {
            return (step, x);
        }
        let beta = rr / old;
        alpha = rr / (rw - beta * rr / alpha);
        old = rr;
        combine(1.0, &r, beta, &mut p);
        combine(1.0, &w, beta, &mut s);
        combine(alpha, &p, 1.0, &mut x);
        combine(-alpha, &s, 1.0, &mut r);
        combine(1.0, &q, beta, &mut z);
        match pipelined {
            true => combine(-alpha, &z, 1.0, &mut w),
            false => w = apply(comm, &r),
        }
    }
    unreachable!("it converges")
}

fn main() -> Result<(), phalanx::Error> {
    phalanx::run(4, |comm| {
        let (steps, x) = plain(comm);
        for (name, pipelined) in [("Chronopoulos and Gear", false), ("pipelined", true)] {
            let (its, y) = one_reduction(comm, pipelined);
            let error = x.iter().zip(&y).fold(0.0, |e: f64, (x, y)| e.max((x - y).abs()));
            if comm.rank() == 0 {
                println!("{name}: {its} steps (plain: {steps}), differs by {error:.1e}");
            }
            assert!(its.abs_diff(steps) <= 1 && error < 1e-8);
        }
    })?;
    Ok(())
}
