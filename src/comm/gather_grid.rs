//! The whole of a distributed array, at one rank.

use super::Cart;
use super::arguments::Checks;
use crate::dist::{Halo, MAX_DIMENSIONS};
use crate::element::Element;
use crate::shared::Signature;
use crate::topology::{Cartesian, DisplayExtents};
use std::panic::Location;

/// What a rank says of its part of an array on a grid.
///
/// # Examples
/// Parts of 2 x 1 and 2 x 2 cells beside each other, at one rank:
/// ```
/// use phalanx::dist::Halo;
/// use phalanx::engine::{FieldPart, fitting_fields, whole_field};
/// use phalanx::topology::Cartesian;
/// let grid = Cartesian::new(2, &[1, 2], &[false, false]).unwrap();
/// let part = |extents: [usize; 2]| FieldPart::new(Halo::new(&extents, 0), &grid, 0);
/// let parts = [part([2, 1]), part([2, 2])];
/// let halos = fitting_fields(&grid, &parts[0], &parts).unwrap();
/// let fields = [&[1, 4][..], &[2, 3, 5, 6]];
/// assert_eq!(whole_field(&grid, &halos, |rank| fields[rank]), [1, 2, 3, 4, 5, 6]);
///
/// let cut = [part([2, 1]), part([3, 2])];
/// assert!(fitting_fields(&grid, &cut[0], &cut).unwrap_err().contains("rank 1 has 3 own cells"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FieldPart {
    halo: Halo,
    grid: [usize; MAX_DIMENSIONS],
    root: usize,
}

impl FieldPart {
    /// A part of this shape, of an array on `grid` that `root` gets.
    pub fn new(halo: Halo, grid: &Cartesian, root: usize) -> Self {
        let mut dims = [1; MAX_DIMENSIONS];
        dims[..grid.dims().len()].copy_from_slice(grid.dims());
        FieldPart { halo, grid: dims, root }
    }
}

impl Cart<'_> {
    /// The own cells of all ranks as one array on rank `root`, the last index the fastest; the
    /// other ranks get `None`. Halos are left out: with `Halo::new(extents, 0)` the parts have
    /// none.
    ///
    /// Parts lie as their ranks do in the grid. Along each dimension ranks of one coordinate have
    /// equally many own cells; [`Block::range`](crate::dist::Block::range) of the coordinate is the
    /// usual way to choose them. (The way back needs no call: ranks share memory, so each copies
    /// its part out of an array that the closure of `run` captures.)
    ///
    /// **Must agree on all ranks:** the element type, `root`, the grid.
    ///
    /// **Cost** two views ([`with_peers`](crate::Comm::with_peers)); the root copies each cell
    /// once, out of the owner's array, while the others wait.
    ///
    /// # Errors
    /// These end the run: a `root` that is no rank, a field that is not of the halo's length, a
    /// halo of another number of dimensions than the grid, parts that do not fit together.
    ///
    /// # Examples
    /// A field of 3 x 5 cells, each with its number, on a grid of 2 x 2 ranks:
    /// ```
    /// use phalanx::dist::{Block, Halo};
    /// let (rows, columns) = (3, 5);
    /// let fields = phalanx::run(4, |comm| {
    ///     let mut grid = comm.cart(&[2, 2], &[false, false]);
    ///     let at = grid.coordinates();
    ///     let (i, j) = (Block::new(rows, 2).range(at[0]), Block::new(columns, 2).range(at[1]));
    ///     let halo = Halo::new(&[i.len(), j.len()], 1);
    ///     let mut u = vec![-1; halo.len()];
    ///     for (row, i) in halo.rows().zip(i) {
    ///         for (cell, j) in u[row].iter_mut().zip(j.clone()) {
    ///             *cell = (i * columns + j) as i32;
    ///         }
    ///     }
    ///     grid.gather_grid(&u, &halo, 0)
    /// })?;
    /// assert_eq!(fields[0], Some((0..15).collect()));
    /// assert_eq!(fields[1..], [None, None, None]);
    /// # Ok::<(), phalanx::Error>(())
    /// ```
    #[track_caller]
    pub fn gather_grid<T: Element>(
        &mut self,
        field: &[T],
        halo: &Halo,
        root: usize,
    ) -> Option<Vec<T>> {
        static SHAPE: Signature = Signature {
            element_name: std::any::type_name::<()>, // For people there is none.
            ..Signature::of::<FieldPart>("gather_grid", "")
        };
        let sig = const { &Signature::of::<T>("gather_grid", "") };
        let at = Location::caller();
        if !self.is_itself() {
            return None;
        }
        let Cart { comm, grid, .. } = self;
        if !comm.check_rank("root", root, (sig, at), field.len()) {
            return None;
        }
        let (dims, own_dims) = (grid.dims().len(), halo.dimensions());
        if dims != own_dims {
            let what = format!("a halo of {own_dims} dimensions on a grid of {dims}");
            comm.wrong((sig, at), field.len(), what);
            return None;
        }
        if !comm.check_len("the field", field.len(), Some(halo.len()), (sig, at), field.len()) {
            return None;
        }
        let own = FieldPart::new(*halo, grid, root);
        let parts = comm.show_all((&SHAPE, at), &[own], |all| {
            fitting_fields(grid, &own, &all.iter().flatten().copied().collect::<Vec<_>>())
        });
        let halos = match parts {
            Ok(halos) => halos,
            Err(what) => {
                comm.wrong((sig, at), field.len(), what);
                return None;
            }
        };
        let is_root = comm.rank() == root;
        comm.show_all((sig, at), field, |fields| {
            is_root.then(|| whole_field(grid, &halos, |rank| &fields[rank]))
        })
    }
}

