//! Looks up a name that a user typed, and suggests the nearest one.

/// `text` in the spelling of our names: lower case, hyphens.
pub fn plain(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('_', "-")
}

/// The message for a name that is none of `accepted`.
pub fn unknown(what: &str, text: &str, accepted: &[&str]) -> String {
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

/// The number of letters to insert, delete, replace or swap with a neighbour
/// (Damerau and Levenshtein, each place once) from one name to the other; a
/// long text is cut.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().collect();
    // Row i: the edits from the first i letters of `a`.
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered() {
        assert_eq!(nearest("f46", &["f32", "f64", "i8"]), Some("f64"));
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("tvs", "tsv"), 1);
        let message = unknown("type", "F46", &["f32", "f64"]);
        assert_eq!(message, "unknown type 'F46'; did you mean f64? accepted are f32, f64");
    }
}
