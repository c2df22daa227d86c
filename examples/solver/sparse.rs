//! A rank's rows of a sparse matrix. Columns are renumbered: own elements of the vector first, then
//! copies of those elements of other ranks that the rows need, which are fetched from the owners'
//! memory before each product.

use crate::cg::Rows;
use phalanx::Comm;
use sprs::CsMat;
use std::ops::Range;

/// Which rows each rank has: rank r those from the r-th cut to the next.
#[derive(Debug)]
pub(crate) struct Cuts(Vec<usize>);

impl Cuts {
    /// So that all ranks have about equally many entries of the matrix, which is what a product
    /// costs. Cut at multiples of `unit` rows.
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

    fn owner(&self, row: usize) -> usize {
        self.0.partition_point(|&cut| cut <= row) - 1
    }
}

#[derive(Debug)]
pub(crate) struct Sparse {
    offset: usize,
    /// Row i has entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// For each rank that copies come from: its number, and the places among its elements.
    wanted: Vec<(usize, Vec<u32>)>,
}

impl Sparse {
    /// The rows that `rank` has of `matrix`. They are copied, by the rank itself: into its own
    /// core's memory.
    pub(crate) fn new(matrix: &CsMat<f64>, rows: &Cuts, rank: usize) -> Self {
        let own = rows.range(rank);
        let block = matrix.slice_outer(own.clone());
        let entries = || block.iter().map(|(&value, (row, column))| (row, column, value));
        let mut foreign: Vec<usize> =
            entries().map(|(_, column, _)| column).filter(|c| !own.contains(c)).collect();
        foreign.sort_unstable();
        foreign.dedup();
        let renumbered = |column: usize| match foreign.binary_search(&column) {
            Ok(copy) => own.len() + copy,
            Err(_) => column - own.start,
        };
        let mut starts = vec![0; own.len() + 1];
        entries().for_each(|(row, _, _)| starts[row + 1] += 1);
        (0..own.len()).for_each(|i| starts[i + 1] += starts[i]);
        let columns = entries().map(|(_, column, _)| renumbered(column) as u32).collect();
        let values = entries().map(|(_, _, value)| value).collect();
        let mut wanted: Vec<(usize, Vec<u32>)> = Vec::new();
        for column in foreign {
            let owner = rows.owner(column);
            let place = (column - rows.range(owner).start) as u32;
            match wanted.last_mut() {
                Some((rank, places)) if *rank == owner => places.push(place),
                _ => wanted.push((owner, vec![place])),
            }
        }
        Sparse { offset: own.start, starts, columns, values, wanted }
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }
}

impl Rows for Sparse {
    fn padded(&self) -> usize {
        self.rows() + self.wanted.iter().map(|(_, places)| places.len()).sum::<usize>()
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
        let (own, copies) = v.split_at_mut(self.rows());
        comm.with_peers(own, |peers| {
            let mut copies = copies.iter_mut();
            for (rank, places) in &self.wanted {
                let theirs = &peers[*rank];
                for (&place, copy) in places.iter().zip(&mut copies) {
                    *copy = theirs[place as usize];
                }
            }
        });
        for (out, row) in out.iter_mut().zip(self.starts.windows(2)) {
            let (columns, values) = (&self.columns[row[0]..row[1]], &self.values[row[0]..row[1]]);
            // A local sum: adding to memory at each entry costs two to three times as much.
            *out =
                columns.iter().zip(values).map(|(&column, value)| value * v[column as usize]).sum();
        }
    }
}
