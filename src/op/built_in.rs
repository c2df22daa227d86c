//! The operators and numbers that a network knows, too.

use std::any::TypeId;

/// Numbers that a network may combine itself.
///
/// # Examples
/// ```
/// use phalanx::net::Number;
/// assert_eq!(Number::F64.bytes(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Number {
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

impl Number {
    /// Bytes of one.
    ///
    /// ```
    /// # use phalanx::net::Number;
    /// assert_eq!(Number::I16.bytes(), 2);
    /// ```
    pub fn bytes(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        }
    }

    /// Whether it is the number that the type `element` is.
    pub(crate) fn is(self, element: TypeId) -> bool {
        element
            == match self {
                Number::I8 => TypeId::of::<i8>(),
                Number::I16 => TypeId::of::<i16>(),
                Number::I32 => TypeId::of::<i32>(),
                Number::I64 => TypeId::of::<i64>(),
                Number::U8 => TypeId::of::<u8>(),
                Number::U16 => TypeId::of::<u16>(),
                Number::U32 => TypeId::of::<u32>(),
                Number::U64 => TypeId::of::<u64>(),
                Number::F32 => TypeId::of::<f32>(),
                Number::F64 => TypeId::of::<f64>(),
            }
    }
}

/// Operators that a network may apply itself, as [`op`](crate::op) defines
/// them: sums and products of integers wrap, floats are only added and
/// multiplied (their `Min` and `Max` differ from MPI's on NaN).
///
/// # Examples
/// ```
/// assert_ne!(phalanx::net::Fold::Sum, phalanx::net::Fold::Max);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Fold {
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
pub(super) const fn built_in(number: &str, operator: &str) -> Option<(Number, Fold)> {
    const WORDS: [(&str, Number, Number); 12] = [
        ("i8", Number::I8, Number::U8),
        ("i16", Number::I16, Number::U16),
        ("i32", Number::I32, Number::U32),
        ("i64", Number::I64, Number::U64),
        ("u8", Number::U8, Number::U8),
        ("u16", Number::U16, Number::U16),
        ("u32", Number::U32, Number::U32),
        ("u64", Number::U64, Number::U64),
        #[cfg(target_pointer_width = "64")]
        ("isize", Number::I64, Number::U64),
        #[cfg(target_pointer_width = "64")]
        ("usize", Number::U64, Number::U64),
        #[cfg(target_pointer_width = "32")]
        ("isize", Number::I32, Number::U32),
        #[cfg(target_pointer_width = "32")]
        ("usize", Number::U32, Number::U32),
        ("f32", Number::F32, Number::F32),
        ("f64", Number::F64, Number::F64),
    ];
    const FOLDS: [(&str, Fold, bool); 7] = [
        ("sum", Fold::Sum, false),
        ("prod", Fold::Prod, false),
        ("min", Fold::Min, true),
        ("max", Fold::Max, true),
        ("bit-and", Fold::BitAnd, false),
        ("bit-or", Fold::BitOr, false),
        ("bit-xor", Fold::BitXor, false),
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
    if ordered && matches!(signed, Number::F32 | Number::F64) {
        return None;
    }
    Some((if ordered { signed } else { unsigned }, fold))
}
