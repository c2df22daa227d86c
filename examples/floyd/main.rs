//! All-pairs shortest paths by Floyd's algorithm, `d_ij = min(d_ij, d_ik + d_kj)` for k = 1, 2, ..,
//! two ways: each rank with some rows, row k passed on round the ring; and on a mesh, each rank
//! with a block, pieces of row k passed on down the columns and pieces of column k along the rows.
//! Everybody first passes on and then computes.
//!
//!     PHALANX_MATRICES=<folder> cargo run --release --example floyd
//!
//! does it with the roads of Minnesota (minnesota_metres.mtx: 2642 junctions, integer metres),
//! where every algorithm and every number of ranks must give the published checksum. Without
//! `--release` it takes the first 200 junctions, and the serial algorithm for the answer. A made
//! graph comes first, with or without a folder.

#[path = "../../suites/solver/matrix_market.rs"]
mod matrix_market;

use phalanx::dist::{Block, Distribution};
use phalanx::{Comm, Error};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// No road; twice as far fits, too.
const FAR: u32 = u32::MAX / 2;

/// Junctions of the largest file that is read.
const MOST: usize = 1 << 14;

/// Distances, row by row.
struct Graph {
    n: usize,
    d: Vec<u32>,
}

impl Graph {
    /// A ring with chords, and two nodes apart from it.
    fn made(n: usize) -> Graph {
        let mut graph = Graph::without_roads(n);
        let ring = n - 2;
        for i in 0..ring {
            graph.connect(i, (i + 1) % ring, (i * 37 % 11 + 5) as u32);
            graph.connect(i, (i * i + 3) % ring, (i * 53 % 19 + 20) as u32);
        }
        graph.connect(n - 2, n - 1, 1);
        graph
    }

    fn without_roads(n: usize) -> Graph {
        Graph { n, d: (0..n * n).map(|at| if at / n == at % n { 0 } else { FAR }).collect() }
    }

    fn connect(&mut self, i: usize, j: usize, metres: u32) {
        for at in [i * self.n + j, j * self.n + i] {
            self.d[at] = self.d[at].min(metres);
        }
    }

    fn read(path: &Path) -> Result<Graph, String> {
        let roads = matrix_market::read(path)?;
        // The distances of all pairs are held at once.
        if roads.rows > MOST {
            return Err(format!("{} junctions are more than {MOST}", roads.rows));
        }
        let mut graph = Graph::without_roads(roads.rows);
        for road in &roads.entries {
            let metres = road.value as u32;
            if f64::from(metres) != road.value || metres >= FAR {
                return Err(format!("line {}: {} is no length of a road", road.line, road.value));
            }
            graph.connect(road.row, road.column, metres);
        }
        Ok(graph)
    }

    /// The first `n` nodes, and the edges between them.
    fn first(&self, n: usize) -> Graph {
        let rows = self.d.chunks_exact(self.n).take(n);
        Graph { n, d: rows.flat_map(|row| &row[..n]).copied().collect() }
    }

    /// Sum and largest of the distances of joined pairs.
    fn sums(&self) -> (u64, u32) {
        let joined = || self.d.iter().filter(|&&d| d < FAR);
        (joined().map(|&d| u64::from(d)).sum(), joined().copied().max().unwrap_or(0))
    }

    fn serial(mut self) -> Graph {
        for k in 0..self.n {
            let row_k = self.d[k * self.n..][..self.n].to_vec();
            self.d.chunks_exact_mut(self.n).for_each(|row| shorten(row, row[k], &row_k));
        }
        self
    }
}

/// Ways of one node by way of k.
fn shorten(row: &mut [u32], to_k: u32, from_k: &[u32]) {
    row.iter_mut().zip(from_k).for_each(|(d, from_k)| *d = (*d).min(to_k + from_k));
}

/// Sends `buf` from `owner` round the ring, up to the rank before the owner.
fn pass_on(comm: &mut Comm, buf: &mut [u32], owner: usize) {
    let (rank, p) = (comm.rank(), comm.size());
    if rank != owner {
        comm.recv(buf, (rank + p - 1) % p);
    }
    if (rank + 1) % p != owner {
        comm.send(buf, (rank + 1) % p);
    }
}

