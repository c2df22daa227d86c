//! Drawings as SVG: the document, and text in it.

use crate::markup::escape;
use std::fmt::Write as _;

/// A document of this size, in pixels, on white.
pub(crate) fn document(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\">\n<rect width=\"100%\" \
         height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// Writes `words` at a place, `size` pixels high.
pub(crate) fn text(
    to: &mut String,
    (x, y): (f64, f64),
    size: u8,
    anchor: &str,
    fill: &str,
    words: &str,
) {
    let words = escaped(words);
    let _ = writeln!(
        to,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
         fill=\"{fill}\">{words}</text>"
    );
}

/// The text as XML text; a character that XML cannot hold at all becomes a question mark.
fn escaped(text: &str) -> String {
    let held = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    escape(&text.chars().map(|c| if held(c) { c } else { '?' }).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut drawn = String::new();
        text(&mut drawn, (1.0, 2.0), 10, "start", "#000000", "<a & b>\u{1}");
        assert!(drawn.contains(">&lt;a &amp; b&gt;?</text>"), "{drawn}");
    }
}
