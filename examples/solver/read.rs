//! Reads Matrix Market files with sprs. Files on which sprs would hang, panic or fail without a
//! reason are refused before.

use sprs::{CsMat, TriMat};
use std::io::Read;
use std::path::Path;

/// A square symmetric matrix of real numbers, or in one line what is wrong with the file.
pub(crate) fn read(path: &Path) -> Result<CsMat<f64>, String> {
    // Matrices may have a folder of their own.
    let in_folder =
        std::env::var_os("PHALANX_MATRICES").map(|folder| Path::new(&folder).join(path));
    let path = in_folder.as_deref().filter(|it| !path.exists() && it.exists()).unwrap_or(path);
    bytes(path).and_then(|bytes| parse(&bytes)).map_err(|e| format!("{}: {e}", path.display()))
}

/// Bytes of a file up to which it is read: beyond any matrix that these examples can solve.
const MOST: u64 = 4 << 30;

/// Devices may have no end, and the opening of a pipe waits for a writer.
fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let said = |e: std::io::Error| e.to_string();
    if !std::fs::metadata(path).map_err(said)?.is_file() {
        return Err("it is no file".to_string());
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).map_err(said)?.take(MOST).read_to_end(&mut bytes).map_err(said)?;
    Ok(bytes)
}

pub(crate) fn parse(bytes: &[u8]) -> Result<CsMat<f64>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "no Matrix Market file: not text")?;
    let whole = check(text)?;
    let refused = |e: sprs::io::IoError| format!("sprs cannot read it: {e}");
    let mut from = bytes;
    let entries: TriMat<f64> = if whole {
        let integers: TriMat<i64> =
            sprs::io::read_matrix_market_from_bufread(&mut from).map_err(refused)?;
        let mut entries = TriMat::new(integers.shape());
        let each = integers.triplet_iter();
        each.for_each(|(&value, (row, column))| entries.add_triplet(row, column, value as f64));
        entries
    } else {
        sprs::io::read_matrix_market_from_bufread(&mut from).map_err(refused)?
    };
    let matrix = entries.to_csr();
    symmetric(&matrix)?;
    Ok(matrix)
}

/// Whether the entries are integers.
fn check(text: &str) -> Result<bool, String> {
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
    let header = lines.next().map_or("", |(_, line)| line).to_lowercase();
    let words: Vec<&str> = header.split_whitespace().collect();
    if words.first() != Some(&"%%matrixmarket") {
        return Err("no Matrix Market file: it does not begin with %%MatrixMarket".into());
    }
    let &[_, object, format, kind, symmetry] = &words[..] else {
        return Err("line 1: expected %%MatrixMarket matrix coordinate KIND SYMMETRY".into());
    };
    let whole = match (object, format, kind) {
        ("matrix", "coordinate", "real") => false,
        ("matrix", "coordinate", "integer") => true,
        ("matrix", "coordinate", "pattern") => {
            let what = "a pattern file says where the entries are, not what they are";
            return Err(format!("{what}; accepted: real, integer"));
        }
        ("matrix", "coordinate", kind) => {
            return Err(format!("line 1: entries are {kind}; accepted: real, integer"));
        }
        (object, format, _) => {
            return Err(format!("line 1: {object} {format}; accepted: matrix coordinate"));
        }
    };
    if !["symmetric", "general"].contains(&symmetry) {
        return Err(format!("line 1: symmetry is {symmetry}; accepted: symmetric, general"));
    }
    let mut rest = lines.filter(|(_, line)| !line.starts_with('%') && !line.trim().is_empty());
    let Some((at, sizes)) = rest.next() else {
        return Err("it ends before the line with rows, columns and entries".into());
    };
    let numbers: Option<Vec<usize>> = sizes.split_whitespace().map(|n| n.parse().ok()).collect();
    let Some(&[rows, columns, entries]) = numbers.as_deref() else {
        return Err(format!("line {at}: expected rows, columns and entries, got `{sizes}`"));
    };
    if rows != columns {
        return Err(format!("not square: {rows} x {columns}"));
    }
    if rows == 0 || u32::try_from(rows).is_err() {
        return Err(format!("line {at}: {rows} rows; accepted: 1 to {}", u32::MAX));
    }
    let mut found = 0;
    for (at, line) in rest {
        let mut words = line.split_whitespace();
        let mut index = || words.next()?.parse().ok().filter(|i| (1..=rows).contains(i));
        if index().is_none() || index().is_none() {
            return Err(format!("line {at}: expected row and column, 1 to {rows}, got `{line}`"));
        }
        let value = words.next().and_then(|v| {
            if whole { v.parse::<i64>().ok().map(|v| v as f64) } else { v.parse().ok() }
        });
        if !value.is_some_and(f64::is_finite) || words.next().is_some() {
            return Err(format!("line {at}: expected one {kind} value, got `{line}`"));
        }
        found += 1;
    }
    if found != entries {
        return Err(format!("line {at} announces {entries} entries; there are {found}"));
    }
    Ok(whole)
}

/// Whether both triangles agree but for rounding.
fn symmetric(matrix: &CsMat<f64>) -> Result<(), String> {
    for (&value, (row, column)) in matrix {
        let other = matrix.get(column, row).copied().unwrap_or(0.0);
        if (value - other).abs() > 1e-12 * value.abs().max(other.abs()) {
            let (row, column) = (row + 1, column + 1);
            return Err(format!(
                "not symmetric: entry ({row}, {column}) is {value}, ({column}, {row}) is {other}"
            ));
        }
    }
    Ok(())
}
