//! Cannon's matrix product: C = A B on a torus of ranks, each with a block of the three matrices and never more. Row i
//! of the torus first shifts its blocks of A by i to the left, column j its blocks of B by j up; then all multiply what
//! they have and shift by one, as often as the torus has rows.

use phalanx::Error;

/// A block has BLOCK x BLOCK elements.
const BLOCK: usize = 24;

fn a(row: usize, column: usize) -> f64 {
    ((row * 7 + column * 3) % 11) as f64 - 5.0
}

fn b(row: usize, column: usize) -> f64 {
    ((row * 5 + column * 13) % 7) as f64
}

/// Adds the product of two blocks.
fn multiply(a: &[f64], b: &[f64], c: &mut [f64]) {
    for (a, c) in a.chunks_exact(BLOCK).zip(c.chunks_exact_mut(BLOCK)) {
        for (a, b) in a.iter().zip(b.chunks_exact(BLOCK)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}

fn main() -> Result<(), Error> {
    for side in [1, 2, 3] {
        let blocks = phalanx::run(side * side, |comm| {
            let mut torus = comm.cart(&[side, side], &[true, true]);
            let (i, j) = (torus.rank() / side, torus.rank() % side);
            let mut row = torus.sub(&[false, true]);
            let mut column = torus.sub(&[true, false]);
            let cells =
                || (0..BLOCK * BLOCK).map(|k| (i * BLOCK + k / BLOCK, j * BLOCK + k % BLOCK));
            let mut a: Vec<f64> = cells().map(|(r, c)| a(r, c)).collect();
            let mut b: Vec<f64> = cells().map(|(r, c)| b(r, c)).collect();
            let mut product = vec![0.0; BLOCK * BLOCK];

            row.shift(&mut a, -(i as isize));
            column.shift(&mut b, -(j as isize));
            for _ in 0..side {
                multiply(&a, &b, &mut product);
                row.shift(&mut a, -1);
                column.shift(&mut b, -1);
            }
            product
        })?;

        let n = side * BLOCK;
        let entry = |r: usize, c: usize| {
            let block = &blocks[r / BLOCK * side + c / BLOCK];
            block[r % BLOCK * BLOCK + c % BLOCK]
        };
        for r in 0..n {
            for c in 0..n {
                // Whole numbers: exact in any order.
                let serial: f64 = (0..n).map(|k| a(r, k) * b(k, c)).sum();
                assert_eq!(entry(r, c), serial, "{side} x {side} ranks, entry ({r}, {c})");
            }
        }
        println!("{side} x {side} ranks: the product of {n} x {n} matrices is right");
    }
    Ok(())
}
