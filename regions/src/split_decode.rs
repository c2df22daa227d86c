//! The same decoder with its tensors split among ranks, as Megatron-LM cuts them: the first
//! matrices of a pair by their outputs, the second by its inputs, so that a pair needs one
//! all-reduce. (Shoeybi et al., 2019, arXiv 1909.08053; its matrices are transposed: columns, then
//! rows.)

use crate::decode::{Decoder, Layer, Room, add, attend, gate, normalise};
use crate::part;
use phalanx::{Comm, op};

/// What one rank has of a decoder.
#[derive(Clone, Debug)]
pub struct DecoderPart {
    layers: Vec<Layer>,
}

impl DecoderPart {
    /// The part of rank `rank` of `ranks`.
    ///
    /// # Panics
    /// If a rank's elements are not whole blocks of [`BLOCK`](crate::decode::BLOCK).
    pub fn new(whole: &Decoder, rank: usize, ranks: usize) -> Self {
        let cut = |layer: &Layer| {
            let width = layer.output.rows();
            let (narrow, wide) = (part(width, rank, ranks), part(2 * width, rank, ranks));
            Layer {
                attention: layer.attention.each_ref().map(|it| it.cut(narrow.clone(), 0..width)),
                output: layer.output.cut(0..width, narrow),
                up: layer.up.each_ref().map(|it| it.cut(wide.clone(), 0..width)),
                down: layer.down.cut(0..width, wide),
            }
        };
        DecoderPart { layers: whole.layers.iter().map(cut).collect() }
    }

    /// One step of all ranks, each with its part and the whole `x`; two all-reduces a layer.
    ///
    /// The same bits on every rank; another order of sums than [`Decoder::step`]'s.
    pub fn step(&self, comm: &mut Comm, x: &mut [f32], room: &mut Room) {
        for layer in &self.layers {
            let Room { normal, wide, back } = room;
            normalise(x, normal);
            for (matrix, out) in layer.attention.iter().zip(&mut *wide) {
                out.resize(matrix.rows(), 0.0);
                matrix.multiply(normal, 0, out);
            }
            attend(wide, normal);
            back.resize(x.len(), 0.0);
            layer.output.multiply(normal, 0, back);
            comm.all_reduce(back, op::Sum);
            add(x, back);
            normalise(x, normal);
            for (matrix, out) in layer.up.iter().zip(&mut *wide) {
                out.resize(matrix.rows(), 0.0);
                matrix.multiply(normal, 0, out);
            }
            gate(wide);
            layer.down.multiply(&wide[0], 0, back);
            comm.all_reduce(back, op::Sum);
            add(x, back);
        }
    }
}
