//! The page's section on the number of ranks: every operation's automatic choice over p, beside the
//! model.

use super::collectives::{LEAD, by_weight, figure};
use super::curves::{CurveRow, FAR_OFF, size, time};
use super::html::{details, escape, table};
use super::saved_report::SavedReport;
use phalanx::schedule::Operation;
use phalanx_bench::bench::call_buffers::has_blocks;
use phalanx_bench::table::distinct;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Sizes that are measured at every number of ranks.
pub(crate) const SIZES: [usize; 4] = [8, 4 << 10, 64 << 10, 512 << 10];
/// Bytes of an element of these benchmarks.
const WORD: usize = 8;

/// The numbers of ranks on `cores` cores: powers of two, all cores, and twice as many.
pub(crate) fn ranks(cores: usize, most: usize) -> Vec<usize> {
    let mut all: Vec<usize> =
        std::iter::successors(Some(1), |p| Some(2 * p)).take_while(|&p| p < cores).collect();
    all.extend([cores, 2 * cores]);
    all.retain(|&p| p <= most);
    all
}

/// A point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RanksPoint {
    pub(crate) ranks: u64,
    pub(crate) ns: f64,
    /// The model's time; none of one rank, which sends nothing.
    pub(crate) model: Option<f64>,
    /// More ranks than cores.
    pub(crate) crowded: bool,
    pub(crate) place: String,
}

impl RanksPoint {
    fn ratio(&self) -> Option<f64> {
        self.model.map(|model| self.ns / model)
    }

    fn is_wrong(&self) -> bool {
        self.ratio().is_some_and(|ratio| !(1.0 / FAR_OFF..=FAR_OFF).contains(&ratio))
    }
}

/// One operation at one size, over the number of ranks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RanksLine {
    /// The bytes that were asked for; 0 for the barrier.
    pub(crate) bytes: u64,
    pub(crate) points: Vec<RanksPoint>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Across {
    pub(crate) op: String,
    pub(crate) lines: Vec<RanksLine>,
}

/// Of all numbers of ranks that a run has.
pub(crate) fn across(run: &SavedReport) -> Vec<Across> {
    let rows: Vec<CurveRow> =
        CurveRow::all(run).into_iter().filter(|row| row.algorithm == "auto").collect();
    let cores = run.part("machine")["counts"]["allowed_pus"].as_u64().unwrap_or(u64::MAX);
    let predicted = run.part("predictions")["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let model = |row: &CurveRow| {
        let own = predicted.iter().find(|p| {
            p["op"] == *row.op
                && p["algorithm"] == *row.algorithm
                && p["ranks"] == row.ranks
                && p["bytes"] == row.bytes
                && p["place"] == *row.place
        });
        own?["ns"].as_f64().filter(|ns| *ns > 0.0)
    };
    let line = |operation: Operation, bytes: usize| {
        let own = rows.iter().filter(|row| row.op == operation.name());
        let own = own.filter(|row| row.bytes == of_size(operation, bytes, row.ranks));
        let mut points: Vec<RanksPoint> = own
            .map(|row| RanksPoint {
                ranks: row.ranks,
                ns: row.ns,
                model: model(row),
                crowded: row.ranks > cores,
                place: row.place.clone(),
            })
            .collect();
        points.sort_by_key(|point| point.ranks);
        points.dedup_by_key(|point| point.ranks);
        RanksLine { bytes: bytes as u64, points }
    };
    let of = |operation: Operation| {
        let sizes = if operation == Operation::Barrier { &[0][..] } else { &SIZES };
        let mut lines: Vec<RanksLine> = sizes.iter().map(|&bytes| line(operation, bytes)).collect();
        lines.retain(|line| line.points.len() > 1);
        (!lines.is_empty()).then(|| Across { op: operation.name().to_string(), lines })
    };
    Operation::ALL.into_iter().filter_map(of).collect()
}

