//! The common part of both matrix products: blocks, their product, and a check against the serial
//! product.

/// A block has BLOCK x BLOCK elements.
pub(crate) const BLOCK: usize = 24;

fn a(row: usize, column: usize) -> f64 {
    ((row * 7 + column * 3) % 11) as f64 - 5.0
}

fn b(row: usize, column: usize) -> f64 {
    ((row * 5 + column * 13) % 7) as f64
}

/// Block (i, j) of A and of B.
pub(crate) fn factors(i: usize, j: usize) -> [Vec<f64>; 2] {
    [a, b].map(|entry| {
        let cell = |k| entry(i * BLOCK + k / BLOCK, j * BLOCK + k % BLOCK);
        (0..BLOCK * BLOCK).map(cell).collect()
    })
}

/// Adds the product of two blocks.
pub(crate) fn multiply(a: &[f64], b: &[f64], c: &mut [f64]) {
    for (a, c) in a.chunks_exact(BLOCK).zip(c.chunks_exact_mut(BLOCK)) {
        for (a, b) in a.iter().zip(b.chunks_exact(BLOCK)) {
            c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
        }
    }
}

/// Whether the blocks of `side` x `side` ranks are A B. Whole numbers: exact in any order.
pub(crate) fn check(side: usize, blocks: &[Vec<f64>]) {
    let n = side * BLOCK;
    for (r, c) in (0..n * n).map(|at| (at / n, at % n)) {
        let serial: f64 = (0..n).map(|k| a(r, k) * b(k, c)).sum();
        let block = &blocks[r / BLOCK * side + c / BLOCK];
        let entry = block[r % BLOCK * BLOCK + c % BLOCK];
        assert_eq!(entry, serial, "{side} x {side} ranks, entry ({r}, {c})");
    }
    println!("{side} x {side} ranks: the product of {n} x {n} matrices is right");
}
