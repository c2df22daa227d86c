//! A grid of ranks, each with a part of the plate of its own.

use crate::serial::{N, STEPS, relax};
use phalanx::dist::{Block, Halo};
use phalanx::{Comm, Team, op};

pub fn heat(every: usize) -> Result<[f64; 2], phalanx::Error> {
    let results = Team::builder().build()?.run(|comm| part(comm, every))?;
    Ok(results[0]) // that of rank 0; all have the same
}

/// All ranks call this. They look at the change in each step that `every` divides.
fn part(comm: &mut Comm, every: usize) -> [f64; 2] {
    // This rank's rows and columns of the plate, and an array for them with a halo around.
    let mut grid = comm.cart(&[0, 0], &[false, false]);
    let (extents, place) = (grid.dims().to_vec(), grid.coordinates());
    let [rows, columns] = [0, 1].map(|dim| Block::new(N, extents[dim]).range(place[dim]));
    let halo = Halo::new(&[rows.len(), columns.len()], 1);
    let width = halo.total(1);
    let mut old = vec![0.0; halo.len()];
    if rows.start == 0 {
        old[..width].fill(1.0); // the hot edge is in the halo of the upper ranks
    }
    let (mut new, mut change) = (old.clone(), [0.0]);
    for step in 1..=STEPS {
        grid.phase("halo", |grid| grid.exchange_halo(&mut old, &halo));
        let mine = grid.phase("cells", |_| {
            let mut change = 0.0;
            for i in 1..=rows.len() {
                let [above, row, below] = [i - 1, i, i + 1].map(|i| &old[i * width..][..width]);
                change = relax(above, row, below, &mut new[i * width..][..width]).max(change);
            }
            change
        });
        if step % every == 0 {
            change = [mine];
            grid.phase("change", |grid| grid.all_reduce(&mut change, op::Max));
        }
        std::mem::swap(&mut old, &mut new);
    }
    let [sum] = grid.sum([halo.rows().flatten().map(|cell| old[cell]).sum::<f64>()]);
    [sum / (N * N) as f64, change[0]]
}
