//! `phalanx soak`: random calls on random communicators for any length of time, with every result
//! and all resources checked; and `phalanx check --machine`: the library's promises about the
//! machine that it runs on.
//!
//! | file | contents |
//! |---|---|
//! | `random.rs` | random numbers from a seed |
//! | `script.rs` | the calls and faults of one run |
//! | `one_call.rs` | collectives as data, and their oracle |
//! | `soak_elements.rs` | the element types, their operators, and their sequential oracle |
//! | `started_calls.rs` | collectives started in a scope |
//! | `perform_call.rs` | one call: carried out, and its result checked |
//! | `run_script.rs` | a script on a team, and the check of its end |
//! | `heap.rs` | bytes allocated, counted |
//! | `resources.rs` | memory, descriptors and threads of this process |
//! | `memory.rs` | a check that memory does not grow |
//! | `load.rs` | busy processes beside the ranks |
//! | `pace.rs` | a bound on a run's time |
//! | `promises/` | the promises about a machine |

mod command;
mod heap;
mod load;
mod longest_waits;
mod memory;
mod one_call;
mod pace;
mod perform_call;
mod promises;
mod random;
mod resources;
mod run_script;
mod script;
mod soak_elements;
mod started_calls;

fn main() -> std::process::ExitCode {
    phalanx_bench::main::<command::Command>()
}
