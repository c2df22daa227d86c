//! Five kernels of the NAS Parallel Benchmarks, written for Phalanx from their published definition
//! and checked against the official values: EP, CG, IS, FT, MG in classes S, W, A, B.
//!
//!     cargo run --release -p suites --bin nas -- CG A -p 2
//!     cargo run --release -p suites --bin nas -- ALL S -p 1..4
//!     cargo run --release -p suites --bin nas -- ALL W -p 2 --repeat 7 --peer threads,rayon,openmp
//!
//! The last runs Phalanx, plain threads, Rayon and OpenMP (`peers/openmp.c`) in turn. Exit code 1:
//! a result is wrong; 2: wrong arguments. Measurements beside other implementations:
//! docs/numerics.md.

mod cg;
mod class;
mod ep;
mod fork_join;
mod ft;
mod is;
mod kernel;
#[path = "../../tools/model/src/median.rs"]
mod median;
mod memory;
mod mg;
mod mg_planes;
mod outcome;
#[path = "../peers/program.rs"]
pub(crate) mod program;
mod random;
pub(crate) mod spmd;
pub(crate) mod threads;

pub(crate) use self::class::Class;
pub(crate) use self::kernel::{Kernel, Problem};
use self::outcome::Outcome;
use self::program::Program;
use clap::{Parser, ValueEnum};
use phalanx::Team;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(
    name = "nas",
    about = "NAS parallel kernels on Phalanx, and beside it on plain threads and Rayon"
)]
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
    /// The others that run in turn with Phalanx
    #[arg(long, value_enum, value_delimiter = ',')]
    peer: Vec<Peer>,
}

/// The others that run the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// The same kernels on std::thread and std::sync::Barrier
    Threads,
    /// The same arithmetic in parallel iterators
    Rayon,
    /// C, in a process of its own
    Openmp,
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
        "{:<6} {:<5} {:>5}  {:<8} {:>10} {:>10} {:>9} {:>6}  verified (error)",
        "kernel", "class", "ranks", "runner", "median_s", "best_s", "mop/s", "ratio"
    );
    let openmp = if arguments.peer.contains(&Peer::Openmp) { openmp() } else { None };
    let mut all_good = true;
    for &class in &arguments.classes.0 {
        for &kernel in &arguments.kernels.0 {
            let problem = Problem::new(kernel, class);
            for &ranks in &arguments.ranks.0 {
                match compare(&problem, ranks, &arguments, openmp.as_ref()) {
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

/// The program, or a line that says why there is none.
pub(crate) fn openmp() -> Option<Program> {
    let sources = [
        ("openmp.c", include_str!("peers/openmp.c")),
        ("common.h", include_str!("peers/common.h")),
        ("ft.h", include_str!("peers/ft.h")),
        ("mg.h", include_str!("peers/mg.h")),
    ];
    match program::build(program::Kind::Openmp, &sources).pop()? {
        Ok(program) => Some(program),
        Err(why) => {
            eprintln!("nas: openmp is skipped: {why}");
            None
        }
    }
}

/// Runs one problem on Phalanx and its peers in turn and prints a line for each; whether all was
/// verified.
fn compare(
    problem: &Problem,
    ranks: usize,
    arguments: &Arguments,
    openmp: Option<&Program>,
) -> Result<bool, String> {
    problem.check_ranks(ranks)?;
    let team = Team::builder().ranks(ranks).build().map_err(|e| e.to_string())?;
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(ranks).build().map_err(|e| e.to_string())?;
    let in_openmp = openmp.map(|program| (program, problem.call()));
    let is_there = |peer: &&Peer| **peer != Peer::Openmp || in_openmp.is_some();
    let peers: Vec<&Peer> = arguments.peer.iter().filter(is_there).collect();
    let mut ours = Vec::new();
    let mut theirs = vec![Vec::new(); peers.len()];
    // Ours on one thread of their own for all runs: rank 0's is bound to a core, and the peers'
    // threads would inherit that.
    std::thread::scope(|s| {
        let (ask, asked) = std::sync::mpsc::channel();
        let (tell, told) = std::sync::mpsc::channel();
        let team = &team;
        s.spawn(move || {
            for () in asked {
                let one = || team.run(|comm| problem.spmd(comm)).map(|outcomes| outcomes[0]);
                if tell.send(one().and_then(|cold| warm(cold, one))).is_err() {
                    return;
                }
            }
        });
        for _ in 0..arguments.repeat {
            ask.send(()).expect("the thread listens");
            let outcome = told.recv().expect("run returns errors");
            ours.push(outcome.map_err(|e| e.to_string())?);
            for (peer, outcomes) in peers.iter().zip(&mut theirs) {
                let one = || -> Result<Outcome, String> {
                    match peer {
                        Peer::Threads => Ok(threads::run(ranks, |thread| problem.spmd(thread))[0]),
                        Peer::Rayon => Ok(pool.install(|| problem.fork_join())),
                        Peer::Openmp => {
                            let (program, call) = in_openmp.as_ref().expect("it is there");
                            let numbers = program.run(ranks, call)?;
                            let judged = problem.judge_numbers(&numbers);
                            judged.ok_or_else(|| format!("openmp prints {numbers:?}"))
                        }
                    }
                };
                outcomes.push(one().and_then(|cold| warm(cold, one))?);
            }
        }
        Ok::<(), String>(())
    })?;
    let median = median_seconds(&ours);
    let mut all_good = line(problem, ranks, "phalanx", &ours, median);
    for (peer, outcomes) in peers.iter().zip(&theirs) {
        let name = format!("{peer:?}").to_lowercase();
        all_good &= line(problem, ranks, &name, outcomes, median);
    }
    Ok(all_good)
}

/// A run of a few milliseconds is done again, and the second time counts: after another
/// runner's turn, the first finds cores and caches cold.
fn warm<E>(cold: Outcome, mut again: impl FnMut() -> Result<Outcome, E>) -> Result<Outcome, E> {
    if cold.is_verified() && cold.seconds < 5e-3 { again() } else { Ok(cold) }
}

fn median_seconds(outcomes: &[Outcome]) -> f64 {
    median::median(&outcomes.iter().map(|o| o.seconds).collect::<Vec<_>>())
}

/// Prints how a runner did; the ratio is its median to Phalanx's.
fn line(problem: &Problem, ranks: usize, runner: &str, outcomes: &[Outcome], ours: f64) -> bool {
    let best = outcomes.iter().map(|o| o.seconds).fold(f64::INFINITY, f64::min);
    let worst = outcomes.iter().max_by(|a, b| a.error.total_cmp(&b.error)).expect("a run");
    let good = outcomes.iter().all(Outcome::is_verified);
    let median = median_seconds(outcomes);
    println!(
        "{:<6} {:<5} {ranks:>5}  {runner:<8} {median:>10.6} {best:>10.6} {:>9.0} {:>6.2}  {} \
         ({:.1e} of {:.0e})",
        problem.kernel.to_string(),
        problem.class.to_string(),
        problem.mops() / median,
        median / ours,
        if good { "yes" } else { "NO" },
        worst.error,
        worst.tolerance,
    );
    good
}
