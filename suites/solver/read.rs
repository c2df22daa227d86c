//! The matrix of a file, for the solver.

#[path = "matrix_market.rs"]
mod matrix_market;

use matrix_market::Matrix;
use sprs::{CsMat, TriMat};
use std::path::Path;

/// A symmetric matrix of real numbers, or in one line the fault of the file.
pub(crate) fn read(path: &Path) -> Result<CsMat<f64>, String> {
    // Matrices may have a folder of their own.
    let in_folder =
        std::env::var_os("PHALANX_MATRICES").map(|folder| Path::new(&folder).join(path));
    let path = in_folder.as_deref().filter(|it| !path.exists() && it.exists()).unwrap_or(path);
    let matrix = matrix_market::read(path).and_then(symmetric);
    matrix.map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
pub(crate) fn parse(bytes: &[u8]) -> Result<CsMat<f64>, String> {
    matrix_market::parse(bytes).and_then(symmetric)
}

/// The matrix, if both triangles agree but for rounding.
fn symmetric(Matrix { rows, entries }: Matrix) -> Result<CsMat<f64>, String> {
    let mut matrix = TriMat::with_capacity((rows, rows), entries.len());
    entries.iter().for_each(|it| matrix.add_triplet(it.row, it.column, it.value));
    let matrix: CsMat<f64> = matrix.to_csr();
    for entry in &entries {
        let (row, column, value) = (entry.row, entry.column, entry.value);
        let other = matrix.get(column, row).copied().unwrap_or(0.0);
        if (value - other).abs() > 1e-12 * value.abs().max(other.abs()) {
            let (line, row, column) = (entry.line, row + 1, column + 1);
            return Err(format!(
                "line {line}: not symmetric: entry ({row}, {column}) is {value}, ({column}, {row}) \
                 is {other}"
            ));
        }
    }
    Ok(matrix)
}
