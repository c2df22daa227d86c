//! The call that a message comes from, for errors of the rank that receives it.

use crate::call::NodeCall;
use std::fmt;

/// Its name and its line, in bytes that travel with each message.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Origin {
    line: u32,
    column: u32,
    call: [u8; 24],
    /// Of a longer path the end.
    file: [u8; 72],
}

impl Origin {
    pub(crate) const NONE: Origin = Origin { line: 0, column: 0, call: [0; 24], file: [0; 72] };

    pub(crate) fn of(call: &NodeCall<'_>) -> Self {
        let (at, mut own) = (call.0.at, Origin { ..Origin::NONE });
        (own.line, own.column) = (at.line(), at.column());
        put(call.0.name, &mut own.call);
        put(at.file(), &mut own.file);
        own
    }
}

/// Writes the end of a text that is too long.
fn put(text: &str, to: &mut [u8]) {
    let text = &text.as_bytes()[text.len().saturating_sub(to.len())..];
    to[..text.len()].copy_from_slice(text);
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { line, column, call, file } = self;
        let [call, file] = [&call[..], file].map(String::from_utf8_lossy);
        let [call, file] = [&call, &file].map(|text| text.trim_end_matches('\0'));
        write!(f, "{call} at {file}:{line}:{column}")
    }
}
