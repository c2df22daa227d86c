//! Published collectives on one node: the times of four libraries on two machines, by their own
//! schedules. **Modelled, never measured.**
//!
//! Each rank has a clock; its reads, writes and flags take the time of their lines, and share
//! the paths of the hardware. Each effect has a physical reason:
//!
//! | effect | reason | constant |
//! |---|---|---|
//! | hand-offs by distance | a line of another core comes from its cache | [`Node::hand_off`] |
//! | lines in flight | a core waits for several lines at once | `reads_in_flight`, `slope` |
//! | short reads | a read of a line or two waits for its line, beside a few others | `overlap` |
//! | many readers of a line | a line that many poll is fetched by them in turn | `reader` |
//! | a cache's door | a cache serves the other caches one line after the other | `served` |
//! | homes | all lines of a segment pass through the memory that it lies in | `home` |
//! | links | traffic between packages shares their links | `link` |
//! | memory | lines beyond the caches come from the package's memory | `memory`, `capacity` |
//! | second buffers | vectors, cells, and copies of others' fill the caches | `Call` sites |
//! | blocks that fit | a block that its core combines stays in its cache, if it fits | `again` |
//!
//! Pages are not in it: the benchmarks touch their buffers before they measure.
//!
//! | file | contents |
//! |---|---|
//! | `curves.rs` | the published rows ([`rows()`]) and which points are fitted ([`fitted()`]) |
//! | `machine.rs` | the machines ([`machines()`]) and questions to them ([`Asked`]) |
//! | `node.rs` | the hardware of a node ([`Node`]) |
//! | `clocks.rs` | the clocks of the ranks |
//! | `ext_mpi.rs` | ext_mpi's compiled collectives of several radices |
//! | `mpich.rs` | MPICH's release and gather |
//! | `by_messages.rs` | collectives by messages |
//! | `open_mpi.rs` | Open MPI's |
//! | `cliffs.rs`, `cliffs.txt` | numbers of ranks with slow defaults ([`cliffs()`]) |
//! | `phalanx_own.rs` | this library's ([`OwnCalls`]) |

mod by_messages;
mod cliffs;
mod clocks;
mod curves;
mod ext_mpi;
mod machine;
mod mpich;
mod node;
mod open_mpi;
mod phalanx_own;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_cliffs;

/// The factor within which the model says that all its points are (docs/validation.md), but those
/// that it lists.
pub const STATED_ERROR: f64 = 1.6;

pub use cliffs::cliffs;
pub use curves::{Curve, Row, curves, fitted, rows, sizes};
pub use machine::{Asked, Machine, OpenMpi, Software, machines};
pub use node::Node;
pub use phalanx_own::{OwnCalls, OwnMessages};
