//! Cartesian grids of ranks: coordinates, neighbours, rows and columns, with
//! or without wrap-around.

use super::Extents;
use crate::sorted::Arrange;
use std::fmt;
use std::ops::Deref;

/// A grid of ranks of any number of dimensions, each periodic or not.
///
/// The *last* dimension is the fastest, as in a row-major array: on a 2 x 3
/// grid, rank = row * 3 + column.
///
/// # Examples
/// ```
/// use phalanx::topology::Cartesian;
/// // Two rows with ends, three columns round a ring.
/// let grid = Cartesian::new(6, &[2, 3], &[false, true])?;
/// assert_eq!(grid.coordinates(5), [1, 2]);
/// assert_eq!(grid.rank_of(&[1, 3]), Some(3)); // round the ring
/// assert_eq!(grid.rank_of(&[2, 0]), None); // beyond the last row
/// assert_eq!(grid.shift(5, 1, 1), (Some(4), Some(3)));
/// assert_eq!(grid.shift(5, 0, 1), (Some(2), None));
/// # Ok::<(), phalanx::topology::BadGrid>(())
/// ```
#[derive(PartialEq, Eq, Hash)]
pub struct Cartesian {
    dims: PerAxis<usize>,
    periodic: PerAxis<bool>,
}

impl Clone for Cartesian {
    // By force, as grids are handed out by value: the derived one is a call in some builds.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn clone(&self) -> Self {
        Cartesian { dims: self.dims.clone(), periodic: self.periodic.clone() }
    }
}

/// A value for each dimension. Grids are handed out by value in every time step, so the usual ones
/// own no memory.
#[derive(Clone, PartialEq, Eq, Hash)]
enum PerAxis<T> {
    /// So many; behind them are defaults.
    Few(u8, [T; FEW]),
    Many(Box<[T]>),
}

/// Dimensions whose values need no memory of their own.
const FEW: usize = 4;

impl<T: Copy + Default> From<&[T]> for PerAxis<T> {
    fn from(values: &[T]) -> Self {
        let Some(rest) = FEW.checked_sub(values.len()) else {
            return PerAxis::Many(values.into());
        };
        let mut few = [T::default(); FEW];
        few[..FEW - rest].copy_from_slice(values);
        PerAxis::Few(values.len() as u8, few)
    }
}

impl<T> Deref for PerAxis<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            PerAxis::Few(len, few) => &few[..usize::from(*len).min(FEW)],
            PerAxis::Many(many) => many,
        }
    }
}

impl Cartesian {
    /// The grid of `ranks` ranks with these extents, of which those that are 0
    /// are chosen as in [`balanced`]; `periodic` says for each dimension whether
    /// it wraps around.
    ///
    /// # Errors
    /// [`BadGrid`] if there is no such grid.
    pub fn new(ranks: usize, dims: &[usize], periodic: &[bool]) -> Result<Self, BadGrid> {
        if dims.len() != periodic.len() {
            return Err(BadGrid::Periodic { dims: dims.len(), given: periodic.len() });
        }
        let dims = PerAxis::from(&balanced(ranks, dims)?[..]);
        Ok(Cartesian { dims, periodic: periodic.into() })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.dims.iter().product()
    }

