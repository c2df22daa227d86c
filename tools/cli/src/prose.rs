//! Sentences for a terminal: helps that are wrapped once, by the width of the window, and long
//! lines of a result, folded.

use std::io::Write as _;

/// The columns of a line that is made for eyes, at most.
const WIDTH: usize = 100;

/// A help text as clap can wrap it. The source is wrapped by hand; if it were wrapped once more, a
/// word would be left alone on every other line. So an item of the source (a line that begins in
/// the first column, with the indented ones below it) becomes its heading, up to the first colon,
/// and one long indented line: clap keeps the indentation where it breaks that. Lines below
/// `Example:` stay as they are.
pub fn help(text: &str) -> String {
    let mut items: Vec<String> = Vec::new();
    let mut verbatim = false;
    for line in text.lines() {
        match (line.strip_prefix("  "), items.last_mut()) {
            (Some(rest), Some(item)) if verbatim => *item += &format!("\n  {}", rest.trim_end()),
            (Some(rest), Some(item)) => *item += &format!(" {}", rest.trim()),
            _ => {
                verbatim = line.starts_with("Example");
                items.push(line.to_string());
            }
        }
    }
    let items = items.iter().map(|item| match item.split_once(": ") {
        Some((heading, body)) if !item.contains('\n') => format!("{heading}:\n  {body}"),
        _ => item.clone(),
    });
    items.collect::<Vec<_>>().join("\n")
}

/// `text` in lines of at most 100 columns; those after the first are indented.
pub fn folded(text: &str) -> String {
    let comment = if text.starts_with("# ") { "# " } else { "" };
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{comment}  {word}"));
        } else if let Some(line) = lines.last_mut() {
            if last > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

/// A line on the standard error.
pub fn say(what: &str) {
    let line = crate::failure::one_line(what);
    // Nothing can be done where the standard error is closed.
    let _: Result<_, _> = writeln!(std::io::stderr(), "phalanx: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_a_help_is_one_line() {
        let text =
            "SIZES: bytes of a\n  buffer: many.\nTSV: a line.\n\nExamples:\n  phalanx a\n  b";
        let wanted = "SIZES:\n  bytes of a buffer: many.\nTSV:\n  a line.\n\nExamples:\n  \
                      phalanx a\n  b";
        assert_eq!(help(text), wanted);
    }

    #[test]
    fn long_lines_are_folded() {
        let words = "0123456789 ".repeat(25);
        let text = folded(&words);
        assert!(text.lines().all(|line| line.len() <= WIDTH && line.len() > 50), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("  0")), "{text}");
        assert_eq!(text.split_whitespace().count(), 25);
        assert!(folded(&format!("# {words}")).lines().all(|line| line.starts_with("# ")));
        assert_eq!(folded("short"), "short");
    }
}
