//! Measurements between pairs of processing units: the table, its file, its drawings, and its
//! comparison with an older one.
//!
//! | file | contents |
//! |---|---|
//! | `unit_axis.rs` | the units in the machine's order, and their groups |
//! | `saved_run.rs` | a measured run: its head and its rows; written and read back |
//! | `summary.rs` | rows by level |
//! | `heat.rs` | colours, and the heat map in a terminal |
//! | `heat_map.rs` | the heat map as a drawing |
//! | `compare_runs.rs` | compares two runs |

pub(crate) mod compare_runs;
pub mod heat;
pub(crate) mod heat_map;
pub mod saved_run;
pub mod summary;
pub mod unit_axis;
