//! The soak test: random calls on random communicators for as long as one
//! likes, every result checked, nothing left behind.
//!
//! | file | what |
//! |---|---|
//! | `dice.rs` | random numbers from a seed |
//! | `script.rs` | what all ranks do in one run, and what goes wrong in it |
//! | `element.rs` | the element types, their operators, and their sequential oracle |
//! | `act.rs` | one call: carried out, and its result checked |
//! | `round.rs` | a script on a team, and whether it ended as it had to |
//! | `heap.rs` | bytes allocated, counted |
//! | `process.rs` | memory, descriptors and threads of this process |
//! | `memory.rs` | whether memory grows |
//! | `load.rs` | busy processes beside the ranks |
//! | `pace.rs` | whether a run takes as long as it may |

pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod pace;
pub(crate) mod process;
pub(crate) mod round;

mod act;
mod dice;
mod element;
mod heap;
mod script;

pub(crate) use script::Script;
