//! Exact fractions, the unit in which steps and words are counted.

use std::cmp::Ordering;
use std::fmt;

use phalanx::schedule::Words;

/// An exact fraction in lowest terms, its denominator positive.
///
/// Arithmetic is checked: `None` where a numerator or denominator leaves the
/// range of `i128`, and for a division by zero.
///
/// # Examples
/// ```
/// use phalanx_model::Ratio;
/// let half = Ratio::new(3, 6).unwrap();
/// assert_eq!(half.to_string(), "1/2");
/// assert_eq!(half.add(half), Some(Ratio::from(1)));
/// assert_eq!(half.div(Ratio::from(0)), None);
/// assert!(half < Ratio::from(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    over: i128,
    under: i128,
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Ratio = Ratio { over: 0, under: 1 };

    /// `over / under`; none if `under` is 0 or a number is too large.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Ratio;
    /// assert_eq!(Ratio::new(2, -4).unwrap().to_string(), "-1/2");
    /// assert_eq!(Ratio::new(1, 0), None);
    /// ```
    pub fn new(over: i128, under: i128) -> Option<Ratio> {
        if under == 0 {
            return None;
        }
        let divisor = i128::try_from(gcd(over.unsigned_abs(), under.unsigned_abs())).ok()?;
        let sign = under.signum();
        let over = (over / divisor).checked_mul(sign)?;
        Some(Ratio { over, under: (under / divisor).checked_mul(sign)? })
    }

    /// A fraction of counts, which cannot be out of range; `under` 0 counts
    /// as 1.
    pub(crate) fn of(over: usize, under: usize) -> Ratio {
        Ratio::new(over as i128, under.max(1) as i128).unwrap_or(Ratio::ZERO)
    }

    /// The numerator.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Ratio;
    /// let x = Ratio::new(6, 4).unwrap();
    /// assert_eq!((x.numerator(), x.denominator()), (3, 2));
    /// ```
    pub const fn numerator(self) -> i128 {
        self.over
    }

    /// The denominator, always positive.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Ratio::from(5).denominator(), 1);
    /// ```
    pub const fn denominator(self) -> i128 {
        self.under
    }

    /// The sum.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Ratio;
    /// assert_eq!(Ratio::from(1).add(Ratio::new(1, 2).unwrap()), Ratio::new(3, 2));
    /// ```
    // Checked, unlike the operators of the same names.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, other: Ratio) -> Option<Ratio> {
        let (a, b) = (self.over.checked_mul(other.under)?, other.over.checked_mul(self.under)?);
        Ratio::new(a.checked_add(b)?, self.under.checked_mul(other.under)?)
    }

    /// The difference.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Ratio;
    /// assert_eq!(Ratio::from(1).sub(Ratio::new(1, 2).unwrap()), Ratio::new(1, 2));
    /// ```
    #[allow(clippy::should_implement_trait)]
    pub fn sub(self, other: Ratio) -> Option<Ratio> {
        self.add(Ratio { over: other.over.checked_neg()?, under: other.under })
    }

    /// The product.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Ratio;
    /// assert_eq!(Ratio::from(4).mul(Ratio::new(1, 2).unwrap()), Some(Ratio::from(2)));
    /// ```
    #[allow(clippy::should_implement_trait)]
    pub fn mul(self, other: Ratio) -> Option<Ratio> {
        // Cancelled crosswise first, so that only the result must fit.
        let a = Ratio::new(self.over, other.under)?;
        let b = Ratio::new(other.over, self.under)?;
        Ratio::new(a.over.checked_mul(b.over)?, a.under.checked_mul(b.under)?)
    }

    /// The quotient; none if `other` is 0.
    ///
    /// # Examples
    /// ```
    /// use phalanx_model::Ratio;
    /// assert_eq!(Ratio::from(2).div(Ratio::from(4)), Ratio::new(1, 2));
    /// ```
    #[allow(clippy::should_implement_trait)]
    pub fn div(self, other: Ratio) -> Option<Ratio> {
        self.mul(Ratio::new(other.under, other.over)?)
    }

    /// The nearest floating-point number.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(phalanx_model::Ratio::new(3, 4).unwrap().to_f64(), 0.75);
    /// ```
    pub fn to_f64(self) -> f64 {
        self.over as f64 / self.under as f64
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        // By the digits of the continued fractions: exact, and cannot overflow.
        let (mut a, mut b) = (*self, *other);
        let mut swapped = false;
        loop {
            let whole = a.over.div_euclid(a.under).cmp(&b.over.div_euclid(b.under));
            let (x, y) = (a.over.rem_euclid(a.under), b.over.rem_euclid(b.under));
            let order = match (whole, x, y) {
                (Ordering::Equal, 0, 0) => Ordering::Equal,
                (Ordering::Equal, 0, _) => Ordering::Less,
                (Ordering::Equal, _, 0) => Ordering::Greater,
                (Ordering::Equal, _, _) => {
                    (a, b) = (Ratio { over: a.under, under: x }, Ratio { over: b.under, under: y });
                    swapped = !swapped;
                    continue;
                }
                (different, _, _) => different,
            };
            return if swapped { order.reverse() } else { order };
        }
    }
}

impl From<usize> for Ratio {
    fn from(n: usize) -> Ratio {
        Ratio { over: n as i128, under: 1 }
    }
}

impl From<Words> for Ratio {
    fn from(w: Words) -> Ratio {
        Ratio { over: w.numerator().into(), under: w.denominator().into() }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.under {
            1 => f.pad(&self.over.to_string()),
            under => f.pad(&format!("{}/{under}", self.over)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_exact() {
        let mut all = Vec::new();
        for over in -7..=7 {
            for under in 1..=7 {
                all.push(Ratio::new(over, under).unwrap());
            }
        }
        for a in &all {
            for b in &all {
                assert_eq!(a.cmp(b), (a.over * b.under).cmp(&(b.over * a.under)), "{a} {b}");
                assert_eq!(a.sub(*b).unwrap().add(*b), Some(*a));
            }
        }
        let big = Ratio::new(i128::MAX, i128::MAX - 1).unwrap();
        assert!(big > Ratio::from(1) && big.add(big).is_none());
        assert_eq!(Ratio::new(i128::MIN, -1), None);
        assert_eq!(Ratio::from(Words::new(6, 4)), Ratio::new(3, 2).unwrap());
    }
}
