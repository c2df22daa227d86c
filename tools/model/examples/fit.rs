//! Fits the constants of `published` to the points of fit-points.tsv, and shows the result.
//!
//! `cargo run --release -p phalanx-model --example fit -- [ROUNDS [RANKS]]`: ROUNDS 0 (the default)
//! only shows the constants that are kept; with RANKS the rows of so many ranks are left out of the
//! fit. Least squares of the logarithms by Levenberg's and Marquardt's method; a residual e counts
//! e^2 + e^4 / 0.18, so that no point is given up. Of MPICH's two ways that which is not the
//! faster at a size counts 0.15: it is no part of the curves.

use phalanx_model::published::{Asked, Curve, Machine, curves, fitted, machines, sizes};

/// A constant that is fitted, with the range in which it may lie.
struct Free<'a>(&'static str, &'a mut f64, f64, f64);

fn free(machine: &mut Machine) -> Vec<Free<'_>> {
    let (n, s) = (&mut machine.node, &mut machine.software);
    let ([e0, e1, e2], [c0, c1, c2]) = (&mut s.ext_call, &mut s.call);
    let mut all = vec![
        Free("reads_in_flight", &mut n.reads_in_flight, 1.0, 64.0),
        Free("writes_in_flight", &mut n.writes_in_flight, 1.0, 100.0),
        Free("slope", &mut n.slope, 0.1, 1.0),
        Free("overlap", &mut n.overlap, 0.3, 16.0),
        Free("flags_in_flight", &mut n.flags_in_flight, 1.0, 16.0),
        Free("work", &mut n.work, 0.2, 10.0),
        Free("served", &mut n.served, 0.02, 5.0),
        Free("home", &mut n.home, 0.01, 5.0),
        Free("memory", &mut n.memory, 0.05, 2.0),
        Free("core_memory", &mut n.core_memory, 0.5, 20.0),
        Free("capacity", &mut n.capacity, 8e6, 4e8),
        Free("reader", &mut n.reader, 0.01, 10.0),
        Free("ext_op", &mut s.ext_op, 1.0, 300.0),
        Free("ext_call all-reduce", e0, 1.0, 4000.0),
        Free("ext_call broadcast", e1, 1.0, 4000.0),
        Free("ext_call reduce", e2, 1.0, 4000.0),
        Free("call all-reduce", c0, 0.01, 2000.0),
        Free("call broadcast", c1, 0.01, 2000.0),
        Free("call reduce", c2, 0.01, 2000.0),
        Free("child", &mut s.child, 1e-4, 300.0),
        Free("message", &mut s.message, 10.0, 5000.0),
        Free("exchange", &mut s.exchange, 1.0, 4.0),
        Free("hand_offs", &mut s.hand_offs, 1.0, 12.0),
        Free("long", &mut s.long, 1e-3, 5000.0),
    ];
    if let Some(by) = &mut s.open_mpi {
        let [_, near, far] = &mut n.hand_off;
        all.push(Free("hand-off in a package", near, 20.0, 150.0));
        all.push(Free("hand-off between packages", far, 100.0, 800.0));
        all.push(Free("link", &mut n.link, 0.05, 5.0));
        all.push(Free("Open MPI boxed", &mut by.boxed, 10.0, 5000.0));
        all.push(Free("Open MPI listed", &mut by.listed, 10.0, 5000.0));
        all.push(Free("Open MPI mapped", &mut by.mapped, 10.0, 5000.0));
        all.push(Free("Open MPI exchange", &mut by.exchange, 1.0, 4.0));
        all.push(Free("Open MPI hand_offs", &mut by.hand_offs, 0.5, 12.0));
    }
    all
}

fn modelled(machine: &Machine, curve: &Curve, bytes: f64) -> f64 {
    let Curve { library, how, operation, ranks, .. } = curve;
    let asked = Asked { library, how, operation, ranks: *ranks, spread: false };
    machine.predict(&asked, bytes).expect("a curve of this machine")
}

