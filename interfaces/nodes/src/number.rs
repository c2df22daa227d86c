//! The operators and number types that a network knows, too.

use phalanx::op::{BitAnd, BitOr, BitXor, Max, Min, Prod, Sum};
use std::any::TypeId;

/// Numbers that a network may combine itself.
///
/// # Examples
/// ```
/// use phalanx_nodes::net::NetNumber;
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
    /// # use phalanx_nodes::net::NetNumber;
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
}

/// Operators that a network may apply itself, as [`phalanx::op`] defines
/// them: sums and products of integers wrap, floats are only added and
/// multiplied (MPI's `Min` and `Max` of NaN and of -0 are left open).
///
/// # Examples
/// ```
/// assert_ne!(phalanx_nodes::net::NetFold::Sum, phalanx_nodes::net::NetFold::Max);
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

/// The fold that a network may do itself with elements `T` and operator `O`: where it wraps, or
/// looks at bits, with unsigned numbers. Not the logical operators, nor the order of floats (NaN,
/// -0): those are ours. Only the library's own types are known, so no operator can say so of
/// itself.
pub(crate) fn built_in<T: 'static, O>() -> Option<(NetNumber, NetFold)> {
    macro_rules! find {
        ($id:expr, $($t:ty => $it:expr),*) => {
            match $id {
                $(id if id == TypeId::of::<$t>() => $it,)*
                _ => return None,
            }
        };
    }
    use {NetFold as F, NetNumber as N};
    let (fold, is_ordered) = find!(typeid::of::<O>(),
        Sum => (F::Sum, false), Prod => (F::Prod, false), Min => (F::Min, true),
        Max => (F::Max, true), BitAnd => (F::BitAnd, false), BitOr => (F::BitOr, false),
        BitXor => (F::BitXor, false));
    let (signed, unsigned) = find!(TypeId::of::<T>(),
        i8 => (N::I8, N::U8), i16 => (N::I16, N::U16), i32 => (N::I32, N::U32),
        i64 => (N::I64, N::U64), u8 => (N::U8, N::U8), u16 => (N::U16, N::U16),
        u32 => (N::U32, N::U32), u64 => (N::U64, N::U64), f32 => (N::F32, N::F32),
        f64 => (N::F64, N::F64),
        isize => if size_of::<isize>() == 8 { (N::I64, N::U64) } else { (N::I32, N::U32) },
        usize => if size_of::<usize>() == 8 { (N::U64, N::U64) } else { (N::U32, N::U32) });
    match (signed, is_ordered) {
        (N::F32 | N::F64, true) => None,
        (_, true) => Some((signed, fold)),
        (_, false) => Some((unsigned, fold)),
    }
}
