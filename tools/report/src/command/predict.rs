//! `phalanx model predict`: the time of a library's collective on a published node, by size.

use phalanx_bench::failure::Failure;
use phalanx_bench::suggest;
use phalanx_model::published::{Asked, machines, sizes};

/// The libraries.
const LIBRARIES: [&str; 4] = ["mpich", "openmpi", "ext_mpi", "phalanx"];
/// The operations.
const OPERATIONS: [&str; 3] = ["allreduce", "bcast", "reduce"];
/// The two ways of calls.
const WAYS: [&str; 2] = ["blocking", "persistent"];

/// The subject of a prediction.
#[derive(Debug, clap::Args)]
pub(crate) struct Predict {
    /// predict: mpich, openmpi, ext_mpi or phalanx
    #[arg(long, value_name = "LIB")]
    library: Option<String>,
    /// predict: allreduce, bcast or reduce
    #[arg(long, value_name = "OP")]
    operation: Option<String>,
    /// predict: MPICH's blocking or persistent calls only
    #[arg(long, value_name = "WAY")]
    how: Option<String>,
    /// predict: the ranks are dealt over the packages in turn
    #[arg(long)]
    spread: bool,
}

fn one_of<'a>(what: &str, given: Option<&'a str>, known: &[&'a str]) -> Result<&'a str, Failure> {
    let Some(given) = given else {
        return Err(Failure::usage(format!("predict needs --{what}: {}", known.join(", "))));
    };
    let found = known.iter().find(|k| **k == given);
    found.copied().ok_or_else(|| Failure::usage(suggest::unknown(what, given, known)))
}

impl Predict {
    /// Bytes and microseconds, rounded to thousandths, for each size.
    pub(crate) fn rows(
        &self,
        machine: Option<&str>,
        ranks: usize,
    ) -> Result<Vec<(u64, f64)>, Failure> {
        let machines = machines();
        let names: Vec<&str> = machines.iter().map(|m| m.name).collect();
        let name = one_of("machine", machine, &names)?;
        let library = one_of("library", self.library.as_deref(), &LIBRARIES)?;
        let operation = one_of("operation", self.operation.as_deref(), &OPERATIONS)?;
        let how = match &self.how {
            Some(how) => one_of("how", Some(how), &WAYS)?,
            None => "",
        };
        let found = machines.iter().find(|m| m.name == name);
        let machine = found.ok_or_else(|| Failure::usage("no such machine"))?;
        let cores = machine.node.size();
        if !(2..=cores).contains(&ranks) {
            return Err(Failure::usage(format!(
                "-p {ranks}: the model gives every rank a core, and {name} has {cores}; fewer than \
                 2 ranks send nothing"
            )));
        }
        if library == "openmpi" && machine.software.open_mpi.is_none() {
            return Err(Failure::usage(format!(
                "openmpi on {name}: the published build is erratic (64 KiB take 865 us, 128 KiB \
                 7393, 256 KiB 3906), so that there is nothing to hold a model against"
            )));
        }
        let asked = Asked { library, how, operation, ranks, spread: self.spread };
        let row = |bytes: f64| {
            let us = machine.predict(&asked, bytes);
            let us =
                us.ok_or_else(|| Failure::run(format!("{library} {operation}: no schedule")))?;
            Ok((bytes as u64, (us * 1000.0).round() / 1000.0))
        };
        sizes().map(row).collect()
    }
}
