//! The median, for the tools, the benches and the examples.

#![allow(unreachable_pub, reason = "an example compiles this file by itself")]

/// The median of `values` in any order, of an even number the mean of the two in the middle; of
/// none, NaN.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}
