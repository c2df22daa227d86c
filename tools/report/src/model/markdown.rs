//! Wraps the paragraphs of generated Markdown pages at 100 columns.

const COLUMNS: usize = 100;

/// Wraps paragraphs and list items. Headings, tables and pictures stay as they are.
pub(super) fn wrapped(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for line in page.lines() {
        if line.starts_with(['|', '#', '!']) {
            out += line;
        } else {
            let indent = if line.starts_with("- ") { "\n  " } else { "\n" };
            let mut column = 0;
            for word in line.split(' ') {
                let length = word.chars().count();
                if column > 0 && column + 1 + length > COLUMNS {
                    out += indent;
                    column = indent.len() - 1;
                } else if column > 0 {
                    out.push(' ');
                    column += 1;
                }
                out += word;
                column += length;
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_tables_are_not() {
        let long = ["word"; 30].join(" ");
        let page = wrapped(&format!("{long}\n\n- {long}\n| {long} |\n"));
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[0].len(), 99);
        assert_eq!(&lines[4][..6], "  word");
        assert_eq!(lines[5], format!("| {long} |"));
        assert!(lines[..5].iter().all(|line| line.len() <= COLUMNS));
        assert_eq!(page.split_whitespace().filter(|w| *w == "word").count(), 90);
    }
}
