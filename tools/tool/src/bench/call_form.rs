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
    /// Among the neighbours of a ring (`ring.rs`) only, by a plan that is made once.
    Neighbors,
}

impl CallForm {
    /// Those that are asked for by a longer name.
    pub(crate) const NAMED: [CallForm; 2] = [CallForm::Varied, CallForm::Neighbors];

    /// What the names of its rows end in.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            CallForm::Even => "",
            CallForm::Varied => "-varied",
            CallForm::Neighbors => "-neighbors",
        }
    }

    /// Whether an operation has this form.
    pub(crate) fn is_of(self, operation: Operation) -> bool {
        match self {
            CallForm::Even => true,
            CallForm::Varied => operation.has_blocks() && operation.base() == operation,
            CallForm::Neighbors => operation == Operation::AllToAll,
        }
    }
}
