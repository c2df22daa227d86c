//! The operations of the catalogue, by name.

use std::fmt;
use std::str::FromStr;

/// A collective operation of the catalogue.
///
/// # Examples
/// ```
/// use phalanx::schedule::Operation;
/// let op: Operation = "all-reduce".parse().unwrap();
/// assert_eq!(op, Operation::AllReduce);
/// assert_eq!(op.to_string(), "all-reduce");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// One rank's vector to every rank (BC).
    Broadcast,
    /// The combination of every rank's vector, at one rank (RED).
    Reduce,
    /// Every rank's block, in rank order, at every rank (AG).
    AllGather,
    /// Block `j` of the combination, at rank `j` (RS).
    ReduceScatter,
    /// The combination of every rank's vector, at every rank (AR).
    AllReduce,
    /// Nobody leaves before everybody has come (BAR).
    Barrier,
    /// At rank `k` the combination of ranks `0..=k` (SCAN).
    Scan,
    /// At rank `k` the combination of ranks `0..k`.
    ExclusiveScan,
    /// Block `j` of the root's data, at rank `j` (SC).
    Scatter,
    /// Every rank's block, in rank order, at the root (GA).
    Gather,
    /// Block `(r, j)` of rank `r`, at rank `j` (TX, total exchange).
    AllToAll,
    /// Rank `r`'s vector, at rank `r + q` (CS, circular shift).
    Shift,
}

impl Operation {
    /// All operations, in the order of the catalogue.
    pub const ALL: [Operation; 12] = [
        Operation::Broadcast,
        Operation::Reduce,
        Operation::AllGather,
        Operation::ReduceScatter,
        Operation::AllReduce,
        Operation::Barrier,
        Operation::Scan,
        Operation::ExclusiveScan,
        Operation::Scatter,
        Operation::Gather,
        Operation::AllToAll,
        Operation::Shift,
    ];

    /// The name used by the `phalanx` tool: lower case, words joined by hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Broadcast => "broadcast",
            Operation::Reduce => "reduce",
            Operation::AllGather => "all-gather",
            Operation::ReduceScatter => "reduce-scatter",
            Operation::AllReduce => "all-reduce",
            Operation::Barrier => "barrier",
            Operation::Scan => "scan",
            Operation::ExclusiveScan => "exclusive-scan",
            Operation::Scatter => "scatter",
            Operation::Gather => "gather",
            Operation::AllToAll => "all-to-all",
            Operation::Shift => "shift",
        }
    }

    /// Whether the operation has a root rank.
    pub const fn is_rooted(self) -> bool {
        matches!(
            self,
            Operation::Broadcast | Operation::Reduce | Operation::Scatter | Operation::Gather
        )
    }

    /// Whether the operation combines elements with an operator.
    pub const fn combines(self) -> bool {
        matches!(
            self,
            Operation::Reduce
                | Operation::ReduceScatter
                | Operation::AllReduce
                | Operation::Scan
                | Operation::ExclusiveScan
        )
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOperation(pub String);

impl fmt::Display for UnknownOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown operation '{}'; known are", self.0)?;
        for (i, op) in Operation::ALL.iter().enumerate() {
            write!(f, "{} {op}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownOperation {}

impl FromStr for Operation {
    type Err = UnknownOperation;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Operation::ALL
            .into_iter()
            .find(|op| op.name() == s)
            .ok_or_else(|| UnknownOperation(s.to_string()))
    }
}
