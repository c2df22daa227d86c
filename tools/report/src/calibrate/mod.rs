//! Measures a machine for the automatic choice and the cost model.
//!
//! | file | contents |
//! |---|---|
//! | `fit.rs` | t_s and t_w by least squares, with bounds and residuals |
//! | `levels.rs` | messages by length between pairs of every level, and their fits |
//! | `length_ranges.rs` | a line for each range of message lengths |
//! | `copies.rs` | the time of a copy of own memory |
//! | `compare.rs` | algorithms of one operation beside each other in the same rounds |
//! | `thresholds.rs` | the size from which the fused path of each operation is faster |
//! | `stream.rs` | the footprint from which streaming stores are faster |

pub(crate) mod compare;
pub(crate) mod copies;
pub(crate) mod fit;
pub(crate) mod length_ranges;
pub(crate) mod levels;
pub(crate) mod stream;
pub(crate) mod thresholds;
