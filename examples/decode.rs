//! A program with many short parallel regions between sequential code, as a decoder of a language
//! model has: 200 products of a matrix and a vector a step, each followed by work of the caller.
//! In two forms: regions that are cut from the caller's vector (`run_chunks`), and one region in
//! which every rank does the sequential part, too.

use phalanx::dist::{Block, Distribution};
use phalanx::{Error, Team};

const N: usize = 64;
const LAYERS: usize = 200;

struct State {
    x: Vec<f32>,
    y: Vec<f32>,
    norms: Vec<f32>,
}

impl State {
    fn new() -> State {
        let x = (0..N).map(|i| (i % 7) as f32 - 3.0).collect();
        State { x, y: vec![0.0; N], norms: Vec::new() }
    }

    /// The caller's sequential work on a layer's result.
    fn after_layer(&mut self) {
        let norm = self.y.iter().map(|y| y * y).sum::<f32>().sqrt();
        self.norms.push(norm);
        self.x.iter_mut().zip(&self.y).for_each(|(x, y)| *x = y / norm + 0.001);
    }
}

fn weight(layer: usize, i: usize, j: usize) -> f32 {
    ((31 * (i * N + j) + 17 * (layer % 2)) % 101) as f32 / 800.0 - 0.0625
}

/// The elements `first ..` of W x.
fn multiply(layer: usize, x: &[f32], first: usize, out: &mut [f32]) {
    for (i, out) in (first..).zip(out) {
        *out = (0..).zip(x).map(|(j, x)| weight(layer, i, j) * x).sum();
    }
}

fn main() -> Result<(), Error> {
    let mut serial = State::new();
    for layer in 0..LAYERS {
        multiply(layer, &serial.x, 0, &mut serial.y);
        serial.after_layer();
    }
    for p in 1..=4 {
        let (team, cut) = (Team::builder().ranks(p).build()?, Block::new(N, p));

        let mut state = State::new();
        for layer in 0..LAYERS {
            let State { x, y, .. } = &mut state;
            team.run_chunks(y, |_, mine, first| multiply(layer, x, first, mine))?;
            state.after_layer();
        }
        assert_eq!(state.norms, serial.norms, "regions of {p} ranks");

        let norms = team.run(|comm| {
            let (mine, counts) = (cut.range(comm.rank()), cut.counts());
            let (mut state, mut part) = (State::new(), vec![0.0; mine.len()]);
            for layer in 0..LAYERS {
                multiply(layer, &state.x, mine.start, &mut part);
                comm.all_gather_varied_into(&part, &mut state.y, &counts);
                state.after_layer();
            }
            state.norms
        })?;
        assert!(norms.iter().all(|norms| *norms == serial.norms), "one region of {p} ranks");
    }
    Ok(())
}
