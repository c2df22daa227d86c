//! Reads square matrices of real numbers from Matrix Market files (Boisvert, Pozo, Remington, "The
//! Matrix Market Exchange Formats: Initial Design", NISTIR 5935, 1996).
//!
//! Read are both formats, the fields real (or double, its old name) and integer, and the symmetries
//! general and symmetric. All else that the format has is refused by name. More is read than it
//! allows where that is harmless: comments between entries, bytes beyond ASCII in comments, lines
//! of more than 1024 characters, the line ends of Windows, no line end behind the last entry.
//!
//! No size in a file is believed: memory is taken as entries are read, and each row has one.

#[path = "../../src/file.rs"]
mod file;

use std::path::Path;

/// Bytes of a file up to which it is read: beyond any matrix that these examples can solve. (So the
/// number of a row fits 32 bits.)
const MOST: u64 = 4 << 30;

/// Of a matrix; indices begin at 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) value: f64,
    /// Of the file; the first one is 1.
    pub(crate) line: usize,
}

/// A square matrix with an entry in each row.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    /// Sorted by row and column, no two in one place; of a symmetric matrix both triangles.
    pub(crate) entries: Vec<Entry>,
}

/// The header's words, as far as they can differ.
struct Header {
    is_array: bool,
    is_integer: bool,
    is_symmetric: bool,
}

/// A matrix, or in one line the fault of the file.
pub(crate) fn read(path: &Path) -> Result<Matrix, String> {
    parse(&file::read(path, MOST)?)
}

pub(crate) fn parse(bytes: &[u8]) -> Result<Matrix, String> {
    let mut lines = bytes.split(|&byte| byte == b'\n').zip(1..);
    let header = Header::parse(lines.next().map_or(&[][..], |(line, _)| line))?;
    // (The carriage returns of a file of Windows are white space.)
    let lines = lines.map(|(line, at)| (line.trim_ascii(), at));
    let mut lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with(b"%"));
    let Some((line, sizes_at)) = lines.next() else {
        return Err("it ends before the line with the numbers of rows and columns".into());
    };
    let (rows, announced) = header.sizes(line).map_err(|e| format!("line {sizes_at}: {e}"))?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut found = 0;
    // Of an array: where its next value belongs.
    let mut place = (0, 0);
    for (line, at) in lines {
        let wrong = |e: String| format!("line {at}: {e}, got `{}`", shown(line));
        if found == announced {
            let announced = format!("{announced} entries that line {sizes_at} announces");
            return Err(wrong(format!("expected the end after the {announced}")));
        }
        found += 1;
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_ascii_whitespace();
        if !header.is_array {
            place = header.place(rows, &mut words).map_err(wrong)?;
        }
        let value = header.value(&mut words).map_err(wrong)?;
        let (row, column) = place;
        entries.push(Entry { row, column, value, line: at });
        if header.is_symmetric && row != column {
            entries.push(Entry { row: column, column: row, value, line: at });
        }
        if header.is_array {
            place = match row + 1 < rows {
                true => (row + 1, column),
                false if header.is_symmetric => (column + 1, column + 1),
                false => (0, column + 1),
            };
        }
    }
    if found != announced {
        return Err(format!("line {sizes_at} announces {announced} entries; there are {found}"));
    }
    entries.sort_by_key(|it| (it.row, it.column));
    let is_twice = |pair: &&[Entry]| (pair[0].row, pair[0].column) == (pair[1].row, pair[1].column);
    if let Some(pair) = entries.windows(2).find(is_twice) {
        let (first, Entry { row, column, line, .. }) = (pair[0].line, pair[1]);
        // (Of the triangle that is in the file.)
        let at =
            if header.is_symmetric { (row.max(column), row.min(column)) } else { (row, column) };
        let at = (at.0 + 1, at.1 + 1);
        return Err(format!("line {line}: entry {at:?} once more; it is in line {first}, too"));
    }
    // So the list for each row takes no more memory than the entries.
    let filled = entries.iter().fold(0, |next, it| if it.row == next { next + 1 } else { next });
    if filled < rows {
        let empty = filled + 1;
        return Err(format!("line {sizes_at} announces {rows} rows; row {empty} has no entry"));
    }
    Ok(Matrix { rows, entries })
}

