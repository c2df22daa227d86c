//! The mixed-radix view of ring, mesh, torus and hypercube.

use std::fmt;
use std::str::FromStr;

use super::squarest;

/// The extents of a mesh of any number of dimensions, of which the *last* is the fastest, as in a
/// [`Cartesian`](super::Cartesian) grid: `3x4` is a mesh of three rows and four columns, with
/// rank = row * 4 + column.
///
/// # Examples
/// ```
/// use phalanx::topology::Extents;
/// let mesh: Extents = "3x4".parse()?;
/// assert_eq!(mesh, Extents::mesh(3, 4));
/// assert_eq!((mesh.extent(0), mesh.extent(1)), (3, 4));
/// assert_eq!(mesh.coordinates(6), [1, 2]); // row 1, column 2
/// assert_eq!(mesh.neighbour(7, 1, 1), 4); // the row's wrap-around
/// assert_eq!(mesh.to_string(), "3x4");
/// # Ok::<(), phalanx::topology::BadExtents>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Extents {
    extents: Vec<usize>,
    /// `strides[j + 1]` ranks lie between neighbours along dimension `j`; the first entry, one more
    /// than there are dimensions, is the number of ranks.
    strides: Vec<usize>,
}

impl Extents {
    /// The extents in the order of the dimensions, the last the fastest.
    ///
    /// # Errors
    /// No extents, one of 0, or a product beyond `usize`.
    pub fn new(extents: impl Into<Vec<usize>>) -> Result<Self, BadExtents> {
        let extents = extents.into();
        if extents.is_empty() || extents.contains(&0) {
            return Err(BadExtents::Empty);
        }
        let mut strides = vec![1usize; extents.len() + 1];
        for (j, &n) in extents.iter().enumerate().rev() {
            strides[j] = strides[j + 1].checked_mul(n).ok_or(BadExtents::TooLarge)?;
        }
        Ok(Extents { extents, strides })
    }

    /// Of extents that are at least 1.
    fn known(extents: Vec<usize>) -> Self {
        match Extents::new(extents) {
            Ok(known) => known,
            // A product that wraps would pass for a mesh of few ranks.
            Err(e) => panic!("{e}"),
        }
    }

    /// A ring (or linear array) of `ranks` ranks; of one if `ranks` is 0.
    pub fn ring(ranks: usize) -> Self {
        Extents::known(vec![ranks.max(1)])
    }

    /// A mesh of `rows` times `columns` ranks, rank = row * columns + column.
    ///
    /// # Panics
    /// If there are more ranks than `usize` can count.
    pub fn mesh(rows: usize, columns: usize) -> Self {
        Extents::known(vec![rows.max(1), columns.max(1)])
    }

    /// The mesh of `ranks` ranks nearest to a square.
    pub fn squarest(ranks: usize) -> Self {
        let (rows, columns) = squarest(ranks.max(1));
        Extents::mesh(rows, columns)
    }

    /// The hypercube of `dimensions` dimensions; a single rank has none of
    /// extent 2, and one of extent 1.
    ///
    /// # Panics
    /// If `2^dimensions` is more than `usize` can count.
    pub fn hypercube(dimensions: usize) -> Self {
        if dimensions == 0 { Extents::ring(1) } else { Extents::known(vec![2; dimensions]) }
    }

