//! The same loop, whose rows the ranks of a team share.

use crate::serial::{N, STEPS, mean, plate, relax};
use phalanx::{Team, op};

pub fn heat() -> Result<[f64; 2], phalanx::Error> {
    let team = Team::builder().build()?; // a rank for each core
    let (mut old, mut new, mut change) = (plate(), plate(), 0.0);
    for _ in 0..STEPS {
        // Each rank gets a block of the rows, and the place of its first one.
        let rows = |_: &mut phalanx::Comm, rows: &mut [[f64; N + 2]], first: usize| {
            let mut change = 0.0;
            for (i, next) in (first + 1..).zip(rows) {
                change = relax(&old[i - 1], &old[i], &old[i + 1], next).max(change);
            }
            change
        };
        change = team.reduce_chunks(&mut new[1..=N], rows, op::Max)?;
        std::mem::swap(&mut old, &mut new);
    }
    Ok([mean(&old), change])
}
