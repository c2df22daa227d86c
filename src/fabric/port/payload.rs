//! What a message says of memory that it does not carry.

/// The payload of a message that describes memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Words {
    /// The slice ([`Kind::SLICE`]), or a list of [`Span`]s ([`Kind::LIST`]).
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
