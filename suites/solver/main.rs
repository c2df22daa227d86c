//! A solver: conjugate gradients on a Matrix Market file, or on a generated Poisson problem, with
//! any number of ranks.
//!
//!     cargo run --release -p suites --bin solver -- 1138_bus.mtx --preconditioner jacobi -p 2
//!     cargo run --release -p suites --bin solver -- --poisson 100 -p 2 --plot
//!     cargo run --release -p suites --bin solver -- bcsstk09.mtx --check-p 1,2,3,4
//!
//! The right side is `A 1`, so the solution is known; up to 4000 unknowns it is also held against a
//! sparse Cholesky factorisation. The last form solves on 1, 2, 3 and 4 ranks and demands the same
//! bits. Exit code 1: not converged, or a check has failed; 2: wrong arguments, or a file that
//! cannot be solved.

mod cg;
mod direct;
mod poisson;
mod read;
mod report;
mod sparse;

use cg::{Preconditioner, Settings, Solution, Sums};
use clap::Parser;
use phalanx::Team;
use sprs::CsMat;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "solver", about = "Conjugate gradients on Phalanx ranks")]
struct Arguments {
    /// A symmetric positive definite matrix: a Matrix Market file with real or integer entries
    #[arg(conflicts_with = "poisson")]
    file: Option<PathBuf>,
    /// Poisson's equation on N x N x N unknowns, nothing stored; without a file, the default
    #[arg(long, value_name = "N", default_value_t = 12)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1600))]
    poisson: u64,
    /// Ranks
    #[arg(short = 'p', long, default_value_t = 2, value_parser = ranks)]
    ranks: usize,
    #[arg(long, value_enum, default_value = "none")]
    preconditioner: Preconditioner,
    #[arg(long, value_enum, default_value = "fixed")]
    sums: Sums,
    /// Stops at this residual, relative to the right side's norm
    #[arg(long, default_value_t = 1e-8, value_parser = tolerance)]
    tolerance: f64,
    #[arg(long, value_name = "STEPS", default_value_t = 20_000)]
    most_steps: usize,
    /// Solves on each of these numbers of ranks, and demands the same bits
    #[arg(long, value_name = "P,P,..", value_delimiter = ',', value_parser = ranks)]
    check_p: Vec<usize>,
    /// Draws the residual over the steps
    #[arg(long, conflicts_with = "check_p")]
    plot: bool,
    /// Writes the residual of each step, tab-separated
    #[arg(long, value_name = "FILE", conflicts_with = "check_p")]
    history: Option<PathBuf>,
}

fn ranks(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(p) if (1..=phalanx::MAX_RANKS).contains(&p) => Ok(p),
        _ => Err(format!("expected 1 to {} ranks", phalanx::MAX_RANKS)),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(t) if t > 0.0 && t < 1.0 => Ok(t),
        _ => Err("expected a number between 0 and 1, such as 1e-8".into()),
    }
}

/// The problem.
enum Problem {
    Stored(CsMat<f64>),
    Poisson(usize),
}

impl Problem {
    fn unknowns(&self) -> usize {
        match self {
            Problem::Stored(matrix) => matrix.rows(),
            Problem::Poisson(n) => n * n * n,
        }
    }

    /// The solution, each rank's part in its memory.
    fn solve(&self, ranks: usize, settings: &Settings) -> Result<Solution, Failure> {
        let team = Team::builder().ranks(ranks).build()?;
        let (x, found) = match self {
            Problem::Stored(matrix) => {
                // Cut at multiples of 256, where each rank gets some: the fixed sums are quicker
                // then.
                let unit = if matrix.rows() / ranks >= 256 { 256 } else { 1 };
                let rows = sparse::by_entries(matrix, ranks, unit);
                let values = sparse::values(&team, matrix, &rows)?;
                let mut x = team.distributed(&rows, |_| 0.0)?;
                let found = team.run_with(&mut x.parts_mut(), |comm, x| {
                    let values = values.part(comm.rank());
                    let own = sparse::Sparse::new(comm, matrix, &rows, values);
                    cg::solve(comm, &own, x, settings)
                })?;
                (x, found)
            }
            Problem::Poisson(n) => {
                if ranks > *n {
                    let what =
                        format!("{n} planes of unknowns for {ranks} ranks; at most one each");
                    return Err(Failure::Input(what));
                }
                let mut x = team.distributed(&poisson::unknowns(*n, ranks), |_| 0.0)?;
                let found = team.run_with(&mut x.parts_mut(), |comm, x| {
                    let own = poisson::Poisson::new(comm, *n);
                    cg::solve(comm, &own, x, settings)
                })?;
                (x, found)
            }
        };
        let found = found.into_iter().next().expect("a team has at least one rank");
        let found = found.map_err(|e| Failure::Input(e.to_string()))?;
        Ok(Solution { x, found })
    }

