//! A loop over all cells.

pub const N: usize = 300; // cells in each direction, without the edge
pub const STEPS: usize = 200;

/// The next temperatures of a row, from the rows around it. Returns the largest change.
pub fn relax(above: &[f64], row: &[f64], below: &[f64], next: &mut [f64]) -> f64 {
    let mut change = 0.0f64;
    for j in 1..row.len() - 1 {
        next[j] = (above[j] + below[j] + row[j - 1] + row[j + 1]) / 4.0;
        change = change.max((next[j] - row[j]).abs());
    }
    change
}

/// A plate whose upper edge has temperature 1.
pub fn plate() -> Vec<[f64; N + 2]> {
    let mut rows = vec![[0.0; N + 2]; N + 2];
    rows[0] = [1.0; N + 2];
    rows
}

/// The mean of all cells.
pub fn mean(plate: &[[f64; N + 2]]) -> f64 {
    let sum: f64 = plate[1..=N].iter().map(|row| row[1..=N].iter().sum::<f64>()).sum();
    sum / (N * N) as f64
}

pub fn heat() -> [f64; 2] {
    let (mut old, mut new, mut change) = (plate(), plate(), 0.0);
    for _ in 0..STEPS {
        change = 0.0;
        for i in 1..=N {
            change = relax(&old[i - 1], &old[i], &old[i + 1], &mut new[i]).max(change);
        }
        std::mem::swap(&mut old, &mut new);
    }
    [mean(&old), change]
}
