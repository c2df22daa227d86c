//! Nstream: `a += b + 3 c`, as much memory traffic as there can be, and a barrier.

use super::kernel::{Check, Kernel, Outcome, Unit, timed};
use multiversion::multiversion;
use phalanx::Comm;
use phalanx::dist::Block;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Nstream {
    /// Elements of each vector
    #[arg(default_value_t = 2_000_000)]
    pub(crate) length: usize,
}

impl Kernel for Nstream {
    const NAME: &str = "nstream";
    const ITERATIONS: u32 = 100;
    const UNIT: Unit = Unit::Byte;

    fn fits(&self, _: usize) -> Result<(), String> {
        if self.length == 0 { Err("vectors of no elements".into()) } else { Ok(()) }
    }

    fn work(&self, _: usize) -> f64 {
        32.0 * self.length as f64
    }

    fn sizes(&self) -> Vec<usize> {
        vec![self.length]
    }

    fn title(&self) -> String {
        format!("nstream {}", self.length)
    }

    fn run(&self, comm: &mut Comm, _: &mut [f64], iterations: u32) -> Outcome {
        // Each rank fills its own part: the pages are in its own memory.
        let own = Block::new(self.length, comm.size()).range(comm.rank()).len();
        let mut a = vec![0.0; own];
        let (b, c) = (vec![2.0; own], vec![2.0; own]);
        let seconds = timed(comm, iterations, |comm| {
            triad(&mut a, &b, &c);
            comm.barrier();
        });
        let [sum] = comm.sum([a.iter().sum::<f64>()]);
        let expected = 8.0 * f64::from(iterations + 1) * self.length as f64;
        Outcome { seconds, check: Check::relative(sum, expected, 1e-8) }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn triad(a: &mut [f64], b: &[f64], c: &[f64]) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a += b + 3.0 * c;
    }
}
