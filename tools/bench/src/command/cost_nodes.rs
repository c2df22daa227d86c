//! `phalanx cost --nodes`: an operation on several machines, by the model of two
//! levels.

use crate::failure::Failure;
use crate::output::{Format, OutputArgs};
use crate::paper::call::CallArgs;
use crate::paper::cells;
use phalanx::schedule::Operation;
use phalanx_model::{Across, Rates};
use serde_json::{Value, json};

const COLUMNS: [&str; 8] =
    ["operation", "nodes", "ranks", "words", "node_time", "network_time", "time", "source"];

/// The most nodes.
const MOST: usize = 1 << 20;

/// From how many nodes to how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range(usize, usize);

/// t_s and t_w.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair(f64, f64);

pub(super) fn parse_nodes(text: &str) -> Result<Range, String> {
    let number = |s: &str| match s.trim().parse() {
        Ok(n) if (1..=MOST).contains(&n) => Ok(n),
        _ => Err(format!("nodes are a number from 1 to {MOST}, or a range such as 2..4096")),
    };
    match text.split_once("..") {
        None => number(text).map(|n| Range(n, n)),
        Some((a, b)) => match (number(a)?, number(b.trim_start_matches('='))?) {
            (a, b) if a <= b => Ok(Range(a, b)),
            (a, b) => Err(format!("an empty range: {a} is more than {b}")),
        },
    }
}

pub(super) fn parse_rates(text: &str) -> Result<Pair, String> {
    let wrong = || "t_s and t_w of the network, two numbers from 0 on: 2,0.001".to_string();
    let (ts, tw) = text.split_once(',').ok_or_else(wrong)?;
    let number = |s: &str| s.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    Ok(Pair(number(ts).ok_or_else(wrong)?, number(tw).ok_or_else(wrong)?))
}

/// Runs the command.
pub(super) fn run(
    operation: Operation,
    Range(from, to): Range,
    Pair(t_s, t_w): Pair,
    call: &CallArgs,
    node: Rates,
    output: &OutputArgs,
) -> Result<(), Failure> {
    let ranks = call.ranks()?;
    // Refuses what no operation can be.
    let operation = call.request(operation)?.operation;
    let network = Rates { t_s, t_w, ports: 1 };
    let mut rows = Vec::new();
    let mut nodes = from;
    loop {
        let across = Across::of(operation, nodes, ranks, call.words as f64, node, network)
            .ok_or_else(|| Failure::usage("say how many ranks a node has: -p RANKS, from 1 on"))?;
        rows.push(vec![
            json!(operation.to_string()),
            json!(nodes),
            json!(ranks),
            json!(call.words),
            rounded(across.node),
            rounded(across.network),
            rounded(across.time()),
            json!("modelled"),
        ]);
        if nodes == to {
            break;
        }
        nodes = (nodes + 1).next_power_of_two().min(to);
    }
    let text = match output.format {
        Format::Tsv => {
            COLUMNS.join("\t") + "\n" + &rows.iter().map(|row| cells::tsv(row)).collect::<String>()
        }
        Format::Json => {
            let rows: Vec<Value> =
                rows.into_iter().map(|row| cells::object(&COLUMNS, row)).collect();
            let (ts, tw) = (node.t_s, node.t_w);
            let network = json!({ "ts": t_s, "tw": t_w });
            let object = json!({
                "command": "cost", "source": "modelled", "words": call.words,
                "ts": ts, "tw": tw, "network": network, "rows": rows,
            });
            format!("{object:#}\n")
        }
        Format::Text => {
            let (ts, tw) = (node.t_s, node.t_w);
            let head = format!(
                "# modelled, not measured: m = {} words; on a node t_s = {ts}, t_w = {tw}; between \
                 nodes t_s = {t_s}, t_w = {t_w}\n",
                call.words
            );
            head + &cells::text(&COLUMNS, &rows)
        }
    };
    output.open()?.write(&text)
}

/// Six digits: a model has no more.
fn rounded(x: f64) -> Value {
    let digits = if x > 0.0 { (5 - x.log10().floor() as i32).clamp(0, 12) } else { 0 };
    let scale = 10f64.powi(digits);
    json!((x * scale).round() / scale)
}