impl Header {
    fn parse(line: &[u8]) -> Result<Header, String> {
        let line = String::from_utf8_lossy(line).to_ascii_lowercase();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.first() != Some(&"%%matrixmarket") || !line.starts_with('%') {
            return Err("no Matrix Market file: it does not begin with %%MatrixMarket".into());
        }
        let &[_, object, format, field, symmetry] = &words[..] else {
            let expected = "%%MatrixMarket matrix FORMAT FIELD SYMMETRY";
            return Err(format!("line 1: expected {expected}, got `{}`", shown(line.as_bytes())));
        };
        let refused = |what: &str, is: &str, accepted: &str| {
            Err(format!("line 1: {what} {is}; accepted: {accepted}"))
        };
        let is_array = match (object, format) {
            ("matrix", "coordinate") => false,
            ("matrix", "array") => true,
            ("matrix", _) => return refused("the format is", format, "coordinate, array"),
            _ => return refused("the object is a", object, "matrix"),
        };
        let is_integer = match field {
            "real" | "double" => false,
            "integer" => true,
            "pattern" => {
                let what = "a pattern file says where the entries are, not their values";
                return Err(format!("line 1: {what}; accepted: real, double, integer"));
            }
            _ => return refused("entries are", field, "real, double, integer"),
        };
        let is_symmetric = match symmetry {
            "general" => false,
            "symmetric" => true,
            _ => return refused("symmetry is", symmetry, "general, symmetric"),
        };
        Ok(Header { is_array, is_integer, is_symmetric })
    }

    /// The rows, and the entries that follow.
    fn sizes(&self, line: &[u8]) -> Result<(usize, usize), String> {
        let text = String::from_utf8_lossy(line);
        let numbers: Option<Vec<usize>> =
            text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        let (rows, columns, entries) = match (self.is_array, numbers.as_deref()) {
            (false, Some(&[rows, columns, entries])) => (rows, columns, Some(entries)),
            (true, Some(&[n, columns])) if self.is_symmetric && n == columns => {
                // One of the two factors is even.
                (n, n, (n / 2 + n % 2).checked_mul(n + (1 - n % 2)))
            }
            (true, Some(&[rows, columns])) => (rows, columns, rows.checked_mul(columns)),
            (is_array, _) => {
                let expected =
                    if is_array { "rows and columns" } else { "rows, columns and entries" };
                return Err(format!("expected {expected}, got `{}`", shown(line)));
            }
        };
        match entries {
            _ if rows != columns => Err(format!("not square: {rows} x {columns}")),
            _ if rows == 0 => Err("0 rows".into()),
            Some(entries) => Ok((rows, entries)),
            None => Err(format!("{rows} x {columns} entries are more than can be counted")),
        }
    }

    /// Where an entry belongs.
    fn place<'a>(
        &self,
        rows: usize,
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(usize, usize), String> {
        let mut index = || words.next()?.parse().ok().filter(|i| (1..=rows).contains(i));
        let (Some(row), Some(column)) = (index(), index()) else {
            return Err(format!("expected row and column, 1 to {rows}"));
        };
        if self.is_symmetric && row < column {
            return Err(
                "expected an entry of the lower triangle, as in every symmetric file".into()
            );
        }
        Ok((row - 1, column - 1))
    }

    fn value<'a>(&self, words: &mut impl Iterator<Item = &'a str>) -> Result<f64, String> {
        let number = |word: &str| match self.is_integer {
            true => word.parse::<i64>().ok().map(|value| value as f64),
            false => word.parse().ok().filter(|value: &f64| value.is_finite()),
        };
        let value = words.next().and_then(number).filter(|_| words.next().is_none());
        let field = if self.is_integer { "integer" } else { "real" };
        value.ok_or_else(|| format!("expected one {field} value"))
    }
}

/// The beginning of a line, as it may stand in an error.
fn shown(line: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(&line[..line.len().min(MOST)]);
    let cut = if line.len() > MOST { ".." } else { "" };
    format!("{}{cut}", text.escape_debug())
}
