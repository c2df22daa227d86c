//! Plans: schedules bound to lengths, ready to be walked.

use crate::schedule::Mode;
use std::ops::Range;

/// One of the three memories that a plan moves data between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Memory {
    /// The user's input; never written.
    Input,
    /// The user's output, or the buffer of an operation in place.
    Output,
    /// The communicator's own, for what must live between steps.
    Scratch,
}

/// An element's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) memory: Memory,
    pub(crate) offset: usize,
}

impl Location {
    pub(crate) fn plus(self, elements: usize) -> Location {
        Location { offset: self.offset + elements, ..self }
    }
}

/// `len` elements from a place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanPiece {
    pub(crate) at: Location,
    pub(crate) len: usize,
}

impl PlanPiece {
    pub(crate) fn overlaps(&self, other: &PlanPiece) -> bool {
        self.at.memory == other.at.memory
            && self.at.offset < other.at.offset + other.len
            && other.at.offset < self.at.offset + self.len
    }
}

/// The use that is made of a part of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// The part begins so many elements into the payload..
    pub(crate) skip: usize,
    /// ..and is so long.
    pub(crate) len: usize,
    /// Where the result goes.
    pub(crate) to: Location,
    /// The own operand, for a combination. It is `to` itself, or does not
    /// overlap it.
    pub(crate) own: Location,
    pub(crate) mode: Mode,
}

/// One thing that a rank does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Copies within the rank.
    Copy { from: Location, to: Location, len: usize },
    /// Posts the pieces to `peer`, as one message of `len` elements: inline if
    /// they fit (both ends know), else by address.
    Post { peer: usize, pieces: Range<usize>, len: usize },
    /// Takes a message of `len` elements from `peer`.
    Take { peer: usize, targets: Range<usize>, len: usize },
    /// Waits until `peer` is done with every message but the last `back`.
    Settle { peer: usize, back: u32 },
}

/// A rank's part of one collective call on buffers of given lengths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) pieces: Vec<PlanPiece>,
    pub(crate) targets: Vec<Destination>,
    /// Elements of scratch memory that it uses.
    pub(crate) scratch: usize,
    /// Elements of the user's buffers that it reaches.
    pub(crate) input: usize,
    pub(crate) output: usize,
}
