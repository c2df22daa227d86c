//! Reduce: each rank adds its two vectors, and all sums are added up on rank 0.

use super::kernel::{Check, Kernel, Outcome, Unit, timed};
use multiversion::multiversion;
use phalanx::schedule::{Operation, Request, Unfit};
use phalanx::{Algorithm, Comm, op};

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Reduce {
    /// Elements of each vector
    #[arg(default_value_t = 2_000_000)]
    pub(crate) length: usize,
    /// Elements that are added and reduced together: small enough to be in the cache in between
    #[arg(long, default_value_t = 16_384, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) block: u64,
    /// One of the catalogue's for `reduce`, such as RED-HCUBE, RED-RING or RED-SPLIT-RING
    #[arg(long, value_parser = algorithm)]
    pub(crate) algorithm: Option<Algorithm>,
}

fn algorithm(name: &str) -> Result<Algorithm, String> {
    let algorithm: Algorithm = name.parse().map_err(|e| format!("{e}"))?;
    if algorithm.operations().contains(&Operation::Reduce) {
        return Ok(algorithm);
    }
    Err(format!("{algorithm} is no reduction to one rank"))
}

impl Kernel for Reduce {
    const NAME: &str = "reduce";
    const ITERATIONS: u32 = 50;
    const UNIT: Unit = Unit::Flop;

    fn fits(&self, ranks: usize) -> Result<(), String> {
        if self.length == 0 {
            return Err("vectors of no elements".into());
        }
        let request = Request::new(Operation::Reduce, ranks);
        match self.algorithm.map(|algorithm| algorithm.schedule(&request)) {
            Some(Err(unfit @ Unfit::PowerOfTwo { .. })) => Err(unfit.to_string()),
            _ => Ok(()),
        }
    }

    fn work(&self, ranks: usize) -> f64 {
        ((2 * ranks - 1) * self.length) as f64
    }

    fn sizes(&self) -> Vec<usize> {
        vec![self.length, self.block as usize]
    }

    fn title(&self) -> String {
        match self.algorithm {
            Some(algorithm) => format!("reduce {} by {algorithm}", self.length),
            None => format!("reduce {}", self.length),
        }
    }

    fn run(&self, comm: &mut Comm, _: &mut [f64], iterations: u32) -> Outcome {
        let (rank, p, block) = (comm.rank(), comm.size(), self.block as usize);
        let first = vec![(rank + 1) as f64; self.length];
        let second = vec![(rank + 1 + p) as f64; self.length];
        let mut sum = vec![0.0; self.length];
        let seconds = timed(comm, iterations, |comm| {
            let pieces = sum.chunks_mut(block).zip(first.chunks(block).zip(second.chunks(block)));
            for (sum, (first, second)) in pieces {
                add(sum, first, second);
                match self.algorithm {
                    Some(algorithm) => comm.with(algorithm).reduce(sum, op::Sum, 0),
                    None => comm.reduce(sum, op::Sum, 0),
                }
            }
        });
        let expected = (p * (2 * p + 1)) as f64;
        let worst = |worst: f64, &sum: &f64| worst.max((sum - expected).abs());
        let mut off = [if rank == 0 { sum.iter().fold(0.0, worst) } else { 0.0 }];
        comm.broadcast(&mut off, 0);
        Outcome { seconds, check: Check::absolute(expected + off[0], expected, 1e-8) }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add(sum: &mut [f64], first: &[f64], second: &[f64]) {
    for ((sum, first), second) in sum.iter_mut().zip(first).zip(second) {
        *sum = first + second;
    }
}
