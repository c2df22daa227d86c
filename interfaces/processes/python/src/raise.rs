//! Errors as Python's classes, which `_errors.py` defines.

use phalanx_processes::Error;
use pyo3::prelude::*;

/// Why a call is refused, before it begins.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// The class of the error, and a text.
    Here(&'static str, String),
    /// An exception of Python's: of an object that was asked for its memory.
    Python(PyErr),
}

impl From<PyErr> for Wrong {
    fn from(error: PyErr) -> Self {
        Wrong::Python(error)
    }
}

impl Wrong {
    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Wrong::Here("Argument", text.into())
    }

    pub(crate) fn kind(text: impl Into<String>) -> Self {
        Wrong::Here("WrongType", text.into())
    }

    pub(crate) fn buffer(text: impl Into<String>) -> Self {
        Wrong::Here("WrongBuffer", text.into())
    }

    /// Without a team that would have to hear of it.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Wrong::Here(class, text) => of_class(py, class, &text),
            Wrong::Python(error) => error,
        }
    }
}

/// The classes of the interpreter that runs: a program may have several.
fn errors(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("phalanx_processes._errors")
}

/// An error of a class of `_errors.py`.
pub(crate) fn of_class(py: Python<'_>, class: &str, text: &str) -> PyErr {
    let error = errors(py).and_then(|errors| errors.getattr(class)?.call1((text,)));
    error.map_or_else(|error| error, PyErr::from_value)
}

/// An error of a team's.
pub(crate) fn of_team(py: Python<'_>, error: &Error) -> PyErr {
    let arguments = (error.kind().number(), error.to_string(), error.rank());
    let error = errors(py).and_then(|errors| errors.getattr("of_kind")?.call1(arguments));
    error.map_or_else(|error| error, PyErr::from_value)
}
