//! The portable format of packed data, "external32": most significant byte first, and numbers of
//! the same length everywhere.

use super::basic::{Basic, Element};
use super::handle::Handle;
use super::signature::Signature;

/// A predefined element, here and in the portable format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Bytes here.
    pub size: usize,
    /// Bytes in the portable format.
    pub outside: usize,
    /// The sort of number.
    form: UnitForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitForm {
    /// A number with reversed bytes; one that grows here has no sign.
    Plain,
    /// A number with a sign.
    Signed,
    /// Two numbers.
    Pair,
    /// The C language's long double: 64 bits of mantissa here, 112 there.
    Extended,
    /// Two of these.
    ExtendedPair,
}

const fn unit(size: usize, outside: usize, form: UnitForm) -> Unit {
    Unit { size, outside, form }
}

const LONG: Unit = unit(8, 4, UnitForm::Signed);
const INT: Unit = unit(4, 4, UnitForm::Signed);
const EXTENDED: Unit = unit(16, 16, UnitForm::Extended);

/// The elements of a predefined datatype, and their number.
pub fn units(basic: Basic, handle: Handle) -> Vec<(Unit, usize)> {
    use Element::*;
    match (handle, basic.element) {
        // MPI_LONG, MPI_UNSIGNED_LONG, MPI_WCHAR.
        (0x20a, _) => vec![(LONG, 1)],
        (0x20e, _) => vec![(unit(8, 4, UnitForm::Plain), 1)],
        (0x23c, _) => vec![(unit(4, 2, UnitForm::Plain), 1)],
        (0x220, _) => vec![(EXTENDED, 1)],
        (0x224 | 0x225, _) => vec![(unit(32, 32, UnitForm::ExtendedPair), 1)],
        // MPI_LONG_INT, MPI_LONG_DOUBLE_INT.
        (0x22a, _) => vec![(LONG, 1), (INT, 1)],
        (0x22d, _) => vec![(EXTENDED, 1), (INT, 1)],
        // Fortran's complex numbers without arithmetic here.
        (0x2d3 | 0x2eb, _) => vec![(unit(basic.size, basic.size, UnitForm::Pair), 1)],
        (_, C32 | C64) => vec![(unit(basic.size, basic.size, UnitForm::Pair), 1)],
        (_, PairF32I32) => vec![(unit(4, 4, UnitForm::Plain), 1), (INT, 1)],
        (_, PairI32) => vec![(INT, 2)],
        (_, PairF64I32 | PairI64I32) => vec![(unit(8, 8, UnitForm::Plain), 1), (INT, 1)],
        (_, PairI16I32) => vec![(unit(2, 2, UnitForm::Signed), 1), (INT, 1)],
        (_, PairF32) => vec![(unit(4, 4, UnitForm::Plain), 2)],
        (_, PairF64) => vec![(unit(8, 8, UnitForm::Plain), 2)],
        (_, I8 | I16 | I32 | I64) => vec![(unit(basic.size, basic.size, UnitForm::Signed), 1)],
        _ => vec![(unit(basic.size, basic.size, UnitForm::Plain), 1)],
    }
}

/// A long double's portable bytes.
fn widened(inside: &[u8]) -> [u8; 16] {
    let mut low = [0; 8];
    low.copy_from_slice(&inside[..8]);
    let head = u128::from(inside[8]) | u128::from(inside[9]) << 8;
    // The leading one is not written there.
    let mantissa = u128::from(u64::from_le_bytes(low)) & ((1 << 63) - 1);
    (head << 112 | mantissa << 49).to_be_bytes()
}

/// A long double of its portable bytes.
fn narrowed(outside: &[u8]) -> [u8; 16] {
    let mut whole = [0; 16];
    whole.copy_from_slice(outside);
    let number = u128::from_be_bytes(whole);
    let head = (number >> 112) as u16;
    let leading = u64::from(head & 0x7fff != 0) << 63;
    let mantissa = leading | (number >> 49) as u64 & ((1 << 63) - 1);
    let mut inside = [0; 16];
    inside[..8].copy_from_slice(&mantissa.to_le_bytes());
    inside[8..10].copy_from_slice(&head.to_le_bytes());
    inside
}

