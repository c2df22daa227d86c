//! Sums of halves: made in `f32` and rounded once at the end, so each is the nearest half to the
//! exact sum, though one rank's values are fifty times as large as the others'.

use half::{bf16, f16};
use phalanx::{Error, op};

const N: usize = 4096;

/// Element `i` of rank `rank`.
fn value(rank: usize, i: usize) -> f32 {
    let small = ((i * 7919 + rank * 104_729) % 1000) as f32 / 500.0 - 1.0;
    if rank == 0 { small + 100.0 } else { small }
}

/// Of the elements of `sums`, those that are not the exact sum of the ranks' rounded once.
fn wrong<T: Copy>(p: usize, sums: &[T], from: fn(f64) -> T, to: fn(T) -> f64) -> usize {
    let exact = |i| (0..p).map(|rank| to(from(f64::from(value(rank, i))))).sum();
    (0..N).filter(|&i| to(sums[i]) != to(from(exact(i)))).count()
}

fn main() -> Result<(), Error> {
    for p in 1..=4 {
        let wrong = phalanx::run(p, |comm| {
            let mine = (0..N).map(|i| value(comm.rank(), i));
            let mut brain: Vec<bf16> = mine.clone().map(bf16::from_f32).collect();
            let mut half: Vec<f16> = mine.map(f16::from_f32).collect();
            comm.all_reduce(&mut brain, op::Sum);
            comm.all_reduce(&mut half, op::Sum);
            let brain = wrong(p, &brain, bf16::from_f64, bf16::to_f64);
            (brain, wrong(p, &half, f16::from_f64, f16::to_f64))
        })?;
        assert!(wrong.iter().all(|&wrong| wrong == (0, 0)), "{p} ranks: {wrong:?}");
    }
    Ok(())
}
