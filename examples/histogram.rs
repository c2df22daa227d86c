//! A histogram that all ranks fill: by atomics in a window, of which each rank has some bins; and
//! by private histograms that are added up. The window needs the memory once, and no call at the
//! end; private bins take no lines from other cores.
//!
//! `cargo run --release --example histogram [ranks]`

use phalanx::dist::{Block, Distribution};
use phalanx::{Comm, op};
use std::sync::atomic::Ordering::Relaxed;

const BINS: usize = 1000;
const SAMPLES: usize = 200_000;

/// The bin of sample `i`: most are in few bins.
fn bin(i: usize) -> usize {
    let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (((x * x) >> 32) as usize * BINS) >> 32
}

/// This rank's bins, by a window.
fn shared(comm: &mut Comm, samples: impl Iterator<Item = usize>) -> Vec<u64> {
    let bins = Block::new(BINS, comm.size());
    let mut window = comm.shared_atomic::<u64>(bins.count(comm.rank()));
    for bin in samples.map(bin) {
        // Relaxed: the counts are read after all have met.
        window.part(bins.owner(bin))[bins.local(bin)].fetch_add(1, Relaxed);
    }
    let rank = comm.rank();
    window.read(comm, |all| all[rank].to_vec())
}

/// The same by private histograms.
fn private(comm: &mut Comm, samples: impl Iterator<Item = usize>) -> Vec<u64> {
    let mut counts = vec![0u64; BINS];
    samples.map(bin).for_each(|bin| counts[bin] += 1);
    comm.all_reduce(&mut counts, op::Sum);
    counts[Block::new(BINS, comm.size()).range(comm.rank())].to_vec()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks = std::env::args().nth(1).map_or(Ok(4), |ranks| ranks.parse())?;
    let parts = phalanx::run(ranks, |comm| {
        let samples = Block::new(SAMPLES, comm.size()).range(comm.rank());
        let (a, b) = (shared(comm, samples.clone()), private(comm, samples));
        assert_eq!(a, b, "two ways to one histogram");
        a
    })?;
    let counts = parts.concat();
    assert_eq!(counts.iter().sum::<u64>(), SAMPLES as u64);
    println!("{ranks} ranks: {} of {SAMPLES} samples are in the first of {BINS} bins", counts[0]);
    Ok(())
}