    /// The number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.dims.len()
    }

    /// The extents.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Which dimensions wrap around.
    pub fn periodic(&self) -> &[bool] {
        &self.periodic
    }

    /// The coordinates of `rank`.
    pub fn coordinates(&self, rank: usize) -> Vec<usize> {
        (0..self.dims.len()).map(|d| self.coordinate(rank, d)).collect()
    }

    /// The coordinate of `rank` in dimension `dim`.
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn coordinate(&self, rank: usize, dim: usize) -> usize {
        rank / self.stride(dim) % self.dims[dim]
    }

    fn stride(&self, dim: usize) -> usize {
        self.dims[dim + 1..].iter().product()
    }

    /// The rank at these coordinates; along a periodic dimension they are taken
    /// modulo the extent. None where there is no rank, or not one coordinate
    /// for each dimension.
    pub fn rank_of(&self, coordinates: &[isize]) -> Option<usize> {
        if coordinates.len() != self.dims.len() {
            return None;
        }
        let axes = self.dims.iter().zip(&*self.periodic).zip(coordinates);
        axes.map(|((&n, &wraps), &c)| match wraps {
            true => Some(c.rem_euclid(n as isize) as usize),
            false => usize::try_from(c).ok().filter(|&c| c < n),
        })
        .zip(&*self.dims)
        .try_fold(0, |rank, (c, n)| Some(rank * n + c?))
    }

    /// Whom `rank` receives from, and whom it sends to, when everybody sends
    /// `by` places further along dimension `dim`; none where the grid ends.
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn shift(&self, rank: usize, dim: usize, by: isize) -> (Option<usize>, Option<usize>) {
        let at = self.coordinate(rank, dim) as isize;
        let n = self.dims[dim] as isize;
        let stride = self.stride(dim);
        let to = |to: Option<isize>| {
            let to = to.filter(|to| (0..n).contains(to))?;
            Some(rank - at as usize * stride + to as usize * stride)
        };
        let step = if self.periodic[dim] { by.rem_euclid(n) } else { by };
        let around = |to: isize| if self.periodic[dim] { to.rem_euclid(n) } else { to };
        (to(at.checked_sub(step).map(around)), to(at.checked_add(step).map(around)))
    }

    /// Of the dimensions for which `keep` is true, the grid; and for `rank`,
    /// which of these grids it is in, and where.
    ///
    /// ```
    /// use phalanx::topology::Cartesian;
    /// let grid = Cartesian::new(6, &[2, 3], &[false, true])?;
    /// let (row, which, place) = grid.sub(4, &[false, true])?;
    /// assert_eq!((row.dims(), row.periodic()), (&[3][..], &[true][..]));
    /// assert_eq!((which, place), (1, 1)); // rank 4 stands in row 1, at place 1
    /// # Ok::<(), phalanx::topology::BadGrid>(())
    /// ```
    ///
    /// # Errors
    /// [`BadGrid::Keep`] if there is not one `keep` for each dimension. Nothing
    /// kept is a grid of one rank and one dimension.
    pub fn sub(&self, rank: usize, keep: &[bool]) -> Result<(Self, usize, usize), BadGrid> {
        if keep.len() != self.dims.len() {
            return Err(BadGrid::Keep { dims: self.dims.len(), given: keep.len() });
        }
        let (mut dims, mut periodic) = (Vec::new(), Vec::new());
        let (mut which, mut place) = (0, 0);
        for (d, &keep) in keep.iter().enumerate() {
            let (n, c) = (self.dims[d], self.coordinate(rank, d));
            if keep {
                dims.push(n);
                periodic.push(self.periodic[d]);
                place = place * n + c;
            } else {
                which = which * n + c;
            }
        }
        if dims.is_empty() {
            (dims, periodic) = (vec![1], vec![false]);
        }
        let (dims, periodic) = (PerAxis::from(&dims[..]), PerAxis::from(&periodic[..]));
        Ok((Cartesian { dims, periodic }, which, place))
    }

    /// This grid as [`Extents`].
    pub fn extents(&self) -> Extents {
        let dims = self.dims.to_vec();
        Extents::new(dims).expect("a grid's extents are at least 1, and their product was checked")
    }
}

impl fmt::Display for Cartesian {
    /// `2x3p`: two rows, three columns that wrap around.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes = self.dims.iter().zip(&*self.periodic);
        let axes: Vec<String> =
            axes.map(|(n, &wraps)| format!("{n}{}", if wraps { "p" } else { "" })).collect();
        f.pad(&axes.join("x"))
    }
}

impl fmt::Debug for Cartesian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cartesian({self})")
    }
}

