//! Text, tables and drawings as HTML. All text and all drawings from files are escaped; drawings
//! are shown as images, in which no script runs.

pub(crate) use phalanx_bench::markup::{escape, script};
use std::fmt::Write as _;

/// A table, in a box of its own that scrolls where the page must not. Columns from `numbers` on are
/// to the right.
pub(crate) fn table(caption: &str, head: &[&str], numbers: usize, rows: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{0}\"><table><caption>{0}</caption><thead><tr>",
        escape(caption)
    );
    let class = |column: usize| if column >= numbers { " class=\"n\"" } else { "" };
    for (column, name) in head.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), escape(name));
    }
    out += "</tr></thead><tbody>";
    for row in rows {
        out += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escape(cell));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// A paragraph that stands out.
pub(crate) fn warning(text: &str) -> String {
    format!("<p class=\"warning\">{}</p>\n", escape(text))
}

/// Something to open.
pub(crate) fn details(summary: &str, inner: &str) -> String {
    format!("<details><summary>{}</summary>\n{inner}</details>\n", escape(summary))
}

/// Drawings are made for white paper; by night their paper is the page's, and the text on it
/// light. Filled boxes keep their colours, and the letters on them.
const NIGHT: &str = "<style>@media (prefers-color-scheme:dark){\
    rect[fill='#ffffff']{fill:#12171d}rect[fill='#f4f6f8'],rect[fill='#eef1f4']{fill:#1c242d}\
    rect[fill='#d9dee3']{fill:#2d3843}\
    rect[stroke='#8795a5'],path[stroke='#8795a5']{stroke:#5b6a79}text[fill='#51606f']{fill:#a9b6c3}\
    text[fill='#0d2b45'][font-size='15'],\
    text[fill='#0d2b45'][font-size='11']{fill:#e3eaf1}}</style>";

/// An SVG document as an image with a caption.
pub(crate) fn drawing(svg: &str, caption: &str) -> String {
    let svg = match svg.split_once('>') {
        Some((head, rest)) if head.starts_with("<svg") => format!("{head}>{NIGHT}{rest}"),
        _ => svg.to_string(),
    };
    format!(
        "<figure class=\"drawing\"><div class=\"scroll paper\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{0}\">\
         <img alt=\"{0}\" \
         src=\"data:image/svg+xml,{1}\"></div><figcaption>{0}</figcaption></figure>\n",
        escape(caption),
        percent(&svg)
    )
}

/// The bytes of `text` in an address.
fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("%22"),
            b' ' | b'=' | b'/' | b':' | b';' | b',' | b'.' | b'-' | b'_' | b'(' | b')' => {
                out.push(char::from(byte));
            }
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        let bad = "</script><img src=x onerror='alert(\"1\")'>";
        assert!(!percent(bad).contains(['<', '>', '"', '\'']));
        assert!(table(bad, &[bad], 0, &[vec![bad.to_string()]]).find("<img").is_none());
    }
}
