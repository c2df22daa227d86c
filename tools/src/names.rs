//! Names that people type: finding one, and the nearest one to a wrong one.

/// `text` in the spelling of our names: lower case, hyphens.
pub(crate) fn plain(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('_', "-")
}

/// The message for a name that is none of `accepted`.
pub(crate) fn unknown(what: &str, text: &str, accepted: &[&str]) -> String {
    let list = accepted.join(", ");
    match nearest(&plain(text), accepted) {
        Some(name) => {
            format!("unknown {what} '{text}'; did you mean {name}? accepted are {list}")
        }
        None => format!("unknown {what} '{text}'; accepted are {list}"),
    }
}

/// The name with the fewest edits from `text`.
pub(crate) fn nearest<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    names.iter().copied().min_by_key(|name| edits(text, name))
}

/// The edit distance (Levenshtein) of two names; a long text is cut.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let swap = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = swap.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        assert_eq!(nearest("f46", &["f32", "f64", "i8"]), Some("f64"));
        assert_eq!(edits("kitten", "sitting"), 3);
        let message = unknown("type", "F46", &["f32", "f64"]);
        assert_eq!(message, "unknown type 'F46'; did you mean f64? accepted are f32, f64");
    }
}