/// This rank's rows.
fn by_rows(comm: &mut Comm, graph: &Graph) -> Vec<u32> {
    let n = graph.n;
    let rows = Block::new(n, comm.size());
    let own = rows.range(comm.rank());
    let mut d = graph.d[own.start * n..own.end * n].to_vec();
    let mut row_k = vec![0; n];
    for k in 0..n {
        if own.contains(&k) {
            row_k.copy_from_slice(&d[(k - own.start) * n..][..n]);
        }
        pass_on(comm, &mut row_k, rows.owner(k));
        d.chunks_exact_mut(n).for_each(|row| shorten(row, row[k], &row_k));
    }
    d
}

/// This rank's block, on a mesh of `side` x `side`.
fn by_blocks(comm: &mut Comm, graph: &Graph, side: usize) -> Vec<u32> {
    let n = graph.n;
    let cut = Block::new(n, side);
    let mut mesh = comm.cart(&[side, side], &[false, false]);
    let (rows, columns) = (cut.range(mesh.rank() / side), cut.range(mesh.rank() % side));
    let (mut in_row, mut in_column) = (mesh.sub(&[false, true]), mesh.sub(&[true, false]));
    let line = |i: usize| &graph.d[i * n..][columns.clone()];
    let mut d: Vec<u32> = rows.clone().flat_map(line).copied().collect();
    let width = columns.len();
    let (mut row_k, mut column_k) = (vec![0; width], vec![0; rows.len()]);
    for k in 0..n {
        if rows.contains(&k) {
            row_k.copy_from_slice(&d[(k - rows.start) * width..][..width]);
        }
        pass_on(&mut in_column, &mut row_k, cut.owner(k));
        if columns.contains(&k) {
            let own = d.iter().skip(k - columns.start).step_by(width);
            column_k.iter_mut().zip(own).for_each(|(to, &from)| *to = from);
        }
        pass_on(&mut in_row, &mut column_k, cut.owner(k));
        for (row, &to_k) in d.chunks_exact_mut(width).zip(&column_k) {
            shorten(row, to_k, &row_k);
        }
    }
    d
}

fn check(graph: &Graph, ranks: &[usize], sides: &[usize], right: (u64, u32)) -> Result<(), Error> {
    let report = |what: String, parts: Vec<Vec<u32>>, begin: Instant| {
        let sums = Graph { n: graph.n, d: parts.concat() }.sums();
        assert_eq!(sums, right, "{what}");
        println!("{what}: sum {}, longest {}, {:.2?}", sums.0, sums.1, begin.elapsed());
    };
    for &p in ranks {
        let begin = Instant::now();
        report(format!("rows, {p} ranks"), phalanx::run(p, |comm| by_rows(comm, graph))?, begin);
    }
    for &side in sides {
        let begin = Instant::now();
        let parts = phalanx::run(side * side, |comm| by_blocks(comm, graph, side))?;
        report(format!("blocks, {side} x {side} ranks"), parts, begin);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let made = Graph::made(70);
    let right = Graph::made(70).serial().sums();
    check(&made, &[1, 2, 3, 4, 8], &[1, 2, 3], right)?;
    match std::env::var_os("PHALANX_MATRICES") {
        None => println!("skipped: PHALANX_MATRICES names no folder with minnesota_metres.mtx"),
        Some(folder) => {
            let roads = Graph::read(&PathBuf::from(folder).join("minnesota_metres.mtx"))?;
            if cfg!(debug_assertions) {
                println!(
                    "the first 200 junctions of {}: all take minutes without --release",
                    roads.n
                );
                let some = roads.first(200);
                check(&some, &[1, 2, 3], &[2], roads.first(200).serial().sums())?;
            } else {
                check(&roads, &[1, 2], &[2], (1_655_645_904_720, 846_412))?;
            }
        }
    }
    Ok(())
}
