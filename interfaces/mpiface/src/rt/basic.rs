//! The predefined datatypes: handle, size, and the arithmetic that they know.

use super::handle::Handle;
use super::standard;

/// The sort of the elements of a predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names of machine types")]
pub enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    /// C's long double.
    Long,
    C32,
    C64,
    /// A complex number of C's long doubles.
    CLong,
    /// C's bool; a logical value of one byte.
    Bool,
    /// Bytes without arithmetic.
    Byte,
    /// Of pairs: the value, and the index behind it.
    PairF32I32,
    PairF64I32,
    PairI64I32,
    PairI32,
    PairI16I32,
    PairF32,
    PairF64,
    PairLongI32,
}

impl Element {
    /// All of them, each at its own number.
    #[rustfmt::skip]
    pub const ALL: [Element; 24] = {
        use Element::*;
        [
            I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, Long, C32, C64, CLong, Bool, Byte,
            PairF32I32, PairF64I32, PairI64I32, PairI32, PairI16I32, PairF32, PairF64, PairLongI32,
        ]
    };
}

impl Element {
    /// The alignment in C of one that is `extent` bytes from the next.
    pub fn align(self, extent: usize) -> usize {
        use Element::*;
        match self {
            C32 | PairF32I32 | PairI32 | PairI16I32 | PairF32 => 4,
            C64 | PairF64I32 | PairI64I32 | PairF64 => 8,
            _ => extent.clamp(1, 16),
        }
    }
}

/// A predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basic {
    /// Its elements.
    pub element: Element,
    /// Bytes of data in one.
    pub size: usize,
    /// Bytes from one to the next.
    pub extent: usize,
}

// (Of the markers of bounds that were removed in MPI-3 the numbers are not the standard's.)
pub use super::standard::{LB, UB};

include!(concat!(env!("OUT_DIR"), "/basics.rs"));

/// The predefined datatype of a handle.
pub const fn basic(handle: Handle) -> Option<Basic> {
    let at = handle.wrapping_sub(FIRST);
    if at < BASICS.len() { BASICS[at] } else { None }
}

/// The handles of predefined datatypes begin with this one.
pub const FIRST: Handle = 0x200;

/// The element of a predefined datatype, and its bytes, if any number of them lie without gaps: a
/// power of two then.
#[inline(always)]
pub fn solid(handle: Handle) -> Option<(Element, usize)> {
    static SOLID: [Option<(Element, u8)>; 256] = {
        let mut all = [None; 256];
        let mut at = 0;
        while at < all.len() {
            if let Some(Basic { element, size, extent }) = basic(FIRST + at)
                && size == extent
                && size.is_power_of_two()
            {
                all[at] = Some((element, size as u8));
            }
            at += 1;
        }
        all
    };
    let found = *SOLID.get(handle.wrapping_sub(FIRST))?;
    found.map(|(element, size)| (element, size as usize))
}

/// The standard's name of a predefined datatype, for texts.
pub fn name(handle: Handle) -> &'static str {
    standard::name_in(standard::DATATYPES, handle).unwrap_or("a datatype")
}
