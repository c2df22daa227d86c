//! A step of a decoder of a language model: seven products of a matrix and a vector a layer, each a
//! region. The weights are random; the attention is that of a single token.

use crate::rows::Rows;
use crate::{Pool, Random, part};
use std::ops::Range;

/// Weights of a [`Matrix`] that share a scale.
pub const BLOCK: usize = 32;

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// As 32-bit floats.
    Float,
    /// As 8-bit integers, with a scale for each block of 32.
    Byte,
}

/// A matrix by rows.
#[derive(Clone, Debug)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    stored: Stored,
}

#[derive(Clone, Debug)]
enum Stored {
    Float(Vec<f32>),
    Byte(Vec<i8>, Vec<f32>),
}

impl Matrix {
    /// Random weights, of a size that keeps a vector's.
    pub fn random(rows: usize, columns: usize, weights: Weights, random: &mut Random) -> Self {
        assert!(columns.is_multiple_of(BLOCK), "columns in blocks of {BLOCK}");
        let size = 1.7 / (columns as f32).sqrt();
        let count = rows * columns;
        let stored = match weights {
            Weights::Float => Stored::Float((0..count).map(|_| size * random.unit()).collect()),
            Weights::Byte => {
                let bytes = (0..count).map(|_| (random.below(255) as i16 - 127) as i8).collect();
                let scale = |_| size * (1.0 + random.unit() / 8.0) / 127.0;
                Stored::Byte(bytes, (0..count / BLOCK).map(scale).collect())
            }
        };
        Matrix { rows, columns, stored }
    }

    /// Some rows of it, and of these some columns, which are whole blocks.
    pub fn cut(&self, rows: Range<usize>, columns: Range<usize>) -> Matrix {
        assert!(columns.start.is_multiple_of(BLOCK) && columns.end.is_multiple_of(BLOCK));
        let (from, to, all) = (columns.start, columns.end, self.columns);
        let stored = match &self.stored {
            Stored::Float(weights) => Stored::Float(
                rows.clone()
                    .flat_map(|i| &weights[i * all + from..i * all + to])
                    .copied()
                    .collect(),
            ),
            Stored::Byte(bytes, scales) => {
                let bytes = rows.clone().flat_map(|i| &bytes[i * all + from..i * all + to]);
                let at = |i: usize, column: usize| (i * all + column) / BLOCK;
                let scales = rows.clone().flat_map(|i| &scales[at(i, from)..at(i, to)]);
                Stored::Byte(bytes.copied().collect(), scales.copied().collect())
            }
        };
        Matrix { rows: rows.len(), columns: columns.len(), stored }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements `first ..` of the product with `x`.
    #[inline(never)]
    pub fn multiply(&self, x: &[f32], first: usize, out: &mut [f32]) {
        let n = self.columns;
        assert_eq!(x.len(), n);
        for (i, out) in (first..).zip(out) {
            *out = match &self.stored {
                Stored::Float(weights) => dot(&weights[i * n..][..n], x),
                Stored::Byte(bytes, scales) => {
                    dot_of_bytes(&bytes[i * n..][..n], &scales[i * n / BLOCK..][..n / BLOCK], x)
                }
            };
        }
    }
}

fn dot(weights: &[f32], x: &[f32]) -> f32 {
    let mut sums = [0.0; BLOCK];
    for (weights, x) in weights.as_chunks::<BLOCK>().0.iter().zip(x.as_chunks::<BLOCK>().0) {
        for k in 0..BLOCK {
            sums[k] += weights[k] * x[k];
        }
    }
    sums.iter().sum()
}

fn dot_of_bytes(bytes: &[i8], scales: &[f32], x: &[f32]) -> f32 {
    let mut sums = [0.0; BLOCK];
    let blocks = bytes.as_chunks::<BLOCK>().0.iter().zip(x.as_chunks::<BLOCK>().0);
    for ((bytes, x), scale) in blocks.zip(scales) {
        for k in 0..BLOCK {
            sums[k] += f32::from(bytes[k]) * scale * x[k];
        }
    }
    sums.iter().sum()
}

/// The weights of one layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Queries, keys, values.
    pub attention: [Matrix; 3],
    /// Back from attention.
    pub output: Matrix,
    /// Gate and way up.
    pub up: [Matrix; 2],
    /// The way down.
    pub down: Matrix,
}

