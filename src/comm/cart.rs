//! Cartesian views: a rank's neighbours in a grid, and communicators of its rows and columns.

use super::Comm;
use super::arguments::CallAt;
use super::split::splitting;
use crate::shared::Signature;
use crate::topology::Cartesian;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

/// A communicator seen as a grid of ranks; made by [`Comm::cart`].
///
/// It is the communicator: all its collectives can be called through it. What needs the
/// grid ends the run if another communicator has been put in its place (`std::mem::swap`).
///
/// # Examples
/// A sum over each row, and a shift down each column:
/// ```
/// use phalanx::op;
/// let out = phalanx::run(6, |comm| {
///     let mut grid = comm.cart(&[2, 3], &[true, false]);
///     let mut row = grid.sub(&[false, true]);
///     let mut x = [grid.rank()];
///     row.all_reduce(&mut x, op::Sum);
///     let (Some(from), Some(to)) = grid.shift(0, 1) else { unreachable!("periodic") };
///     let mut above = [0];
///     grid.exchange(&x, to, &mut above, from);
///     (x[0], above[0])
/// })?;
/// assert_eq!(out, [(3, 12), (3, 12), (3, 12), (12, 3), (12, 3), (12, 3)]);
/// # Ok::<(), phalanx::Error>(())
/// ```
#[derive(Debug)]
pub struct Cart<'a> {
    pub(super) comm: &'a mut Comm,
    pub(super) grid: Cartesian,
    /// The grid's number among those that the communicator has made.
    pub(super) number: u64,
    /// The communicator's state, and the rank there: what is behind `comm` can be swapped.
    of: u64,
    rank: usize,
}

impl Deref for Cart<'_> {
    type Target = Comm;
    fn deref(&self) -> &Comm {
        self.comm
    }
}

impl DerefMut for Cart<'_> {
    fn deref_mut(&mut self) -> &mut Comm {
        self.comm
    }
}

/// # Grids and meshes of elements
impl Comm {
    /// The communicator as a grid of ranks with extents `dims`, the last
    /// dimension the fastest (rank = row * columns + column); an extent of 0 is
    /// chosen, as balanced as possible. `periodic` says which dimensions wrap
    /// around.
    ///
    /// Nothing is sent, and ranks keep their numbers. The latest few grids are kept, so that the
    /// call costs next to nothing in a loop. To have a grid's
    /// neighbours on neighbouring cores, build the team with
    /// [`Placement::Torus`](crate::placement::Placement::Torus) (periodic) or
    /// [`Placement::Grid`](crate::placement::Placement::Grid) of the same
    /// extents.
    ///
    /// # Errors
    /// Extents that do not multiply to the number of ranks end the run.
    ///
    /// # Examples
    /// ```
    /// let above = phalanx::run(6, |comm| {
    ///     let grid = comm.cart(&[0, 2], &[false, false]); // 3 x 2
    ///     grid.neighbours()[0].0
    /// })?;
    /// assert_eq!(above, [None, None, Some(0), Some(1), Some(2), Some(3)]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn cart(&mut self, dims: &[usize], periodic: &[bool]) -> Cart<'_> {
        static SIG: Signature = Signature::of::<()>("cart", "");
        self.cart_as((&SIG, Location::caller()), dims, periodic)
    }

    /// [`cart`](Comm::cart), as a call of the method of `sig`.
    #[inline(always)]
    fn cart_as(&mut self, (sig, at): CallAt, dims: &[usize], periodic: &[bool]) -> Cart<'_> {
        let (of, rank, ranks) = (self.comm_id(), self.rank(), self.size());
        let made = self.grids.latest().filter(|made| made.is_for(ranks, dims, periodic));
        let (grid, number) = match made {
            Some(made) => (made.grid.clone(), made.number),
            None => self.other_cart((sig, at), dims, periodic),
        };
        Cart { of, rank, comm: self, grid, number }
    }

    /// A grid that is not the one of the latest call.
    #[cold]
    #[inline(never)]
    fn other_cart(
        &mut self,
        (sig, at): CallAt,
        dims: &[usize],
        periodic: &[bool],
    ) -> (Cartesian, u64) {
        let ranks = self.size();
        match self.grids.make(ranks, dims, periodic) {
            Ok(made) => (made.grid.clone(), made.number),
            Err(bad) => {
                self.wrong((sig, at), 0, bad.to_string());
                self.nothing_to_return()
            }
        }
    }

    /// The communicator as the grid of ranks `grid`, as [`cart`](Comm::cart) makes one of extents.
    ///
    /// # Errors
    /// A grid of another number of ranks ends the run.
    ///
    /// # Examples
    /// ```
    /// use phalanx::topology::Cartesian;
    /// let grid = Cartesian::new(4, &[2, 2], &[true, true])?;
    /// let right = phalanx::run(4, |comm| comm.cart_of(&grid).shift(1, 1).1)?;
    /// assert_eq!(right, [Some(1), Some(0), Some(3), Some(2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn cart_of(&mut self, grid: &Cartesian) -> Cart<'_> {
        static SIG: Signature = Signature::of::<()>("cart_of", "");
        self.cart_as((&SIG, Location::caller()), grid.dims(), grid.periodic())
    }
}

