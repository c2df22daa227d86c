//! Lines of at most 100 columns.

const COLUMNS: usize = 100;

/// `text` in lines that each begin with `indent`.
pub(crate) fn filled(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            *line = format!("{indent}{word}");
        } else if line.len() + 1 + word.len() <= COLUMNS {
            *line += &format!(" {word}");
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines.join("\n") + "\n"
}

/// `head(parts)tail`: parts that do not fit go on below the first; or, if they do not fit there,
/// four more than the head. Lines to be continued end in `more`.
pub(crate) fn listed(head: &str, parts: &[String], tail: &str, more: &str) -> String {
    let one = format!("{head}{}{tail}", parts.join(", "));
    if one.len() <= COLUMNS {
        return one + "\n";
    }
    let width = COLUMNS - more.len();
    let longest = parts.iter().map(String::len).max().unwrap_or(0) + tail.len();
    let first = head.len() - head.trim_start().len();
    let below = if head.len() + longest <= width { head.len() } else { first + 4 };
    let (mut lines, mut line) = (Vec::new(), head.to_owned());
    for (i, part) in parts.iter().enumerate() {
        let is_last = i + 1 == parts.len();
        let room = part.len() + if is_last { tail.len() } else { 1 };
        let space = if line.ends_with(['(', ' ']) || line.is_empty() { "" } else { " " };
        if line.len() + space.len() + room > width {
            lines.push(line.trim_end().to_owned());
            line = " ".repeat(below) + part;
        } else {
            line += &format!("{space}{part}");
        }
        line += if is_last { tail } else { "," };
    }
    lines.into_iter().map(|line| format!("{line}{more}\n")).collect::<String>() + &line + "\n"
}

/// The first sentence.
pub(crate) fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |at| &text[..=at])
}
