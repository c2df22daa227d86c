//! Pi by numerical integration: the program of the README, where it is a doctest, too.

fn main() -> Result<(), phalanx::Error> {
    let n = 1_000_000; // rectangles under 4 / (1 + x²) from 0 to 1: their area is pi
    let results = phalanx::run(2, |comm| {
        let height = |i: usize| 4.0 / (1.0 + ((i as f64 + 0.5) / n as f64).powi(2));
        let mine: f64 = (comm.rank()..n).step_by(comm.size()).map(height).sum();
        let [total] = comm.sum([mine]); // every rank receives the sum over all ranks
        total / n as f64
    })?;
    println!("{results:?}"); // the result of each rank, in rank order
    assert!(results.iter().all(|pi| (pi - std::f64::consts::PI).abs() < 1e-9));
    Ok(())
}
