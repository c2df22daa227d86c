//! Ours beside other people's libraries, in turns on the same cores.
//!
//! | file | what |
//! |---|---|
//! | `programs.rs` | the peers' programs (`tools/report/peers`), compiled with what this machine has |
//! | `installation.rs` | the MPIs: of the search path, and of directories that are named |
//! | `contenders.rs` | who takes part, with which settings, and who does not and why |
//! | `process.rs` | running one program: with a limit, and ended with its children |
//! | `raw.rs` | the rows that programs print |
//! | `merge.rs` | medians of the runs, the best peer, who won |
//! | `table.rs`, `plot.rs` | the result for eyes |

pub(crate) mod contenders;
pub(crate) mod installation;
pub(crate) mod merge;
pub(crate) mod plot;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod raw;
pub(crate) mod table;
