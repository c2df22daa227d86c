//! The comparison as a table: Markdown for readers, tsv and json for programs.

use super::merge::{Merged, MergedLine, Verdict};
use phalanx_tool::byte_size;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The columns of tsv and json.
pub(crate) const COLUMNS: [&str; 15] = [
    "op",
    "ranks",
    "bytes",
    "place",
    "ns_ours",
    "runs_ours",
    "spread_percent_ours",
    "ns_floor",
    "ns_openmpi",
    "ns_mpich",
    "ns_openmp",
    "best_peer",
    "ratio_best_peer",
    "ratio_floor",
    "verdict",
];

/// A line's cells in the order of [`COLUMNS`].
pub(crate) fn cells(line: &MergedLine) -> [Value; COLUMNS.len()] {
    let ns = |m: &Option<Merged>| m.as_ref().map_or(Value::Null, |m| tenth(m.ns));
    let ratio = |r: Option<f64>| r.map_or(Value::Null, |r| json!((r * 1000.0).round() / 1000.0));
    [
        json!(line.key.op),
        json!(line.key.ranks),
        json!(line.key.bytes),
        json!(line.key.place.name()),
        ns(&line.ours),
        json!(line.ours.as_ref().map(|m| m.runs)),
        line.ours.as_ref().map_or(Value::Null, |m| tenth(m.spread_percent)),
        ns(&line.floor),
        ns(&line.openmpi),
        ns(&line.mpich),
        ns(&line.openmp),
        json!(line.best().map(|m| m.library.as_str())),
        ratio(line.ratio()),
        ratio(line.floor_ratio()),
        json!(line.verdict().map(Verdict::name)),
    ]
}

fn tenth(x: f64) -> Value {
    json!((x * 10.0).round() / 10.0)
}

/// The table as tsv.
pub(crate) fn tsv(lines: &[MergedLine]) -> String {
    let mut out = COLUMNS.join("\t") + "\n";
    for line in lines {
        let text = |cell: &Value| match cell {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out += &cells(line).iter().map(text).collect::<Vec<_>>().join("\t");
        out.push('\n');
    }
    out
}

/// The tables of each number of ranks and place, and the losses.
pub(crate) fn markdown(lines: &[MergedLine]) -> String {
    let mut out = String::new();
    for part in lines
        .chunk_by(|a, b| (a.key.ranks, a.key.place) == (b.key.ranks, b.key.place))
        .filter(|part| part.iter().any(|line| line.ours.is_some()))
    {
        let key = &part[0].key;
        writeln!(out, "\n## {} ranks, {}\n", key.ranks, key.place).unwrap_or_default();
        out += &matrix(part);
    }
    let losses: Vec<&MergedLine> =
        lines.iter().filter(|line| line.verdict() == Some(Verdict::Loss)).collect();
    let judged = lines.iter().filter(|line| line.verdict().is_some()).count();
    writeln!(out, "\n## Losses: {} of {judged}\n", losses.len()).unwrap_or_default();
    for line in losses {
        let (Some(ours), Some(best), Some(ratio)) = (&line.ours, line.best(), line.ratio()) else {
            continue;
        };
        writeln!(
            out,
            "- {} of {}, {} ranks, {}: {} against {} of {}: {ratio:.2} x",
            line.key.op,
            byte_size::text(line.key.bytes),
            line.key.ranks,
            line.key.place,
            short(ours.ns),
            short(best.ns),
            best.library
        )
        .unwrap_or_default();
    }
    out
}

/// Operations down, sizes across; in each cell our time, the best peer's and the
/// ratio.
fn matrix(part: &[MergedLine]) -> String {
    let column = |line: &MergedLine| nominal(line.key.bytes);
    let mut sizes: Vec<usize> = part.iter().map(column).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut out = "| ours / best peer = ratio |".to_string();
    for bytes in &sizes {
        let name = if *bytes == 0 { "-".to_string() } else { byte_size::text(*bytes) };
        write!(out, " {name} |").unwrap_or_default();
    }
    out += "\n|---|";
    out += &"---|".repeat(sizes.len());
    out.push('\n');
    for row in part.chunk_by(|a, b| a.key.op == b.key.op) {
        if row.iter().all(|line| line.ours.is_none()) {
            continue;
        }
        write!(out, "| {} |", row[0].key.op).unwrap_or_default();
        for bytes in &sizes {
            let cell = row.iter().find(|line| column(line) == *bytes).map(cell);
            write!(out, " {} |", cell.unwrap_or_default()).unwrap_or_default();
        }
        out.push('\n');
    }
    out
}

/// The column of a size: operations with blocks round the smallest size up to a
/// block of one element for each rank.
fn nominal(bytes: usize) -> usize {
    if (1..64).contains(&bytes) { 8 } else { bytes }
}

fn cell(line: &MergedLine) -> String {
    let time = |m: Option<&Merged>| m.map_or("-".to_string(), |m| short(m.ns));
    let text = format!("{} / {}", time(line.ours.as_ref()), time(line.best()));
    match (line.ratio(), line.verdict()) {
        (Some(ratio), Some(Verdict::Loss)) => format!("{text} = **{ratio:.2} LOSS**"),
        (Some(ratio), _) => format!("{text} = {ratio:.2}"),
        _ => text,
    }
}

/// ns, in three digits: `94`, `1.23k`, `45.6M`.
fn short(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 999.5 => return format!("{ns:.0}"),
        ns if ns < 999.5e3 => (ns / 1e3, "k"),
        ns => (ns / 1e6, "M"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::super::merge::{merge, tests::CANNED};
    use super::super::raw::parse;
    use super::*;

    #[test]
    fn losses_stand_out() {
        let text = markdown(&merge(&parse(CANNED).0));
        for wanted in [
            "\n## 2 ranks, ccx\n",
            "| ours / best peer = ratio | - | 8 | 64 |\n",
            "| barrier | 110 / 99 = **1.11 LOSS** |  |  |\n",
            "| allreduce |  | 100 / 200 = 0.50 |  |\n",
            "## Losses: 1 of 3",
            "- barrier of 0, 2 ranks, ccx: 110 against 99 of openmp-gcc: 1.11 x",
        ] {
            assert!(text.contains(wanted), "{text}");
        }
    }

    #[test]
    fn tsv_has_a_cell_for_each_column() {
        let text = tsv(&merge(&parse(CANNED).0));
        let line = text.lines().find(|line| line.starts_with("allreduce\t2\t8\tccx")).unwrap();
        assert_eq!(
            line,
            "allreduce\t2\t8\tccx\t100.0\t3\t30.0\t80.0\t200.0\t600.0\t20.0\topenmpi-sm (in \
             place)\t\
             0.5\t1.25\twin"
        );
    }

    #[test]
    fn times_have_three_digits() {
        let times = [94.2, 999.6, 1234.0, 45_600.0, 123_456.0, 5.1e6, 999_600.0];
        assert_eq!(times.map(short), ["94", "1.00k", "1.23k", "45.6k", "123k", "5.10M", "1.00M"]);
    }
}