/// A decoder.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// Its layers, in order.
    pub layers: Vec<Layer>,
    width: usize,
}

impl Decoder {
    /// `layers` layers of vectors of `width` elements.
    pub fn random(layers: usize, width: usize, weights: Weights) -> Self {
        let random = &mut Random::new(1);
        let layer = |_| {
            let mut matrix = |rows, columns| Matrix::random(rows, columns, weights, random);
            Layer {
                attention: [(); 3].map(|()| matrix(width, width)),
                output: matrix(width, width),
                up: [(); 2].map(|()| matrix(2 * width, width)),
                down: matrix(width, 2 * width),
            }
        };
        Decoder { layers: (0..layers).map(layer).collect(), width }
    }

    /// A vector to begin with.
    pub fn start(&self) -> Vec<f32> {
        let mut random = Random::new(2);
        (0..self.width).map(|_| random.unit()).collect()
    }

    /// One step, in seven regions a layer: `x` goes through all layers.
    pub fn step(&self, pool: &mut impl Pool, x: &mut [f32], room: &mut Room) {
        for layer in &self.layers {
            let Room { normal, wide, back } = room;
            normalise(x, normal);
            for (matrix, out) in layer.attention.iter().zip(&mut *wide) {
                product(pool, matrix, normal, out);
            }
            attend(wide, normal);
            product(pool, &layer.output, normal, back);
            add(x, back);
            normalise(x, normal);
            for (matrix, out) in layer.up.iter().zip(&mut *wide) {
                product(pool, matrix, normal, out);
            }
            gate(wide);
            product(pool, &layer.down, &wide[0], back);
            add(x, back);
        }
    }
}

/// Vectors of a step.
#[derive(Clone, Debug, Default)]
pub struct Room {
    pub(crate) normal: Vec<f32>,
    pub(crate) wide: [Vec<f32>; 3],
    pub(crate) back: Vec<f32>,
}

fn product(pool: &mut impl Pool, matrix: &Matrix, x: &[f32], out: &mut Vec<f32>) {
    out.resize(matrix.rows(), 0.0);
    let (tasks, out) = (pool.tasks(), Rows::new(out));
    pool.region(&|task| {
        let mine = part(matrix.rows(), task, tasks);
        // SAFETY: tasks have parts that are apart.
        matrix.multiply(x, mine.start, unsafe { out.part(mine) });
    });
}

/// Of length 1 an element.
pub(crate) fn normalise(x: &[f32], out: &mut Vec<f32>) {
    let square = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
    let factor = 1.0 / (square + 1e-6).sqrt();
    out.clear();
    out.extend(x.iter().map(|x| x * factor));
}

/// Values, by how much queries and keys agree.
pub(crate) fn attend([queries, keys, values]: &[Vec<f32>; 3], out: &mut Vec<f32>) {
    out.clear();
    let weight = |(q, k): (&f32, &f32)| 1.0 / (1.0 + (-q * k).exp());
    out.extend(queries.iter().zip(keys).map(weight).zip(values).map(|(weight, v)| weight * v));
}

pub(crate) fn gate([gates, ups, _]: &mut [Vec<f32>; 3]) {
    gates.iter_mut().zip(ups).for_each(|(gate, up)| *gate = *gate / (1.0 + (-*gate).exp()) * *up);
}

pub(crate) fn add(x: &mut [f32], more: &[f32]) {
    x.iter_mut().zip(more).for_each(|(x, more)| *x += more);
}
