//! CG: the smallest eigenvalue of a sparse matrix by inverse iteration, 25 steps of conjugate
//! gradients each.
//!
//! The ranks own blocks of rows. A step of CG meets twice: for p.Ap, and where every rank reads the
//! new residual of all ranks in place (`with_peers`), with the rank's part of r.r behind it as one
//! more number. Each rank then forms all of p = r + beta p itself: n additions, instead of another
//! reduction and a gather.

use super::class::Class;
use super::outcome::{Outcome, Stopwatch, agree};
use super::random::{Random, SEED};
use super::spmd::Spmd;
use std::ops::Range;

/// Steps of conjugate gradients in an outer step.
const STEPS: usize = 25;

pub(crate) struct Cg {
    class: Class,
    n: usize,
    nonzer: usize,
    iterations: usize,
    shift: f64,
    matrix: Matrix,
}

/// The matrix by rows, or, if it has more than [`WIDTH`] columns, in blocks of so many: a product
/// takes elements of x at random, and those of a block stay in the second cache meanwhile. The
/// product reads all of the matrix once, so bytes are time: a column's number has 16 bits.
enum Matrix {
    Whole(Rows),
    Wide(Blocks),
}

/// Columns of a block.
const WIDTH: usize = 1 << 14;

/// The methods of a matrix that the solver needs.
trait Product: Send + Sync {
    fn len(&self) -> usize;

    /// A copy of some rows, in the memory of the thread that asks.
    fn block(&self, rows: Range<usize>) -> Self;

    /// y = A x; returns w.y, where w has a number for each row.
    fn times(&self, x: &[f64], y: &mut [f64], w: &[f64]) -> f64;
}

/// Compressed rows. All columns are less than `columns` (`Rows::new`, `Rows::block`).
struct Rows {
    columns: usize,
    /// Where each row starts, and where the last ends.
    starts: Vec<usize>,
    indices: Vec<u16>,
    values: Vec<f64>,
}

impl Rows {
    fn new(columns: usize, rows: impl Iterator<Item = impl Iterator<Item = (usize, f64)>>) -> Self {
        let mut matrix = Rows { columns, starts: vec![0], indices: Vec::new(), values: Vec::new() };
        for row in rows {
            for (column, value) in row {
                assert!(column < columns);
                matrix.indices.push(column.try_into().expect("16 bits take all columns"));
                matrix.values.push(value);
            }
            matrix.starts.push(matrix.values.len());
        }
        matrix
    }

    /// Calls `f` with each row times x, and its element of y.
    #[inline(always)]
    fn products(&self, x: &[f64], y: &mut [f64], mut f: impl FnMut(f64, &mut f64)) {
        assert!(x.len() == self.columns && y.len() == self.len());
        for (ends, y) in self.starts.windows(2).zip(y) {
            let row = ends[0]..ends[1];
            // SAFETY: all columns are less than `columns`, the length of x.
            f(unsafe { product(&self.indices[row.clone()], &self.values[row], x) }, y);
        }
    }

    /// y += A x.
    fn add_product(&self, x: &[f64], y: &mut [f64]) {
        self.products(x, y, |product, y| *y += product);
    }
}

impl Product for Rows {
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn block(&self, rows: Range<usize>) -> Self {
        let (first, last) = (self.starts[rows.start], self.starts[rows.end]);
        Rows {
            columns: self.columns,
            starts: self.starts[rows.start..=rows.end].iter().map(|s| s - first).collect(),
            indices: self.indices[first..last].to_vec(),
            values: self.values[first..last].to_vec(),
        }
    }

    fn times(&self, x: &[f64], y: &mut [f64], w: &[f64]) -> f64 {
        assert!(y.len() == w.len());
        let (mut dot, mut w) = (0.0, w.iter());
        self.products(x, y, |product, y| {
            *y = product;
            dot += product * w.next().expect("one for each row");
        });
        dot
    }
}

/// A matrix in blocks of [`WIDTH`] columns, one after the other.
struct Blocks {
    columns: usize,
    blocks: Vec<Rows>,
}

impl Blocks {
    fn new(columns: usize, rows: &[Vec<(usize, f64)>]) -> Self {
        let block = |from: usize| {
            let width = WIDTH.min(columns - from);
            let rows = rows.iter().map(|row| {
                let at = |column| row.partition_point(|&(c, _)| c < column);
                row[at(from)..at(from + width)].iter().map(move |&(c, v)| (c - from, v))
            });
            Rows::new(width, rows)
        };
        Blocks { columns, blocks: (0..columns).step_by(WIDTH).map(block).collect() }
    }
}

impl Product for Blocks {
    fn len(&self) -> usize {
        self.blocks[0].len()
    }

    fn block(&self, rows: Range<usize>) -> Self {
        let blocks = self.blocks.iter().map(|block| block.block(rows.clone())).collect();
        Blocks { columns: self.columns, blocks }
    }

