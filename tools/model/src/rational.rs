//! Exact fractions, the unit in which steps and words are counted.

/// An exact fraction in lowest terms, its denominator positive.
///
/// # Examples
/// ```
/// use phalanx_model::Ratio;
/// assert_eq!(Ratio::new(3, -6).to_string(), "-1/2");
/// assert_eq!(Ratio::new(1, 2) + Ratio::new(1, 2), Ratio::from(1));
/// ```
pub type Ratio = num_rational::Ratio<i128>;

/// A fraction of counts; `under` 0 counts as 1.
pub(crate) fn ratio(over: usize, under: usize) -> Ratio {
    Ratio::new(over as i128, under.max(1) as i128)
}

/// The nearest floating-point number.
pub(crate) fn to_f64(ratio: Ratio) -> f64 {
    *ratio.numer() as f64 / *ratio.denom() as f64
}
