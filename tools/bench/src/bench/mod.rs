//! Measurement of collectives: calls, data, times, and checks of the results.
//!
//! | file | contents |
//! |---|---|
//! | `operator.rs`, `element.rs` | operators and element types by name |
//! | `data.rs` | the formula behind every input and every expected result |
//! | `call_form.rs`, `ring.rs` | forms of an operation; the ring of the form among neighbours |
//! | `call_buffers.rs` | a rank's buffers: prepare, call, check |
//! | `call_tally.rs` | what the calls of a row come to, where they are recorded |
//! | `sample.rs` | the measuring loop of a round |
//! | `rounds.rs` | the rounds of a row, sorted by place; signs of a change meanwhile |
//! | `interleave.rs` | the rows of one operation, in turns |
//! | `row.rs` | a row of the table: statistics, bandwidths |
//! | `modelled.rs` | the model's time for a row |
//! | `cases.rs` | turns arguments into cases, and reports mistakes |
//! | `exchange.rs` | the raw exchange of two flags between the cores of ranks 0 and 1 |
//! | `output_forms.rs` | the table as text, tsv and json |
//! | `run_conditions.rs` | the machine and the settings of a measurement |
//! | `predict_call.rs` | the textbook's model of a call, with the rates of a profile |
//! | `turn_protocol.rs` | what a program that takes turns with others is told, and answers |
//! | `turn_server.rs` | takes turns: measures the slices that it is asked for |
//!
//! The method is that of [`measure`](crate::measure).

pub(crate) mod call_tally;
pub(crate) mod cases;
pub mod element;
pub mod exchange;
pub(crate) mod interleave;
pub mod modelled;
pub mod operator;
pub(crate) mod output_forms;
pub(crate) mod predict_call;
pub(crate) mod rounds;
pub(crate) mod row;
pub mod run_conditions;
pub mod sample;

pub mod turn_protocol;
pub(crate) mod turn_server;

pub mod call_buffers;
pub mod call_form;
mod data;
mod ring;

/// Up to this size a sample has several calls.
pub const LARGEST_WITH_LANES: usize = call_buffers::WARM / 2;
