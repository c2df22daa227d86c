//! One page about this machine: what was measured, beside what was modelled.
//!
//! Whatever is timed is a run of one of this tool's own commands in a process of its own, so that a
//! section that fails leaves the others alone, and the page can say how to repeat each of its
//! numbers. All that was measured is one JSON object ([`run`]); the page is made from that object
//! alone, now or later.
//!
//! | file | what |
//! |---|---|
//! | `environment.rs` | processor, kernel, governor, affinity, version, commit |
//! | `gather.rs` | runs the commands, within a time |
//! | `run.rs` | a saved run: written, read back, refused |
//! | `predict.rs` | what the cost model says of the same calls; a larger machine, modelled |
//! | `curves.rs` | measured rows as curves; who is best from where; how wrong the model is |
//! | `across.rs` | the page's section on the number of ranks |
//! | `layout.rs` | where ranks are drawn: ring, mesh, hypercube, tree |
//! | `traces.rs` | the messages of every algorithm, for the animation |
//! | `plan.rs` | a machine's rooms and cores, and the ranks on them, for the same |
//! | `html.rs` | text, tables and drawings as HTML |
//! | `matrices.rs`, `collectives.rs`, `judge.rs` | the page's sections: between cores, collectives, the model |
//! | `page.rs` | the page, and its other sections |

pub(crate) mod across;
pub(crate) mod collectives;
pub(crate) mod curves;
pub(crate) mod environment;
pub(crate) mod gather;
pub(crate) mod html;
pub(crate) mod judge;
pub(crate) mod layout;
pub(crate) mod matrices;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod predict;
pub(crate) mod run;
pub(crate) mod traces;
