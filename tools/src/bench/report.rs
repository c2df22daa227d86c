//! The table, in three forms.

use super::machine::Setting;
use super::row::{COLUMNS, Row};
use crate::failure::Failure;
use crate::output::{Format, Sink};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// What is said once, before the rows.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) setting: Setting,
    /// The raw exchange of two flags, in nanoseconds.
    pub(crate) exchange_ns: Option<f64>,
}

/// What is said once, after the rows.
#[derive(Debug)]
pub(crate) struct Foot {
    pub(crate) exchange_ns: Option<f64>,
    pub(crate) time: Duration,
    pub(crate) interrupted: bool,
    /// Rows that could not be measured, and why.
    pub(crate) failed: Vec<String>,
}

/// Takes rows as they come and writes them as soon as the form allows.
pub(crate) struct Report {
    format: Format,
    sink: Sink,
    rows: Vec<Row>,
}

impl Report {
    /// An empty table.
    pub(crate) fn new(format: Format, sink: Sink) -> Self {
        Report { format, sink, rows: Vec::new() }
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Wrong elements in all rows.
    pub(crate) fn wrong(&self) -> u64 {
        self.rows.iter().filter_map(|row| row.wrong).sum()
    }

    /// Begins the table.
    pub(crate) fn head(&mut self, head: &Head) -> Result<(), Failure> {
        match self.format {
            Format::Text => self.sink.write(&text_head(head)),
            Format::Tsv => self.sink.write(&(COLUMNS.join("\t") + "\n")),
            Format::Json => Ok(()),
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: Row) -> Result<(), Failure> {
        let written = match self.format {
            Format::Text => self.sink.write(&text_row(&row)),
            Format::Tsv => {
                let cells: Vec<String> = cells(&row).iter().map(cell_text).collect();
                self.sink.write(&(cells.join("\t") + "\n"))
            }
            Format::Json => Ok(()),
        };
        self.rows.push(row);
        written
    }

    /// Ends the table.
    pub(crate) fn foot(&mut self, head: &Head, foot: &Foot) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let text = text_foot(self.rows(), self.wrong(), self.is_checked(), foot);
                self.sink.write(&text)
            }
            Format::Tsv => Ok(()),
            Format::Json => {
                let object = self.json(head, foot);
                self.sink.write(&format!("{object:#}\n"))
            }
        }
    }

    fn is_checked(&self) -> bool {
        self.rows.iter().all(|row| row.wrong.is_some())
    }

    fn json(&self, head: &Head, foot: &Foot) -> Value {
        let s = &head.setting;
        let row = |row: &Row| {
            let names = COLUMNS.iter().map(ToString::to_string);
            let mut object: Map<String, Value> = names.zip(cells(row)).collect();
            object.insert("calls_per_iteration".to_string(), json!(row.calls));
            object.insert("exchange_ns".to_string(), number(row.exchange_ns));
            Value::Object(object)
        };
        json!({
            "command": "bench",
            "version": env!("CARGO_PKG_VERSION"),
            "machine": {
                "cpu": s.cpu,
                "source": s.source,
                "cores": s.cores,
                "allowed_pus": s.allowed_pus,
            },
            "ranks": s.ranks,
            "placement": s.placement,
            "pus": s.pus,
            "binding_problems": s.problems,
            "wait": s.wait,
            "oversubscribed": s.crowded,
            "exchange_ns_before": number(head.exchange_ns),
            "exchange_ns_after": number(foot.exchange_ns),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "wrong": self.is_checked().then(|| self.wrong()),
            "failed": foot.failed,
            "interrupted": foot.interrupted,
            "seconds": round(foot.time.as_secs_f64(), 3),
        })
    }
}

/// A row's cells in the order of [`COLUMNS`].
fn cells(row: &Row) -> [Value; COLUMNS.len()] {
    [
        json!(row.op.name()),
        json!(row.algorithm),
        json!(row.ty),
        json!(row.redop),
        json!(row.ranks),
        json!(row.bytes),
        json!(row.count),
        json!(row.iterations),
        number(Some(row.ns.min)),
        number(Some(row.ns.median)),
        number(Some(row.ns.p99)),
        number(Some(row.ns.max)),
        json!(significant(row.algbw)),
        json!(significant(row.busbw)),
        json!(row.wrong),
        number(row.model_ns),
    ]
}

/// A cell of tsv; what is not known is empty.
fn cell_text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn number(ns: Option<f64>) -> Value {
    ns.map_or(Value::Null, |ns| json!(round(ns, 1)))
}

fn round(x: f64, digits: i32) -> f64 {
    // By way of the text, so that no digit of rounding is left over.
    let unit = 10f64.powi(digits);
    let rounded = (x * unit).round() / unit;
    format!("{rounded:.*}", digits.max(0) as usize).parse().unwrap_or(rounded)
}

/// `x` to four significant digits.
fn significant(x: f64) -> f64 {
    if x > 0.0 { round(x, 3 - x.log10().floor() as i32) } else { 0.0 }
}

