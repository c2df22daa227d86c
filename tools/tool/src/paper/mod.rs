//! What the commands share that work on paper, without running anything: the
//! call that is asked for, the list of ids, and the drawing of a schedule.
//!
//! | file | what |
//! |---|---|
//! | `call.rs` | `ID -p RANKS --dims .. --root .. --shift ..` |
//! | `ids.rs` | every id of the checklist, with what it needs |
//! | `state.rs` | who holds what after each step |
//! | `figure.rs` | that as text |
//! | `table.rs` | rows as text, tsv and json |

pub(crate) mod call;
pub(crate) mod figure;
pub mod ids;
pub(crate) mod state;
pub mod table;
