//! The predefined operators over memory.

use super::basic::Element;
use super::handle::Handle;
use super::standard;
use num_complex::Complex;
use phalanx::engine::FloatControl;
use phalanx::op::{self, Operator};
use std::cmp::Ordering;
use std::ffi::c_int;

/// A call's name of its operator, for the others to compare. Data that is only moved is not
/// compared by its type: a program may send integers as bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// The call has none.
    #[default]
    None,
    /// A program's own: not compared.
    User,
    /// A predefined one, and the elements that it combines.
    Known(Handle, Element),
}

impl Mark {
    /// As a number.
    #[inline]
    pub fn number(self) -> usize {
        match self {
            Mark::None => 0,
            Mark::User => 1,
            Mark::Known(op, element) => op << 8 | element as usize,
        }
    }

    /// The mark of a number; of one that is no mark's: none.
    pub fn of(number: usize) -> Mark {
        match (number, Element::ALL.get(number & 0xff)) {
            (1, _) => Mark::User,
            (2.., Some(&element)) => Mark::Known(number >> 8, element),
            _ => Mark::None,
        }
    }
}

/// The standard's name of a predefined operator.
pub fn name(op: Handle) -> &'static str {
    standard::name_in(standard::OPERATORS, op).unwrap_or("a user's operator")
}

/// Whether the operator is predefined and knows these elements.
pub fn knows(op: Handle, element: Element) -> bool {
    use Element::*;
    let whole = matches!(element, I8 | U8 | I16 | U16 | I32 | U32 | I64 | U64);
    let real = matches!(element, F32 | F64 | Long);
    match op {
        0x21 | 0x24 => whole || real || matches!(element, C32 | C64 | CLong),
        0x22 | 0x23 => whole || real,
        0x28..=0x2a => whole || matches!(element, Byte | Bool),
        0x30..=0x32 => whole || element == Bool,
        0x38 | 0x39 => matches!(
            element,
            PairF32I32
                | PairF64I32
                | PairI64I32
                | PairI32
                | PairI16I32
                | PairF32
                | PairF64
                | PairLongI32
        ),
        _ => false,
    }
}

/// The library's operator of a number, which also decides the winner beside NaN, and of 0 and -0;
/// says whether there is one for the type.
macro_rules! by {
    ($type:ty: $($number:literal $operator:ident)*; $op:expr, $a:expr, $b:expr, $n:expr) => {
        match $op {
            $($number => {
                for index in 0..$n {
                    let (a, b) = ($a.cast::<$type>().add(index), $b.cast::<$type>().add(index));
                    let (left, right) = (a.read_unaligned(), b.read_unaligned());
                    b.write_unaligned(op::$operator.combine(left, right));
                }
                true
            })*
            _ => false,
        }
    };
    (whole $type:ty; $($with:tt)*) => {
        by!($type: 0x21 Sum 0x22 Min 0x23 Max 0x24 Prod 0x28 BitAnd 0x29 BitOr 0x2a BitXor 0x30 And
            0x31 Or 0x32 Xor; $($with)*)
    };
    (real $type:ty; $($with:tt)*) => {
        by!($type: 0x21 Sum 0x22 Min 0x23 Max 0x24 Prod; $($with)*)
    };
    (complex $type:ty; $($with:tt)*) => {
        by!(Complex<$type>: 0x21 Sum 0x24 Prod; $($with)*)
    };
}

/// The pair with the smaller (or larger) value, and of equal ones that with the smaller index.
macro_rules! pair {
    ($value:ty, $index:ty, $op:expr, $a:expr, $b:expr, $n:expr, $at:expr, $stride:expr) => {{
        for index in 0..$n {
            let (a, b) = ($a.add(index * $stride), $b.add(index * $stride));
            let [left, right] = [a, b.cast_const()].map(|x| {
                let value = x.cast::<$value>().read_unaligned();
                (value, x.add($at).cast::<$index>().read_unaligned())
            });
            let (value, index) = if $op == 0x38 {
                op::MinLoc.combine(left, right)
            } else {
                op::MaxLoc.combine(left, right)
            };
            b.cast::<$value>().write_unaligned(value);
            b.add($at).cast::<$index>().write_unaligned(index);
        }
        true
    }};
}

/// The index of a pair of floats (MPI_2REAL): in the order of numbers, -0 before 0, NaNs last.
#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
struct PlacedElement<T>(T);

macro_rules! place {
    ($($float:ty)*) => {$(
        impl Eq for PlacedElement<$float> {}

        impl Ord for PlacedElement<$float> {
            fn cmp(&self, other: &Self) -> Ordering {
                let is_nan = self.0.is_nan().cmp(&other.0.is_nan());
                is_nan.then(self.0.total_cmp(&other.0))
            }
        }

        impl PartialOrd for PlacedElement<$float> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
    )*};
}
place! { f32 f64 }

