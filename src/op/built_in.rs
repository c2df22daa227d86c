//! The operators and number types that a network knows, too.

use std::any::TypeId;

/// Numbers that a network may combine itself.
///
/// # Examples
/// ```
/// use phalanx::net::NetNumber;
/// assert_eq!(NetNumber::F64.bytes(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NetNumber {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl NetNumber {
    /// Bytes of one.
    ///
    /// ```
    /// # use phalanx::net::NetNumber;
    /// assert_eq!(NetNumber::I16.bytes(), 2);
    /// ```
    pub fn bytes(self) -> usize {
        match self {
            NetNumber::I8 | NetNumber::U8 => 1,
            NetNumber::I16 | NetNumber::U16 => 2,
            NetNumber::I32 | NetNumber::U32 | NetNumber::F32 => 4,
            NetNumber::I64 | NetNumber::U64 | NetNumber::F64 => 8,
        }
    }

    /// Whether it is the number that the type `element` is.
    pub(crate) fn is(self, element: TypeId) -> bool {
        element
            == match self {
                NetNumber::I8 => TypeId::of::<i8>(),
                NetNumber::I16 => TypeId::of::<i16>(),
                NetNumber::I32 => TypeId::of::<i32>(),
                NetNumber::I64 => TypeId::of::<i64>(),
                NetNumber::U8 => TypeId::of::<u8>(),
                NetNumber::U16 => TypeId::of::<u16>(),
                NetNumber::U32 => TypeId::of::<u32>(),
                NetNumber::U64 => TypeId::of::<u64>(),
                NetNumber::F32 => TypeId::of::<f32>(),
                NetNumber::F64 => TypeId::of::<f64>(),
            }
    }
}

/// Operators that a network may apply itself, as [`op`](crate::op) defines
/// them: sums and products of integers wrap, floats are only added and
/// multiplied (what MPI's `Min` and `Max` do with NaN and with -0 is left open).
///
/// # Examples
/// ```
/// assert_ne!(phalanx::net::NetFold::Sum, phalanx::net::NetFold::Max);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NetFold {
    Sum,
    Prod,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
}

const fn is(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    a.len() == b.len() && i == a.len()
}

/// What a network may do itself, of type and operator as they are called here:
/// where it wraps, or looks at bits, with unsigned numbers. Not the logical
/// operators, nor the order of floats (NaN, -0): those are ours.
pub(super) const fn built_in(number: &str, operator: &str) -> Option<(NetNumber, NetFold)> {
    const WORDS: [(&str, NetNumber, NetNumber); 12] = [
        ("i8", NetNumber::I8, NetNumber::U8),
        ("i16", NetNumber::I16, NetNumber::U16),
        ("i32", NetNumber::I32, NetNumber::U32),
        ("i64", NetNumber::I64, NetNumber::U64),
        ("u8", NetNumber::U8, NetNumber::U8),
        ("u16", NetNumber::U16, NetNumber::U16),
        ("u32", NetNumber::U32, NetNumber::U32),
        ("u64", NetNumber::U64, NetNumber::U64),
        #[cfg(target_pointer_width = "64")]
        ("isize", NetNumber::I64, NetNumber::U64),
        #[cfg(target_pointer_width = "64")]
        ("usize", NetNumber::U64, NetNumber::U64),
        #[cfg(target_pointer_width = "32")]
        ("isize", NetNumber::I32, NetNumber::U32),
        #[cfg(target_pointer_width = "32")]
        ("usize", NetNumber::U32, NetNumber::U32),
        ("f32", NetNumber::F32, NetNumber::F32),
        ("f64", NetNumber::F64, NetNumber::F64),
    ];
    const FOLDS: [(&str, NetFold, bool); 7] = [
        ("sum", NetFold::Sum, false),
        ("prod", NetFold::Prod, false),
        ("min", NetFold::Min, true),
        ("max", NetFold::Max, true),
        ("bit-and", NetFold::BitAnd, false),
        ("bit-or", NetFold::BitOr, false),
        ("bit-xor", NetFold::BitXor, false),
    ];
    let (mut n, mut f) = (0, 0);
    while n < WORDS.len() && !is(WORDS[n].0, number) {
        n += 1;
    }
    while f < FOLDS.len() && !is(FOLDS[f].0, operator) {
        f += 1;
    }
    if n == WORDS.len() || f == FOLDS.len() {
        return None;
    }
    let (_, signed, unsigned) = WORDS[n];
    let (_, fold, ordered) = FOLDS[f];
    if ordered && matches!(signed, NetNumber::F32 | NetNumber::F64) {
        return None;
    }
    Some((if ordered { signed } else { unsigned }, fold))
}
