//! Cliffs: numbers of ranks at which a default takes much longer than at both their neighbours.

use super::machine::Machine;
use super::node::Node;
use phalanx::schedule::Operation;
use std::collections::BTreeMap;

/// The most that a default may take of the mean of its neighbours.
const MOST: f64 = 1.15;
/// The least and the most ranks that are looked at.
const RANKS: [usize; 2] = [8, 300];

/// The numbers of ranks at which the default of an operation takes more than 1.15 of the mean of
/// its times with a rank less and a rank more, by size and reason; but not where the last rank is
/// the first of its cache, memory or package. A line for each size and reason:
/// `machine operation bytes reason: ranks`.
///
/// | reason | cliff |
/// |---|---|
/// | `parts` | groups of different sizes: pieces of their parts do not line up, and cross twice |
/// | `rules` | 31 ranks of one cache: from 32 on estimates choose, below them rules of thumb |
/// | `tree` | the same tree: a rank more has another degree or another leaf that waits |
/// | `crossing` | the choice changes beside it: the estimates cross elsewhere than these clocks |
///
/// # Examples
/// ```
/// use phalanx_model::published::{cliffs, machines};
/// use phalanx::schedule::Operation;
/// let [epyc, _] = machines();
/// // A broadcast of 128 KiB has none.
/// assert!(cliffs(&epyc, Operation::Broadcast, &[131_072]).is_empty());
/// ```
pub fn cliffs(machine: &Machine, operation: Operation, sizes: &[usize]) -> Vec<String> {
    let most = machine.node.size().min(RANKS[1] + 1);
    let defaults = |p: usize| -> Vec<(f64, &'static str)> {
        let Some(calls) = machine.own_calls(p) else { return Vec::new() };
        let time = |&bytes: &usize| {
            let (algorithm, request) = calls.chosen(operation, bytes);
            let us = calls.messages(algorithm, &request).map(|m| calls.us(&m, bytes as f64));
            (us.unwrap_or(f64::INFINITY), algorithm.id())
        };
        sizes.iter().map(time).collect()
    };
    let all: Vec<_> = (RANKS[0] - 1..=most).map(defaults).collect();
    let mut lines = Vec::new();
    for (size, bytes) in sizes.iter().enumerate() {
        let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (ranks, three) in (RANKS[0]..).zip(all.windows(3)) {
            let [before, own, after] = [three[0][size], three[1][size], three[2][size]];
            if own.0 > MOST * 0.5 * (before.0 + after.0) && !opens(&machine.node, ranks) {
                let reason = reason(ranks, [before.1, own.1, after.1]);
                found.entry(reason).or_default().push(ranks.to_string());
            }
        }
        for (reason, ranks) in found {
            let name = machine.name;
            lines.push(format!("{name} {operation} {bytes} {reason}: {}", ranks.join(" ")));
        }
    }
    lines
}

fn reason(ranks: usize, chosen: [&'static str; 3]) -> &'static str {
    match (ranks, chosen) {
        (31, [_, own, after]) if own != after => "rules",
        (_, [before, own, after]) if before != own || own != after => "crossing",
        (_, [_, own, _]) if own.ends_with("HIER-SPLIT") => "parts",
        _ => "tree",
    }
}

/// Whether rank p - 1 is the first of its cache, memory or package.
fn opens(node: &Node, p: usize) -> bool {
    let first = |cores: usize| cores > 1 && (p - 1).is_multiple_of(cores);
    first(node.sharers) || first(node.cores / node.memories) || first(node.cores)
}
