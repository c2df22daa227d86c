//! Arrays with a halo: a rank's part of a grid, with a border for copies of its neighbours'
//! outermost cells.
//!
//! ```text
//!        w     n      w
//!      +---+-------+---+
//!    w |   |  low  |   |     the array: (w + n + w) x .., the last index fastest
//!      +---+-------+---+
//!    n |   |  own  |   |     own cells: n x .. from index w on
//!      +---+-------+---+
//!    w |   |  high |   |     corners: filled only `with_corners`
//!      +---+-------+---+
//! ```

use crate::topology::DisplayExtents;
use std::fmt;
use std::ops::Range;

/// The most dimensions that an array with a halo can have.
pub const MAX_DIMENSIONS: usize = 8;

type Axes = [usize; MAX_DIMENSIONS];

/// The shape of a rank's part of a grid with a halo around it, which
/// [`Cart::exchange_halo`](crate::Cart::exchange_halo) fills.
///
/// The part is one contiguous array, the last index the fastest, of which each
/// extent is the number of own cells plus twice the width.
///
/// # Examples
/// ```
/// use phalanx::dist::Halo;
/// let halo = Halo::new(&[3, 4], 1);
/// assert_eq!(halo.len(), 5 * 6);
/// assert_eq!(halo.index(&[0, 0]), 7); // the first own cell
/// assert_eq!(halo.index(&[-1, 0]), 1); // above it: in the halo
/// let rows: Vec<_> = halo.rows().collect();
/// assert_eq!(rows, [7..11, 13..17, 19..23]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Halo {
    dims: usize,
    extents: Axes,
    widths: Axes,
    corners: bool,
}

/// A box of cells: where it begins, and its extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) start: Axes,
    pub(crate) shape: Axes,
}

impl Halo {
    /// Own cells `extents`, with a halo `width` cells wide on every side. No
    /// corners are exchanged.
    ///
    /// # Panics
    /// If there is no dimension, or more than [`MAX_DIMENSIONS`].
    #[track_caller]
    pub fn new(extents: &[usize], width: usize) -> Self {
        Halo::with_widths(extents, &vec![width; extents.len()])
    }

    /// [`new`](Halo::new) with a width of its own for each dimension; nothing is
    /// exchanged along one of width 0.
    ///
    /// ```
    /// use phalanx::dist::Halo;
    /// assert_eq!(Halo::with_widths(&[10, 10], &[2, 0]).len(), 14 * 10);
    /// ```
    ///
    /// # Panics
    /// If there is not one width for each extent; and as [`new`](Halo::new).
    #[track_caller]
    pub fn with_widths(extents: &[usize], widths: &[usize]) -> Self {
        let dims = extents.len();
        assert!(
            (1..=MAX_DIMENSIONS).contains(&dims),
            "a halo of {dims} dimensions; 1 to {MAX_DIMENSIONS} are possible"
        );
        assert_eq!(dims, widths.len(), "a halo needs one width for each of its extents");
        let mut halo = Halo {
            dims,
            extents: [1; MAX_DIMENSIONS],
            widths: [0; MAX_DIMENSIONS],
            corners: false,
        };
        halo.extents[..dims].copy_from_slice(extents);
        halo.widths[..dims].copy_from_slice(widths);
        halo
    }

    /// This halo with edges and corners included: they are exchanged dimension by
    /// dimension, the first one first, each including the halos filled before.
    ///
    /// ```
    /// assert!(phalanx::dist::Halo::new(&[8, 8], 1).with_corners().corners());
    /// ```
    #[must_use]
    pub fn with_corners(mut self) -> Self {
        self.corners = true;
        self
    }

    /// Whether edges and corners are exchanged.
    pub fn corners(&self) -> bool {
        self.corners
    }

