//! The output about a solution: lines, a plot, a table, a hash of its bits.

use super::cg::{Convergence, Preconditioner, Settings, Solution};
use crate::direct::norm;
use std::fmt::Write;
use textplots::{Chart, Plot, Shape};

pub(crate) fn print(solution: &Solution, ranks: usize, settings: &Settings) {
    let Solution { x, found } = solution;
    let Convergence { history, residual, right_side, time } = found;
    let steps = found.steps();
    let how = match settings.preconditioner {
        Preconditioner::None => "plain",
        Preconditioner::Jacobi => "Jacobi",
    };
    let each = time.as_secs_f64() * 1e6 / steps.max(1) as f64;
    println!("{} unknowns, {ranks} ranks, {how}, |b| = {right_side:.6e}", x.len());
    println!("{steps} steps in {:.4} s, {each:.2} us each", time.as_secs_f64());
    let last = history.last().copied().unwrap_or(0.0);
    println!("|b - A x| / |b| = {residual:.3e} (by the recurrence {last:.3e})");
    let error = norm(x.iter().map(|x| x - 1.0)) / (x.len() as f64).sqrt();
    println!("|x - 1| / sqrt(n) = {error:.2e}");
    if let Some(peak) = peak_memory() {
        println!("memory at most {:.0} MB", peak as f64 / 1e6);
    }
    println!("hash of the solution's bits {:016x}", hash(solution));
}

/// The most memory that the process has had, in bytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Of the bits of x and of all residuals (FNV-1a by words).
pub(crate) fn hash(solution: &Solution) -> u64 {
    let words = solution.x.iter().chain(&solution.found.history).map(|v| v.to_bits());
    words.fold(0xcbf2_9ce4_8422_2325, |h, word| {
        let h = (h ^ word).wrapping_mul(0x0100_0000_01b3);
        h ^ (h >> 29)
    })
}

/// The residual's decimal logarithm over the steps.
pub(crate) fn plot(history: &[f64]) -> String {
    let log = |v: f64| v.max(f64::MIN_POSITIVE).log10() as f32;
    let points: Vec<(f32, f32)> =
        history.iter().enumerate().map(|(step, &v)| (step as f32, log(v))).collect();
    let mut chart = Chart::new(150, 60, 0.0, points.len().max(2) as f32 - 1.0);
    let line = Shape::Lines(&points);
    let chart = chart.lineplot(&line);
    chart.axis();
    chart.figures();
    format!("log10 of the relative residual, by steps:\n{chart}")
}

pub(crate) fn table(history: &[f64]) -> String {
    let mut out = String::from("step\tresidual\n");
    for (step, v) in history.iter().enumerate() {
        let _ = writeln!(out, "{step}\t{v:e}");
    }
    out
}
