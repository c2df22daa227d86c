//! What this library takes on the published nodes: its choice, the best of its catalogue, ext_mpi.
use phalanx::schedule::Operation;
use phalanx_model::published::{curves, machines, sizes};

fn main() {
    for machine in machines() {
        let ranks: &[usize] = if machine.node.size() == 128 { &[128] } else { &[72, 288] };
        for &p in ranks {
            let calls = machine.own_calls(p).unwrap();
            for (name, operation) in [
                ("allreduce", Operation::AllReduce),
                ("bcast", Operation::Broadcast),
                ("reduce", Operation::Reduce),
            ] {
                let ext = curves(false).into_iter().find(|c| {
                    c.operation == name
                        && c.machine == machine.name
                        && c.ranks == p
                        && c.library == "ext_mpi"
                });
                let all: Vec<_> = calls
                    .catalogue(operation)
                    .into_iter()
                    .filter(|(a, _)| {
                        let id = a.id();
                        !["NAIVE", "CHAIN", "PIPE", "-AP-"].iter().any(|part| id.contains(part))
                    })
                    .filter_map(|(a, r)| Some((a, r.clone(), calls.messages(a, &r)?)))
                    .collect();
                println!("# {} {p} {name}", machine.name);
                for (i, bytes) in sizes().enumerate() {
                    let (a, r) = calls.chosen(operation, bytes as usize);
                    let own = calls.us(&calls.messages(a, &r).unwrap(), bytes);
                    let mut timed: Vec<_> =
                        all.iter().map(|(a, r, m)| (calls.us(m, bytes), a, r)).collect();
                    timed.sort_by(|a, b| a.0.total_cmp(&b.0));
                    let mut by_id: Vec<(f64, String, String)> = Vec::new();
                    for (us, a, r) in timed {
                        if by_id.len() < 2 && !by_id.iter().any(|b| b.1 == a.id()) {
                            let levels = if a.uses_levels() {
                                r.levels.as_ref().map_or(String::new(), |l| l.to_string())
                            } else {
                                String::new()
                            };
                            by_id.push((us, a.id().to_string(), levels));
                        }
                    }
                    let measured = ext.as_ref().map_or(0.0, |e| e.us[i]);
                    let theirs = machine
                        .predict(
                            &phalanx_model::published::Asked {
                                library: "ext_mpi",
                                how: "",
                                operation: name,
                                ranks: p,
                                spread: false,
                            },
                            bytes,
                        )
                        .unwrap_or(0.0);
                    print!("{bytes}\text {measured:.2} ({theirs:.2})\town {own:.2} {}", a.id());
                    for (us, id, levels) in &by_id {
                        print!(" | {us:.2} {id} {levels}");
                    }
                    println!();
                }
            }
        }
    }
}
