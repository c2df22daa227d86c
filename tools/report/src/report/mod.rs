//! One page about this machine: measurements beside models.
//!
//! Whatever is timed is a run of one of this tool's own commands in a process of its own, so that a
//! section that fails leaves the others alone, and the page can say how to repeat each of its
//! numbers. All that was measured is one JSON object ([`saved_report`]); the page is made from that
//! object alone, now or later.
//!
//! | file | contents |
//! |---|---|
//! | `environment.rs` | processor, kernel, governor, affinity, version, commit |
//! | `run_commands.rs` | runs the commands, within a time |
//! | `saved_report.rs` | a saved run: written, read back, refused |
//! | `predict.rs` | the cost model's times of the same calls |
//! | `curves.rs` | measured rows as curves; the best algorithms; the error of the model |
//! | `ranks_section.rs` | the page's section on the number of ranks |
//! | `layout.rs` | positions of the drawn ranks: ring, mesh, hypercube, tree |
//! | `traces.rs` | the messages of every algorithm, for the animation |
//! | `machine_drawing.rs` | a machine's groups, cores and ranks, for the animation |
//! | `summary.rs` | the head of the page: four numbers and a sentence |
//! | `html.rs` | text, tables and drawings as HTML |
//! | `matrices.rs` | the page's section on pairs of cores |
//! | `collectives.rs` | the page's sections on the collectives |
//! | `model_section.rs` | the page's section on the model |
//! | `html_page.rs` | the page, and its other sections |

pub(crate) mod collectives;
pub(crate) mod curves;
pub(crate) mod environment;
pub(crate) mod html;
pub(crate) mod html_page;
pub(crate) mod layout;
pub(crate) mod machine_drawing;
pub(crate) mod matrices;
pub(crate) mod model_section;
pub(crate) mod predict;
pub(crate) mod ranks_section;
pub(crate) mod run_commands;
pub(crate) mod saved_report;
pub(crate) mod summary;
pub(crate) mod traces;
