//! Measuring collectives: what is called, on which data, how long it took, and
//! whether the result was right.
//!
//! | file | what |
//! |---|---|
//! | `redop.rs`, `element.rs` | operators and element types by name, and what they need |
//! | `data.rs` | the formula behind every input and every expected result |
//! | `work.rs` | a rank's buffers: prepare, call, check |
//! | `sample.rs` | the measuring loop of a round |
//! | `rounds.rs` | the rounds of a row, filed by place; what moved meanwhile |
//! | `turns.rs` | the rows of one operation, in turns |
//! | `row.rs` | a row of the table: statistics, bandwidths |
//! | `modelled.rs` | what the model says of a row |
//! | `plan.rs` | from arguments to cases, with everything that can be wrong |
//! | `exchange.rs` | the raw exchange of two flags between the cores of ranks 0 and 1 |
//! | `report.rs`, `machine.rs` | the output |
//! | `profiled.rs` | the textbook's model of a call, with the rates of a profile |
//! | `style.rs` | the same in the columns of other people's benchmarks |
//!
//! The method is that of [`measure`](crate::measure).

pub(crate) mod element;
pub mod exchange;
pub mod machine;
pub(crate) mod modelled;
pub(crate) mod plan;
pub mod profiled;
pub mod redop;
pub(crate) mod report;
pub(crate) mod rounds;
pub(crate) mod row;
pub(crate) mod sample;
pub(crate) mod style;
pub(crate) mod turns;

mod data;
pub mod work;

/// Up to this size a sample has several calls.
pub const LARGEST_WITH_LANES: usize = work::WARM / 2;
