//! Shared parts of the commands that execute nothing: the requested call, the list of ids, and the
//! drawing of a schedule.
//!
//! | file | contents |
//! |---|---|
//! | `call.rs` | `ID -p RANKS --dims .. --root .. --shift ..` |
//! | `ids.rs` | every id of the checklist, with its needs |
//! | `state.rs` | the blocks of each rank after each step |
//! | `figure.rs` | these blocks as text |

pub(crate) mod call;
pub(crate) mod figure;
pub mod ids;
pub(crate) mod state;