impl Cart<'_> {
    /// Whether the grid's communicator is there. Returns false only while a panic unwinds.
    #[inline]
    pub(super) fn is_itself(&self) -> bool {
        self.comm.comm_id() == self.of || self.comm.is_swapped("grid")
    }

    /// The rank in the grid.
    fn own_rank(&self) -> usize {
        self.is_itself();
        self.rank
    }

    /// The grid: extents, coordinates and neighbours of any rank.
    ///
    /// ```
    /// phalanx::run(4, |comm| {
    ///     assert_eq!(comm.cart(&[0, 0], &[true; 2]).grid().dims(), [2, 2]);
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn grid(&self) -> &Cartesian {
        &self.grid
    }

    /// Ranks along each dimension.
    ///
    /// ```
    /// let dims = phalanx::run(6, |comm| comm.cart(&[0, 2], &[false; 2]).dims().to_vec())?;
    /// assert_eq!(dims[0], [3, 2]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn dims(&self) -> &[usize] {
        self.grid.dims()
    }

    /// This rank's coordinates.
    ///
    /// ```
    /// let at = phalanx::run(4, |comm| comm.cart(&[2, 2], &[false; 2]).coordinates())?;
    /// assert_eq!(at, [[0, 0], [0, 1], [1, 0], [1, 1]]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn coordinates(&self) -> Vec<usize> {
        self.grid.coordinates(self.own_rank())
    }

    /// The rank at these coordinates, which wrap around in periodic dimensions;
    /// none where there is none.
    ///
    /// ```
    /// phalanx::run(4, |comm| {
    ///     let grid = comm.cart(&[2, 2], &[false, true]);
    ///     assert_eq!(grid.rank_of(&[1, -1]), Some(3));
    ///     assert_eq!(grid.rank_of(&[-1, 1]), None);
    /// })?;
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn rank_of(&self, coordinates: &[isize]) -> Option<usize> {
        self.grid.rank_of(coordinates)
    }

    /// Whom this rank receives from, and whom it sends to, when everybody sends
    /// `by` places further along dimension `dim`; none where the grid ends
    /// (`MPI_Cart_shift`).
    ///
    /// ```
    /// let sends_to = phalanx::run(3, |comm| comm.cart(&[3], &[false]).shift(0, 1).1)?;
    /// assert_eq!(sends_to, [Some(1), Some(2), None]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such dimension.
    pub fn shift(&self, dim: usize, by: isize) -> (Option<usize>, Option<usize>) {
        self.grid.shift(self.own_rank(), dim, by)
    }

    /// For each dimension the neighbour before and the neighbour after. Both may
    /// be one rank (extent 2), or this one (extent 1), where it is periodic.
    ///
    /// ```
    /// let of_0 = phalanx::run(6, |comm| comm.cart(&[2, 3], &[true, false]).neighbours())?;
    /// assert_eq!(of_0[0], [(Some(3), Some(3)), (None, Some(1))]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    pub fn neighbours(&self) -> Vec<(Option<usize>, Option<usize>)> {
        (0..self.grid.dimensions()).map(|dim| self.shift(dim, 1)).collect()
    }

    /// A communicator of the ranks that differ from this one only in the
    /// dimensions for which `keep` is true, in grid order: `&[false, true]` of a
    /// matrix of ranks is this rank's row, `&[true, false]` its column.
    /// [`cart_of`](Comm::cart_of) the first of
    /// [`Cartesian::sub`](crate::topology::Cartesian::sub) makes a grid of it.
    ///
    /// **Must agree on all ranks:** `keep`.
    ///
    /// **Cost** as [`split`](Comm::split).
    ///
    /// # Errors
    /// Not one `keep` for each dimension ends the run.
    ///
    /// # Examples
    /// ```
    /// let out = phalanx::run(6, |comm| {
    ///     let column = comm.cart(&[2, 3], &[false; 2]).sub(&[true, false]);
    ///     (column.rank(), column.size())
    /// })?;
    /// assert_eq!(out, [(0, 2), (0, 2), (0, 2), (1, 2), (1, 2), (1, 2)]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn sub(&mut self, keep: &[bool]) -> Comm {
        static SIG: Signature = splitting("sub");
        let at = Location::caller();
        match self.grid.sub(self.own_rank(), keep) {
            Ok((_, which, place)) => self.comm.split_as((&SIG, at), which, place),
            Err(bad) => {
                self.comm.wrong((&SIG, at), 0, bad.to_string());
                self.comm.nothing_to_return()
            }
        }
    }
}
