//! The forms in which an operation is called, and what their names end in.

use phalanx::schedule::Operation;

/// The form in which an operation is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallForm {
    /// As it is.
    #[default]
    Even,
    /// That for blocks of different lengths, with equal ones.
    Varied,
    /// Started, and waited for at once.
    Started,
    /// Among the neighbours of a ring (`ring.rs`) only, by a plan that is made once.
    Neighbors,
    /// The same by tagged messages: all receives and sends are started, then waited for.
    Messages,
}

impl CallForm {
    /// Those that are asked for by a longer name.
    pub(crate) const NAMED: [CallForm; 4] =
        [CallForm::Varied, CallForm::Started, CallForm::Neighbors, CallForm::Messages];

    /// What the names of its rows end in.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            CallForm::Even => "",
            CallForm::Varied => "-varied",
            CallForm::Started => "-started",
            CallForm::Neighbors => "-neighbors",
            CallForm::Messages => "-messages",
        }
    }

    /// Whether an operation has this form.
    pub(crate) fn is_of(self, operation: Operation) -> bool {
        match self {
            CallForm::Even => true,
            CallForm::Varied => operation.has_blocks() && operation.base() == operation,
            CallForm::Started => operation != Operation::AllToAllInPlace,
            CallForm::Neighbors | CallForm::Messages => operation == Operation::AllToAll,
        }
    }

    /// Whether a rank talks with its neighbours only.
    pub(crate) fn is_among_neighbors(self) -> bool {
        matches!(self, CallForm::Neighbors | CallForm::Messages)
    }

    /// Whether an algorithm can be chosen for it.
    pub(crate) fn has_algorithms(self) -> bool {
        matches!(self, CallForm::Even | CallForm::Varied)
    }
}