/// Arithmetic of C's long double: `b[i] = a[i] op b[i]`.
type LongFunction = unsafe extern "C" fn(c_int, *const u8, *mut u8, usize);

// c/long.c.
unsafe extern "C" {
    fn phalanx_long_real(op: c_int, a: *const u8, b: *mut u8, n: usize);
    fn phalanx_long_complex(op: c_int, a: *const u8, b: *mut u8, n: usize);
    fn phalanx_long_pair(op: c_int, a: *const u8, b: *mut u8, n: usize);
}

/// Combines by a function in C.
///
/// # Safety
/// As `apply`, of the elements that the function combines; the operator knows it.
unsafe fn by_c(function: LongFunction, op: Handle, a: *const u8, b: *mut u8, n: usize) -> bool {
    // SAFETY: passed on; a predefined operator is a small number.
    unsafe { function(op as c_int, a, b, n) };
    true
}

/// `b[i] = a[i] op b[i]` for `n` elements; says whether the operator knows the elements.
///
/// # Safety
/// Both are addresses of `n` elements of this kind, each the type's extent from the last; `b` may
/// be written, and nobody else uses it.
pub unsafe fn apply(op: Handle, element: Element, a: *const u8, b: *mut u8, n: usize) -> bool {
    use Element::*;
    if !FloatControl::STANDARD.is_here() {
        // SAFETY: passed on.
        return FloatControl::STANDARD.lend(|| unsafe { apply(op, element, a, b, n) });
    }
    // SAFETY: the caller's promise; reads and writes need no alignment.
    unsafe {
        match element {
            I8 => by!(whole i8; op, a, b, n),
            U8 | Byte | Bool => by!(whole u8; op, a, b, n),
            I16 => by!(whole i16; op, a, b, n),
            U16 => by!(whole u16; op, a, b, n),
            I32 => by!(whole i32; op, a, b, n),
            U32 => by!(whole u32; op, a, b, n),
            I64 => by!(whole i64; op, a, b, n),
            U64 => by!(whole u64; op, a, b, n),
            F32 => by!(real f32; op, a, b, n),
            F64 => by!(real f64; op, a, b, n),
            C32 => by!(complex f32; op, a, b, n),
            C64 => by!(complex f64; op, a, b, n),
            Long => by_c(phalanx_long_real, op, a, b, n),
            CLong => by_c(phalanx_long_complex, op, a, b, n),
            PairF32I32 => pair!(f32, i32, op, a, b, n, 4, 8),
            PairF64I32 => pair!(f64, i32, op, a, b, n, 8, 16),
            PairI64I32 => pair!(i64, i32, op, a, b, n, 8, 16),
            PairI32 => pair!(i32, i32, op, a, b, n, 4, 8),
            PairI16I32 => pair!(i16, i32, op, a, b, n, 4, 8),
            PairF32 => pair!(f32, PlacedElement<f32>, op, a, b, n, 4, 8),
            PairF64 => pair!(f64, PlacedElement<f64>, op, a, b, n, 8, 16),
            PairLongI32 => by_c(phalanx_long_pair, op, a, b, n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_numbers_and_back() {
        for (number, &element) in Element::ALL.iter().enumerate() {
            assert_eq!(element as usize, number);
            let mark = Mark::Known(0x21, element);
            assert_eq!(Mark::of(mark.number()), mark);
        }
        assert_eq!(Mark::of(Mark::User.number()), Mark::User);
        assert_eq!(Mark::of(Mark::None.number()), Mark::None);
        assert_eq!(Mark::of(0x2100 + Element::ALL.len()), Mark::None);
    }

    #[test]
    fn sums_and_places_of_the_smallest() {
        let a = [1.5_f64, 2.5, -3.0];
        let mut b = [1.0_f64, 1.0, 1.0];
        // SAFETY: three elements each.
        let known =
            unsafe { apply(0x21, Element::F64, a.as_ptr().cast(), b.as_mut_ptr().cast(), 3) };
        assert!(known && knows(0x21, Element::F64) && !knows(0x28, Element::F64));
        assert_eq!(b, [2.5, 3.5, -2.0]);
        let a = [3_i32, 7, 5, 1];
        let mut b = [3_i32, 9, 4, 2];
        // SAFETY: two pairs each.
        assert!(unsafe {
            apply(0x38, Element::PairI32, a.as_ptr().cast(), b.as_mut_ptr().cast(), 2)
        });
        assert_eq!(b, [3, 7, 4, 2]);
    }
}
