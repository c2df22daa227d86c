//! A rank's rows of a sparse matrix. The entries' values are an array that is cut among the ranks,
//! so that those of a rank lie in its core's memory. Columns are renumbered: own elements of the
//! vector first, then ghosts of those elements of other ranks that the rows need, which are
//! gathered before each product.

use super::cg::Rows;
use phalanx::dist::GeneralBlock;
use phalanx::{Comm, DistributedArray, Error, Neighborhood, Team};
use sprs::CsMat;
use std::ops::Range;

/// The ranks' rows, so that all have about equally many entries of the matrix, to which a product's
/// time is proportional. Cut at multiples of `unit` rows.
pub(crate) fn by_entries(matrix: &CsMat<f64>, ranks: usize, unit: usize) -> GeneralBlock {
    let rows = matrix.rows();
    let cut = |rank: usize| {
        let wanted = before(matrix, rows) * rank / ranks;
        let cuts = (0..rows).step_by(unit).chain([rows]);
        cuts.min_by_key(|&row| before(matrix, row).abs_diff(wanted)).unwrap_or(rows)
    };
    let cuts: Vec<usize> = [0].into_iter().chain((1..ranks).map(cut)).chain([rows]).collect();
    GeneralBlock::of_counts(cuts.windows(2).map(|cut| cut[1] - cut[0]))
}

/// Entries before a row.
fn before(matrix: &CsMat<f64>, row: usize) -> usize {
    matrix.indptr().outer_inds_slice(0, row).end
}

/// The values of the matrix, by rows, each rank's in its core's memory.
pub(crate) fn values(
    team: &Team,
    matrix: &CsMat<f64>,
    rows: &GeneralBlock,
) -> Result<DistributedArray<f64>, Error> {
    let entries = |rank| {
        let rows = rows.range(rank);
        before(matrix, rows.end) - before(matrix, rows.start)
    };
    let entries = GeneralBlock::of_counts((0..team.size()).map(entries));
    team.distributed(&entries, |entry| matrix.data()[entry])
}

#[derive(Debug)]
pub(crate) struct Sparse<'a> {
    offset: usize,
    /// Row i has entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: &'a [f64],
    plan: Neighborhood,
}

impl<'a> Sparse<'a> {
    /// The rows of `matrix` that this rank has; `values` are theirs. Collective.
    pub(crate) fn new(
        comm: &mut Comm,
        matrix: &CsMat<f64>,
        rows: &GeneralBlock,
        values: &'a [f64],
    ) -> Self {
        let own = rows.range(comm.rank());
        let first = before(matrix, own.start);
        let starts = (own.start..=own.end).map(|row| before(matrix, row) - first).collect();
        let columns = &matrix.indices()[first..before(matrix, own.end)];
        let (plan, columns) = comm.ghosts_of_columns(rows, columns);
        let columns = columns.into_iter().map(|column| column as u32).collect();
        Sparse { offset: own.start, starts, columns, values, plan }
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }
}

impl Rows for Sparse<'_> {
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
