//! What is measured of a machine for the choices made on it, and how well the
//! cost model predicts what the machine then does.
//!
//! | file | what |
//! |---|---|
//! | `fit.rs` | t_s and t_w by least squares, with bounds and residuals |
//! | `levels.rs` | messages by length between pairs of every level, and their fits |
//! | `pieces.rs` | the same by the length of a message |
//! | `copies.rs` | what a core takes to copy its own memory |
//! | `contest.rs` | algorithms of one operation beside each other in the same rounds |
//! | `switches.rs` | from which size on the fused path of each operation is faster |
//! | `stream.rs` | from which footprint on streaming stores are faster |
//! | `validate.rs` | the model's prediction beside the measurement |

pub(crate) mod contest;
pub(crate) mod copies;
pub(crate) mod fit;
pub(crate) mod levels;
pub(crate) mod pieces;
pub(crate) mod stream;
pub(crate) mod switches;
pub(crate) mod validate;
