//! Rows of named cells in the three forms of output.

use serde_json::Value;

/// A cell as tsv and text show it; an unknown one is empty.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A line of tsv.
pub fn tsv(cells: &[Value]) -> String {
    cells.iter().map(cell).collect::<Vec<_>>().join("\t") + "\n"
}

/// A row as an object.
pub fn object(columns: &[&str], cells: Vec<Value>) -> Value {
    Value::Object(columns.iter().map(ToString::to_string).zip(cells).collect())
}

/// Aligned columns, numbers to the right.
pub fn text(columns: &[&str], rows: &[Vec<Value>]) -> String {
    let width = |i: usize| {
        let cells = rows.iter().map(|row| cell(&row[i]).chars().count());
        cells.chain([columns[i].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let right = |i: usize| rows.iter().any(|row| row[i].is_number());
    let line = |cells: Vec<String>| {
        let mut out = String::new();
        for (i, text) in cells.iter().enumerate() {
            let pad = " ".repeat(widths[i].saturating_sub(text.chars().count()));
            let gap = if i == 0 { "" } else { "  " };
            out += gap;
            out += &if right(i) { pad + text } else { text.clone() + &pad };
        }
        out.trim_end().to_string() + "\n"
    };
    let mut out = line(columns.iter().map(ToString::to_string).collect());
    for row in rows {
        out += &line(row.iter().map(cell).collect());
    }
    out
}

/// A whole number as a number, a fraction as text.
pub(crate) fn exact(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| Value::from(text), Value::from)
}