/// Fills the extents that are 0, so that all multiply to `ranks`: of all ways
/// the one with the smallest largest extent, then the smallest second largest,
/// and so on, put down from the largest to the smallest (what
/// `MPI_Dims_create` is for).
///
/// # Errors
/// [`BadGrid`] if the given extents do not divide `ranks`, or there are none.
///
/// # Examples
/// ```
/// use phalanx::topology::balanced;
/// assert_eq!(balanced(12, &[0, 0])?, [4, 3]);
/// assert_eq!(balanced(36, &[0, 0, 0])?, [4, 3, 3]);
/// assert_eq!(balanced(12, &[0, 2, 0])?, [3, 2, 2]);
/// assert!(balanced(7, &[2, 0]).is_err());
/// # Ok::<(), phalanx::topology::BadGrid>(())
/// ```
pub fn balanced(ranks: usize, dims: &[usize]) -> Result<Vec<usize>, BadGrid> {
    let no = || BadGrid::Product { dims: dims.to_vec(), ranks };
    if dims.is_empty() || ranks == 0 {
        return Err(no());
    }
    let given = dims.iter().filter(|&&n| n > 0).try_fold(1usize, |a, &n| a.checked_mul(n));
    let given = given.filter(|&g| ranks.is_multiple_of(g)).ok_or_else(no)?;
    let open = dims.iter().filter(|&&n| n == 0).count();
    let rest = ranks / given;
    let chosen = split(rest, open, &divisors(rest)).ok_or_else(no)?;
    let mut chosen = chosen.into_iter();
    Ok(dims.iter().map(|&n| if n > 0 { n } else { chosen.next().unwrap_or(1) }).collect())
}

/// All divisors of `n`, in ascending order, in at most sqrt(n) trials.
fn divisors(n: usize) -> Vec<usize> {
    let mut all = vec![1];
    let (mut rest, mut prime) = (n, 2);
    while rest > 1 {
        if prime > rest / prime {
            prime = rest;
        }
        let without = all.len();
        let mut power = 1;
        while rest.is_multiple_of(prime) {
            rest /= prime;
            power *= prime;
            all.extend_from_within(..without);
            let new = all.len() - without;
            all[new..].iter_mut().for_each(|it| *it *= power);
        }
        prime += 1;
    }
    all.arrange();
    all
}

/// `n` as `parts` factors in descending order, each of `divisors`, which has all of `n` up to its
/// largest: the lexicographically smallest.
fn split(n: usize, parts: usize, divisors: &[usize]) -> Option<Vec<usize>> {
    if parts == 0 {
        return (n == 1).then(Vec::new);
    }
    // A largest factor a leaves room for a^parts at most.
    let is_large_enough = |a: usize| a.checked_pow(parts as u32).is_none_or(|x| x >= n);
    divisors.iter().enumerate().find_map(|(i, &a)| {
        if !n.is_multiple_of(a) || !is_large_enough(a) {
            return None;
        }
        let mut all = split(n / a, parts - 1, &divisors[..=i])?;
        all.insert(0, a);
        Some(all)
    })
}

/// A grid that cannot be.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadGrid {
    /// The extents do not multiply to the number of ranks.
    Product {
        /// The extents as given, 0 for one to be chosen.
        dims: Vec<usize>,
        /// The number of ranks.
        ranks: usize,
    },
    /// Not one `periodic` for each dimension.
    Periodic {
        /// The number of dimensions.
        dims: usize,
        /// How many were given.
        given: usize,
    },
    /// Not one `keep` for each dimension.
    Keep {
        /// The number of dimensions.
        dims: usize,
        /// How many were given.
        given: usize,
    },
}

impl fmt::Display for BadGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadGrid::Product { dims, .. } if dims.is_empty() => {
                f.write_str("a grid needs at least one dimension")
            }
            BadGrid::Product { dims, ranks } => {
                let text: Vec<String> = dims.iter().map(usize::to_string).collect();
                let text = text.join("x");
                let given: Vec<usize> = dims.iter().copied().filter(|&n| n > 0).collect();
                match given.iter().try_fold(1, |all: usize, &n| all.checked_mul(n)) {
                    Some(given) if dims.contains(&0) => write!(
                        f,
                        "a {text} grid does not have {ranks} ranks: {ranks} is no multiple of \
                         {given} (an extent of 0 is chosen to fit)"
                    ),
                    Some(all) => {
                        write!(f, "a {text} grid has {all} ranks, the communicator {ranks}")
                    }
                    None => write!(f, "a {text} grid has more ranks than can be counted"),
                }
            }
            BadGrid::Periodic { dims, given } => {
                write!(f, "{dims} dimensions, but {given} values of `periodic`; one for each")
            }
            BadGrid::Keep { dims, given } => {
                write!(f, "{dims} dimensions, but {given} values of `keep`; one for each")
            }
        }
    }
}

