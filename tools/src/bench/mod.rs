//! Measuring collectives: what is called, on which data, how long it took, and
//! whether the result was right.
//!
//! | file | what |
//! |---|---|
//! | `redop.rs`, `element.rs` | operators and element types by name, and what they need |
//! | `data.rs` | the formula behind every input and every expected result |
//! | `work.rs` | a rank's buffers: prepare, call, check |
//! | `sample.rs` | the measuring loop |
//! | `row.rs` | a row of the table: statistics, bandwidths |
//! | `plan.rs` | from arguments to cases, with everything that can be wrong |
//! | `exchange.rs` | the raw exchange of two flags between the cores of ranks 0 and 1 |
//! | `report.rs`, `machine.rs` | the output |

pub(crate) mod element;
pub(crate) mod exchange;
pub(crate) mod machine;
pub(crate) mod plan;
pub(crate) mod redop;
pub(crate) mod report;
pub(crate) mod row;
pub(crate) mod sample;

mod data;
mod work;
