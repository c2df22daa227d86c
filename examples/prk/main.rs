//! Seven of the Parallel Research Kernels (ParRes/Kernels), each with its own validation.
//!
//!     cargo run --release --example prk -- stencil 1000 -p 2
//!     cargo run --release --example prk -- transpose 4096 --tile 32 -p 2 --repeat 5
//!     cargo run --release --example prk -- all -p 1,2,4
//!
//! Sizes and what is counted are PRK's; the first iteration is not timed. Exit code 1: a kernel does not validate; 2:
//! wrong arguments. What was measured beside other implementations: docs/examples.md.

mod kernel;
mod nstream;
mod reduce;
mod sparse;
mod stencil;
mod synch_global;
mod synch_p2p;
mod transpose;

use clap::{Parser, Subcommand};
use kernel::{Kernel, Outcome};
use phalanx::Team;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "prk", about = "Parallel Research Kernels on Phalanx ranks")]
struct Arguments {
    #[command(subcommand)]
    kernel: Which,
    /// Ranks: a number, or several
    #[arg(short = 'p', long, global = true, value_delimiter = ',', default_value = "2", value_parser = ranks)]
    ranks: Vec<usize>,
    /// Timed iterations; without, enough for about a quarter of a second at the small size
    #[arg(short, long, global = true, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,
    /// How often each is run; the rate is the median's
    #[arg(long, global = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
}

#[derive(Debug, Subcommand)]
#[command(rename_all = "snake_case")]
enum Which {
    /// A star on a grid: halos
    Stencil(stencil::Stencil),
    /// B += A', A += 1: everybody reads from everybody
    Transpose(transpose::Transpose),
    /// A wavefront: a number a row from rank to rank
    SynchP2p(synch_p2p::SynchP2p),
    /// a += b + 3 c, and a barrier
    Nstream(nstream::Nstream),
    /// Sums of vectors on rank 0
    Reduce(reduce::Reduce),
    /// A sparse matrix times a vector: all-gather
    Sparse(sparse::Sparse),
    /// Strings exchanged between all
    SynchGlobal(synch_global::SynchGlobal),
    /// All of them, small
    All,
}

fn ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(p) if (1..=phalanx::MAX_RANKS).contains(&p) => Ok(p),
        _ => Err(format!("expected 1 to {} ranks", phalanx::MAX_RANKS)),
    }
}

enum Failure {
    /// Exit code 2.
    Input(String),
    /// Exit code 1.
    Check(String),
}

impl From<phalanx::Error> for Failure {
    fn from(error: phalanx::Error) -> Self {
        Failure::Check(error.to_string())
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let each = |&p: &usize| start(&arguments, p);
    match arguments.ranks.iter().try_for_each(each) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(what)) => {
            eprintln!("prk: {what}");
            ExitCode::from(2)
        }
        Err(Failure::Check(what)) => {
            eprintln!("prk: {what}");
            ExitCode::from(1)
        }
    }
}

fn start(arguments: &Arguments, p: usize) -> Result<(), Failure> {
    let team = Team::builder().ranks(p).build()?;
    match &arguments.kernel {
        Which::Stencil(kernel) => run(&team, kernel, arguments),
        Which::Transpose(kernel) => run(&team, kernel, arguments),
        Which::SynchP2p(kernel) => run(&team, kernel, arguments),
        Which::Nstream(kernel) => run(&team, kernel, arguments),
        Which::Reduce(kernel) => run(&team, kernel, arguments),
        Which::Sparse(kernel) => run(&team, kernel, arguments),
        Which::SynchGlobal(kernel) => run(&team, kernel, arguments),
        Which::All => {
            run(&team, &stencil::Stencil { n: 200, radius: 2 }, arguments)?;
            run(&team, &transpose::Transpose { n: 300, tile: 64 }, arguments)?;
            run(&team, &synch_p2p::SynchP2p { m: 200, n: 100, group: 1 }, arguments)?;
            run(&team, &nstream::Nstream { length: 20_000 }, arguments)?;
            run(&team, &reduce::Reduce { length: 20_000, algorithm: None }, arguments)?;
            run(&team, &sparse::Sparse { log_side: 6, radius: 4 }, arguments)?;
            run(&team, &synch_global::SynchGlobal { length: 1024 }, arguments)
        }
    }
}

fn run<K: Kernel>(team: &Team, kernel: &K, arguments: &Arguments) -> Result<(), Failure> {
    let p = team.size();
    let title = kernel.title();
    kernel.fits(p).map_err(|what| Failure::Input(format!("{title}: {what}")))?;
    let iterations = arguments.iterations.unwrap_or(K::ITERATIONS);
    let mut times = Vec::new();
    for _ in 0..arguments.repeat {
        let mut outcomes = team.run(|comm| kernel.run(comm, iterations))?;
        let Outcome { seconds, check } = outcomes.swap_remove(0);
        if !check.is_good() {
            let (found, expected) = (check.found, check.expected);
            let what = format!("{title}, p = {p}: does not validate: {found:e}, not {expected:e}");
            return Err(Failure::Check(what));
        }
        times.push(seconds / f64::from(iterations));
    }
    times.sort_by(f64::total_cmp);
    let (median, best) = (times[times.len() / 2], times[0]);
    let rate = |seconds| K::UNIT.rate(kernel.work(p), seconds);
    let (typical, most) = (rate(median), rate(best));
    println!(
        "{title}, p = {p}: validates; {typical}, {:.2} us an iteration (best {most})",
        median * 1e6
    );
    Ok(())
}
