//! A master and its workers: a worker that is done with a piece gets the next one. Pieces are owned
//! values, which are moved; results are as long as they happen to be. They come in any order, and
//! are put in their place by their tag: so the whole is the same in every run.

use phalanx::{Comm, Error, Source, Tag};
use std::ops::Range;

const PIECES: usize = 40;
const LENGTH: u64 = 500;
const IDLE: u32 = u32::MAX; // other tags are the numbers of pieces

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// Hands the pieces out, and puts the primes together.
fn master(comm: &mut Comm) -> Vec<u64> {
    let mut pieces = (0..PIECES as u64).map(|i| i * LENGTH..(i + 1) * LENGTH).enumerate();
    let mut results = vec![Vec::new(); PIECES];
    let mut busy = comm.size() - 1;
    while busy > 0 {
        let status = comm.probe(Source::Any, Tag::Any);
        if status.tag != IDLE {
            results[status.tag as usize] = comm.recv_vec(status.source, status.tag).0;
            continue;
        }
        comm.recv_tagged::<()>(&mut [], status.source, IDLE);
        let next: Option<(usize, Range<u64>)> = pieces.next();
        busy -= usize::from(next.is_none());
        comm.send_owned(next, status.source, 0);
    }
    results.concat()
}

/// Asks for pieces until there is none; returns how many it had.
fn worker(comm: &mut Comm) -> usize {
    for done in 0.. {
        comm.send_tagged::<()>(&[], 0, IDLE);
        let (piece, _) = comm.recv_owned::<Option<(usize, Range<u64>)>>(0, 0);
        let Some((number, piece)) = piece else { return done };
        let primes: Vec<u64> = piece.filter(|&n| is_prime(n)).collect();
        comm.send_tagged(&primes, 0, number as u32);
    }
    unreachable!()
}

fn main() -> Result<(), Error> {
    for p in [2, 3, 6] {
        let done = phalanx::run(p, |comm| match comm.rank() {
            0 => {
                let primes = master(comm);
                assert!(primes.is_sorted() && primes.len() == 2262 && primes[2261] == 19_997);
                0
            }
            _ => worker(comm),
        })?;
        assert_eq!(done.iter().sum::<usize>(), PIECES);
    }
    Ok(())
}
