//! y = A x on a mesh of ranks. Rank (i, j) holds block A_ij. Part j of x starts
//! on the top rank of column j and goes down the column; every rank multiplies;
//! part i of y is the sum along row i, and ends on the row's first rank.

use phalanx::{Team, op};

/// The mesh has SIDE x SIDE ranks, a block BLOCK x BLOCK elements.
const SIDE: usize = 2;
const BLOCK: usize = 200;

fn a(row: usize, column: usize) -> f64 {
    ((row * 7 + column * 3) % 11) as f64
}

fn x(column: usize) -> f64 {
    (column % 5) as f64
}

fn main() -> Result<(), phalanx::Error> {
    let team = Team::builder().ranks(SIDE * SIDE).build()?;

    let parts = team.run(|comm| {
        let (i, j) = (comm.rank() / SIDE, comm.rank() % SIDE);
        let mut in_column = comm.split(j, i);
        let mut in_row = comm.split(i, j);

        let mut xj = vec![0.0; BLOCK];
        if i == 0 {
            xj = (0..BLOCK).map(|k| x(j * BLOCK + k)).collect();
        }
        in_column.broadcast(&mut xj, 0);

        let row = |r| (0..BLOCK).map(move |c| a(i * BLOCK + r, j * BLOCK + c));
        let mut yi: Vec<f64> =
            (0..BLOCK).map(|r| row(r).zip(&xj).map(|(a, x)| a * x).sum()).collect();
        in_row.reduce(&mut yi, op::Sum, 0);

        (j == 0).then_some(yi)
    })?;

    let y: Vec<f64> = parts.into_iter().flatten().flatten().collect();
    let n = SIDE * BLOCK;
    let serial: Vec<f64> = (0..n).map(|r| (0..n).map(|c| a(r, c) * x(c)).sum()).collect();
    // Whole numbers: exact in any order.
    assert_eq!(y, serial);
    println!("y[0..4] = {:?}, sum of y = {}", &y[..4], y.iter().sum::<f64>());
    Ok(())
}
