//! Cannon's matrix product: C = A B on a torus of ranks, each with a block of the three matrices
//! and never more. Row i of the torus first shifts its blocks of A by i to the left, column j its
//! blocks of B by j up; then all multiply their blocks and shift by one, as often as the torus
//! has rows.

#[path = "matmul/blocks.rs"]
mod blocks;

use blocks::{BLOCK, check, factors, multiply};
use phalanx::Error;

fn main() -> Result<(), Error> {
    for side in [1, 2, 3] {
        let product = phalanx::run(side * side, |comm| {
            let mut torus = comm.cart(&[side, side], &[true, true]);
            let (i, j) = (torus.rank() / side, torus.rank() % side);
            let mut row = torus.sub(&[false, true]);
            let mut column = torus.sub(&[true, false]);
            let [mut a, mut b] = factors(i, j);
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
        check(side, &product);
    }
    Ok(())
}
