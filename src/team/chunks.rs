//! Slices of the caller's of which a region lends its ranks blocks.

use super::distributed_array::DistributedArray;
use super::per_rank::PerRank;
use crate::dist::{Blocks, Cut};
use sealed::{Lend, Lent, Slices};
use std::ops::Range;

/// The absence of a trait in the words of the public one, of whichever the compiler reports.
macro_rules! told {
    ($trait:item) => {
        #[diagnostic::on_unimplemented(
            message = "`{Self}` is nothing that is cut into blocks for ranks",
            label = "no slice, and no tuple of slices",
            note = "`&mut x`, `&x[..]` or `(&mut x, &y)` will do, where x and y are slices, \
                    `Vec`s, arrays or `DistributedArray`s, of elements that are `Send` (`Sync` \
                    for `&x`)"
        )]
        $trait
    };
}

told! {
    /// Data of which each rank of a region gets blocks: a slice, or a tuple of up to six slices of
    /// one length, which are cut alike; with a [`Cut`] or without.
    ///
    /// A slice is `&[T]` or `&mut [T]`, or a reference to a `Vec`, an array or a
    /// [`DistributedArray`]. (A closure that has a slice `x: &mut [T]` lends `&mut *x`.)
    pub trait Chunks: Lend<Lent: Lent<Block = <Self as Chunks>::Block>> {
        /// A block: of a slice a slice, of a tuple of slices a tuple of slices.
        type Block;
    }
}

#[diagnostic::do_not_recommend]
impl<D: Lend> Chunks for D {
    type Block = <D::Lent as Lent>::Block;
}

pub(crate) mod sealed {
    use super::{Blocks, Range};

    told! {
        /// The library's use of data that is cut.
        pub trait Lend {
            type Lent: Lent;

            fn lend<'cut>(self) -> (Self::Lent, Blocks<'cut>)
            where
                Self: 'cut;
        }
    }

    told! {
        /// Slices without a cut.
        pub trait Slices {
            type Lent: Lent;

            fn lent(self) -> Self::Lent;
        }
    }

    /// The slices as all ranks see them.
    ///
    /// # Safety
    /// Blocks of ranges that are apart may be used by several threads at once.
    pub unsafe trait Lent: Sync {
        type Block;

        /// The number of elements, of the first slice.
        fn len(&self) -> usize;

        /// Two numbers of elements, if there are different ones.
        fn differ(&self) -> Option<[usize; 2]>;

        /// # Safety
        /// - The range ascends, and ends at `len` or before; slices do not [differ](Lent::differ).
        /// - No block of an element of it was asked for before.
        unsafe fn block(&self, range: Range<usize>) -> Self::Block;
    }
}

// SAFETY: shared slices of elements that are `Sync`.
unsafe impl<'a, T: Sync> Lent for &'a [T] {
    type Block = &'a [T];

    #[inline(always)]
    fn len(&self) -> usize {
        (**self).len()
    }

    fn differ(&self) -> Option<[usize; 2]> {
        None
    }

    #[inline(always)]
    unsafe fn block(&self, range: Range<usize>) -> &'a [T] {
        // SAFETY: within the slice by the contract.
        unsafe { self.get_unchecked(range) }
    }
}

// SAFETY: slices that are apart, of elements that are `Send`.
unsafe impl<'a, T: Send> Lent for PerRank<'a, T> {
    type Block = &'a mut [T];

    #[inline(always)]
    fn len(&self) -> usize {
        PerRank::len(self)
    }

    fn differ(&self) -> Option<[usize; 2]> {
        None
    }

    #[inline(always)]
    unsafe fn block(&self, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: passed on.
        unsafe { self.slice(range) }
    }
}

macro_rules! slices {
    ($($buffer:ty $(, $n:ident)?;)+) => {
        $(
            impl<'a, T: Sync $(, const $n: usize)?> Slices for &'a $buffer {
                type Lent = &'a [T];

                #[inline(always)]
                fn lent(self) -> &'a [T] {
                    self
                }
            }

            impl<'a, T: Send $(, const $n: usize)?> Slices for &'a mut $buffer {
                type Lent = PerRank<'a, T>;

                #[inline(always)]
                fn lent(self) -> PerRank<'a, T> {
                    PerRank::new(self)
                }
            }
        )+
    };
}

slices! {
    [T];
    [T; N], N;
    Vec<T>;
    DistributedArray<T>;
}

macro_rules! tuples {
    ($(($($slice:ident $at:tt),+))+) => {
        $(
            // SAFETY: so are all of them.
            unsafe impl<$($slice: Lent),+> Lent for ($($slice,)+) {
                type Block = ($($slice::Block,)+);

                #[inline(always)]
                fn len(&self) -> usize {
                    self.0.len()
                }

                #[inline(always)]
                fn differ(&self) -> Option<[usize; 2]> {
                    let len = self.len();
                    None$(
                        .or_else(|| self.$at.differ())
                        .or_else(|| (self.$at.len() != len).then_some([len, self.$at.len()]))
                    )+
                }

                #[inline(always)]
                unsafe fn block(&self, range: Range<usize>) -> Self::Block {
                    // SAFETY: passed on; all have one length.
                    unsafe { ($(self.$at.block(range.clone()),)+) }
                }
            }

            #[diagnostic::do_not_recommend]
            impl<$($slice: Slices),+> Slices for ($($slice,)+) {
                type Lent = ($($slice::Lent,)+);

                #[inline(always)]
                fn lent(self) -> Self::Lent {
                    ($(self.$at.lent(),)+)
                }
            }
        )+
    };
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

#[diagnostic::do_not_recommend]
impl<S: Slices> Lend for S {
    type Lent = S::Lent;

    #[inline(always)]
    fn lend<'cut>(self) -> (S::Lent, Blocks<'cut>)
    where
        S: 'cut,
    {
        (self.lent(), Blocks::Equal)
    }
}

#[diagnostic::do_not_recommend]
impl<S: Slices> Lend for Cut<'_, S> {
    type Lent = S::Lent;

    #[inline(always)]
    fn lend<'cut>(self) -> (S::Lent, Blocks<'cut>)
    where
        Self: 'cut,
    {
        (self.data.lent(), self.blocks)
    }
}