    fn times(&self, x: &[f64], y: &mut [f64], w: &[f64]) -> f64 {
        assert!(x.len() == self.columns);
        y.fill(0.0);
        for (block, x) in self.blocks.iter().zip(x.chunks(WIDTH)) {
            block.add_product(x, y);
        }
        dot(y, w)
    }
}

/// A row's product, with as many sums under way as an addition takes cycles.
///
/// # Safety
/// All indices are less than the length of x.
#[inline(always)]
unsafe fn product(indices: &[u16], values: &[f64], x: &[f64]) -> f64 {
    // SAFETY: by the contract.
    let at = |i: u16| unsafe { *x.get_unchecked(usize::from(i)) };
    let (i4, i_rest) = indices.as_chunks::<4>();
    let (v4, v_rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (i, v) in i4.iter().zip(v4) {
        for k in 0..4 {
            sums[k] += v[k] * at(i[k]);
        }
    }
    let rest: f64 = i_rest.iter().zip(v_rest).map(|(&i, &v)| v * at(i)).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a8.iter().zip(b8) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

/// z += alpha p, r -= alpha q; returns r.r.
fn advance(alpha: f64, p: &[f64], q: &[f64], z: &mut [f64], r: &mut [f64]) -> f64 {
    for (((z, r), p), q) in z.iter_mut().zip(&mut *r).zip(p).zip(q) {
        *z += alpha * p;
        *r -= alpha * q;
    }
    dot(r, r)
}

impl Cg {
    pub(crate) fn new(class: Class) -> Self {
        let n = class.of([1400, 7000, 14000, 75000]);
        let nonzer = class.of([7, 8, 11, 13]);
        let shift = class.of([10.0, 12.0, 20.0, 60.0]);
        let rows = matrix(n, nonzer, shift);
        let matrix = if n <= WIDTH {
            Matrix::Whole(Rows::new(n, rows.iter().map(|row| row.iter().copied())))
        } else {
            Matrix::Wide(Blocks::new(n, &rows))
        };
        Cg { class, n, nonzer, iterations: class.of([15, 15, 15, 75]), shift, matrix }
    }

    pub(crate) fn mops(&self) -> f64 {
        let k = (self.nonzer * (self.nonzer + 1)) as f64;
        let steps = STEPS as f64;
        2.0 * (self.iterations * self.n) as f64 * (3.0 + k + steps * (5.0 + k) + 3.0) / 1e6
    }

    pub(crate) fn spmd<C: Spmd>(&self, comm: &mut C) -> Outcome {
        let rows = comm.part(self.n);
        match &self.matrix {
            Matrix::Whole(m) => self.iterate(comm, &m.block(rows.clone()), rows),
            Matrix::Wide(m) => self.iterate(comm, &m.block(rows.clone()), rows),
        }
    }

    /// One outer step that nobody counts, then the counted ones from the same start.
    fn iterate<C: Spmd>(&self, comm: &mut C, a: &impl Product, mine: Range<usize>) -> Outcome {
        let mut state = State::new(self.n, mine);
        let mut x = vec![1.0; a.len()];
        state.outer_step(comm, a, &mut x);
        x.fill(1.0);
        let clock = Stopwatch::start(comm);
        let mut zeta = 0.0;
        for _ in 0..self.iterations {
            zeta = self.zeta(state.outer_step(comm, a, &mut x));
        }
        self.judge(clock.stop(comm), zeta)
    }

    /// The estimate of the eigenvalue, from x.z.
    fn zeta(&self, xz: f64) -> f64 {
        self.shift + 1.0 / xz
    }

    fn judge(&self, seconds: f64, zeta: f64) -> Outcome {
        let published =
            self.class.of([8.5971775078648, 10.362595087124, 17.130235054029, 22.712745482631]);
        Outcome::new(seconds, agree(zeta, published), 1e-10)
    }
}

/// A rank's vectors: all of p, its rows of the others.
struct State {
    mine: Range<usize>,
    p: Vec<f64>,
    q: Vec<f64>,
    z: Vec<f64>,
    /// The residual's rows, and behind them their part of r.r.
    r: Vec<f64>,
}

impl State {
    fn new(n: usize, mine: Range<usize>) -> Self {
        let m = mine.len();
        State { mine, p: vec![0.0; n], q: vec![0.0; m], z: vec![0.0; m], r: vec![0.0; m + 1] }
    }

    /// Solves A z = x and sets x = z / |z|; returns x.z.
    fn outer_step<C: Spmd>(&mut self, comm: &mut C, a: &impl Product, x: &mut [f64]) -> f64 {
        self.solve(comm, a, x);
        // The residual |x - A z| is part of the benchmark, though nobody asks for it.
        let size = comm.size();
        let p = &mut self.p;
        comm.with_peers(&self.z, |all| concatenate(p, (0..size).map(|rank| all.of(rank))));
        a.times(&self.p, &mut self.q, x);
        let distance: f64 = x.iter().zip(&self.q).map(|(x, q)| (x - q) * (x - q)).sum();
        let [distance, xz, zz] = comm.sum([distance, dot(x, &self.z), dot(&self.z, &self.z)]);
        std::hint::black_box(distance.sqrt());
        let scale = 1.0 / zz.sqrt();
        for (x, z) in x.iter_mut().zip(&self.z) {
            *x = scale * z;
        }
        xz
    }

    /// 25 steps on A z = x from z = 0.
    fn solve<C: Spmd>(&mut self, comm: &mut C, a: &impl Product, x: &[f64]) {
        let State { mine, p, q, z, r } = self;
        let m = mine.len();
        z.fill(0.0);
        r[..m].copy_from_slice(x);
        r[m] = dot(x, x);
        let mut rho = turn(comm, r, p, None);
        for _ in 0..STEPS {
            let [pq] = comm.sum([a.times(p, q, &p[mine.clone()])]);
            r[m] = advance(rho / pq, &p[mine.clone()], q, z, &mut r[..m]);
            rho = turn(comm, r, p, Some(rho));
        }
    }
}

/// p = r + beta p over all rows, where beta = r.r / `before`, or 0 at the start; returns r.r.
fn turn<C: Spmd>(comm: &mut C, r: &[f64], p: &mut [f64], before: Option<f64>) -> f64 {
    let size = comm.size();
    comm.with_peers(r, |all| {
        let shown = || (0..size).map(|rank| all.of(rank).split_last().expect("r.r is there"));
        let rho: f64 = shown().map(|(part, _)| part).sum();
        match before {
            None => concatenate(p, shown().map(|(_, r)| r)),
            Some(before) => {
                let (beta, mut rest) = (rho / before, p);
                for (_, r) in shown() {
                    let (p, others) = rest.split_at_mut(r.len());
                    for (p, r) in p.iter_mut().zip(r) {
                        *p = r + beta * *p;
                    }
                    rest = others;
                }
            }
        }
        rho
    })
}

fn concatenate<'a>(mut to: &mut [f64], parts: impl Iterator<Item = &'a [f64]>) {
    for part in parts {
        let (here, rest) = to.split_at_mut(part.len());
        here.copy_from_slice(part);
        to = rest;
    }
}

/// The matrix by rows, columns ascending: sum of w_i v_i v_i^T over sparse random v_i, w_i =
/// 0.1^(i/n), and 0.1 - shift on the diagonal.
fn matrix(n: usize, nonzer: usize, shift: f64) -> Vec<Vec<(usize, f64)>> {
    let mut stream = Random::new(SEED);
    stream.next();
    let size = n.next_power_of_two() as f64;
    let vectors: Vec<Vec<(usize, f64)>> = (0..n)
        .map(|i| {
            let mut v: Vec<(usize, f64)> = Vec::with_capacity(nonzer + 1);
            while v.len() < nonzer {
                let (element, location) = (stream.next(), stream.next());
                let j = (size * location) as usize;
                if j < n && v.iter().all(|&(k, _)| k != j) {
                    v.push((j, element));
                }
            }
            match v.iter_mut().find(|(k, _)| *k == i) {
                Some((_, value)) => *value = 0.5,
                None => v.push((i, 0.5)),
            }
            v
        })
        .collect();
    let mut rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
    for (i, v) in vectors.iter().enumerate() {
        let weight = 0.1f64.powf(i as f64 / n as f64);
        for &(row, a) in v {
            rows[row].extend(v.iter().map(|&(column, b)| (column, weight * a * b)));
        }
    }
    for (i, row) in rows.iter_mut().enumerate() {
        row.push((i, 0.1 - shift));
        row.sort_by_key(|&(column, _)| column);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_has_the_published_number_of_entries() {
        assert_eq!(matrix(1400, 7, 10.0).iter().map(Vec::len).sum::<usize>(), 78148);
    }

    #[test]
    fn blocks_have_the_products_of_whole_rows() {
        let columns = 2 * WIDTH + 100;
        let mut stream = Random::new(SEED);
        let mut row = |k: usize| -> Vec<(usize, f64)> {
            let at = (0..k).map(|i| i * (columns - 1) / k.max(2));
            at.chain([WIDTH - 1, WIDTH, columns - 1]).map(|i| (i, stream.next())).collect()
        };
        let mut rows = vec![Vec::new(), row(0), row(9), row(1000)];
        for row in &mut rows {
            row.sort_by_key(|&(column, _)| column);
        }
        let x: Vec<f64> = (0..columns).map(|i| 1.0 / (i + 1) as f64).collect();
        let a = Blocks::new(columns, &rows).block(1..4);
        let (mut y, w) = ([0.0; 3], [1.0, 2.0, 3.0]);
        let dot = a.times(&x, &mut y, &w);
        for (y, row) in y.iter().zip(&rows[1..]) {
            let whole: f64 = row.iter().map(|&(i, v)| v * x[i]).sum();
            assert!(agree(*y, whole) < 1e-14, "{y} {whole}");
        }
        assert!(agree(dot, y[0] + 2.0 * y[1] + 3.0 * y[2]) < 1e-15);
    }
}
