//! The machine cost model beside published measurements.
//!
//! | file | contents |
//! |---|---|
//! | `published.rs` | the curves V1 to V5, as published |
//! | `published_nodes.rs` | the curves V6 to V8 of three libraries' collectives, beside the model |
//! | `open_mpi.rs` | Open MPI's messages and its algorithms |
//! | `smelt.rs` | the trees of the Smelt paper, and its channels |
//! | `validate.rs` | published curves beside ours, with the errors |
//! | `known_misses.rs` | the points that the model misses, with reasons |
//! | `sensitivity.rs` | the errors without an effect, and with other constants and structures |
//! | `validation_page.rs` | docs/validation.md |
//! | `markdown.rs` | wrapped prose |
//! | `large_machines.rs` | the gain by levels and placement on large machines |
//! | `scale.rs` | the running time of the simulation for thousands of ranks |

mod known_misses;
pub(crate) mod large_machines;
mod markdown;
pub(crate) mod open_mpi;
pub(crate) mod published;
pub(crate) mod published_nodes;
pub(crate) mod scale;
mod sensitivity;
pub(crate) mod smelt;
pub(crate) mod validate;
pub(crate) mod validation_page;

use phalanx::machine::Machine;
use phalanx::placement::{Assignment, Placement, assign};
use phalanx_bench::failure::Failure;

/// `p` ranks of which each has a processing unit: the model knows no time slices.
pub(crate) fn placed(
    placement: &Placement,
    machine: &Machine,
    p: usize,
) -> Result<Assignment, Failure> {
    let units = machine.allowed_pus().len();
    if p > units {
        return Err(Failure::usage(format!(
            "-p {p}: the model gives every rank a processing unit, and there are {units}"
        )));
    }
    assign(placement, machine, p).map_err(Failure::usage)
}