/// The bytes of a row for which `asked` were asked: whole elements, and blocks of at least one.
fn of_size(operation: Operation, asked: usize, ranks: u64) -> u64 {
    let elements = asked / WORD;
    let count = match operation {
        Operation::Barrier => 0,
        op if has_blocks(op) => (elements as u64 / ranks.max(1)).max(1) * ranks,
        _ => elements.max(1) as u64,
    };
    count * WORD as u64
}

/// The section; nothing of a run that has none.
pub(crate) fn section(all: &[Across]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = "<section id=\"across\"><h2>Over the number of ranks</h2>\n\
        <p>What the library chooses by itself, over the number of ranks (logarithmic), beside the \
        model (dashed). Rings are oversubscribed: more ranks than cores. The model gives every \
        rank a core and knows nothing of sharing one, so there it is expected to be wrong; what is \
        measured there is the system's scheduling. One rank sends nothing: it calls, and \
        copies.</p>\n"
        .to_string();
    let points = |crowded: bool| {
        let own = all.iter().flat_map(|own| &own.lines).flat_map(|line| &line.points);
        own.filter(move |p| p.crowded == crowded && p.model.is_some())
    };
    for (crowded, whose) in [(false, "with a core for each rank"), (true, "oversubscribed")] {
        let (n, wrong) =
            (points(crowded).count(), points(crowded).filter(|p| p.is_wrong()).count());
        if n > 0 {
            let _ = writeln!(
                out,
                "<p>Of {n} points {whose} the model is wrong by more than {FAR_OFF} x at \
                 {wrong}.</p>"
            );
        }
    }
    let sizes = all.iter().flat_map(|own| &own.lines).map(|line| line.bytes);
    let sizes = distinct(sizes.filter(|&bytes| bytes > 0));
    let options: String = sizes
        .iter()
        .map(|&bytes| format!("<option value=\"{bytes}\">{}</option>", escape(&size(bytes))))
        .collect();
    let _ = writeln!(
        out,
        "<p class=\"tools\"><label>Size of a rank's larger buffer <select \
         id=\"across-size\">{options}</select></label></p>\n\
         <div class=\"charts\">"
    );
    for (_, own) in by_weight(all, |own| &own.op) {
        let title = format!("{} over ranks", own.op);
        let more = details("The numbers", &numbers(own));
        let class = if own.op == LEAD { " lead" } else { "" };
        out += &figure(&format!("across-{}", own.op), &title, "", &more, class);
    }
    out + "</div></section>\n"
}

fn numbers(own: &Across) -> String {
    let line = |(bytes, p): (u64, &RanksPoint)| {
        let model = match p.model {
            Some(model) => time(model),
            None if p.ranks == 1 => "nothing is sent".to_string(),
            None => String::new(),
        };
        let error = p.ratio().map_or(String::new(), |ratio| {
            format!("{ratio:.2} x{}", if p.is_wrong() { ", wrong" } else { "" })
        });
        let about = match p.crowded {
            true => "oversubscribed: more ranks than cores".to_string(),
            false => p.place.clone(),
        };
        vec![
            if bytes == 0 { "-".to_string() } else { size(bytes) },
            about,
            p.ranks.to_string(),
            time(p.ns),
            model,
            error,
        ]
    };
    let lines = own.lines.iter().flat_map(|own| own.points.iter().map(|p| (own.bytes, p)));
    let head = ["size", "place", "ranks", "measured", "modelled", "measured / modelled"];
    let caption = format!("{} over the number of ranks", own.op);
    table(&caption, &head, 2, &lines.map(line).collect::<Vec<_>>())
}

