//! Descriptions of memory: a message carries them in place of a long payload.

/// The payload of a message that describes memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct WordBytes {
    /// The slice ([`SLICE`](super::PayloadKind::SLICE)), or a list of [`Span`]s
    /// ([`LIST`](super::PayloadKind::LIST)).
    pub(crate) at: *const u8,
    /// The number of spans of a list.
    pub(crate) count: usize,
    /// Elements in all.
    pub(crate) len: usize,
}

/// A slice of `len` elements.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Span {
    pub(crate) at: *const u8,
    pub(crate) len: usize,
}
