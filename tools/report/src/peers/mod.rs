//! Comparison of our collectives with other libraries, in turns on the same cores.
//!
//! | file | contents |
//! |---|---|
//! | `programs.rs` | the peers' programs (`tools/report/peers`), and their compilation |
//! | `installation.rs` | the MPIs of the search path and of named directories |
//! | `contenders.rs` | the compared programs with their settings, and reasons for missing ones |
//! | `process.rs` | runs one program with a time limit |
//! | `player.rs` | a running program that takes turns with others |
//! | `turns.rs` | the turns: slices of each row, in rotating order, at each place |
//! | `raw.rs` | slices, as they are stored |
//! | `merge.rs` | medians of the slices with their intervals, the best peer, the winner |
//! | `comparison.rs`, `plot.rs` | the result as a table and as a plot |

pub(crate) mod comparison;
pub(crate) mod contenders;
pub(crate) mod installation;
pub(crate) mod merge;
pub(crate) mod player;
pub(crate) mod plot;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod raw;
pub(crate) mod turns;