crate::error_type!(BadGrid:
    Self::Product { dims, ranks }, Self::Periodic { dims, given }, Self::Keep { dims, given },
);

#[cfg(test)]
mod tests {
    use super::*;

    /// MPICH's topo/dims* properties: the product, descending order, given
    /// extents kept, and nothing more balanced by exhaustion.
    #[test]
    fn balanced_extents_are_the_most_balanced() {
        for n in 1..200usize {
            for d in 1..4 {
                let dims = balanced(n, &vec![0; d]).unwrap();
                assert_eq!(dims.iter().product::<usize>(), n);
                assert!(dims.is_sorted_by(|a, b| a >= b), "{n}: {dims:?}");
                let two = |a: usize| n.is_multiple_of(a).then_some(a.max(n / a));
                if d == 2 {
                    assert_eq!(Some(dims[0]), (1..=n).filter_map(two).min());
                }
                for given in (1..=n).filter(|g| n.is_multiple_of(*g)) {
                    let mut want = vec![0; d + 1];
                    want[d / 2] = given;
                    let got = balanced(n, &want).unwrap();
                    assert_eq!((got[d / 2], got.iter().product()), (given, n));
                }
            }
        }
        let table: [(usize, &[usize]); 8] = [
            (1, &[1, 1, 1]),
            (8, &[2, 2, 2]),
            (24, &[4, 3, 2]),
            (30, &[5, 3, 2]),
            (64, &[4, 4, 4]),
            (97, &[97, 1, 1]),
            (1000, &[10, 10, 10]),
            (1024, &[16, 8, 8]),
        ];
        for (n, dims) in table {
            assert_eq!(balanced(n, &[0, 0, 0]).unwrap(), dims);
        }
        // More ranks than any machine has: not every number below them is tried.
        let (large, two) = (10_000_000_000, 1 << 62);
        assert_eq!(balanced(large, &[0, 0]).unwrap(), [100_000, 100_000]);
        assert_eq!(balanced(large, &[1, 0]).unwrap(), [1, large]);
        assert_eq!(balanced(two, &[0, 0, 0]).unwrap(), [1 << 21, 1 << 21, 1 << 20]);
        assert_eq!(divisors(360).len(), 24);
    }

    #[test]
    fn grids_that_cannot_be() {
        assert!(balanced(6, &[4, 0]).unwrap_err().to_string().contains("4x0 grid"));
        assert!(balanced(6, &[2, 2]).is_err());
        assert!(balanced(6, &[]).is_err());
        assert!(balanced(0, &[0]).is_err());
        assert!(balanced(6, &[usize::MAX, 3, 0]).is_err());
        assert!(Cartesian::new(6, &[2, 3], &[true]).is_err());
        assert!(Cartesian::new(6, &[2, 3], &[true; 2]).unwrap().sub(0, &[true]).is_err());
    }

    #[test]
    fn shifts_and_coordinates_agree() {
        for periodic in [[false; 3], [true; 3], [true, false, true]] {
            let grid = Cartesian::new(24, &[2, 3, 4], &periodic).unwrap();
            assert_eq!(grid.extents().to_string(), "2x3x4");
            for rank in 0..24 {
                let at: Vec<isize> = grid.coordinates(rank).iter().map(|&c| c as isize).collect();
                assert_eq!(grid.rank_of(&at), Some(rank));
                for dim in 0..3 {
                    for by in [-5, -1, 0, 1, 2, isize::MAX, isize::MIN] {
                        let (from, to) = grid.shift(rank, dim, by);
                        let mut there = at.clone();
                        there[dim] = there[dim].saturating_add(by);
                        if by.unsigned_abs() < 100 {
                            assert_eq!(to, grid.rank_of(&there));
                        }
                        // Whom I send to receives from me.
                        assert!(to.is_none_or(|to| grid.shift(to, dim, by).0 == Some(rank)));
                        assert!(from.is_none_or(|q| grid.shift(q, dim, by).1 == Some(rank)));
                    }
                }
            }
        }
    }
}
