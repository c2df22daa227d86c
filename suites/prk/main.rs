//! Seven of the Parallel Research Kernels (ParRes/Kernels), each with its own validation.
//!
//!     cargo run --release -p suites --bin prk -- stencil 1000 -p 2
//!     cargo run --release -p suites --bin prk -- transpose 4096 --tile 32 -p 2 --repeat 5
//!     cargo run --release -p suites --bin prk -- all -p 1,2,4
//!     cargo run --release -p suites --bin prk -- reduce 1000 -p 2 --repeat 9 --peer openmp,mpi
//!
//! The last runs the same kernel in OpenMP, Open MPI and MPICH (`peers/*.c`) in turn with the
//! ranks. Sizes and units are PRK's; the first iteration is not timed. Exit code 1: a
//! kernel does not validate; 2: wrong arguments. Measurements beside other implementations:
//! docs/examples.md.

mod kernel;
mod nstream;
#[path = "../peers/program.rs"]
mod program;
mod reduce;
mod sparse;
mod stencil;
mod synch_global;
mod synch_p2p;
mod transpose;

use clap::{Parser, Subcommand};
use kernel::{Check, Kernel, Outcome};
use phalanx::Team;
use program::{Kind, Program};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "prk", about = "Parallel Research Kernels on Phalanx ranks")]
struct Arguments {
    #[command(subcommand)]
    kernel: Which,
    /// Ranks: a number, or several
    #[arg(short = 'p', long, global = true, value_delimiter = ',', default_value = "2")]
    #[arg(value_parser = ranks)]
    ranks: Vec<usize>,
    /// Timed iterations; without, enough for about a quarter of a second at the small size
    #[arg(short, long, global = true, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,
    /// How often each is run; the rate is the median's
    #[arg(long, global = true, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// The others that run the same in turn, in processes of their own
    #[arg(long, global = true, value_enum, value_delimiter = ',')]
    peer: Vec<Kind>,
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
    let peers = peers(&arguments.peer);
    let each = |&p: &usize| start(&arguments, &peers, p);
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

/// Those that can be built here; says which cannot.
fn peers(kinds: &[Kind]) -> Vec<Program> {
    let common = ("prk.h", include_str!("peers/prk.h"));
    let built = kinds.iter().flat_map(|&kind| {
        let own = match kind {
            Kind::Openmp => ("openmp.c", include_str!("peers/openmp.c")),
            Kind::Mpi => ("mpi.c", include_str!("peers/mpi.c")),
        };
        program::build(kind, &[own, common]).into_iter().map(move |built| (kind, built))
    });
    let there = built.filter_map(|(kind, built)| match built {
        Ok(program) => Some(program),
        Err(why) => {
            eprintln!("prk: {} is skipped: {why}", format!("{kind:?}").to_lowercase());
            None
        }
    });
    there.collect()
}

fn start(arguments: &Arguments, peers: &[Program], p: usize) -> Result<(), Failure> {
    let team = &Team::builder().ranks(p).build()?;
    let run = Run { team, arguments, peers };
    match &arguments.kernel {
        Which::Stencil(kernel) => run.of(kernel),
        Which::Transpose(kernel) => run.of(kernel),
        Which::SynchP2p(kernel) => run.of(kernel),
        Which::Nstream(kernel) => run.of(kernel),
        Which::Reduce(kernel) => run.of(kernel),
        Which::Sparse(kernel) => run.of(kernel),
        Which::SynchGlobal(kernel) => run.of(kernel),
        Which::All => {
            run.of(&stencil::Stencil { n: 200, radius: 2 })?;
            run.of(&transpose::Transpose { n: 300, tile: 64 })?;
            run.of(&synch_p2p::SynchP2p { m: 200, n: 100, group: 1 })?;
            run.of(&nstream::Nstream { length: 20_000 })?;
            run.of(&reduce::Reduce { length: 20_000, block: 16_384, algorithm: None })?;
            run.of(&sparse::Sparse { log_side: 6, radius: 4 })?;
            run.of(&synch_global::SynchGlobal { length: 1024 })
        }
    }
}

struct Run<'a> {
    team: &'a Team,
    arguments: &'a Arguments,
    peers: &'a [Program],
}

impl Run<'_> {
    /// Ours and the peers in turn; a line for each.
    fn of<K: Kernel>(&self, kernel: &K) -> Result<(), Failure> {
        let p = self.team.size();
        let title = kernel.title();
        kernel.fits(p).map_err(|what| Failure::Input(format!("{title}: {what}")))?;
        let iterations = self.arguments.iterations.unwrap_or(K::ITERATIONS);
        let mut call = vec![iterations.to_string(), K::NAME.to_string()];
        call.extend(kernel.sizes().iter().map(usize::to_string));

        let mut ours = Vec::new();
        let mut theirs = vec![Vec::new(); self.peers.len()];
        for _ in 0..self.arguments.repeat {
            // On a thread of its own: rank 0's is bound to a core, and the peers would inherit
            // that.
            let run = || kernel::run(kernel, self.team, iterations);
            let outcomes = std::thread::scope(|s| s.spawn(run).join().expect("run returns errors"));
            ours.push(seconds(&outcomes?[0], "ranks", &title, iterations)?);
            for (peer, times) in self.peers.iter().zip(&mut theirs) {
                let numbers = peer.run(p, &call).map_err(Failure::Check)?;
                let &[whole, found, expected, within] = &numbers[..] else {
                    return Err(Failure::Check(format!("{} prints {numbers:?}", peer.name)));
                };
                let check = Check { found, expected, within };
                let outcome = Outcome { seconds: whole, check };
                times.push(seconds(&outcome, peer.name, &title, iterations)?);
            }
        }
        let rate = |seconds| K::UNIT.rate(kernel.work(p), seconds);
        let [median, best] = median_and_best(&mut ours);
        println!(
            "{title}, p = {p}: validates; {}, {:.2} us an iteration (best {})",
            rate(median),
            median * 1e6,
            rate(best)
        );
        for (peer, times) in self.peers.iter().zip(&mut theirs) {
            let [theirs, most] = median_and_best(times);
            println!(
                "    {:<8} {}, {:.2} us (best {}): ranks are {:.2} times as fast (best {:.2})",
                peer.name,
                rate(theirs),
                theirs * 1e6,
                rate(most),
                theirs / median,
                most / best
            );
        }
        Ok(())
    }
}

/// Of an iteration, if the kernel validates.
fn seconds(outcome: &Outcome, by: &str, title: &str, iterations: u32) -> Result<f64, Failure> {
    let Check { found, expected, .. } = outcome.check;
    if outcome.check.is_good() {
        return Ok(outcome.seconds / f64::from(iterations));
    }
    let what = format!("{title}, {by}: does not validate: {found:e}, not {expected:e}");
    Err(Failure::Check(what))
}

fn median_and_best(times: &mut [f64]) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [times[times.len() / 2], times[0]]
}
