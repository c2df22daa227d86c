//! The NAS kernels of `suites/nas`, the same source files, on the ranks of several nodes; only
//! the launcher differs.
//!
//!     mpirun -n 2 nas CG S        # EP, CG, IS, FT, MG; classes S, W, A, B
//!
//! PHALANX_THREADS ranks on each node. Exit code 1: a result is wrong.

#[allow(dead_code)]
#[path = "../../../suites/nas/main.rs"]
mod kernels;

use kernels::spmd::{Shown, Spmd};
use kernels::{Problem, classes, kernels as named};
use phalanx::Element;
use phalanx_nodes::NodeComm;
use std::process::ExitCode;

// So that errors and records name the kernels' lines, and not these.
impl Spmd for NodeComm<'_> {
    fn rank(&self) -> usize {
        NodeComm::rank(self)
    }

    fn size(&self) -> usize {
        NodeComm::size(self)
    }

    #[track_caller]
    fn barrier(&mut self) {
        NodeComm::barrier(self);
    }

    #[track_caller]
    fn sum<const N: usize>(&mut self, x: [f64; N]) -> [f64; N] {
        NodeComm::sum(self, x)
    }

    #[track_caller]
    fn with_peers<T: Element, R>(&mut self, mine: &[T], f: impl FnOnce(&dyn Shown<T>) -> R) -> R {
        NodeComm::with_peers(self, mine, |all| f(&all))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |i: usize, or: &str| arguments.get(i).cloned().unwrap_or(or.to_string());
    let problems = named(&text(0, "CG")).and_then(|k| Ok((k.0, classes(&text(1, "S"))?.0)));
    let (kernels, classes) = match problems {
        Ok(both) => both,
        Err(what) => {
            eprintln!("nas: {what}");
            return ExitCode::from(2);
        }
    };
    let cluster = match phalanx_mpi::builder().build() {
        Ok(cluster) => cluster,
        Err(e) => {
            eprintln!("nas: {e}");
            return ExitCode::FAILURE;
        }
    };
    let mut good = true;
    for &class in &classes {
        for &kernel in &kernels {
            let problem = Problem::new(kernel, class);
            let outcomes = cluster.run(|comm| {
                if let Err(what) = problem.check_ranks(comm.size()) {
                    panic!("{kernel} {class}: {what}");
                }
                (problem.spmd(comm), comm.size())
            });
            let (outcome, ranks) = match outcomes {
                Ok(outcomes) => outcomes[0],
                Err(e) => {
                    eprintln!("nas: {e}");
                    return ExitCode::FAILURE;
                }
            };
            good &= outcome.is_verified();
            if cluster.node() == 0 {
                let verified = if outcome.is_verified() { "yes" } else { "NO" };
                let (nodes, s) = (cluster.nodes(), outcome.seconds);
                let mops = problem.mops() / s;
                println!(
                    "{kernel} {class}: {nodes} nodes, {ranks} ranks, {s:.6} s, {mops:.0} mop/s, \
                     verified {verified}"
                );
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
