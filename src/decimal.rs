//! Decimal numbers of files and variables as floats, in little code: the standard library's exact
//! way has tables, 16 KB in every program.

/// The number in `text`: a sign, digits with a point among them or not, and an exponent, all but
/// digits as it likes. The first 19 digits count. Up to 15 digits, with a last one not below the
/// 22nd decimal place, give the nearest float; the last bits of others may differ from its.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let (unsigned, is_negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, integer(exponent)?),
        None => (unsigned, 0),
    };
    let (mut whole, mut exponent) = (0_u64, exponent);
    let (mut is_fraction, mut has_digits) = (false, false);
    for byte in digits.bytes() {
        let has_room = whole < 10_u64.pow(18);
        match byte {
            b'0'..=b'9' => {
                has_digits = true;
                if has_room {
                    whole = whole * 10 + u64::from(byte - b'0');
                }
                exponent += i32::from(!has_room) - i32::from(is_fraction);
            }
            b'.' if !is_fraction => is_fraction = true,
            _ => return None,
        }
    }
    if !has_digits {
        return None;
    }
    // A power of ten is exact up to 22, and so is the quotient of two exact numbers, as floats go.
    let power = (0..exponent.unsigned_abs().min(400)).fold(1.0, |power, _| power * 10.0);
    let size = match exponent {
        // (And not 0 times infinity.)
        _ if whole == 0 => 0.0,
        ..0 => whole as f64 / power,
        _ => whole as f64 * power,
    };
    Some(if is_negative { -size } else { size })
}

/// An exponent: one that is beyond all floats is any such.
fn integer(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let beyond = if text.starts_with('-') { -9999 } else { 9999 };
    Some(text.parse().unwrap_or(beyond).clamp(-9999, 9999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "-0.0",
            "12.5",
            "-7",
            "+0.1",
            "1e3",
            "2.5E-3",
            "0.025",
            "123456789.123456",
            "1.",
            ".5",
            "1E+2",
            "0.000001",
            "30",
            "900719925474099",
            "1e22",
            "0e999",
            "-0e-999",
        ] {
            let exact: f64 = text.parse().unwrap();
            assert_eq!(parse(text).map(f64::to_bits), Some(exact.to_bits()), "{text}");
        }
    }

    #[test]
    fn long_numbers_are_near() {
        let long = ["0.012345678901234567", "3.3e-40", "98765432109876543210.5", "7e200", "1e-300"];
        for text in long {
            let (exact, read) = (text.parse::<f64>().unwrap(), parse(text).unwrap());
            assert!((read - exact).abs() <= exact * 1e-13, "{text}: {read}");
        }
        let beyond = ["1e999", "-1e99999999999", "1e-999"].map(|text| parse(text).unwrap());
        assert_eq!(beyond, [f64::INFINITY, f64::NEG_INFINITY, 0.0]);
    }

    #[test]
    fn all_else_is_no_number() {
        for text in
            ["", "-", ".", "e5", "1e", "1e-", "1.2.3", "1 ", "inf", "NaN", "0x1", "--1", "1e2.5"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
