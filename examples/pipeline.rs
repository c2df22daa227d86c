//! A pipeline by hand, with sends and receives only: the sieve of Eratosthenes.
//! Rank 0 feeds numbers in; every later rank keeps the first number that
//! reaches it, which is a prime, and passes on the numbers that are no multiple of it.

use phalanx::Team;

const RANKS: usize = 8;
const UP_TO: u32 = 60;
/// The number that ends the stream.
const END: u32 = 0;

fn main() -> Result<(), phalanx::Error> {
    let team = Team::builder().ranks(RANKS).build()?;

    let primes = team.run(|comm| {
        let rank = comm.rank();
        if rank == 0 {
            for number in (2..=UP_TO).chain([END]) {
                comm.send(&[number], 1);
            }
            return None;
        }
        let mut prime = None;
        loop {
            let mut number = [END];
            comm.recv(&mut number, rank - 1);
            let passes = match prime {
                _ if number == [END] => true,
                None => {
                    prime = Some(number[0]);
                    false
                }
                Some(prime) => !number[0].is_multiple_of(prime),
            };
            if passes && rank + 1 < comm.size() {
                comm.send(&number, rank + 1);
            }
            if number == [END] {
                return prime;
            }
        }
    })?;

    for (rank, prime) in primes.iter().enumerate().skip(1) {
        println!("rank {rank} keeps {}", prime.expect("enough numbers for all"));
    }
    assert_eq!(primes[1..], [2, 3, 5, 7, 11, 13, 17].map(Some));
    Ok(())
}
