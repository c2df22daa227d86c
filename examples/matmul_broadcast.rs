//! The matrix product by broadcasts: C = A B on a mesh of ranks, each with a block of the three
//! matrices. In step k the ranks of column k broadcast their blocks of A along their rows, those of
//! row k their blocks of B along their columns, and all add the product of the two. (All
//! at once it is an all-gather in rows and columns: less steps, but each rank then has a whole row
//! and a whole column of blocks; shown, too.)

#[path = "matmul/blocks.rs"]
mod blocks;

use blocks::{BLOCK, check, factors, multiply};
use phalanx::{Comm, Error};

fn by_broadcasts(row: &mut Comm, column: &mut Comm, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; BLOCK * BLOCK];
    let (mut left, mut above) = (a.to_vec(), b.to_vec());
    for k in 0..row.size() {
        left.copy_from_slice(a);
        row.broadcast(&mut left, k);
        above.copy_from_slice(b);
        column.broadcast(&mut above, k);
        multiply(&left, &above, &mut product);
    }
    product
}

fn by_gathering(row: &mut Comm, column: &mut Comm, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; BLOCK * BLOCK];
    let mut of_row = vec![0.0; row.size() * a.len()];
    row.all_gather_into(a, &mut of_row);
    let mut of_column = vec![0.0; column.size() * b.len()];
    column.all_gather_into(b, &mut of_column);
    let pairs = of_row.chunks_exact(a.len()).zip(of_column.chunks_exact(b.len()));
    pairs.for_each(|(a, b)| multiply(a, b, &mut product));
    product
}

fn main() -> Result<(), Error> {
    for side in [1, 2, 3] {
        let product = phalanx::run(side * side, |comm| {
            let mut mesh = comm.cart(&[side, side], &[false, false]);
            let (i, j) = (mesh.rank() / side, mesh.rank() % side);
            let (mut row, mut column) = (mesh.sub(&[false, true]), mesh.sub(&[true, false]));
            let [a, b] = factors(i, j);
            let product = by_broadcasts(&mut row, &mut column, &a, &b);
            assert_eq!(product, by_gathering(&mut row, &mut column, &a, &b));
            product
        })?;
        check(side, &product);
    }
    Ok(())
}
