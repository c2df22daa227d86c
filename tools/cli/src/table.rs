//! Tables in the three forms of output.

use serde_json::Value;

/// Rows of named cells.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    pub columns: &'a [&'a str],
    pub rows: Vec<Vec<Value>>,
}

impl Table<'_> {
    /// Tab-separated, with a line of names.
    pub fn tsv(&self) -> String {
        let line = |row: &Vec<Value>| row.iter().map(cell).collect::<Vec<_>>().join("\t") + "\n";
        self.columns.join("\t") + "\n" + &self.rows.iter().map(line).collect::<String>()
    }

    /// An object for each row.
    pub fn objects(&self) -> Vec<Value> {
        let names = || self.columns.iter().map(ToString::to_string);
        self.rows.iter().map(|row| names().zip(row.iter().cloned()).collect()).collect()
    }

    /// For eyes: columns as wide as their widest cell, numbers to the right.
    pub fn text(&self) -> String {
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        aligned(self.columns, &rows, |i| self.rows.iter().any(|row| row[i].is_number()))
    }
}

/// Each once, ascending.
pub fn distinct<T: Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The value of a key of a list; a key that is new joins at the end, with the default.
pub fn of_key<K: PartialEq, V: Default>(all: &mut Vec<(K, V)>, key: K) -> &mut V {
    let at = all.iter().position(|(own, _)| *own == key).unwrap_or_else(|| {
        all.push((key, V::default()));
        all.len() - 1
    });
    &mut all[at].1
}

/// A cell as tsv and text show it; an unknown one is empty.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A whole number as a number, a fraction as text.
pub fn exact(text: &str) -> Value {
    text.parse::<u64>().map_or_else(|_| Value::from(text), Value::from)
}

/// The same of texts, of which the first `left` columns begin at the left.
pub fn table(columns: &[&str], left: usize, rows: &[Vec<String>]) -> String {
    aligned(columns, rows, |i| i >= left)
}

fn aligned(columns: &[&str], rows: &[Vec<String>], right: impl Fn(usize) -> bool) -> String {
    let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let all = || std::iter::once(&names).chain(rows);
    let width =
        |i: usize| all().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..names.len()).map(|i| width(i).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(i, (cell, &width))| {
            // A phase of a user's may be called anything.
            let cell = cell.replace(char::is_control, " ");
            if right(i) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    all().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["bcd".into(), "1000".into()]];
        assert_eq!(table(&["x", "ns"], 1, &rows), "x      ns\na       1\nbcd  1000\n");
        let rows = vec![vec!["a".into(), 1.into()], vec!["b\tc".into(), Value::Null]];
        let table = Table { columns: &["x", "ns"], rows };
        assert_eq!(table.text(), "x    ns\na     1\nb c\n");
    }
}
