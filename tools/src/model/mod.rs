//! The machine cost model beside what others have published.
//!
//! | file | what |
//! |---|---|
//! | `published.rs` | the curves V1 to V5, as published |
//! | `open_mpi.rs` | Open MPI's messages and its algorithms |
//! | `smelt.rs` | the trees of the Smelt paper, and its channels |
//! | `validate.rs` | ours beside theirs, with the errors |
//! | `worth.rs` | what levels and placement are worth on large machines |

pub(crate) mod open_mpi;
pub(crate) mod published;
pub(crate) mod smelt;
pub(crate) mod validate;
pub(crate) mod worth;
