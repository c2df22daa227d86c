//! The machine cost model beside what others have published.
//!
//! | file | what |
//! |---|---|
//! | `published.rs` | the curves V1 to V5, as published |
//! | `open_mpi.rs` | Open MPI's messages and its algorithms |
//! | `smelt.rs` | the trees of the Smelt paper, and its channels |
//! | `validate.rs` | ours beside theirs, with the errors |
//! | `misses.rs` | what is missed, and why |
//! | `sensitivity.rs` | without an effect, with other constants, with another structure |
//! | `page.rs` | docs/validation.md |
//! | `markdown.rs` | wrapped prose |
//! | `worth.rs` | what levels and placement are worth on large machines |
//! | `scale.rs` | how long simulating thousands of ranks takes |

mod markdown;
mod misses;
pub(crate) mod open_mpi;
pub(crate) mod page;
pub(crate) mod published;
pub(crate) mod scale;
mod sensitivity;
pub(crate) mod smelt;
pub(crate) mod validate;
pub(crate) mod worth;

use phalanx::machine::Machine;
use phalanx::placement::{Assignment, Placement, assign};
use phalanx_tool::failure::Failure;

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
