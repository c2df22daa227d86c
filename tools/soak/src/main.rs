//! `phalanx soak`: random calls on random communicators for any length of time, with every result
//! and all resources checked; and `phalanx check --machine`: the library's promises about the
//! machine that it runs on.
//!
//! | file | contents |
//! |---|---|
//! | `kit.rs` | the calls and faults of a run, and an oracle of their results |
//! | `script.rs` | the run that a seed stands for |
//! | `soak_elements.rs` | the element types and their operators |
//! | `heap.rs` | bytes allocated, counted |
//! | `resources.rs` | memory, descriptors and threads of this process |
//! | `memory.rs` | a check that memory does not grow |
//! | `load.rs` | busy processes beside the ranks |
//! | `pace.rs` | a bound on a run's time |
//! | `promises/` | the promises about a machine |

mod command;
mod heap;
mod kit;
mod load;
mod longest_waits;
mod memory;
mod pace;
mod promises;
mod resources;
mod script;
mod soak_elements;

fn main() -> std::process::ExitCode {
    phalanx_bench::main::<command::Command>()
}
