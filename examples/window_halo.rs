//! Heat in a ring: each rank reads its neighbours' outermost cells where they lie, by two windows
//! in turns, and by `with_global`.
//!
//! `cargo run --release --example window_halo [ranks]`

use phalanx::Comm;
use phalanx::dist::Block;
use std::ops::Range;

const CELLS: usize = 1000;
const STEPS: usize = 100;

/// One step: `next` from `cells`, with the cells before and after them.
fn step(before: f64, cells: &[f64], after: f64, next: &mut [f64]) {
    for (i, next) in next.iter_mut().enumerate() {
        let before = if i == 0 { before } else { cells[i - 1] };
        let after = cells.get(i + 1).copied().unwrap_or(after);
        *next = cells[i] + 0.25 * (before - 2.0 * cells[i] + after);
    }
}

fn by_windows(comm: &mut Comm, first: &[f64]) -> Vec<f64> {
    let (rank, p) = (comm.rank(), comm.size());
    let mut now = comm.shared_from(first);
    let mut next = comm.shared::<f64>(now.len());
    for _ in 0..STEPS {
        // While `next` is written, `now` is there for all.
        next.update(comm, |next| {
            let (before, after) = (now.part((rank + p - 1) % p), now.part((rank + 1) % p));
            step(before[before.len() - 1], now.mine(), after[0], next);
        });
        std::mem::swap(&mut now, &mut next);
    }
    now.mine().to_vec()
}

fn by_views(comm: &mut Comm, first: &[f64], range: Range<usize>) -> Vec<f64> {
    let (mut now, mut next) = (first.to_vec(), first.to_vec());
    for _ in 0..STEPS {
        comm.with_global(&now, |all| {
            step(all[(range.start + CELLS - 1) % CELLS], &now, all[range.end % CELLS], &mut next);
        });
        std::mem::swap(&mut now, &mut next);
    }
    now
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ranks = std::env::args().nth(1).map_or(Ok(4), |ranks| ranks.parse())?;
    let rings = phalanx::run(ranks, |comm| {
        let range = Block::new(CELLS, comm.size()).range(comm.rank());
        let first: Vec<f64> = range.clone().map(|i| f64::from(i < CELLS / 10)).collect();
        let ring = by_windows(comm, &first);
        assert_eq!(ring, by_views(comm, &first, range));
        ring
    })?;
    let heat: f64 = rings.iter().flatten().sum();
    assert!((heat - CELLS as f64 / 10.0).abs() < 1e-9, "no heat is lost");
    Ok(())
}