/// Every rank's shape, if the parts make up one array.
///
/// # Errors
/// What is wrong, in words.
///
/// # Examples
/// See [`FieldPart`].
pub fn fitting_fields(
    grid: &Cartesian,
    own: &FieldPart,
    parts: &[FieldPart],
) -> Result<Vec<Halo>, String> {
    let coordinates: Vec<Vec<usize>> = (0..parts.len()).map(|r| grid.coordinates(r)).collect();
    for (rank, part) in parts.iter().enumerate() {
        if part.root != own.root {
            return Err(format!("the root is {}, by rank {rank} it is {}", own.root, part.root));
        }
        if part.grid != own.grid {
            let dims = grid.dims().len();
            let [own, its] = [own, part].map(|p| DisplayExtents(&p.grid[..dims]).to_string());
            return Err(format!("the grid is {own}, by rank {rank} it is {its}"));
        }
    }
    for axis in 0..grid.dims().len() {
        // By coordinate: the first rank there.
        let mut first: Vec<Option<usize>> = vec![None; grid.dims()[axis]];
        for (rank, at) in coordinates.iter().enumerate() {
            let other = *first[at[axis]].get_or_insert(rank);
            let [n, wanted] = [rank, other].map(|r| parts[r].halo.extents()[axis]);
            if n != wanted {
                return Err(format!(
                    "rank {rank} has {n} own cells along dimension {axis}, rank {other}, of the \
                     same coordinate there, has {wanted}"
                ));
            }
        }
    }
    Ok(parts.iter().map(|part| part.halo).collect())
}

/// The own cells of parts that fit, one row of the whole array after the other.
///
/// **Cost** each cell is copied once.
///
/// # Examples
/// See [`FieldPart`].
pub fn whole_field<'f, T: Element>(
    grid: &Cartesian,
    halos: &[Halo],
    field: impl Fn(usize) -> &'f [T],
) -> Vec<T> {
    let dims = grid.dims();
    let last = dims.len() - 1;
    let rank_at = |at: &[usize]| at.iter().zip(dims).fold(0, |rank, (c, n)| rank * n + c);
    // By dimension: the coordinate and the place there of each cell.
    let cells = |axis: usize| -> Vec<(usize, usize)> {
        let mut at = vec![0; dims.len()];
        let of = |c: usize| {
            at[axis] = c;
            let n = halos[rank_at(&at)].extents()[axis];
            (0..n).map(move |i| (c, i))
        };
        (0..dims[axis]).flat_map(of).collect()
    };
    let empty = halos.iter().all(|halo| halo.extents().contains(&0));
    let axes: Vec<_> = if empty { vec![Vec::new()] } else { (0..last).map(cells).collect() };
    let rows = axes.iter().map(Vec::len).product();
    let mut all = Vec::new();
    for row in 0..rows {
        let (mut at, mut cell) = (vec![0; dims.len()], vec![0; dims.len()]);
        let mut rest = row;
        for axis in (0..last).rev() {
            let (c, i) = axes[axis][rest % axes[axis].len()];
            (at[axis], cell[axis]) = (c, i as isize);
            rest /= axes[axis].len();
        }
        for c in 0..dims[last] {
            at[last] = c;
            let rank = rank_at(&at);
            let n = halos[rank].extents()[last];
            if n > 0 {
                let from = halos[rank].index(&cell);
                all.extend_from_slice(&field(rank)[from..from + n]);
            }
        }
    }
    all
}
