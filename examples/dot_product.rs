//! The dot product of two vectors: each rank has a part of both, multiplies
//! and adds its part, and an all-reduction adds the partial sums up.

use phalanx::Team;
use phalanx::dist::Block;

const N: usize = 1_000_000;

fn main() -> Result<(), phalanx::Error> {
    let team = Team::builder().ranks(4).build()?;
    let x: Vec<f64> = (0..N).map(|i| (i % 10) as f64).collect();
    let y: Vec<f64> = (0..N).map(|i| (i % 3) as f64).collect();

    let sums = team.run(|comm| {
        let mine = Block::new(N, comm.size()).range(comm.rank());
        let partial: f64 = x[mine.clone()].iter().zip(&y[mine]).map(|(x, y)| x * y).sum();

        let [sum] = comm.sum([partial]);
        (partial, sum)
    })?;

    for (rank, (partial, sum)) in sums.iter().enumerate() {
        println!("rank {rank}: {partial} of {sum}");
    }
    // Whole numbers: exact in any order.
    let serial: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
    assert!(sums.iter().all(|&(_, sum)| sum == serial));
    Ok(())
}
