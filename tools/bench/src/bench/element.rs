//! The element types by name, each with its values and its instantiated operators.

use super::call_buffers::{TimedCall, combine};
use super::operator::Redop;
use phalanx::op::{self, Operator};
use phalanx::{Comm, Element};

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    F32,
    F64,
    I32,
    U8,
}

phalanx_cli::named! { Type "type": F32 "f32" F64 "f64" I32 "i32" U8 "u8" }

impl Type {
    /// Bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Type::F64 => 8,
            Type::F32 | Type::I32 => 4,
            Type::U8 => 1,
        }
    }

    /// Whether the library has `redop` for it.
    pub(crate) fn has(self, redop: Redop) -> bool {
        !matches!(self, Type::F32 | Type::F64) || redop.is_for_floats()
    }
}

/// Which values make a test of an operator: such that every operand matters,
/// and that any association gives the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Anything; floats are whole numbers so small that all sums are exact.
    Any,
    /// For products: integers are odd, floats powers of two with a sign.
    Factor {
        /// Whether a float may be another power than 2^0: for so few ranks
        /// that no product of any of them leaves the exponent's range.
        scaled: bool,
    },
    /// One bit clear.
    AllButOneBit,
    /// One bit set.
    OneBit,
    /// 0 or not 0, as often one as the other.
    Truth,
    /// 0 once in so many times, else not 0.
    RarelyFalse(u64),
    /// Not 0 once in so many times, else 0.
    RarelyTrue(u64),
}

impl Pattern {
    /// For the values that rank `rank` of `ranks` gives to `redop`.
    pub(crate) fn of(redop: Redop, rank: usize, ranks: usize) -> Self {
        let rare = 2 * ranks as u64;
        match redop {
            Redop::Sum | Redop::Min | Redop::Max | Redop::BitXor => Pattern::Any,
            // 64 factors 2 stay within an f32.
            Redop::Prod => Pattern::Factor { scaled: rank < 64 },
            Redop::BitAnd => Pattern::AllButOneBit,
            Redop::BitOr => Pattern::OneBit,
            Redop::And => Pattern::RarelyFalse(rare),
            Redop::Or => Pattern::RarelyTrue(rare),
            Redop::Xor => Pattern::Truth,
        }
    }
}

/// The calls and the oracle's step for one operator.
pub struct Combining<T> {
    /// Calls the operation on all sets of a rank's buffers.
    pub(crate) call: fn(&mut Comm, TimedCall<'_, T>),
    /// Combines `right` into `left`, element by element.
    pub(crate) fold: fn(left: &mut [T], right: &[T]),
    /// The operator's identity.
    pub(crate) identity: Option<T>,
}

impl<T: Sample> Combining<T> {
    /// For operator `O`.
    fn with<O: Operator<T> + Copy + Default>() -> Self {
        Combining {
            call: combine::<T, O>,
            fold: |left, right| {
                for (left, right) in left.iter_mut().zip(right) {
                    *left = O::default().combine(*left, *right);
                }
            },
            identity: O::default().identity(),
        }
    }
}

/// An element that can be measured with.
pub trait Sample: Element + PartialEq {
    /// Which type it is.
    const TYPE: Type;

    /// What receive buffers hold before a call; for floats no input or result.
    const POISON: Self;

    /// The value that stands for `hash`.
    fn make(pattern: Pattern, hash: u64) -> Self;

    /// The operator `redop`; none if the type does not have it.
    fn combining(redop: Redop) -> Option<Combining<Self>>;
}

macro_rules! integers {
    ($($t:ident $name:ident)*) => {$(
        impl Sample for $t {
            const TYPE: Type = Type::$name;
            const POISON: $t = 0xA5A5_A5A5_A5A5_A5A5u64 as $t;

            #[inline(always)]
            fn make(pattern: Pattern, hash: u64) -> $t {
                let true_value = (hash >> 8) as $t | 1;
                match pattern {
                    Pattern::Any => hash as $t,
                    Pattern::Factor { .. } => hash as $t | 1,
                    Pattern::AllButOneBit => !(1 << (hash % u64::from(<$t>::BITS))),
                    Pattern::OneBit => 1 << (hash % u64::from(<$t>::BITS)),
                    Pattern::Truth => if hash & 1 == 0 { 0 } else { true_value },
                    Pattern::RarelyFalse(n) => if hash % n == 0 { 0 } else { true_value },
                    Pattern::RarelyTrue(n) => if hash % n == 0 { true_value } else { 0 },
                }
            }

            // Inlined, so that the operators are compiled only where the type is measured.
            #[inline]
            fn combining(redop: Redop) -> Option<Combining<$t>> {
                Some(match redop {
                    Redop::Sum => Combining::with::<op::Sum>(),
                    Redop::Prod => Combining::with::<op::Prod>(),
                    Redop::Min => Combining::with::<op::Min>(),
                    Redop::Max => Combining::with::<op::Max>(),
                    Redop::BitAnd => Combining::with::<op::BitAnd>(),
                    Redop::BitOr => Combining::with::<op::BitOr>(),
                    Redop::BitXor => Combining::with::<op::BitXor>(),
                    Redop::And => Combining::with::<op::And>(),
                    Redop::Or => Combining::with::<op::Or>(),
                    Redop::Xor => Combining::with::<op::Xor>(),
                })
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ident $name:ident)*) => {$(
        impl Sample for $t {
            const TYPE: Type = Type::$name;
            const POISON: $t = -1.0e30;

            #[inline(always)]
            fn make(pattern: Pattern, hash: u64) -> $t {
                match pattern {
                    Pattern::Factor { scaled } => {
                        let sign = if hash & 1 == 0 { 1.0 } else { -1.0 };
                        match (hash >> 1) % 3 {
                            0 if scaled => sign * 2.0,
                            1 if scaled => sign * 0.5,
                            _ => sign,
                        }
                    }
                    // -512..512: the sum of 1024 ranks needs 20 bits.
                    _ => ((hash & 1023) as i16 - 512) as $t,
                }
            }

            // Inlined, so that the operators are compiled only where the type is measured.
            #[inline]
            fn combining(redop: Redop) -> Option<Combining<$t>> {
                Some(match redop {
                    Redop::Sum => Combining::with::<op::Sum>(),
                    Redop::Prod => Combining::with::<op::Prod>(),
                    Redop::Min => Combining::with::<op::Min>(),
                    Redop::Max => Combining::with::<op::Max>(),
                    _ => return None,
                })
            }
        }
    )*};
}

integers! { i32 I32 u8 U8 }
floats! { f32 F32 f64 F64 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes() {
        for &(name, ty) in Type::NAMES {
            assert_eq!(name.parse(), Ok(ty));
            assert_eq!(ty.name(), name);
        }
        assert_eq!((Type::U8.size(), Type::F64.size()), (1, 8));
        assert!(Type::U8.has(Redop::BitAnd) && !Type::F64.has(Redop::BitAnd));
    }

    #[test]
    fn an_operator_exists_exactly_where_it_is_said_to() {
        for redop in ["sum", "prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor"] {
            let redop: Redop = redop.parse().unwrap();
            assert!(u8::combining(redop).is_some());
            assert_eq!(f64::combining(redop).is_some(), Type::F64.has(redop));
        }
    }
}