/// The weighted logarithms of modelled over published, at the points that are fitted.
fn residuals(machine: &mut Machine, curves: &[Curve]) -> Vec<f64> {
    if machine.node.sharers == machine.node.cores {
        machine.node.hand_off[0] = machine.node.hand_off[1];
    }
    let same = |a: &Curve, b: &Curve| {
        (&a.operation, a.ranks, &a.library) == (&b.operation, b.ranks, &b.library)
    };
    let mut all = Vec::new();
    for curve in curves {
        for (i, bytes) in sizes().enumerate().filter(|s| fitted(s.0)) {
            let ways = curves.iter().filter(|c| same(c, curve)).map(|c| c.us[i]);
            let fastest = ways.fold(f64::INFINITY, f64::min);
            let weight: f64 = if curve.us[i] <= fastest { 1.0 } else { 0.15 };
            all.push(weight.sqrt() * (modelled(machine, curve, bytes) / curve.us[i]).ln());
        }
    }
    all
}

fn loss(residuals: &[f64]) -> f64 {
    residuals.iter().map(|e| e * e + e.powi(4) / 0.18).sum()
}

/// Solves `a x = b`; `a` has `b` as its last column.
fn solved(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for p in 0..n {
        let pivot = (p..n).max_by(|x, y| a[*x][p].abs().total_cmp(&a[*y][p].abs())).unwrap_or(p);
        a.swap(p, pivot);
        let row = a[p].clone();
        for other in (0..n).filter(|q| *q != p) {
            let by = a[other][p] / row[p];
            a[other].iter_mut().zip(&row).skip(p).for_each(|(x, y)| *x -= by * y);
        }
    }
    (0..n).map(|p| a[p][n] / a[p][p]).collect()
}

fn fit(machine: &mut Machine, curves: &[Curve], rounds: usize) {
    let mut damping = 0.1;
    let mut now = residuals(machine, curves);
    for round in 0..rounds {
        let start: Vec<f64> = free(machine).iter().map(|f| f.1.ln()).collect();
        let ends: Vec<_> = free(machine).iter().map(|f| (f.2.ln(), f.3.ln())).collect();
        let n = start.len();
        let mut slopes = Vec::new();
        for k in 0..n {
            let by = if start[k] + 0.03 > ends[k].1 { -0.03 } else { 0.03 };
            *free(machine)[k].1 = (start[k] + by).exp();
            let moved = residuals(machine, curves);
            *free(machine)[k].1 = start[k].exp();
            slopes.push(moved.iter().zip(&now).map(|(a, b)| (a - b) / by).collect::<Vec<f64>>());
        }
        let weights: Vec<f64> = now.iter().map(|e| 1.0 + 2.0 * e * e / 0.18).collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).zip(&weights).map(|((x, y), w)| x * y * w).sum()
        };
        let before = loss(&now);
        for _ in 0..6 {
            let mut a = vec![vec![0.0; n + 1]; n];
            for p in 0..n {
                (0..n).for_each(|q| a[p][q] = dot(&slopes[p], &slopes[q]));
                a[p][n] = -dot(&slopes[p], &now);
                a[p][p] += damping * (a[p][p] + 0.05) + 1e-6;
            }
            let steps = solved(a);
            for (k, f) in free(machine).into_iter().enumerate() {
                let moved = start[k] + steps[k].clamp(-1.0, 1.0);
                *f.1 = moved.clamp(ends[k].0, ends[k].1).exp();
            }
            let moved = residuals(machine, curves);
            if loss(&moved) < before - 1e-5 {
                damping *= 0.4;
                break;
            }
            damping *= 4.0;
            free(machine).into_iter().enumerate().for_each(|(k, f)| *f.1 = start[k].exp());
        }
        now = residuals(machine, curves);
        eprintln!("round {round}: {:.3}", loss(&now));
        if before - loss(&now) < 0.003 {
            break;
        }
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|a| a.parse::<usize>().ok());
    let (rounds, without) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    for mut machine in machines() {
        let of = |ways| curves(ways).into_iter().filter(|c| c.machine == machine.name);
        let (ways, best): (Vec<Curve>, Vec<Curve>) = (of(true).collect(), of(false).collect());
        let used: Vec<Curve> = ways.into_iter().filter(|c| c.ranks != without).collect();
        fit(&mut machine, &used, rounds);
        println!("{}", machine.name);
        free(&mut machine).iter().for_each(|f| println!("  {} {:.3}", f.0, f.1));
        for curve in &best {
            print!("{} {} {}:", curve.operation, curve.ranks, curve.library);
            for (i, bytes) in sizes().enumerate() {
                let used = if fitted(i) && curve.ranks != without { "*" } else { "" };
                print!(" {:.2}{used}", modelled(&machine, curve, bytes) / curve.us[i]);
            }
            println!();
        }
    }
}
