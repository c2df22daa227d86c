//! Times the collectives on all ranks of all nodes, each checked once, as `phalanx
//! bench` does on one node (whose gate and clock are for one process: what is timed
//! here is a loop of calls, from barrier to barrier, on rank 0).
//!
//!     mpirun -n 2 bench [OP..] [-e BYTES] [--lanes]
//!
//! Columns: op, nodes, ranks, bytes a rank (or block), iterations, us a call, MB/s of
//! that, errors found.

use phalanx::{Comm, op};
use std::process::ExitCode;
use std::time::Instant;

const OPS: [&str; 12] = [
    "barrier",
    "broadcast",
    "reduce",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "scan",
    "scatter",
    "gather",
    "all-to-all",
    "shift",
    "exchange",
];

/// Buffers of a rank.
struct Data {
    own: Vec<f64>,
    all: Vec<f64>,
    back: Vec<f64>,
}

/// Makes the call once; returns how many results are wrong.
fn call(comm: &mut Comm, name: &str, n: usize, data: &mut Data, check: bool) -> usize {
    let (r, p) = (comm.rank(), comm.size());
    let Data { own, all, back } = data;
    if check {
        own.fill((r + 1) as f64);
        all.chunks_mut(n.max(1)).enumerate().for_each(|(q, block)| block.fill((r * p + q) as f64));
    }
    let total = (p * (p + 1) / 2) as f64;
    let count = |x: &[f64], want: f64| x.iter().filter(|&&x| check && x != want).count();
    let blocks = |x: &[f64], want: &dyn Fn(usize) -> f64| {
        x.chunks(n.max(1)).enumerate().map(|(q, block)| count(block, want(q))).sum()
    };
    match name {
        "barrier" => {
            comm.barrier();
            0
        }
        "broadcast" => {
            comm.broadcast(own, 0);
            count(own, 1.0)
        }
        "reduce" => {
            comm.reduce(own, op::Sum, 0);
            count(own, if r == 0 { total } else { (r + 1) as f64 })
        }
        "all-reduce" => {
            comm.all_reduce(own, op::Sum);
            count(own, total)
        }
        "all-gather" => {
            comm.all_gather_into(own, back);
            blocks(back, &|q| (q + 1) as f64)
        }
        "reduce-scatter" => {
            comm.reduce_scatter_into(all, own, op::Sum);
            count(own, (0..p).map(|q| (q * p + r) as f64).sum())
        }
        "scan" => {
            comm.scan(own, op::Sum);
            count(own, ((r + 1) * (r + 2) / 2) as f64)
        }
        "scatter" => {
            comm.scatter_into(all, own, 0);
            count(own, r as f64)
        }
        "gather" => {
            comm.gather_into(own, back, 0);
            if r == 0 { blocks(back, &|q| (q + 1) as f64) } else { 0 }
        }
        "all-to-all" => {
            comm.all_to_all_into(all, back);
            blocks(back, &|q| (q * p + r) as f64)
        }
        "shift" => {
            comm.shift(own, 1);
            count(own, ((r + p - 1) % p + 1) as f64)
        }
        _ => {
            comm.exchange(own, (r + 1) % p, &mut back[..n], (r + p - 1) % p);
            count(&back[..n], ((r + p - 1) % p + 1) as f64)
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut ops, mut most, mut lanes) = (Vec::new(), 1 << 20, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-e" => match arguments.next().and_then(|n| n.parse().ok()) {
                Some(bytes) => most = bytes,
                None => {
                    eprintln!("bench: -e takes bytes, such as 1048576");
                    return ExitCode::from(2);
                }
            },
            "--lanes" => lanes = true,
            name => match OPS.iter().find(|&&op| op == name) {
                Some(&op) => ops.push(op),
                None => {
                    eprintln!("bench: no operation {name}; there are {}", OPS.join(" "));
                    return ExitCode::from(2);
                }
            },
        }
    }
    if ops.is_empty() {
        ops = OPS.to_vec();
    }
    let cluster = match phalanx_mpi::builder().lanes(lanes).build() {
        Ok(cluster) => cluster,
        Err(e) => {
            eprintln!("bench: {e}");
            return ExitCode::FAILURE;
        }
    };
    if cluster.node() == 0 {
        println!("op\tnodes\tranks\tbytes\titerations\tus\tmb_s\twrong");
    }
    let mut wrong = 0;
    for &name in &ops {
        let mut bytes = if name == "barrier" { 0 } else { 8 };
        loop {
            let n = bytes / 8;
            let iterations = (200_000 / bytes.max(1000)).clamp(5, 200);
            let result = cluster.run(|comm| {
                let p = comm.size();
                let (own, all, back) = (vec![0.0; n], vec![0.0; n * p], vec![0.0; n * p]);
                let mut data = Data { own, all, back };
                let bad = call(comm, name, n, &mut data, true);
                let [bad] = comm.sum([bad as u64]);
                comm.barrier();
                let since = Instant::now();
                for _ in 0..iterations {
                    call(comm, name, n, &mut data, false);
                }
                comm.barrier();
                (bad, since.elapsed().as_secs_f64() / iterations as f64, p)
            });
            let (bad, seconds, ranks) = match result {
                Ok(results) => results[0],
                Err(e) => {
                    eprintln!("bench: {e}");
                    return ExitCode::FAILURE;
                }
            };
            wrong += bad;
            if cluster.node() == 0 {
                let (nodes, us) = (cluster.nodes(), seconds * 1e6);
                let rate = bytes as f64 / seconds / 1e6;
                println!(
                    "{name}\t{nodes}\t{ranks}\t{bytes}\t{iterations}\t{us:.2}\t{rate:.0}\t{bad}"
                );
            }
            if bytes == 0 || bytes * 8 > most {
                break;
            }
            bytes *= 8;
        }
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