fn out(unit: Unit, inside: &[u8], packed: &mut Vec<u8>) {
    let Unit { size, outside, form } = unit;
    match form {
        UnitForm::Pair => {
            let half = Unit { size: size / 2, outside: outside / 2, form: UnitForm::Plain };
            inside.chunks(size / 2).for_each(|it| out(half, it, packed));
        }
        UnitForm::ExtendedPair => inside.chunks(16).for_each(|it| out(EXTENDED, it, packed)),
        UnitForm::Extended => packed.extend(widened(inside)),
        // A shorter number there: the lower bytes, as the standard says of values that do not fit.
        UnitForm::Plain | UnitForm::Signed => packed.extend(inside[..outside].iter().rev()),
    }
}

fn back(unit: Unit, packed: &[u8], inside: &mut Vec<u8>) {
    let Unit { size, outside, form } = unit;
    match form {
        UnitForm::Pair => {
            let half = Unit { size: size / 2, outside: outside / 2, form: UnitForm::Plain };
            packed.chunks(outside / 2).for_each(|it| back(half, it, inside));
        }
        UnitForm::ExtendedPair => packed.chunks(16).for_each(|it| back(EXTENDED, it, inside)),
        UnitForm::Extended => inside.extend(narrowed(packed)),
        UnitForm::Plain | UnitForm::Signed => {
            inside.extend(packed.iter().rev());
            let is_negative = form == UnitForm::Signed && packed[0] >= 0x80;
            inside.extend(std::iter::repeat_n(if is_negative { 0xff } else { 0 }, size - outside));
        }
    }
}

/// Packed data of `count` such datatypes, in the portable format.
pub fn to_outside(elements: &Signature, count: usize, inside: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(elements.outside() * count);
    let mut rest = inside;
    for _ in 0..count {
        elements.each(&mut |unit| {
            let (one, more) = rest.split_at(unit.size);
            out(unit, one, &mut packed);
            rest = more;
        });
    }
    packed
}

/// Packed data here, of the portable format.
pub fn to_inside(elements: &Signature, count: usize, packed: &[u8]) -> Vec<u8> {
    let mut inside = Vec::new();
    let mut rest = packed;
    for _ in 0..count {
        elements.each(&mut |unit| {
            let (one, more) = rest.split_at(unit.outside);
            back(unit, one, &mut inside);
            rest = more;
        });
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::super::basic::basic;
    use super::*;

    fn elements(handle: Handle) -> Signature {
        Signature::of(&units(basic(handle).expect("a predefined datatype"), handle))
    }

    #[test]
    fn numbers_are_reversed_shortened_and_come_back() {
        let int = elements(0x209);
        assert_eq!(to_outside(&int, 1, &0x0102_0304_i32.to_le_bytes()), [1, 2, 3, 4]);
        let long = elements(0x20a);
        let packed = to_outside(&long, 2, &[(-2_i64).to_le_bytes(), 7_i64.to_le_bytes()].concat());
        assert_eq!(packed, [0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 7]);
        let back = to_inside(&long, 2, &packed);
        assert_eq!(back, [(-2_i64).to_le_bytes(), 7_i64.to_le_bytes()].concat());
        let complex = elements(0x212);
        let pair = [1.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat();
        let packed = to_outside(&complex, 1, &pair);
        assert_eq!(packed, [1.5_f32.to_be_bytes(), (-2.0_f32).to_be_bytes()].concat());
        assert_eq!(to_inside(&complex, 1, &packed), pair);
    }

    #[test]
    fn a_long_double_has_the_quadruple_format_outside() {
        // 1.5: the leading one and a half, exponent 0.
        let mut inside = [0_u8; 16];
        inside[..8].copy_from_slice(&(3_u64 << 62).to_le_bytes());
        inside[8..10].copy_from_slice(&0x3fff_u16.to_le_bytes());
        let packed = to_outside(&elements(0x220), 1, &inside);
        let mut wanted = [0_u8; 16];
        wanted[..3].copy_from_slice(&[0x3f, 0xff, 0x80]);
        assert_eq!(packed, wanted);
        assert_eq!(to_inside(&elements(0x220), 1, &packed), inside);
    }
}
