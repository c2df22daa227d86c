//! Measurements between pairs of processing units: the table, its file and its drawings.
//!
//! | file | contents |
//! |---|---|
//! | `unit_axis.rs` | the units in the machine's order, and their groups |
//! | `saved_run.rs` | a measured run: its head and its rows |
//! | `summary.rs` | rows by level |
//! | `heat.rs` | colours, and the heat map in a terminal |
//! | `heat_map.rs` | the heat map as a drawing |

pub mod heat;
pub(crate) mod heat_map;
pub mod saved_run;
pub mod summary;
pub mod unit_axis;
