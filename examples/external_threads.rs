//! Communicators for threads that the program already has, here those of `std::thread::scope`.
//! Phalanx starts and pins no thread.

use phalanx::{Error, Team, op};

const THREADS: usize = 3;

fn main() -> Result<(), Error> {
    let comms = Team::external(THREADS)?;

    let results: Vec<Result<f64, Error>> = std::thread::scope(|s| {
        let start = |mut comm: phalanx::Comm| {
            // `protect` makes an error of a panic that would unwind the thread.
            s.spawn(move || {
                comm.protect(|comm| {
                    let mut largest = [(comm.rank() as f64).sin()];
                    comm.all_reduce(&mut largest, op::Max);
                    comm.barrier();
                    largest[0]
                })
            })
        };
        let threads: Vec<_> = comms.into_iter().map(start).collect();
        threads.into_iter().map(|t| t.join().expect("`protect` lets nothing through")).collect()
    });

    for (rank, largest) in results.into_iter().enumerate() {
        let largest = largest?;
        println!("thread {rank}: the largest is {largest:.4}");
        assert_eq!(largest, 2f64.sin());
    }
    Ok(())
}
