//! The two ways in which Linux writes a set of processors: a list (`0-3,8`) and a mask
//! (`ff,ffffffff`, hexadecimal words of 32 bits, most significant first).
//!
//! Both readers take what real files hold: trailing NULs (`/proc` files saved by some tools), white
//! space, and nothing at all (the empty set).

use crate::sorted::Arrange;

/// Processor ids from here on are refused: Linux itself stops at 8192, and the limit keeps a
/// damaged file from asking for gigabytes.
pub(crate) const MAX_PU: usize = 1 << 16;

/// A text that is neither a list nor a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskError {
    /// Byte offset of the offending part.
    pub(crate) position: usize,
    pub(crate) reason: String,
}

/// Strips the NULs and the white space around a saved file's text.
pub(crate) fn clean(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\0' || c.is_whitespace())
}

/// Reads `0-3,8,10-11` into a sorted list without duplicates.
pub fn parse_list(text: &str) -> Result<Vec<usize>, MaskError> {
    let mut ids = Vec::new();
    let mut position = 0;
    for part in text.split(',') {
        let error = |reason: String| MaskError { position, reason };
        let item = clean(part);
        if !item.is_empty() {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let number = |digits: &str| match digits.trim().parse::<usize>() {
                Ok(id) if id < MAX_PU => Ok(id),
                Ok(id) => Err(error(format!("processor {id} is beyond the limit of {MAX_PU}"))),
                Err(_) => Err(error(format!("'{item}' is neither a number nor a range"))),
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(error(format!("the range '{item}' runs backwards")));
            }
            // Each range is bounded, but many overlapping ones would still add up.
            if ids.len() > 4 * MAX_PU {
                return Err(error("the list names the same processors too often".to_owned()));
            }
            ids.extend(first..=last);
        }
        position += part.len() + 1;
    }
    ids.arrange();
    ids.dedup();
    Ok(ids)
}

/// Reads `ff,ffffffff` (or hwloc's `0x000000ff,0xffffffff`) into a sorted list.
pub(crate) fn parse_mask(text: &str) -> Result<Vec<usize>, MaskError> {
    let mut ids = Vec::new();
    let mut base = 0_usize;
    let mut end = text.len();
    for part in text.rsplit(',') {
        let position = end - part.len();
        let word = clean(part);
        let word = word.strip_prefix("0x").unwrap_or(word);
        for (digit_index, digit) in word.bytes().rev().enumerate() {
            let Some(digit) = char::from(digit).to_digit(16) else {
                let reason = format!("'{}' is not a hexadecimal mask", clean(part));
                return Err(MaskError { position, reason });
            };
            let low = base + 4 * digit_index;
            for bit in 0..4 {
                if digit & (1 << bit) != 0 {
                    if low + bit >= MAX_PU {
                        let reason = format!("the mask reaches beyond processor {MAX_PU}");
                        return Err(MaskError { position, reason });
                    }
                    ids.push(low + bit);
                }
            }
        }
        base += 32.max(4 * word.len());
        end = position.saturating_sub(1);
    }
    ids.arrange();
    ids.dedup();
    Ok(ids)
}

/// Writes a sorted list as `0-3,8`.
pub fn format_list(ids: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = ids;
    while let Some(&first) = rest.first() {
        let run = rest.iter().enumerate().take_while(|&(i, &id)| id == first + i).count();
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if run > 1 {
            text.push_str(&format!("-{}", first + run - 1));
        }
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_sorted_and_written_back() {
        assert_eq!(parse_list("0-3,8\n"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_list("5,1-2, 2\0\0"), Ok(vec![1, 2, 5]));
        assert_eq!(parse_list(""), Ok(vec![]));
        assert_eq!(format_list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(format_list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!((format_list(&[]), format_list(&[3])), (String::new(), "3".into()));
    }

    #[test]
    fn masks_are_read_from_the_right() {
        assert_eq!(parse_mask("3"), Ok(vec![0, 1]));
        assert_eq!(parse_mask("00000001,00000003\n"), Ok(vec![0, 1, 32]));
        assert_eq!(parse_mask("0x00000001,,0x1"), Ok(vec![0, 64]));
        assert_eq!(parse_mask("\0\0"), Ok(vec![]));
        assert_eq!(parse_mask("1ffffffff"), Ok((0..33).collect()));
    }

    #[test]
    fn damage_is_an_error_that_names_the_position() {
        assert_eq!(parse_list("0-3,x").unwrap_err().position, 4);
        assert_eq!(parse_list("3-1").unwrap_err().position, 0);
        assert!(parse_list("0-99999999999999999999").is_err());
        assert!(parse_list("65536").is_err());
        assert_eq!(parse_mask("ff,zz,00").unwrap_err().position, 3);
        assert!(parse_mask(&"f".repeat(20_000)).is_err());
        assert!(parse_list(&"0-65535,".repeat(100_000)).is_err());
    }
}