fn text_head(head: &Head) -> String {
    let s = &head.setting;
    let mut out = String::new();
    let mut line = |text: String| {
        out += "# ";
        out += &text;
        out.push('\n');
    };
    line(format!("{}, {} cores, {} usable threads", s.cpu, s.cores, s.allowed_pus));
    line(format!("topology from {}", s.source));
    line(format!(
        "{} ranks, placement {}, on PUs {}; wait {}",
        s.ranks,
        s.placement,
        s.places(),
        s.wait
    ));
    s.problems.iter().for_each(|problem| line(problem.clone()));
    if s.crowded {
        line(format!(
            "oversubscribed: {} ranks share {} PUs, so times are mostly the system's scheduling",
            s.ranks, s.allowed_pus
        ));
    }
    if let Some(ns) = head.exchange_ns {
        let each = if s.crowded { "" } else { " (exch: before each row)" };
        line(format!("raw exchange of two flags between ranks 0 and 1: {ns:.1} ns{each}"));
    }
    line("times in ns per call, the slowest rank's; bandwidths in GB/s of the median".to_string());
    writeln!(
        out,
        "{:<14} {:<15} {:<4} {:<5} {:>10} {:>6} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>5} {:>6}",
        "op",
        "algorithm",
        "type",
        "redop",
        "bytes",
        "iters",
        "min",
        "median",
        "p99",
        "max",
        "algbw",
        "busbw",
        "wrong",
        "exch"
    )
    .unwrap_or_default();
    out
}

fn text_row(row: &Row) -> String {
    let ns = |ns: f64| if ns < 1000.0 { format!("{ns:.1}") } else { format!("{ns:.0}") };
    format!(
        "{:<14} {:<15} {:<4} {:<5} {:>10} {:>6} {:>10} {:>10} {:>10} {:>10} {:>8.3} {:>8.3} {:>5} {:>6}\n",
        row.op,
        row.algorithm,
        row.ty,
        row.redop,
        row.bytes,
        row.iterations,
        ns(row.ns.min),
        ns(row.ns.median),
        ns(row.ns.p99),
        ns(row.ns.max),
        row.algbw,
        row.busbw,
        row.wrong.map_or("-".to_string(), |wrong| wrong.to_string()),
        row.exchange_ns.map_or("-".to_string(), |ns| format!("{ns:.0}"))
    )
}

fn text_foot(rows: usize, wrong: u64, checked: bool, foot: &Foot) -> String {
    let mut out = String::new();
    if let Some(ns) = foot.exchange_ns {
        out += &format!("# raw exchange of two flags, again: {ns:.1} ns\n");
    }
    let plural = if rows == 1 { "" } else { "s" };
    let wrong = if checked { format!("{wrong} wrong") } else { "not checked".to_string() };
    let how = if foot.interrupted { ", interrupted" } else { "" };
    let failed = match foot.failed.len() {
        0 => String::new(),
        n => format!(", {n} failed"),
    };
    out +=
        &format!("# {rows} row{plural}, {wrong}{failed}, {:.1} s{how}\n", foot.time.as_secs_f64());
    out
}

#[cfg(test)]
mod tests {
    use super::super::row::Times;
    use super::*;
    use phalanx::schedule::Operation;

    fn row() -> Row {
        Row {
            op: Operation::AllReduce,
            algorithm: "auto",
            ty: "f64",
            redop: "sum",
            ranks: 2,
            bytes: 8,
            count: 1,
            iterations: 100,
            calls: 32,
            ns: Times { min: 50.0, median: 61.25, p99: 99.96, max: 12345.6 },
            algbw: 0.130_612_2,
            busbw: 0.130_612_2,
            wrong: Some(0),
            model_ns: None,
            exchange_ns: Some(58.4),
        }
    }

    #[test]
    fn tsv_has_a_cell_for_each_column() {
        let cells: Vec<String> = cells(&row()).iter().map(cell_text).collect();
        assert_eq!(
            cells.join("|"),
            "all-reduce|auto|f64|sum|2|8|1|100|50.0|61.3|100.0|12345.6|0.1306|0.1306|0|"
        );
    }

    #[test]
    fn bandwidths_have_four_digits() {
        assert_eq!(json!(significant(35.636_41)).to_string(), "35.64");
        assert_eq!(json!(significant(0.000_012_345_6)).to_string(), "0.00001235");
        assert_eq!(json!(significant(12345.6)).to_string(), "12350.0");
        assert_eq!(significant(0.0), 0.0);
    }

    #[test]
    fn text_is_aligned() {
        let line = text_row(&row());
        let other = text_row(&Row { bytes: 4 << 20, exchange_ns: None, ..row() });
        assert_eq!(line.len(), other.len());
        assert!(line.contains(" 61.2 ") && line.contains(" 12346 "), "{line}");
        assert!(other.trim_end().ends_with(" -"));
    }
}