    /// For the direct solver, if it is small enough.
    fn stored(&self) -> Option<CsMat<f64>> {
        if self.unknowns() > direct::MOST {
            return None;
        }
        match self {
            Problem::Stored(matrix) => Some(matrix.clone()),
            Problem::Poisson(n) => Some(poisson::stored(*n)),
        }
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
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(what)) => {
            eprintln!("solver: {what}");
            ExitCode::from(2)
        }
        Err(Failure::Check(what)) => {
            eprintln!("solver: {what}");
            ExitCode::from(1)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let problem = match &arguments.file {
        Some(file) => Problem::Stored(read::read(file).map_err(Failure::Input)?),
        None => Problem::Poisson(arguments.poisson as usize),
    };
    let Arguments { preconditioner, sums, tolerance, most_steps, .. } = *arguments;
    let settings = Settings { preconditioner, sums, tolerance, most_steps };
    if !arguments.check_p.is_empty() {
        return same_bits(&problem, &arguments.check_p, &settings);
    }
    let solution = problem.solve(arguments.ranks, &settings)?;
    report::print(&solution, arguments.ranks, &settings);
    if arguments.plot {
        print!("{}", report::plot(&solution.found.history));
    }
    if let Some(file) = &arguments.history {
        let written = std::fs::write(file, report::table(&solution.found.history));
        written.map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
    }
    if !solution.found.converged(&settings) {
        let steps = solution.found.steps();
        return Err(Failure::Check(format!("not converged in {steps} steps")));
    }
    // The recurrence's residual may have drifted away from the true one.
    if solution.found.residual > 2.0 * settings.tolerance {
        let what = format!("rounding keeps the residual at {:.3e}", solution.found.residual);
        return Err(Failure::Check(what));
    }
    compare(&problem, &solution, settings.tolerance)
}

/// With the direct solution.
fn compare(problem: &Problem, solution: &Solution, tolerance: f64) -> Result<(), Failure> {
    let Some(matrix) = problem.stored() else {
        println!("direct solver: not asked, more than {} unknowns", direct::MOST);
        return Ok(());
    };
    let Some(direct) = direct::Direct::new(&matrix) else {
        return Err(Failure::Input("not positive definite: Cholesky's factorisation fails".into()));
    };
    let verdict = direct.judge(&solution.x, tolerance);
    println!(
        "direct solver: {} entries in the factor, smallest eigenvalue {:.4e}; the solutions \
         differ by {:.2e} (bound {:.2e})",
        direct.entries(),
        verdict.smallest,
        verdict.distance / verdict.norm,
        verdict.bound / verdict.norm,
    );
    if verdict.is_good() {
        return Ok(());
    }
    Err(Failure::Check("iteration and direct solver disagree".into()))
}

fn same_bits(problem: &Problem, all: &[usize], settings: &Settings) -> Result<(), Failure> {
    let mut first = None;
    for &ranks in all {
        let solution = problem.solve(ranks, settings)?;
        let hash = report::hash(&solution);
        println!("p = {ranks}: {} steps, hash {hash:016x}", solution.found.steps());
        if !solution.found.converged(settings) {
            return Err(Failure::Check(format!(
                "not converged in {} steps",
                solution.found.steps()
            )));
        }
        if *first.get_or_insert(hash) != hash {
            return Err(Failure::Check(format!("{ranks} ranks give other bits than {}", all[0])));
        }
    }
    println!("the same bits on all");
    Ok(())
}
