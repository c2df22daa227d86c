//! What was measured between pairs of processing units: the table, how it is
//! kept in a file, drawn, and compared with an older one.
//!
//! | file | what |
//! |---|---|
//! | `axis.rs` | the units in the machine's order, and the groups that they form |
//! | `run.rs` | a measured run: its head and its rows; written and read back |
//! | `summary.rs` | rows by level |
//! | `heat.rs` | colours, and the heat map in a terminal |
//! | `svg.rs` | the heat map as a drawing |
//! | `diff.rs` | two runs beside each other |

pub mod axis;
pub(crate) mod diff;
pub(crate) mod heat;
pub mod run;
pub mod summary;
pub(crate) mod svg;
