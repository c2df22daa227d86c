//! A rank's rows of a sparse matrix. Columns are renumbered: own elements of the vector first, then
//! ghosts of those elements of other ranks that the rows need, which are gathered before each
//! product.

use super::cg::Rows;
use phalanx::dist::Distribution;
use phalanx::{Comm, Neighborhood};
use sprs::CsMat;
use std::ops::Range;

/// Which rows each rank has: rank r those from the r-th cut to the next.
#[derive(Debug)]
pub(crate) struct Cuts(Vec<usize>);

impl Cuts {
    /// So that all ranks have about equally many entries of the matrix, to which a product's time
    /// is proportional. Cut at multiples of `unit` rows.
    pub(crate) fn by_entries(matrix: &CsMat<f64>, ranks: usize, unit: usize) -> Self {
        let rows = matrix.rows();
        let before = |row: usize| matrix.indptr().outer_inds_slice(0, row).end;
        let cut = |rank: usize| {
            let wanted = before(rows) * rank / ranks;
            let cuts = (0..rows).step_by(unit).chain([rows]);
            cuts.min_by_key(|&row| before(row).abs_diff(wanted)).unwrap_or(rows)
        };
        let inner = (1..ranks).map(cut);
        Cuts([0].into_iter().chain(inner).chain([rows]).collect())
    }

    pub(crate) fn range(&self, rank: usize) -> Range<usize> {
        self.0[rank]..self.0[rank + 1]
    }
}

impl Distribution for Cuts {
    fn len(&self) -> usize {
        self.0[self.ranks()]
    }

    fn ranks(&self) -> usize {
        self.0.len() - 1
    }

    fn owner(&self, row: usize) -> usize {
        self.0.partition_point(|&cut| cut <= row) - 1
    }

    fn local(&self, row: usize) -> usize {
        row - self.0[self.owner(row)]
    }

    fn count(&self, rank: usize) -> usize {
        self.range(rank).len()
    }

    fn ranges(&self, rank: usize) -> impl Iterator<Item = Range<usize>> {
        std::iter::once(self.range(rank))
    }
}

#[derive(Debug)]
pub(crate) struct Sparse {
    offset: usize,
    /// Row i has entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    plan: Neighborhood,
}

impl Sparse {
    /// The rows of `matrix` that this rank has. They are copied, by the rank itself: into its own
    /// core's memory. Collective.
    pub(crate) fn new(comm: &mut Comm, matrix: &CsMat<f64>, rows: &Cuts) -> Self {
        let own = rows.range(comm.rank());
        let block = matrix.slice_outer(own.clone());
        let entries = || block.iter().map(|(&value, (row, column))| (row, column, value));
        let mut starts = vec![0; own.len() + 1];
        entries().for_each(|(row, _, _)| starts[row + 1] += 1);
        (0..own.len()).for_each(|i| starts[i + 1] += starts[i]);
        let columns: Vec<usize> = entries().map(|(_, column, _)| column).collect();
        let (plan, columns) = comm.ghosts_of_columns(rows, &columns);
        let columns = columns.into_iter().map(|column| column as u32).collect();
        let values = entries().map(|(_, _, value)| value).collect();
        Sparse { offset: own.start, starts, columns, values, plan }
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }
}

impl Rows for Sparse {
    fn padded(&self) -> usize {
        self.plan.owned() + self.plan.ghosts()
    }

    fn own(&self) -> Range<usize> {
        0..self.rows()
    }

    fn offset(&self) -> usize {
        self.offset
    }

    fn diagonal(&self) -> Vec<f64> {
        let entry = |row: usize| {
            let mut entries = self.starts[row]..self.starts[row + 1];
            entries.find(|&e| self.columns[e] as usize == row).map_or(0.0, |e| self.values[e])
        };
        (0..self.rows()).map(entry).collect()
    }

    fn apply(&self, comm: &mut Comm, v: &mut [f64], out: &mut [f64]) {
        let (own, ghosts) = v.split_at_mut(self.rows());
        self.plan.gather(comm, own, ghosts);
        for (out, row) in out.iter_mut().zip(self.starts.windows(2)) {
            let (columns, values) = (&self.columns[row[0]..row[1]], &self.values[row[0]..row[1]]);
            // A local sum: adding to memory at each entry costs two to three times as much.
            *out =
                columns.iter().zip(values).map(|(&column, value)| value * v[column as usize]).sum();
        }
    }
}
