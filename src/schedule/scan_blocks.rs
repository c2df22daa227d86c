//! The blocks of a scan.

/// Scan: the block that holds the running total of a group of ranks.
pub const TOTAL: usize = 0;
/// Scan: the block that becomes the rank's result.
pub const RESULT: usize = 1;
/// Scan: a scratch block that carries the total of all groups before.
pub const OFFSET: usize = 2;
