//! The defaults that take more than 1.15 of what their neighbours p - 1 and p + 1 interpolate to.
use phalanx::schedule::Operation;
use phalanx_model::published::machines;

fn main() {
    for machine in machines() {
        let most = machine.node.size();
        for (name, operation) in [
            ("allreduce", Operation::AllReduce),
            ("bcast", Operation::Broadcast),
            ("reduce", Operation::Reduce),
        ] {
            let sizes: Vec<usize> = (0..11).map(|i| 8usize << (2 * i)).collect();
            let mut table: Vec<Vec<(f64, &str)>> = Vec::new();
            for p in 7..=most.min(301) {
                let calls = machine.own_calls(p).unwrap();
                table.push(
                    sizes
                        .iter()
                        .map(|&bytes| {
                            let (a, r) = calls.chosen(operation, bytes);
                            (calls.us(&calls.messages(a, &r).unwrap(), bytes as f64), a.id())
                        })
                        .collect(),
                );
            }
            for (s, bytes) in sizes.iter().enumerate() {
                let mut bad = 0;
                let mut worst = (0.0, 0);
                let mut list = String::new();
                for i in 1..table.len() - 1 {
                    let (a, b, c) = (table[i - 1][s], table[i][s], table[i + 1][s]);
                    let ratio = b.0 / (0.5 * (a.0 + c.0));
                    let (n, q) = (&machine.node, i + 6);
                    let opens = (n.sharers > 1 && q % n.sharers == 0)
                        || q % (n.cores / n.memories) == 0
                        || q % n.cores == 0;
                    if ratio > 1.15 && !opens {
                        bad += 1;
                        list += &format!(" {}:{:.2}({}<{},{})", i + 7, ratio, b.1, a.1, c.1);
                    }
                    if ratio > worst.0 && !opens {
                        worst = (ratio, i + 7);
                    }
                }
                println!(
                    "{} {name} {bytes}: {bad} bad, worst {:.2} at {}:{list}",
                    machine.name, worst.0, worst.1
                );
            }
        }
    }
}
