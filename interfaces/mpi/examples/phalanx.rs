//! `phalanx bench`, the tool's own command, on the ranks of several nodes; only the launcher
//! differs.
//!
//!     mpirun -n 2 phalanx bench all-reduce -e 64K      # as `phalanx bench --help` says
//!
//! PHALANX_THREADS ranks on each node, or `-p` on all together; PHALANX_RAILS=1: rails.
//! Exit codes as of the tool: 1 a result is wrong, 2 wrong arguments.

use phalanx::{Builder, Error, Team};
use phalanx_bench::{Launch, Measure, Nodes};
use phalanx_mpi::Cluster;
use phalanx_nodes::NodeComm;
use std::process::ExitCode;

/// By MPI's launcher.
struct Mpi;

impl Launch for Mpi {
    fn launch(&self, settings: Builder, ranks: Option<usize>) -> Result<Box<dyn Nodes>, Error> {
        let mut builder = phalanx_mpi::builder().team(settings);
        if let Some(ranks) = ranks {
            builder = builder.ranks(ranks);
        }
        Ok(Box::new(Joined(builder.build()?)))
    }
}

struct Joined(Cluster);

impl Nodes for Joined {
    fn team(&self) -> &Team {
        self.0.team()
    }

    fn node(&self) -> usize {
        self.0.node()
    }

    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    fn run(&self, f: &(dyn Fn(&mut NodeComm<'_>) + Sync)) -> Result<(), Error> {
        self.0.run(f).map(|_| ())
    }
}

fn main() -> ExitCode {
    phalanx_bench::main_on_nodes(&Mpi, Measure::of_type)
}