    /// The number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.extents.len()
    }

    /// The number of ranks: the product of the extents.
    pub fn ranks(&self) -> usize {
        self.strides[0]
    }

    pub(crate) fn as_slice(&self) -> &[usize] {
        &self.extents
    }

    /// The extent of dimension `dim`.
    pub fn extent(&self, dim: usize) -> usize {
        self.extents[dim]
    }

    /// The extent of the last dimension: the ranks of a row.
    pub fn columns(&self) -> usize {
        self.extents[self.extents.len() - 1]
    }

    /// The difference of rank between neighbours along dimension `dim`.
    pub fn stride(&self, dim: usize) -> usize {
        self.strides[dim + 1]
    }

    /// The coordinate of `rank` in dimension `dim`.
    pub fn coordinate(&self, rank: usize, dim: usize) -> usize {
        rank / self.stride(dim) % self.extents[dim]
    }

    /// All coordinates of `rank`, dimension 0 first.
    pub fn coordinates(&self, rank: usize) -> Vec<usize> {
        (0..self.dimensions()).map(|j| self.coordinate(rank, j)).collect()
    }

    /// The rank with these coordinates, or none if one is out of range.
    ///
    /// # Examples
    /// ```
    /// use phalanx::topology::Extents;
    /// assert_eq!(Extents::mesh(3, 4).rank(&[1, 2]), Some(6));
    /// assert_eq!(Extents::mesh(3, 4).rank(&[1, 4]), None);
    /// ```
    pub fn rank(&self, coordinates: &[usize]) -> Option<usize> {
        let fits = coordinates.len() == self.dimensions()
            && coordinates.iter().zip(&self.extents).all(|(c, n)| c < n);
        fits.then(|| coordinates.iter().zip(&self.strides[1..]).map(|(c, s)| c * s).sum())
    }

    /// The rank on the line of `rank` along `dim` whose coordinate is `at`.
    pub fn on_line(&self, rank: usize, dim: usize, at: usize) -> usize {
        rank - self.coordinate(rank, dim) * self.stride(dim) + at * self.stride(dim)
    }

    /// The rank `by` positions further along dimension `dim`, round the torus.
    pub fn neighbour(&self, rank: usize, dim: usize, by: isize) -> usize {
        let n = self.extents[dim];
        let step = by.rem_euclid(n as isize) as usize;
        self.on_line(rank, dim, (self.coordinate(rank, dim) + step) % n)
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&DisplayExtents(&self.extents).to_string())
    }
}

impl fmt::Debug for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extents({self})")
    }
}

impl FromStr for Extents {
    type Err = BadExtents;

    fn from_str(s: &str) -> Result<Self, BadExtents> {
        let mut extents = Vec::new();
        for part in s.split(['x', 'X']) {
            let n = part.trim().parse().map_err(|_| BadExtents::Syntax(s.to_string()))?;
            extents.push(n);
        }
        Extents::new(extents)
    }
}

/// Extents that describe no mesh.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadExtents {
    /// Not numbers joined by `x`.
    Syntax(String),
    /// No dimension, or an extent of 0.
    Empty,
    /// The product is more than a `usize`.
    TooLarge,
}

impl fmt::Display for BadExtents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadExtents::Syntax(s) => {
                write!(f, "'{s}' is not a mesh; write rows x columns, such as 3x4 or 2x3x4")
            }
            BadExtents::Empty => f.write_str("every extent of a mesh must be at least 1"),
            BadExtents::TooLarge => f.write_str("the mesh has too many ranks"),
        }
    }
}

crate::error_type!(BadExtents: Self::Syntax(it), Self::Empty, Self::TooLarge);

/// Extents as `2x3x4`, in the order in which they are given.
pub(crate) struct DisplayExtents<'a>(pub(crate) &'a [usize]);

impl fmt::Display for DisplayExtents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, extent) in self.0.iter().enumerate() {
            write!(f, "{}{extent}", if i == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_and_rank_are_inverse() {
        let e: Extents = "2x3x4".parse().unwrap();
        assert_eq!(e.ranks(), 24);
        for r in 0..24 {
            assert_eq!(e.rank(&e.coordinates(r)), Some(r));
            for j in 0..3 {
                assert_eq!(e.neighbour(e.neighbour(r, j, 1), j, -1), r);
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for s in ["", "x", "3x", "axb", "-1x2"] {
            assert!(matches!(s.parse::<Extents>(), Err(BadExtents::Syntax(_))), "{s}");
        }
        assert_eq!("0x4".parse::<Extents>(), Err(BadExtents::Empty));
        assert_eq!(Extents::new([usize::MAX, 2]), Err(BadExtents::TooLarge));
    }

    /// In a build without overflow checks, too: `2^63 + 2` rows of two are no four ranks.
    #[test]
    #[should_panic = "the mesh has too many ranks"]
    fn a_product_that_wraps_is_no_mesh() {
        Extents::mesh((1 << (usize::BITS - 1)) + 2, 2);
    }
}
