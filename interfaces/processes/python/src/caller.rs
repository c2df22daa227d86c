//! The line of Python that makes a call.

use phalanx_processes::{Place, foreign};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The last file of a team's calls: Python's text, and the kept one.
#[derive(Debug, Default)]
pub(crate) struct LastFile(Option<(Py<PyAny>, &'static str)>);

/// The line that calls, of a file that is the last one as a rule. (A function of Rust has no frame
/// of its own.)
pub(crate) fn line(py: Python<'_>, last: &mut LastFile) -> Place {
    // SAFETY: attached; the frame is borrowed from the thread, or null.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    if frame.is_null() {
        return Place::of("Python", 0);
    }
    // SAFETY: a frame, which the thread keeps while this function runs.
    let (line, code) = unsafe {
        let code = ffi::PyFrame_GetCode(frame).cast();
        (ffi::PyFrame_GetLineNumber(frame), Bound::<PyAny>::from_owned_ptr(py, code))
    };
    let line = u32::try_from(line).unwrap_or(0);
    let Ok(name) = code.getattr(pyo3::intern!(py, "co_filename")) else {
        return Place::of("Python", line);
    };
    match &last.0 {
        // The text is kept, so no other one has its address.
        Some((held, file)) if held.is(&name) => Place::of(file, line),
        _ => {
            let text = name.cast::<PyString>().map(|name| foreign::kept(&name.to_string_lossy()));
            let file = text.unwrap_or("Python");
            last.0 = Some((name.unbind(), file));
            Place::of(file, line)
        }
    }
}
