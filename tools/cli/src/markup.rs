//! Text and data inside of HTML and SVG.

use serde_json::Value;

/// `text` between tags or quotes.
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// JSON inside of a script element: no tag can end it.
pub fn script(json: &Value) -> String {
    let text = json.to_string();
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        let bad = "</script><img src=x onerror='alert(\"1\")'>";
        assert!(!escape(bad).contains(['<', '>', '"', '\'']));
        assert!(!script(&Value::from(bad)).contains('<'));
    }
}
