//! The comparison as a table: Markdown for readers, tsv and json for programs.

use super::merge::{Merged, MergedLine, TIE, Verdict};
use phalanx_bench::byte_size;
use phalanx_bench::measure::caches::CacheState;
use phalanx_bench::table::{Table, distinct};
use phalanx_model::median;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The columns of tsv and json.
pub(crate) const COLUMNS: [&str; 22] = [
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
    "caches",
    "ns_ci_low_ours",
    "ns_ci_high_ours",
    "ns_ci_low_best_peer",
    "ns_ci_high_best_peer",
    "cores_ours",
    "cores_best_peer",
];

/// A line's cells in the order of [`COLUMNS`].
pub(crate) fn cells(line: &MergedLine) -> [Value; COLUMNS.len()] {
    let ns = |m: &Option<Merged>| m.as_ref().map_or(Value::Null, |m| tenth(m.ns));
    let cores = |m: Option<&Merged>| json!(m.and_then(|m| m.cores));
    let end = |m: Option<&Merged>, end: usize| m.map_or(Value::Null, |m| tenth(m.interval[end]));
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
        json!(line.key.caches.name()),
        end(line.ours.as_ref(), 0),
        end(line.ours.as_ref(), 1),
        end(line.best(), 0),
        end(line.best(), 1),
        cores(line.ours.as_ref()),
        cores(line.best()),
    ]
}

fn tenth(x: f64) -> Value {
    json!((x * 10.0).round() / 10.0)
}

/// The table as tsv.
pub(crate) fn tsv(lines: &[MergedLine]) -> String {
    Table { columns: &COLUMNS, rows: lines.iter().map(|line| cells(line).into()).collect() }.tsv()
}

/// The tables of each number of ranks and place, and the losses.
pub(crate) fn markdown(lines: &[MergedLine]) -> String {
    let mut out = String::new();
    let of = |line: &MergedLine| (line.key.ranks, line.key.place);
    for part in lines
        .chunk_by(|a, b| of(a) == of(b))
        .filter(|part| part.iter().any(|line| line.ours.is_some()))
    {
        let key = &part[0].key;
        writeln!(out, "\n## {} ranks, {}{}\n", key.ranks, key.place, caches(part))
            .unwrap_or_default();
        out += &matrix(part);
        let cores = |of: fn(&MergedLine) -> Option<&Merged>| {
            let all: Vec<f64> = part.iter().filter_map(|line| of(line)?.cores).collect();
            (!all.is_empty()).then(|| median(&all))
        };
        if let (Some(ours), Some(best)) = (cores(|it| it.ours.as_ref()), cores(MergedLine::best)) {
            write!(out, "\nCores that the ranks kept busy: {ours:.2}/{best:.2}.\n")
                .unwrap_or_default();
        }
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
            "- {} of {}, {} ranks, {}{}: {} ({} to {}) against {} ({} to {}) of {}: {ratio:.2} x",
            line.key.op,
            byte_size::text(line.key.bytes),
            line.key.ranks,
            line.key.place,
            caches(std::slice::from_ref(line)),
            short(ours.ns),
            short(ours.interval[0]),
            short(ours.interval[1]),
            short(best.ns),
            short(best.interval[0]),
            short(best.interval[1]),
            best.library
        )
        .unwrap_or_default();
    }
    out
}

/// The states of the caches of `part`, in its order.
fn states(part: &[MergedLine]) -> Vec<CacheState> {
    let mut states = Vec::new();
    for line in part {
        if !states.contains(&line.key.caches) {
            states.push(line.key.caches);
        }
    }
    states
}

/// The states of the caches behind a place.
fn caches(part: &[MergedLine]) -> String {
    let states: Vec<&str> = states(part).into_iter().map(CacheState::name).collect();
    format!(", {}", states.join("; "))
}

/// Operations down, sizes across; in each cell our time and the best peer's, of a
/// loss the ratio, too, for each state of the caches. Calls back to back have columns of their
/// own.
fn matrix(part: &[MergedLine]) -> String {
    let column = |line: &MergedLine| (nominal(line.key.bytes), line.key.op.ends_with(B2B));
    let columns = distinct(part.iter().map(column));
    let mut out = "| ours/best peer |".to_string();
    for &(bytes, is_b2b) in &columns {
        write!(out, " {}{} |", byte_size::text(bytes), if is_b2b { " b2b" } else { "" })
            .unwrap_or_default();
    }
    out += "\n|---|";
    out += &"---|".repeat(columns.len());
    out.push('\n');
    let states = states(part);
    let mut operations: Vec<&str> = Vec::new();
    for line in part.iter().filter(|line| line.ours.is_some()) {
        if !operations.contains(&operation(line)) {
            operations.push(operation(line));
        }
    }
    for name in operations {
        write!(out, "| {name} |").unwrap_or_default();
        for &wanted in &columns {
            let of = |line: &&MergedLine| operation(line) == name && column(line) == wanted;
            let in_state = |state| part.iter().filter(of).find(|line| line.key.caches == state);
            let lines: Vec<Option<&MergedLine>> = states.iter().map(|s| in_state(*s)).collect();
            let text = |line: &Option<&MergedLine>| line.map_or("-".to_string(), cell);
            let cells: Vec<String> = lines.iter().map(text).collect();
            let is_empty = lines.iter().all(Option::is_none);
            let all = if is_empty { String::new() } else { cells.join("; ") };
            write!(out, " {all} |").unwrap_or_default();
        }
        out.push('\n');
    }
    out
}

