//! Complex numbers as the library reduces them.

use phalanx::op::Operator;

/// A complex number.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Complex<T>(T, T);

/// The sum and the product of complex numbers.
#[derive(Clone, Copy, Debug)]
pub struct ComplexSum;
/// See [`ComplexSum`].
#[derive(Clone, Copy, Debug)]
pub struct ComplexProduct;

macro_rules! complex {
    ($($type:ty),*) => {$(
        impl Operator<Complex<$type>> for ComplexSum {
            const NAME: &'static str = "sum";
            const COMMUTATIVE: bool = true;

            fn combine(&self, a: Complex<$type>, b: Complex<$type>) -> Complex<$type> {
                Complex(a.0 + b.0, a.1 + b.1)
            }
        }

        impl Operator<Complex<$type>> for ComplexProduct {
            const NAME: &'static str = "prod";
            const COMMUTATIVE: bool = true;

            fn combine(&self, a: Complex<$type>, b: Complex<$type>) -> Complex<$type> {
                Complex(a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
            }
        }
    )*};
}
complex!(f32, f64);
