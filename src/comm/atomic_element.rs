//! Numbers that ranks may write at the same time.

use crate::element::Element;
use crate::op::float_control::FloatControl;
use crate::op::{Max, Min, Operator};
use crate::sync::of_users as std_atomics;
use std::fmt;
use std_atomics::{AtomicU32, AtomicU64, Ordering};

/// A number with an atomic form: integers and `bool` with the standard library's, `f32` and `f64`
/// with [`AtomicF32`] and [`AtomicF64`]. For [`Comm::shared_atomic`](crate::Comm::shared_atomic).
///
/// The trait is sealed: windows rely on the atomic having the size of the number and the same
/// bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no atomic form",
    label = "not an integer, `bool`, `f32` or `f64`"
)]
pub trait AtomicElement: Element + Default + sealed::Sealed {
    /// The atomic form.
    type Atomic: fmt::Debug + Send + Sync + 'static;
}

mod sealed {
    pub trait Sealed {
        /// The atomic form of this value.
        fn into_atomic(self) -> Self::Atomic
        where
            Self: super::AtomicElement;
    }
}

macro_rules! atomic_elements {
    ($($number:ty, $atomic:ty;)*) => {$(
        impl AtomicElement for $number {
            type Atomic = $atomic;
        }

        impl sealed::Sealed for $number {
            fn into_atomic(self) -> $atomic {
                const { assert!(size_of::<$number>() == size_of::<$atomic>()) }
                const { assert!(align_of::<$number>() <= align_of::<$atomic>()) }
                <$atomic>::new(self)
            }
        }
    )*};
}

atomic_elements! {
    bool, std_atomics::AtomicBool;
    u8, std_atomics::AtomicU8;
    u16, std_atomics::AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
    usize, std_atomics::AtomicUsize;
    i8, std_atomics::AtomicI8;
    i16, std_atomics::AtomicI16;
    i32, std_atomics::AtomicI32;
    i64, std_atomics::AtomicI64;
    isize, std_atomics::AtomicIsize;
    f32, AtomicF32;
    f64, AtomicF64;
}

macro_rules! atomic_floats {
    ($($(#[$doc:meta])* $name:ident, $float:ty, $bits:ty;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name($bits);

        impl $name {
            /// Of this value.
            pub const fn new(value: $float) -> Self {
                $name(<$bits>::new(value.to_bits()))
            }

            /// The value.
            #[inline]
            pub fn load(&self, order: Ordering) -> $float {
                <$float>::from_bits(self.0.load(order))
            }

            /// Replaces the value.
            #[inline]
            pub fn store(&self, value: $float, order: Ordering) {
                self.0.store(value.to_bits(), order);
            }

            /// Replaces the value, and returns the one before.
            #[inline]
            pub fn swap(&self, value: $float, order: Ordering) -> $float {
                <$float>::from_bits(self.0.swap(value.to_bits(), order))
            }

            /// Replaces the value if its bits are those of `current` (0 and -0 differ, and a NaN
            /// equals itself). Returns the value before, as an error if it was another.
            ///
            /// # Errors
            /// The value, if it is not `current`.
            ///
            /// # Panics
            /// As the standard library's, on a `failure` that is a release.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $float,
                new: $float,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$float, $float> {
                let (current, new) = (current.to_bits(), new.to_bits());
                let result = self.0.compare_exchange(current, new, success, failure);
                result.map(<$float>::from_bits).map_err(<$float>::from_bits)
            }

            /// Adds `value`, and returns the value before. The order of several ranks' additions is
            /// no more determined than that of their calls, and with it the last bits of a sum.
            #[inline]
            pub fn fetch_add(&self, value: $float, order: Ordering) -> $float {
                FloatControl::STANDARD.during(|| self.update(order, |now| now + value))
            }

            /// Keeps the smaller of its value and `value`, as [`Min`] does, and returns the value
            /// before. In whatever order ranks come, the same bits are left.
            #[inline]
            pub fn fetch_min(&self, value: $float, order: Ordering) -> $float {
                FloatControl::STANDARD.during(|| self.update(order, |now| Min.combine(now, value)))
            }

            /// Keeps the larger of its value and `value`, as [`Max`] does, and returns the value
            /// before.
            #[inline]
            pub fn fetch_max(&self, value: $float, order: Ordering) -> $float {
                FloatControl::STANDARD.during(|| self.update(order, |now| Max.combine(now, value)))
            }

            #[inline(always)]
            fn update(&self, order: Ordering, f: impl Fn($float) -> $float) -> $float {
                // Relaxed: the value is only looked at to be replaced, if it is still the same.
                let mut now = self.0.load(Ordering::Relaxed);
                loop {
                    let new = f(<$float>::from_bits(now)).to_bits();
                    match self.0.compare_exchange_weak(now, new, order, Ordering::Relaxed) {
                        Ok(_) => return <$float>::from_bits(now),
                        Err(other) => now = other,
                    }
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }
    )*};
}

atomic_floats! {
    /// An `f32` that several ranks may write at the same time: see [`AtomicF64`].
    AtomicF32, f32, AtomicU32;
    /// An `f64` that several ranks may write at the same time, with the methods and orderings of
    /// the standard library's atomics. A change of the value is a loop of compare-exchanges on its
    /// bits.
    ///
    /// ```
    /// use phalanx::AtomicF64;
    /// use std::sync::atomic::Ordering::Relaxed;
    /// let x = AtomicF64::new(1.5);
    /// assert_eq!(x.fetch_add(2.0, Relaxed), 1.5);
    /// assert_eq!(x.compare_exchange(3.5, -1.0, Relaxed, Relaxed), Ok(3.5));
    /// assert_eq!(x.load(Relaxed), -1.0);
    /// ```
    AtomicF64, f64, AtomicU64;
}