    /// The number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.dims
    }

    /// Own cells along each dimension.
    pub fn extents(&self) -> &[usize] {
        &self.extents[..self.dims]
    }

    /// The width of the halo along each dimension.
    pub fn widths(&self) -> &[usize] {
        &self.widths[..self.dims]
    }

    /// Cells of the array along dimension `dim`, halo included.
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn total(&self, dim: usize) -> usize {
        self.extents[..self.dims][dim].saturating_add(self.widths[dim].saturating_mul(2))
    }

    /// Elements of the array, halo included; `usize::MAX` if that is not enough
    /// to count them.
    #[allow(clippy::len_without_is_empty)] // An array with a halo is none that may be empty.
    pub fn len(&self) -> usize {
        (0..self.dims).fold(1, |n: usize, d| n.saturating_mul(self.total(d)))
    }

    /// Elements between neighbours along dimension `dim`; `usize::MAX` if that is
    /// not enough to count them.
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn stride(&self, dim: usize) -> usize {
        assert!(dim < self.dims, "dimension {dim} of {}", self.dims);
        (dim + 1..self.dims).fold(1, |n: usize, d| n.saturating_mul(self.total(d)))
    }

    /// The index in the array of the cell at `at`, counted from the first own
    /// cell: -1 is in the halo before it.
    ///
    /// # Panics
    /// If it is outside of the array, or there is not one coordinate for each
    /// dimension, or `usize` does not count the cells up to it.
    pub fn index(&self, at: &[isize]) -> usize {
        assert_eq!(at.len(), self.dims, "one coordinate for each dimension");
        (0..self.dims).fold(0, |index: usize, d| {
            let c = at[d].checked_add_unsigned(self.widths[d]).map(usize::try_from);
            let Some(Ok(c)) = c.filter(|c| c.is_ok_and(|c| c < self.total(d))) else {
                panic!("coordinate {} along dimension {d} of {self:?}", at[d]);
            };
            let next = index.checked_mul(self.total(d)).and_then(|at| at.checked_add(c));
            // The largest number stands for those that are not counted.
            let Some(next) = next.filter(|&next| next < usize::MAX) else {
                panic!("cell {at:?} of {self:?}, which has more cells than can be counted");
            };
            next
        })
    }

    /// The own cells as ranges of the array, one for each row along the last
    /// dimension, in order.
    ///
    /// # Panics
    /// If there are own cells, and `usize` does not count the cells of the array.
    pub fn rows(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let halo = *self;
        let last = halo.dims - 1;
        // No rows, where one extent is 0 and the others are beyond counting.
        let rows = match halo.extents[..last].contains(&0) {
            true => 0,
            false => halo.extents[..last].iter().fold(1, |n: usize, &e| n.saturating_mul(e)),
        };
        let is_countable = halo.len() < usize::MAX;
        assert!(rows == 0 || is_countable, "{halo:?} has more cells than can be counted");
        (0..rows).map(move |mut row| {
            let mut at = halo.widths[last];
            let mut stride = halo.total(last);
            for d in (0..last).rev() {
                at += (halo.widths[d] + row % halo.extents[d]) * stride;
                row /= halo.extents[d];
                stride = stride.saturating_mul(halo.total(d));
            }
            at..at + halo.extents[last]
        })
    }

    /// The demands of an exchange: in each dimension with a halo, as many own cells as it is wide;
    /// and distances between cells that can be counted, which those of an array without any cells
    /// need not be.
    ///
    /// ```
    /// use phalanx::dist::Halo;
    /// assert_eq!(Halo::new(&[3, 4], 1).problem(), None);
    /// assert!(Halo::new(&[1], 2).problem().unwrap().contains("only 1 own cells"));
    /// ```
    pub fn problem(&self) -> Option<String> {
        let cells = (0..self.dims).try_fold(1, |n: usize, d| {
            let total = self.widths[d].checked_mul(2)?.checked_add(self.extents[d])?;
            n.checked_mul(total.max(1))
        });
        if cells.is_none() {
            return Some(format!(
                "{self:?} has more cells along its dimensions than can be counted"
            ));
        }
        (0..self.dims).find(|&d| self.widths[d] > self.extents[d]).map(|d| {
            let (w, n) = (self.widths[d], self.extents[d]);
            format!("a halo of width {w} along dimension {d}, where there are only {n} own cells")
        })
    }

    /// Where the own cells lie in the array that the neighbour before this rank along dimension
    /// `dim` copies into its halo; that after it, if `last`. Ranges of cells that follow one
    /// another, in the order of [`ghost_rows`](Halo::ghost_rows).
    ///
    /// # Panics
    /// If there is no such dimension; and as [`rows`](Halo::rows).
    ///
    /// ```
    /// use phalanx::dist::Halo;
    /// let halo = Halo::new(&[2, 3], 1); // an array of 4 x 5
    /// assert!(halo.face_rows(0, false).eq([6..9]));
    /// assert!(halo.face_rows(1, true).eq([8..9, 13..14]));
    /// ```
    pub fn face_rows(&self, dim: usize, last: bool) -> impl Iterator<Item = Range<usize>> + use<> {
        self.rows_of(dim, self.face(dim, last))
    }

    /// Where the halo's cells lie that come from the neighbour before this rank along dimension
    /// `dim`; from that after it, if `after`.
    ///
    /// # Panics
    /// As [`face_rows`](Halo::face_rows).
    ///
    /// ```
    /// use phalanx::dist::Halo;
    /// let halo = Halo::new(&[2, 3], 1);
    /// assert!(halo.ghost_rows(0, true).eq([16..19]));
    /// ```
    pub fn ghost_rows(
        &self,
        dim: usize,
        after: bool,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        self.rows_of(dim, self.ghost(dim, after))
    }

    fn rows_of(
        &self,
        dim: usize,
        Region { start, shape }: Region,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        let (halo, last) = (*self, self.dims - 1);
        assert!(dim < self.dims, "dimension {dim} of {}", self.dims);
        let is_countable = self.len() < usize::MAX;
        let is_empty = shape[..self.dims].contains(&0);
        assert!(is_empty || is_countable, "{self:?} has more cells than can be counted");
        let rows = if is_empty { 0 } else { shape[..last].iter().product() };
        (0..rows).map(move |mut row| {
            let (mut at, mut stride) = (start[last], halo.total(last));
            for d in (0..last).rev() {
                at += (start[d] + row % shape[d]) * stride;
                row /= shape[d];
                stride *= halo.total(d);
            }
            at..at + shape[last]
        })
    }

    /// The cells of the other dimensions that belong to a face across dimension `dim`,
    /// and `at` along it, as wide as the halo.
    fn slab(&self, dim: usize, at: usize) -> Region {
        let mut region = Region { start: self.widths, shape: self.extents };
        if self.corners {
            for d in 0..dim {
                (region.start[d], region.shape[d]) = (0, self.total(d));
            }
        }
        (region.start[dim], region.shape[dim]) = (at, self.widths[dim]);
        region
    }

    /// The halo before (or `after`) the own cells along `dim`.
    pub(crate) fn ghost(&self, dim: usize, after: bool) -> Region {
        self.slab(dim, if after { self.widths[dim].saturating_add(self.extents[dim]) } else { 0 })
    }

    /// The first (or the `last`) own cells along `dim`, as many as the halo is
    /// wide: those that the neighbour there has in its halo.
    pub(crate) fn face(&self, dim: usize, last: bool) -> Region {
        self.slab(dim, if last { self.extents[dim] } else { self.widths[dim] })
    }

    /// Whether both are one shape: `==` without two calls of `memcmp`.
    #[inline(always)]
    pub(crate) fn is(&self, other: &Halo) -> bool {
        let same = |a: &Axes, b: &Axes| (0..self.dims.min(MAX_DIMENSIONS)).all(|d| a[d] == b[d]);
        (self.dims, self.corners) == (other.dims, other.corners)
            && same(&self.extents, &other.extents)
            && same(&self.widths, &other.widths)
    }

    /// A number that is the same for neighbours along `dim` that fit, and
    /// almost surely another for those that do not.
    pub(crate) fn digest(&self, dim: usize) -> u64 {
        let shape = self.face(dim, false).shape;
        let numbers = shape[..self.dims].iter().chain(self.widths()).map(|&n| n as u64);
        let rest = [dim as u64, u64::from(self.corners)];
        // FNV-1a, a word at a time.
        let mix = |h: u64, n: u64| (h ^ n).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        numbers.chain(rest).fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// Cells of a face across `dim`.
    pub(crate) fn face_cells(&self, dim: usize) -> usize {
        let shape = self.face(dim, false).shape;
        shape[..self.dims].iter().fold(1, |n: usize, &extent| n.saturating_mul(extent))
    }

    /// How a neighbour along `dim` does not fit, if so: expected and got.
    pub(crate) fn misfit(&self, dim: usize, peer: &Halo) -> Option<String> {
        if self.dims != peer.dims {
            return Some(format!("dimensions: expected {}, got {}", self.dims, peer.dims));
        }
        let is_one = self.face(dim, false).shape == peer.face(dim, false).shape
            && (self.widths, self.corners) == (peer.widths, peer.corners);
        (!is_one).then(|| {
            let (own, got) = (self.face_in_words(dim), peer.face_in_words(dim));
            format!("face across dimension {dim}: expected {own}, got {got}")
        })
    }

    /// How a neighbour of unknown shape does not fit along `dim`.
    pub(crate) fn misfit_with_unknown(&self, dim: usize) -> String {
        format!("face across dimension {dim}: expected {}, got another", self.face_in_words(dim))
    }

    fn face_in_words(&self, dim: usize) -> String {
        let shape = self.face(dim, false).shape;
        let corners = if self.corners { " with corners" } else { "" };
        let (shape, widths) = (DisplayExtents(&shape[..self.dims]), DisplayExtents(self.widths()));
        format!("{shape} cells (halo of width {widths}{corners})")
    }
}

