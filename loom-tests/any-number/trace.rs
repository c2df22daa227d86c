//! Writes the accesses of a model's executions to the file that PHALANX_TRACES names, for
//! `traces.py`: a line for each access, with its place in the source. Compiled into both checkers.

use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::panic::Location;

thread_local! {
    /// Of the execution, if it is written. (A checker runs all of its threads on one.)
    static LINES: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Whether executions are to be written.
pub fn is_wanted() -> bool {
    std::env::var_os("PHALANX_TRACES").is_some()
}

/// The execution before has ended, and one begins, which is written if `is_chosen`.
pub fn begin(is_chosen: bool) {
    let before = LINES.replace((is_chosen && is_wanted()).then(|| "begin\n".to_string()));
    if let (Some(lines), Some(path)) = (before, std::env::var_os("PHALANX_TRACES")) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(lines.as_bytes()));
        written.expect("the traces can be written");
    }
}

/// A thread did this to the word or memory there: it was `old`, and is `new`.
#[track_caller]
pub fn note<T, U>(thread: impl FnOnce() -> T, what: &str, at: *const U, old: u64, new: u64)
where
    T: Debug,
{
    let place = Location::caller();
    LINES.with_borrow_mut(|lines| {
        let Some(lines) = lines else { return };
        let (thread, file, line) = (thread(), place.file(), place.line());
        let _ = writeln!(lines, "{thread:?} {what} {file}:{line} {at:p} {old} {new}");
    });
}
