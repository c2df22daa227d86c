//! No cliffs: from 8 to 300 ranks no default takes much longer than those of its neighbours p - 1
//! and p + 1, but where a rank opens a new cache, memory or package.

use super::*;
use phalanx::schedule::Operation;

/// A default at a number of ranks.
#[derive(Clone, Copy, Debug)]
struct Point {
    us: f64,
    chosen: &'static str,
}

/// The most that a default may take of the mean of its neighbours.
const MOST: f64 = 1.15;

/// Bytes, by powers of 16: by powers of 4 with the optimiser, which takes a minute less.
fn bytes() -> impl Iterator<Item = usize> {
    let step = if cfg!(debug_assertions) { 4 } else { 2 };
    (3..=23).step_by(step).map(|log| 1 << log)
}

/// Whether rank p - 1 is the first of its cache, memory or package.
fn opens(node: &Node, p: usize) -> bool {
    let first = |cores: usize| cores > 1 && (p - 1).is_multiple_of(cores);
    first(node.sharers) || first(node.cores / node.memories) || first(node.cores)
}

/// The defaults of an operation for 7 and more ranks, by size.
fn defaults(machine: &Machine, operation: Operation) -> Vec<Vec<Point>> {
    let most = machine.node.size().min(301);
    let of = |p: usize| {
        let calls = machine.own_calls(p).unwrap();
        let point = |bytes| {
            let (algorithm, request) = calls.chosen(operation, bytes);
            let messages = calls.messages(algorithm, &request).unwrap();
            Point { us: calls.us(&messages, bytes as f64), chosen: algorithm.id() }
        };
        bytes().map(point).collect()
    };
    (7..=most).map(of).collect()
}

/// The cliffs that are left, as many by machine and operation as the numbers say, and the highest.
fn cliffs(machine: &Machine, operation: Operation) -> Vec<(f64, String)> {
    let all = defaults(machine, operation);
    let mut found = Vec::new();
    for (size, bytes) in bytes().enumerate() {
        for (at, three) in all.windows(3).enumerate() {
            let [before, own, after] = [three[0][size], three[1][size], three[2][size]];
            let ratio = own.us / (0.5 * (before.us + after.us));
            let p = at + 8;
            if ratio > MOST && !opens(&machine.node, p) {
                let what = format!(
                    "{} {operation} {bytes} bytes, {p} ranks: {} {:.2} us, {ratio:.2} of {} and {}",
                    machine.name, own.chosen, own.us, before.chosen, after.chosen
                );
                found.push((ratio, what));
            }
        }
    }
    found
}

/// Fails still: the cliffs that are left are to be mended in the estimates (`tuning/estimate.rs`,
/// `tuning/flat_estimate.rs`), or named here with their reasons.
#[test]
fn no_default_is_a_cliff() {
    let mut all = Vec::new();
    for machine in machines() {
        for operation in [Operation::AllReduce, Operation::Broadcast, Operation::Reduce] {
            all.extend(cliffs(&machine, operation));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told: Vec<&str> = all.iter().take(20).map(|cliff| cliff.1.as_str()).collect();
    assert!(all.is_empty(), "{} cliffs:\n{}", all.len(), told.join("\n"));
}
