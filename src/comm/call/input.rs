//! The input of a call of two buffers.

/// The input of a call of two buffers: a slice, an array or a `Vec`, by `&`; by `&mut` where the
/// call is to be [set up](crate::Requests::set_up), as its input is filled between two starts.
///
/// # Examples
/// See [`all_gather_into`](super::all_gather_into).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no input of elements `{T}`",
    note = "an input is a slice, an array or a `Vec`, by reference: `&x[..]`"
)]
pub trait Input<'a, T>: sealed::Input<'a, T> {}

impl<'a, T, I: sealed::Input<'a, T>> Input<'a, T> for I {}

pub(super) mod sealed {
    /// The library's use of an input.
    pub trait Input<'a, T> {
        /// `&[T]` or `&mut [T]`.
        type Slice;
        fn slice(self) -> Self::Slice;
    }
}

macro_rules! inputs {
    ($($buffer:ty $(, $n:ident)?;)+) => {
        $(
            impl<'a, T $(, const $n: usize)?> sealed::Input<'a, T> for &'a $buffer {
                type Slice = &'a [T];

                #[inline(always)]
                fn slice(self) -> &'a [T] {
                    self
                }
            }

            impl<'a, T $(, const $n: usize)?> sealed::Input<'a, T> for &'a mut $buffer {
                type Slice = &'a mut [T];

                #[inline(always)]
                fn slice(self) -> &'a mut [T] {
                    self
                }
            }
        )+
    };
}

inputs! {
    [T];
    [T; N], N;
    Vec<T>;
}