/// The end of an operation's name if its calls follow each other at once.
const B2B: &str = ".b2b";

fn operation(line: &MergedLine) -> &str {
    line.key.op.strip_suffix(B2B).unwrap_or(&line.key.op)
}

/// The column of a size: operations with blocks round the smallest size up to a
/// block of one element for each rank, and a barrier has no bytes.
fn nominal(bytes: usize) -> usize {
    if bytes < 64 { 8 } else { bytes }
}

fn cell(line: &MergedLine) -> String {
    let time = |m: Option<&Merged>| m.map_or("-".to_string(), |m| short(m.ns));
    let text = format!("{}/{}", time(line.ours.as_ref()), time(line.best()));
    match (line.ratio(), line.verdict()) {
        (Some(ratio), Some(Verdict::Loss)) => format!("{text} = **{ratio:.2} LOSS**"),
        // Not level, but not sure.
        (Some(ratio), Some(Verdict::Tie)) if !(1.0 / TIE..=TIE).contains(&ratio) => {
            format!("{text} ~")
        }
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
    use super::super::raw::{OURS, parse};
    use super::*;

    #[test]
    fn losses_stand_out() {
        let text = markdown(&merge(&parse(CANNED).0, OURS));
        for wanted in [
            "\n## 2 ranks, ccx, warm\n",
            "| ours/best peer | 8 | 64 b2b |\n",
            "| barrier | 110/99 = **1.11 LOSS** |  |\n",
            "| allreduce | 100/200 |  |\n",
            "## Losses: 1 of 3",
            "- barrier of 0, 2 ranks, ccx, warm: 110 (110 to 110) against 99 (99 to 99) of \
             openmp-gcc: 1.11 x",
        ] {
            assert!(text.contains(wanted), "{text}");
        }
    }

    #[test]
    fn the_state_of_the_caches_is_in_the_title_and_what_is_not_sure_is_marked() {
        let mut text = String::new();
        for (library, times) in [("phalanx", [90, 120, 150]), ("mpich", [80, 100, 110])] {
            for ns in times {
                text += &format!("{library}\tscan\t2\t8\t9.0\t{ns}\t1\tccx\tcold\t9\t1.{ns}\n");
            }
        }
        let text = markdown(&merge(&parse(&text).0, OURS));
        assert!(text.contains("\n## 2 ranks, ccx, cold\n"), "{text}");
        assert!(text.contains("| scan | 120/100 ~ |"), "{text}");
        assert!(text.contains("\nCores that the ranks kept busy: 1.15/1.11.\n"), "{text}");
        assert!(text.contains("## Losses: 0 of 1"), "{text}");
    }

    #[test]
    fn both_states_of_the_caches_share_a_table() {
        let mut text = String::new();
        for (state, ours) in [("warm", 50), ("cold", 80)] {
            text += &format!("phalanx\tscan\t2\t8\t9.0\t{ours}\t1\tccx\t{state}\t9\n");
            text += &format!("mpich\tscan\t2\t8\t9.0\t100\t1\tccx\t{state}\t9\n");
        }
        text += "phalanx\tscan\t2\t64\t9.0\t60\t1\tccx\tcold\t9\n";
        let text = markdown(&merge(&parse(&text).0, OURS));
        assert!(text.contains("\n## 2 ranks, ccx, warm; cold\n"), "{text}");
        assert!(text.contains("| scan | 50/100; 80/100 | -; 60/- |"), "{text}");
    }

    #[test]
    fn tsv_has_a_cell_for_each_column() {
        let text = tsv(&merge(&parse(CANNED).0, OURS));
        let line = text.lines().find(|line| line.starts_with("allreduce\t2\t8\tccx")).unwrap();
        assert_eq!(
            line,
            "allreduce\t2\t8\tccx\t100.0\t3\t30.0\t80.0\t200.0\t600.0\t20.0\topenmpi-sm (in \
             place)\t\
             0.5\t1.25\twin\twarm\t90.0\t120.0\t200.0\t200.0\t\t"
        );
    }

    #[test]
    fn times_have_three_digits() {
        let times = [94.2, 999.6, 1234.0, 45_600.0, 123_456.0, 5.1e6, 999_600.0];
        assert_eq!(times.map(short), ["94", "1.00k", "1.23k", "45.6k", "123k", "5.10M", "1.00M"]);
    }
}
