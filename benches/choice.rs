//! Compares the automatic choice with every algorithm of the catalogue that can serve the call, for
//! each operation and size. The algorithms run in turns in one process, so that a disturbance by
//! the host meets all of them.
//!
//! Each call is timed alone, from a barrier, on buffers that their owners have just rewritten; the
//! slowest rank counts. In a first round algorithms that are slower than three times the best are
//! left out. A cell's ratio is the median, over the rounds, of the automatic choice's time over the
//! other algorithm's. The automatic choice takes part twice: the ratio of the two (`noise`) is the
//! difference of two identical calls. Cells above the limit are measured once more, with three
//! times the rounds, and the second measurement counts.
//!
//! `tools/auto-vs-best`, or `cargo bench --bench choice [-- OPERATION..]`;
//! environment: `RANKS` (2), `BYTES` (a list: of the vector, or of all blocks of
//! a rank), `ROUNDS` (60), `LIMIT` (1.10). Exit code 1 if a cell is above the
//! limit. With `--test` one round, nothing printed but that it works.

#[path = "raw/operations.rs"]
mod operations;

use operations::{Buffers, call};
use phalanx::schedule::{Algorithm, Operation, Request};
use phalanx::{Comm, Team, op};
use phalanx_model::median;
use std::hint::black_box;
use std::time::Instant;

const BYTES: [usize; 10] =
    [8, 64, 512, 1 << 11, 1 << 13, 1 << 14, 1 << 15, 1 << 18, 1 << 20, 1 << 22];

/// The time of one call by `algorithm` (none: the library's choice), in ns.
fn timed(
    comm: &mut Comm,
    operation: Operation,
    algorithm: Option<Algorithm>,
    b: &mut Buffers,
    n: usize,
) -> f64 {
    for buf in [&mut b.x, &mut b.wide] {
        buf[..n].iter_mut().enumerate().for_each(|(j, x)| *x = j as f64);
    }
    black_box(&mut *b);
    comm.barrier();
    comm.barrier();
    let start = Instant::now();
    match algorithm {
        None => call(comm, operation, b, n),
        Some(algorithm) => call(&mut comm.with(algorithm), operation, b, n),
    }
    let mut ns = [start.elapsed().as_nanos() as f64];
    comm.all_reduce(&mut ns, op::Max);
    ns[0]
}

struct Cell {
    operation: Operation,
    bytes: usize,
    auto_ns: f64,
    /// Ratio of two identical calls, at least 1.
    noise: f64,
    /// Algorithm, its median time, and the median ratio of auto's to it.
    others: Vec<(Algorithm, f64, f64)>,
}

/// One rank's part: the cell is the same on all ranks.
fn cell(comm: &mut Comm, operation: Operation, bytes: usize, rounds: usize) -> Cell {
    let p = comm.size();
    let n = (bytes / 8).next_multiple_of(p);
    let mut b = Buffers { x: vec![1.0; n], wide: vec![1.0; n], out: vec![0.0; n] };
    let request = Request::new(operation, p).shift(1);
    let mut all: Vec<Algorithm> =
        Algorithm::for_operation(operation).filter(|a| a.schedule(&request).is_ok()).collect();
    let first: Vec<f64> = all
        .iter()
        .map(|&a| {
            (0..3).map(|_| timed(comm, operation, Some(a), &mut b, n)).fold(f64::MAX, f64::min)
        })
        .collect();
    let best = first.iter().copied().fold(f64::MAX, f64::min);
    let mut keep = first.iter().map(|&ns| ns <= 3.0 * best);
    all.retain(|_| keep.next().unwrap_or(false));
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); all.len() + 2];
    for round in 0..rounds {
        for turn in 0..times.len() {
            // Forwards from another one each time, and backwards.
            let i = (turn + round) % times.len();
            let i = if round % 2 == 0 { i } else { times.len() - 1 - i };
            let algorithm = i.checked_sub(2).map(|i| all[i]);
            times[i].push(timed(comm, operation, algorithm, &mut b, n));
        }
    }
    let auto = times.remove(0);
    let again = times.remove(0);
    let noise = median(&auto.iter().zip(&again).map(|(a, b)| a / b).collect::<Vec<_>>());
    let noise = noise.max(noise.recip());
    let others = all.into_iter().zip(times).map(|(algorithm, times)| {
        let ratio: Vec<f64> = auto.iter().zip(&times).map(|(a, t)| a / t).collect();
        (algorithm, median(&times), median(&ratio))
    });
    let others = others.collect();
    Cell { operation, bytes: n * 8, others, auto_ns: median(&auto), noise }
}

fn number(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let test = arguments.iter().any(|a| a == "--test");
    let mut operations: Vec<Operation> = Vec::new();
    for name in arguments.iter().filter(|a| !a.starts_with("--")) {
        operations.push(name.parse()?);
    }
    if operations.is_empty() {
        operations = Operation::ALL.into_iter().filter(|&o| o != Operation::Barrier).collect();
    }
    let asked = std::env::var("BYTES").unwrap_or_default();
    let mut sizes: Vec<usize> = asked.split(',').filter_map(|s| s.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = if test { vec![64, 4096] } else { BYTES.to_vec() };
    }
    let rounds = if test { 1 } else { number("ROUNDS", 60.0) as usize };
    let limit = number("LIMIT", 1.10);
    let team = Team::builder().ranks(number("RANKS", 2.0) as usize).pin_caller(true).build()?;
    if !test {
        println!("op\tbytes\tauto_ns\tbest_ns\tbest\tratio\tnoise\tsecond\tratio");
    }
    let mut above = Vec::new();
    for &operation in &operations {
        for &bytes in &sizes {
            let measured = |rounds| -> Result<Cell, phalanx::Error> {
                let mut cells = team.run(|comm| cell(comm, operation, bytes, rounds))?;
                let mut cell = cells.swap_remove(0);
                cell.others.sort_by(|a, b| b.2.total_cmp(&a.2));
                Ok(cell)
            };
            let mut cell = measured(rounds)?;
            if !test && cell.others.first().is_some_and(|o| o.2 > limit) {
                cell = measured(3 * rounds)?;
            }
            let Some(&(best, best_ns, ratio)) = cell.others.first() else { continue };
            let second =
                cell.others.get(1).map_or(String::new(), |o| format!("{}\t{:.2}", o.0, o.2));
            let line = format!(
                "{}\t{}\t{:.0}\t{best_ns:.0}\t{best}\t{ratio:.2}\t{:.2}\t{second}",
                cell.operation, cell.bytes, cell.auto_ns, cell.noise
            );
            if !test {
                println!("{line}");
            }
            if ratio > limit {
                above.push(line);
            }
        }
    }
    if test {
        println!("choice: works");
    } else if !above.is_empty() {
        println!("# above {limit:.2}:\n{}", above.join("\n"));
        std::process::exit(1);
    }
    Ok(())
}
