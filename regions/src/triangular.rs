//! A sparse triangular system, solved level by level: the rows of a level need results of earlier
//! levels only, so a level is a region.

use crate::rows::Rows;
use crate::{Pool, Random, part};
use phalanx::Comm;

/// L of L x = b, with ones on the diagonal, its rows sorted by levels.
#[derive(Clone, Debug)]
pub struct Triangle {
    /// Where the entries of each row begin, and the last one's end.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Where the rows of each level begin, and the last one's end.
    levels: Vec<usize>,
}

impl Triangle {
    /// `levels` levels of `width` rows, each row with `entries` entries in the two levels before.
    pub fn new(levels: usize, width: usize, entries: usize) -> Self {
        let mut random = Random::new(3);
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for level in 0..levels {
            for _ in 0..width {
                let (from, to) = (level.saturating_sub(2) * width, level * width);
                for _ in 0..if to > 0 { entries } else { 0 } {
                    columns.push((from + random.below(to - from)) as u32);
                    values.push(f64::from(random.unit()) / entries as f64);
                }
                starts.push(columns.len());
            }
        }
        let levels = (0..=levels).map(|level| level * width).collect();
        Triangle { starts, columns, values, levels }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of levels.
    pub fn levels(&self) -> usize {
        self.levels.len() - 1
    }

    /// Solves for `x`, a region a level. (In place, a task's rows would come from the core that
    /// has written the right-hand side.)
    pub fn solve(&self, pool: &mut impl Pool, b: &[f64], x: &mut [f64]) {
        let tasks = pool.tasks();
        for level in self.levels.windows(2) {
            let (done, rest) = x.split_at_mut(level[0]);
            let (done, rows) = (&*done, Rows::new(&mut rest[..level[1] - level[0]]));
            pool.region(&|task| {
                let mine = part(level[1] - level[0], task, tasks);
                // SAFETY: tasks have parts that are apart.
                self.rows(b, done, level[0] + mine.start, unsafe { rows.part(mine) });
            });
        }
    }

    /// Solves as one rank of a run, with a barrier a level: all ranks call it with the same `b` and
    /// `x`.
    ///
    /// # Safety
    /// `x` is used by these ranks only, and is [`len`](Triangle::len) long.
    pub unsafe fn solve_as_rank(&self, comm: &mut Comm, b: &[f64], x: &Rows<'_, f64>) {
        for level in self.levels.windows(2) {
            let mine = part(level[1] - level[0], comm.rank(), comm.size());
            let first = level[0] + mine.start;
            // SAFETY: nobody writes to earlier levels any more (the barrier), and ranks have rows
            // of this one that are apart.
            let (done, own) = unsafe { (x.read(0..level[0]), x.part(first..level[0] + mine.end)) };
            self.rows(b, done, first, own);
            comm.barrier();
        }
    }

    #[inline(never)]
    fn rows(&self, b: &[f64], done: &[f64], first: usize, own: &mut [f64]) {
        for (row, x) in (first..).zip(own) {
            let entries = self.starts[row]..self.starts[row + 1];
            let sum = |sum: f64, at: usize| sum + self.values[at] * done[self.columns[at] as usize];
            *x = b[row] - entries.fold(0.0, sum);
        }
    }
}