/// The data that the script draws, by the names of the figures: a view for each size.
pub(crate) fn charts(all: &[Across]) -> Value {
    let views = |own: &Across| -> Vec<Value> {
        let view = |line: &RanksLine| {
            let points = |crowded: bool| -> Vec<(u64, f64)> {
                line.points
                    .iter()
                    .filter(|p| p.crowded == crowded)
                    .map(|p| (p.ranks, p.ns))
                    .collect()
            };
            let model: Vec<(u64, f64)> =
                line.points.iter().filter_map(|p| Some((p.ranks, p.model?))).collect();
            let sizes: Vec<u64> = line.points.iter().map(|p| p.ranks).collect();
            json!({
                "bytes": line.bytes,
                // On paper nothing else says the size.
                "y": match line.bytes {
                    0 => "Time of one call".to_string(),
                    bytes => format!("Time of one call of {}", size(bytes)),
                },
                "sizes": sizes,
                "curves": [{
                    "name": "auto", "points": points(false), "elsewhere": points(true),
                    "model": model,
                }],
            })
        };
        own.lines.iter().map(view).collect()
    };
    let chart = |own: &Across| {
        let chart = json!({
            "title": format!("{} over ranks", own.op),
            "x": "Ranks",
            "x_unit": "ranks",
            "aside": "oversubscribed",
            "floor": [],
            "views": views(own),
        });
        (format!("across-{}", own.op), chart)
    };
    Value::Object(all.iter().map(chart).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> SavedReport {
        let row = |op: &str, ranks: u64, bytes: u64, ns: f64| {
            json!({
                "op": op, "algorithm": "auto", "ranks": ranks, "bytes": bytes, "ns_median": ns,
                "place": if ranks == 2 { "ccx" } else { "any" },
            })
        };
        let rows = [
            row("all-gather", 1, 8, 10.0),
            row("all-gather", 2, 16, 100.0),
            row("all-gather", 4, 32, 5000.0),
            row("all-gather", 2, 65536, 3000.0),
        ];
        let model = |ranks: u64, bytes: u64, ns: f64, place: &str| {
            json!({
                "op": "all-gather", "algorithm": "auto", "ranks": ranks, "bytes": bytes, "ns": ns,
                "place": place,
            })
        };
        SavedReport::new(json!({
            "ranks": 2,
            "machine": { "counts": { "allowed_pus": 2 } },
            "sections": [
                { "command": "phalanx bench", "result": { "command": "bench", "rows": rows } },
            ],
            "predictions": { "rows": [model(2, 16, 90.0, "ccx"), model(4, 32, 200.0, "any")] },
        }))
    }

    #[test]
    fn the_numbers_of_ranks() {
        assert_eq!(ranks(1, 1024), [1, 2]);
        assert_eq!(ranks(2, 1024), [1, 2, 4]);
        assert_eq!(ranks(6, 1024), [1, 2, 4, 6, 12]);
        assert_eq!(ranks(600, 1024), [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]);
    }

    #[test]
    fn rows_of_one_size_are_a_line() {
        let found = across(&run());
        assert_eq!((found.len(), found[0].lines.len()), (1, 1), "a single point is no line");
        let line = &found[0].lines[0];
        let seen: Vec<_> =
            line.points.iter().map(|p| (p.ranks, p.model, p.crowded, p.is_wrong())).collect();
        let wanted =
            [(1, None, false, false), (2, Some(90.0), false, false), (4, Some(200.0), true, true)];
        assert_eq!(seen, wanted);
        assert_eq!(of_size(Operation::AllGather, 4096, 6), 4080);
        assert_eq!(of_size(Operation::AllReduce, 4096, 6), 4096);
    }

    #[test]
    fn the_page_says_where_the_model_is_wrong_and_where_that_is_no_wonder() {
        let all = across(&run());
        let html = section(&all);
        assert!(html.contains(
            "Of 1 points with a core for each rank the model is wrong by more than 2 x at 0."
        ));
        assert!(
            html.contains("Of 1 points oversubscribed the model is wrong by more than 2 x at 1.")
        );
        assert!(html.contains("25.00 x, wrong") && html.contains("nothing is sent"), "{html}");
        let chart = &charts(&all)["across-all-gather"];
        assert_eq!(chart["views"][0]["sizes"], json!([1, 2, 4]));
        assert_eq!(chart["views"][0]["curves"][0]["elsewhere"], json!([[4, 5000.0]]));
        assert_eq!(section(&[]), "");
    }
}
