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

/// The predefined datatype of a handle.
pub const fn basic(handle: Handle) -> Option<Basic> {
    use Element::*;
    let (element, size) = match handle {
        0x201..=0x203 => (I64, 8),
        0x207 | 0x21e | 0x247 => (Byte, 1),
        0x208 | 0x248 | 0x2c9 => (I16, 2),
        0x209 | 0x219 | 0x250 | 0x2d1 => (I32, 4),
        0x20a | 0x20b | 0x258 | 0x2d9 => (I64, 8),
        0x20c | 0x249 => (U16, 2),
        0x20d | 0x251 => (U32, 4),
        0x20e | 0x20f | 0x259 => (U64, 8),
        0x210 | 0x21a | 0x2d2 => (F32, 4),
        0x212 | 0x213 | 0x21b | 0x2db => (C32, 8),
        0x214 | 0x21c | 0x2da => (F64, 8),
        0x216 | 0x217 | 0x21d | 0x2e3 => (C64, 16),
        0x218 | 0x2d0 => (I32, 4),
        0x220 => (Long, 16),
        0x224 | 0x225 => (CLong, 32),
        0x228 => (PairF32I32, 8),
        0x229 => return Some(Basic { element: PairF64I32, size: 12, extent: 16 }),
        0x22a => return Some(Basic { element: PairI64I32, size: 12, extent: 16 }),
        0x22b | 0x232 => (PairI32, 8),
        0x22c => return Some(Basic { element: PairI16I32, size: 6, extent: 8 }),
        0x22d => return Some(Basic { element: PairLongI32, size: 20, extent: 32 }),
        0x230 => (PairF32, 8),
        0x231 => (PairF64, 16),
        0x238 | 0x239 => (Bool, 1),
        0x23c => (I32, 4),
        0x240 | 0x2c0 | 0x2c1 => (I8, 1),
        0x241 => (U8, 1),
        0x243 | 0x244 => (I8, 1),
        0x245 => (U8, 1),
        0x2c8 => (I16, 2),
        0x2d8 => (I64, 8),
        0x2ca | 0x2d3 | 0x2e0..=0x2e2 | 0x2eb => (
            Byte,
            if handle == 0x2ca {
                2
            } else if handle == 0x2d3 {
                4
            } else if handle == 0x2eb {
                32
            } else {
                16
            },
        ),
        LB | UB => (Byte, 0),
        _ => return None,
    };
    Some(Basic { element, size, extent: size })
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
