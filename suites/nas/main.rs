//! Five kernels of the NAS Parallel Benchmarks, written for Phalanx from their published definition
//! and checked against the official values: EP, CG, IS, FT, MG in classes S, W, A, B.
//!
//!     cargo run --release -p suites --bin nas -- CG A -p 2
//!     cargo run --release -p suites --bin nas -- ALL S -p 1..4 --repeat 7
//!
//! Exit code 1: a result is wrong; 2: wrong arguments. Times: docs/numerics.md.

mod cg;
mod class;
mod ep;
mod ft;
mod is;
mod kernel;
#[path = "../../tools/model/src/median.rs"]
mod median;
mod memory;
mod mg;
mod mg_planes;
mod outcome;
mod random;
pub(crate) mod spmd;

pub(crate) use self::class::Class;
pub(crate) use self::kernel::{Kernel, Problem};
use self::outcome::Outcome;
use clap::Parser;
use phalanx::Team;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "nas", about = "NAS parallel kernels on Phalanx")]
struct Arguments {
    /// EP, CG, IS, FT, MG or ALL
    #[arg(value_parser = kernels)]
    kernels: Kernels,
    /// S, W, A, B or ALL
    #[arg(value_parser = classes)]
    classes: Classes,
    /// Ranks: a number, several (1,2,8) or a range (1..4, with both ends)
    #[arg(short = 'p', long, default_value = "2", value_parser = ranks)]
    ranks: Ranks,
    /// How often each is run; times are medians
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Kernels(pub(crate) Vec<Kernel>);
#[derive(Clone, Debug)]
pub(crate) struct Classes(pub(crate) Vec<Class>);
#[derive(Clone, Debug)]
pub(crate) struct Ranks(pub(crate) Vec<usize>);

pub(crate) fn kernels(text: &str) -> Result<Kernels, String> {
    one_or_all(text, &Kernel::ALL, "kernel").map(Kernels)
}

pub(crate) fn classes(text: &str) -> Result<Classes, String> {
    one_or_all(text, &Class::ALL, "class").map(Classes)
}

fn one_or_all<T: Copy + std::fmt::Display>(
    text: &str,
    all: &[T],
    noun: &str,
) -> Result<Vec<T>, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(all.to_vec());
    }
    let found = all.iter().find(|x| x.to_string().eq_ignore_ascii_case(text));
    found.map(|&x| vec![x]).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(T::to_string).collect();
        format!("no such {noun}; there are {} and ALL", names.join(", "))
    })
}

pub(crate) fn ranks(text: &str) -> Result<Ranks, String> {
    let number = |s: &str| match s.trim().parse() {
        Ok(p) if (1..=phalanx::MAX_RANKS).contains(&p) => Ok(p),
        _ => Err(format!("ranks are numbers from 1 to {}", phalanx::MAX_RANKS)),
    };
    let several = text.split(',').map(|part| match part.split_once("..") {
        Some((first, last)) => Ok(number(first)?..=number(last.trim_start_matches('='))?),
        None => number(part).map(|p| p..=p),
    });
    let all: Vec<usize> =
        several.collect::<Result<Vec<_>, String>>()?.into_iter().flatten().collect();
    if all.is_empty() { Err("an empty range".to_string()) } else { Ok(Ranks(all)) }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    println!(
        "{:<6} {:<5} {:>5}  {:>10} {:>10} {:>9}  verified (error)",
        "kernel", "class", "ranks", "median_s", "best_s", "mop/s"
    );
    let mut all_good = true;
    for &class in &arguments.classes.0 {
        for &kernel in &arguments.kernels.0 {
            let problem = Problem::new(kernel, class);
            for &ranks in &arguments.ranks.0 {
                match measure(&problem, ranks, arguments.repeat) {
                    Ok(good) => all_good &= good,
                    Err(message) => {
                        eprintln!("nas: {kernel} {class} -p {ranks}: {message}");
                        return ExitCode::from(2);
                    }
                }
            }
        }
    }
    if all_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one problem some times and prints a line for it; whether all was verified.
fn measure(problem: &Problem, ranks: usize, repeat: u32) -> Result<bool, String> {
    problem.check_ranks(ranks)?;
    let team = Team::builder().ranks(ranks).build().map_err(|e| e.to_string())?;
    let run = |_| team.run(|comm| problem.spmd(comm)).map(|outcomes| outcomes[0]);
    let outcomes: Vec<Outcome> =
        (0..repeat).map(run).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    let median = median::median(&outcomes.iter().map(|o| o.seconds).collect::<Vec<_>>());
    let best = outcomes.iter().map(|o| o.seconds).fold(f64::INFINITY, f64::min);
    let worst = outcomes.iter().max_by(|a, b| a.error.total_cmp(&b.error)).expect("a run");
    let good = outcomes.iter().all(Outcome::is_verified);
    println!(
        "{:<6} {:<5} {ranks:>5}  {median:>10.6} {best:>10.6} {:>9.0}  {} ({:.1e} of {:.0e})",
        problem.kernel.to_string(),
        problem.class.to_string(),
        problem.mops() / median,
        if good { "yes" } else { "NO" },
        worst.error,
        worst.tolerance,
    );
    Ok(good)
}
