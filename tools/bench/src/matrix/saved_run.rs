//! A measured run, its header and its rows, as they are written to a file.

use crate::table::Table;
use serde_json::{Value, json};

/// The version of the files. Columns may be added without a new one.
const FORMAT: u64 = 1;

/// The columns that every run ends with: added later, so behind the others.
const LAST: [&str; 4] = ["ns_ci_low", "ns_ci_high", "outliers", "drift"];

/// The columns that every run begins with, in order. Stable.
const FIRST: [&str; 8] =
    ["src", "dst", "ns_min", "ns_median", "ns_p10", "ns_p90", "samples", "place"];

/// The distribution of a time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
}

impl Spread {
    /// Of at least one sample; none of none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        // The nearest rank.
        let at = |percent: usize| sorted.get((n * percent).div_ceil(100).max(1) - 1).copied();
        Some(Spread { min: *sorted.first()?, median: at(50)?, p10: at(10)?, p90: at(90)? })
    }
}

/// One row: the measurement between two units.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MatrixRow {
    /// A unit's number, or `all`, or `nodeN`.
    pub(crate) src: String,
    pub(crate) dst: String,
    pub(crate) ns: Spread,
    pub(crate) samples: usize,
    /// Where the host had the two cores during these samples.
    pub(crate) place: String,
    /// Samples and median of the other places that were seen.
    pub(crate) elsewhere: Vec<(String, usize, f64)>,
    /// The values of the run's own columns, in order.
    pub(crate) labels: Vec<String>,
    /// The interval that has the true median with 95 % confidence.
    pub(crate) ci: [f64; 2],
    /// Samples beyond the outer fence; they are counted, and stay in.
    pub(crate) outliers: usize,
    /// The parts that moved meanwhile: `none`, `floor`, `steal`, or both.
    pub(crate) drift: String,
    /// The bytes that one call moves, where that is the point.
    pub(crate) bytes: Option<usize>,
}

impl MatrixRow {
    /// Bytes per nanosecond.
    pub(crate) fn gb_s(&self) -> Option<f64> {
        self.bytes.filter(|_| self.ns.median > 0.0).map(|b| b as f64 / self.ns.median)
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MatrixRun {
    /// `latency` or `bandwidth`.
    pub(crate) command: String,
    pub(crate) date: String,
    /// cpu, topology, source.
    pub(crate) machine: Value,
    /// The clock, and the time that the host took away.
    pub(crate) conditions: Value,
    /// The groups of the axis.
    pub(crate) groups: Value,
    /// The units, in the axis's order.
    pub(crate) pus: Vec<usize>,
    /// The names of the columns after the common ones.
    pub(crate) columns: Vec<String>,
    /// The facts that cannot be a row: one core only, pairs without samples.
    pub(crate) notes: Vec<String>,
    pub(crate) rows: Vec<MatrixRow>,
}

impl MatrixRun {
    /// The value of a column of the run's own.
    pub(crate) fn label<'a>(&self, row: &'a MatrixRow, column: &str) -> &'a str {
        let at = self.columns.iter().position(|c| c == column);
        at.and_then(|at| row.labels.get(at)).map_or("", String::as_str)
    }

    fn table<'a>(&self, columns: &'a [&'a str]) -> Table<'a> {
        let cells = |row: &MatrixRow| {
            // Numbers of units stay numbers.
            let end = |end: &str| end.parse::<usize>().map_or(json!(end), |n| json!(n));
            let mut cells = vec![end(&row.src), end(&row.dst)];
            let ns = [row.ns.min, row.ns.median, row.ns.p10, row.ns.p90];
            cells.extend(ns.map(|ns| json!(rounded(ns))));
            cells.extend([json!(row.samples), json!(row.place)]);
            cells.extend(row.labels.iter().map(|label| json!(label)));
            if let Some(bytes) = row.bytes {
                cells.extend([json!(bytes), json!(row.gb_s().map(rounded))]);
            }
            cells.extend(row.ci.map(|ns| json!(rounded(ns))));
            cells.extend([json!(row.outliers), json!(row.drift)]);
            cells
        };
        Table { columns, rows: self.rows.iter().map(cells).collect() }
    }

    /// The names of all columns.
    fn names(&self) -> Vec<&str> {
        let moved: &[&str] = if self.command == "bandwidth" { &["bytes", "gb_s"] } else { &[] };
        let own = self.columns.iter().map(String::as_str);
        FIRST.into_iter().chain(own).chain(moved.iter().copied()).chain(LAST).collect()
    }

    /// Tab-separated, with a line of names.
    pub(crate) fn tsv(&self) -> String {
        self.table(&self.names()).tsv()
    }

    /// One object.
    pub(crate) fn object(&self) -> Value {
        let names = self.names();
        let rows = self.rows.iter().zip(self.table(&names).objects()).map(|(row, mut object)| {
            let elsewhere = row.elsewhere.iter().map(|(place, samples, median)| {
                json!({ "place": place, "samples": samples, "ns_median": rounded(*median) })
            });
            object["elsewhere"] = elsewhere.collect();
            object
        });
        let rows: Vec<Value> = rows.collect();
        json!({
            "command": self.command,
            "version": env!("CARGO_PKG_VERSION"),
            "format": FORMAT,
            "date": self.date,
            "machine": self.machine,
            "conditions": self.conditions,
            "pus": self.pus,
            "groups": self.groups,
            "columns": self.columns,
            "notes": self.notes,
            "rows": rows,
        })
    }
}

/// To a tenth, or a thousandth where that is all there is: more digits are noise.
pub fn rounded(x: f64) -> f64 {
    let unit = if x.abs() < 10.0 { 1000.0 } else { 10.0 };
    (x * unit).round() / unit
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of two units.
    pub(crate) fn sample() -> MatrixRun {
        let row = |src: &str, dst: &str, median: f64| MatrixRow {
            src: src.into(),
            dst: dst.into(),
            ns: Spread { min: median - 5.0, median, p10: median - 2.0, p90: median + 2.0 },
            samples: 100,
            place: "ccx".into(),
            elsewhere: vec![],
            ci: [median - 1.0, median + 1.0],
            outliers: 2,
            drift: "floor".into(),
            labels: vec!["l3".into(), "flag".into(), "round-trip".into(), "src".into()],
            bytes: None,
        };
        MatrixRun {
            command: "latency".into(),
            date: "2026-01-02T03:04:05Z".into(),
            conditions: json!({ "clock_overhead_ns": 20.0 }),
            machine: json!({ "cpu": "some", "topology": "core:2", "source": "test" }),
            groups: json!([]),
            pus: vec![0, 1],
            columns: ["level", "via", "kind", "home"].map(String::from).to_vec(),
            notes: vec![],
            rows: vec![row("0", "1", 100.0), row("1", "0", 104.0)],
        }
    }

    #[test]
    fn percentiles() {
        assert_eq!(Spread::of(&[]), None);
        let s = Spread::of(&[4.0]).unwrap();
        assert_eq!((s.min, s.p10, s.median, s.p90), (4.0, 4.0, 4.0, 4.0));
        let all: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let s = Spread::of(&all).unwrap();
        assert_eq!((s.min, s.p10, s.median, s.p90), (1.0, 10.0, 50.0, 90.0));
    }

    #[test]
    fn the_table_has_the_columns_of_each_row() {
        let table = sample().tsv();
        assert!(table.starts_with("src\tdst\tns_min\tns_median\tns_p10\t"), "{table}");
        assert_eq!(table.lines().nth(2).unwrap().split('\t').count(), 16);
    }
}