impl fmt::Debug for Halo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (own, widths) = (DisplayExtents(self.extents()), DisplayExtents(self.widths()));
        write!(f, "Halo({own} + {widths}{})", if self.corners { ", corners" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(halo: &Halo, region: Region) -> Vec<usize> {
        let dims = halo.dimensions();
        let count: usize = region.shape[..dims].iter().product();
        let cell = |mut k: usize| {
            let (mut index, mut stride) = (0, 1);
            for d in (0..dims).rev() {
                index += (region.start[d] + k % region.shape[d]) * stride;
                k /= region.shape[d];
                stride *= halo.total(d);
            }
            index
        };
        (0..count).map(cell).collect()
    }

    #[test]
    fn cells_beyond_counting_have_no_index() {
        let fails = |f: &dyn Fn() -> usize| {
            let text = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
            let text = text.downcast::<String>().unwrap();
            assert!(text.contains("more cells than can be counted"), "{text}");
        };
        let halo = Halo::new(&[1 << 40, 1 << 40], 1);
        fails(&|| halo.index(&[1 << 39, 0]));
        fails(&|| halo.rows().count());
        fails(&|| Halo::new(&[2, usize::MAX], 1).index(&[0, -1]));
        // Where the numbers suffice, and where there is nothing to count.
        assert_eq!(halo.index(&[0, 0]), (1 << 40) + 3);
        assert_eq!(Halo::new(&[0, usize::MAX], 1).rows().count(), 0);
    }

    /// Own cells, ghosts of all sides and (with corners) nothing else: every
    /// cell belongs to exactly one; faces are own cells (or filled ghosts).
    #[test]
    fn own_cells_and_ghosts_are_a_partition() {
        for halo in [
            Halo::new(&[5], 2),
            Halo::new(&[3, 4], 1),
            Halo::with_widths(&[3, 4, 2], &[1, 0, 2]),
            Halo::new(&[2, 3, 2, 2], 1),
        ] {
            for halo in [halo, halo.with_corners()] {
                let mut seen = vec![0; halo.len()];
                halo.rows().flatten().for_each(|i| seen[i] += 1);
                assert_eq!(seen.iter().sum::<usize>(), halo.extents().iter().product::<usize>());
                for dim in 0..halo.dimensions() {
                    for side in [false, true] {
                        let (ghost, face) = (halo.ghost(dim, side), halo.face(dim, !side));
                        assert_eq!(ghost.shape, face.shape);
                        // All cells that are read now are there already.
                        assert!(cells(&halo, face).iter().all(|&i| seen[i] == 1), "{halo:?}");
                        if halo.corners() {
                            cells(&halo, ghost).iter().for_each(|&i| seen[i] += 1);
                        }
                    }
                }
                assert!(!halo.corners() || seen.iter().all(|&n| n == 1), "{halo:?}");
            }
        }
    }

    #[test]
    fn indices() {
        let halo = Halo::new(&[2, 3], 2);
        assert_eq!((halo.stride(0), halo.stride(1)), (7, 1));
        assert_eq!(halo.index(&[-2, -2]), 0);
        assert_eq!(halo.index(&[3, 4]), halo.len() - 1);
        let rows: Vec<_> = Halo::new(&[2, 1, 3], 1).rows().collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].start, Halo::new(&[2, 1, 3], 1).index(&[1, 0, 0]));
        assert!(std::panic::catch_unwind(|| halo.index(&[4, 0])).is_err());
        assert!(Halo::new(&[3, 1], 2).problem().unwrap().contains("dimension 1"));
    }

    /// An array of no cells, with distances that are too far apart for a number.
    #[test]
    fn extents_beyond_counting() {
        for (extents, width) in
            [([0, usize::MAX / 2, 8], 0), ([usize::MAX, 0, 2], 0), ([4, usize::MAX / 2, 4], 2)]
        {
            let halo = Halo::new(&extents, width);
            assert!(halo.problem().unwrap().contains("counted"), "{halo:?}");
            let strides: Vec<usize> = (0..3).map(|d| halo.stride(d)).collect();
            assert_eq!(strides[2], 1, "{strides:?}");
        }
        assert_eq!(Halo::new(&[0, usize::MAX / 2, 8], 0).rows().count(), 0);
        assert_eq!(Halo::new(&[0, 3, 8], 0).problem(), None);
    }
}
