//! Sizes in bytes: `64`, `16K`, `4M`, `1G`, and rows of them.

/// Reads a size: a whole number of bytes, or of K, M, G or T (powers of 1024).
pub fn parse(text: &str) -> Result<usize, String> {
    let wrong = || {
        format!("'{text}' is no size; accepted are whole bytes, or K, M, G (powers of 1024): 16K")
    };
    let upper = text.trim().to_ascii_uppercase();
    let digits = upper.find(|c: char| !c.is_ascii_digit()).unwrap_or(upper.len());
    let (number, unit) = upper.split_at(digits);
    let shift = match unit {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(wrong()),
    };
    if number.is_empty() {
        return Err(wrong());
    }
    let too_large = || format!("{text} is more bytes than this machine can address");
    let number: usize = number.parse().map_err(|_| too_large())?;
    match number.checked_mul(1 << shift).filter(|&bytes| isize::try_from(bytes).is_ok()) {
        Some(0) => Err("a size must be at least 1 byte".to_string()),
        Some(bytes) => Ok(bytes),
        None => Err(too_large()),
    }
}

/// The shortest exact text for a size: `64`, `16K`, `4M`.
pub fn text(bytes: usize) -> String {
    for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "K")] {
        if bytes != 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// `min`, `min * factor`, .. up to and including `max`.
pub(crate) fn steps(min: usize, max: usize, factor: usize) -> Vec<usize> {
    let next = |&size: &usize| size.checked_mul(factor).filter(|&size| size < max);
    let mut sizes: Vec<usize> = std::iter::successors(Some(min), next).collect();
    if min < max {
        sizes.push(max);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in
            [("64", 64), ("16K", 16 << 10), ("16k", 16 << 10), ("4MiB", 4 << 20), ("1G", 1 << 30)]
        {
            assert_eq!(parse(text), Ok(bytes));
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in
            ["", "K", "-1", "1.5M", "4X", "16 K", "0", "0K", "99999999999999999999", "9999999T"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_exactly() {
        for (bytes, wanted) in [(0, "0"), (8, "8"), (1000, "1000"), (4096, "4K"), (6 << 20, "6M")] {
            assert_eq!(text(bytes), wanted);
        }
    }

    #[test]
    fn steps_end_at_the_maximum() {
        assert_eq!(steps(8, 4096, 8), [8, 64, 512, 4096]);
        assert_eq!(steps(8, 1000, 8), [8, 64, 512, 1000]);
        assert_eq!(steps(8, 8, 2), [8]);
        assert_eq!(steps(usize::MAX / 2, usize::MAX, 4), [usize::MAX / 2, usize::MAX]);
    }
}
