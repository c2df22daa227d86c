//! A measured run, its header and its rows: written to a file and read back.

use crate::failure::Failure;
use serde_json::{Map, Value, json};
use std::path::Path;

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
    /// The clock, and the time that the host took away; null in runs of old.
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

    fn has_bytes(&self) -> bool {
        self.command == "bandwidth"
    }

    /// Tab-separated, with a line of names.
    pub(crate) fn tsv(&self) -> String {
        let mut names: Vec<&str> = FIRST.to_vec();
        names.extend(self.columns.iter().map(String::as_str));
        if self.has_bytes() {
            names.extend(["bytes", "gb_s"]);
        }
        names.extend(LAST);
        let mut out = names.join("\t") + "\n";
        for row in &self.rows {
            let mut cells = vec![row.src.clone(), row.dst.clone()];
            let ns = [row.ns.min, row.ns.median, row.ns.p10, row.ns.p90];
            cells.extend(ns.map(|ns| format!("{ns:.1}")));
            cells.push(row.samples.to_string());
            cells.push(row.place.clone());
            cells.extend(row.labels.iter().cloned());
            if self.has_bytes() {
                cells.push(row.bytes.unwrap_or(0).to_string());
                cells.push(row.gb_s().map_or(String::new(), |rate| format!("{rate:.3}")));
            }
            cells.extend(row.ci.map(|ns| format!("{ns:.1}")));
            cells.extend([row.outliers.to_string(), row.drift.clone()]);
            out += &cells.join("\t");
            out.push('\n');
        }
        out
    }

    /// One object, which [`MatrixRun::read`] reads back.
    pub(crate) fn object(&self) -> Value {
        let row = |row: &MatrixRow| {
            let mut map = Map::new();
            // Numbers of units stay numbers.
            let end = |end: &str| end.parse::<usize>().map_or(json!(end), |n| json!(n));
            map.insert("src".into(), end(&row.src));
            map.insert("dst".into(), end(&row.dst));
            let ns = [row.ns.min, row.ns.median, row.ns.p10, row.ns.p90];
            for (name, ns) in FIRST[2..6].iter().zip(ns) {
                map.insert((*name).into(), json!(rounded(ns)));
            }
            map.insert("samples".into(), json!(row.samples));
            map.insert("place".into(), json!(row.place));
            for (name, value) in self.columns.iter().zip(&row.labels) {
                map.insert(name.clone(), json!(value));
            }
            if let Some(bytes) = row.bytes {
                map.insert("bytes".into(), json!(bytes));
                map.insert("gb_s".into(), json!(row.gb_s().map(rounded)));
            }
            let ends: [Value; 4] = [
                json!(rounded(row.ci[0])),
                json!(rounded(row.ci[1])),
                json!(row.outliers),
                json!(row.drift),
            ];
            map.extend(LAST.map(String::from).into_iter().zip(ends));
            let elsewhere = row.elsewhere.iter().map(|(place, samples, median)| {
                json!({ "place": place, "samples": samples, "ns_median": rounded(*median) })
            });
            map.insert("elsewhere".into(), elsewhere.collect());
            Value::Object(map)
        };
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
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    /// Reads a run that was saved with `--format json`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let refuse = |what: String| Failure::Usage(format!("'{}': {what}", path.display()));
        let text = crate::file::text(path, crate::MOST_BYTES)
            .map_err(|e| refuse(format!("the saved run cannot be read: {e}")))?;
        MatrixRun::parse(&text).map_err(refuse)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| format!("no json of a saved run: {e}"))?;
        let command = match value["command"].as_str() {
            Some(command @ ("latency" | "bandwidth")) => command.to_string(),
            Some(other) => {
                return Err(format!("a run of '{other}'; accepted are latency and bandwidth"));
            }
            None => return Err("no saved run: it has no \"command\"".to_string()),
        };
        match &value["format"] {
            Value::Number(n) if n.as_u64() == Some(FORMAT) => {}
            Value::Null => return Err("no saved run: it has no \"format\"".to_string()),
            other => {
                let by = value["version"].as_str().unwrap_or("an unknown version");
                return Err(format!(
                    "format {other} (written by phalanx {by}) is another version; this one reads \
                     {FORMAT}"
                ));
            }
        }
        let list = |key: &str| {
            value[key].as_array().ok_or_else(|| format!("\"{key}\" is missing or is no list"))
        };
        let texts = |key: &str| -> Result<Vec<String>, String> {
            let text = |v: &Value| v.as_str().map(str::to_string);
            let all: Option<Vec<String>> = list(key)?.iter().map(text).collect();
            all.ok_or_else(|| format!("\"{key}\" is no list of texts"))
        };
        let columns = texts("columns")?;
        let pus: Option<Vec<usize>> =
            list("pus")?.iter().map(|v| v.as_u64().and_then(|n| usize::try_from(n).ok())).collect();
        let rows = list("rows")?.iter().enumerate();
        let rows = rows.map(|(i, v)| parse_row(v, &columns).map_err(|e| format!("row {i}: {e}")));
        Ok(MatrixRun {
            command,
            date: value["date"].as_str().unwrap_or("").to_string(),
            machine: value["machine"].clone(),
            conditions: value["conditions"].clone(),
            groups: value["groups"].clone(),
            pus: pus.ok_or("\"pus\" is no list of numbers")?,
            notes: texts("notes")?,
            rows: rows.collect::<Result<_, _>>()?,
            columns,
        })
    }
}

fn parse_row(value: &Value, columns: &[String]) -> Result<MatrixRow, String> {
    let number = |key: &str| {
        let number = value[key].as_f64().filter(|n| n.is_finite());
        number.ok_or_else(|| format!("\"{key}\" is missing or is no number"))
    };
    let end = |key: &str| match &value[key] {
        Value::Number(n) if n.is_u64() => Ok(n.to_string()),
        Value::String(s) => Ok(s.clone()),
        _ => Err(format!("\"{key}\" is missing or names nothing")),
    };
    let text = |key: &str| {
        let text = value[key].as_str().map(str::to_string);
        text.ok_or_else(|| format!("\"{key}\" is missing or is no text"))
    };
    let whole = |key: &str| value[key].as_u64().and_then(|n| usize::try_from(n).ok());
    // Runs of old have none of these; where there is one it has to be one.
    let late = |key: &str| match &value[key] {
        Value::Null => Ok(number("ns_median")?),
        _ => number(key),
    };
    Ok(MatrixRow {
        src: end("src")?,
        dst: end("dst")?,
        ns: Spread {
            min: number("ns_min")?,
            median: number("ns_median")?,
            p10: number("ns_p10")?,
            p90: number("ns_p90")?,
        },
        samples: whole("samples").ok_or("\"samples\" is missing or is no whole number")?,
        place: text("place")?,
        elsewhere: Vec::new(),
        ci: [late("ns_ci_low")?, late("ns_ci_high")?],
        outliers: match &value["outliers"] {
            Value::Null => 0,
            _ => whole("outliers").ok_or("\"outliers\" is no whole number")?,
        },
        drift: match &value["drift"] {
            Value::Null => "none".to_string(),
            _ => text("drift")?,
        },
        labels: columns.iter().map(|c| text(c)).collect::<Result<_, _>>()?,
        bytes: whole("bytes"),
    })
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
    fn what_is_written_is_read_back() {
        let run = sample();
        assert_eq!(MatrixRun::parse(&run.object().to_string()).unwrap(), run);
        let table = run.tsv();
        assert!(table.starts_with("src\tdst\tns_min\tns_median\tns_p10\t"), "{table}");
        assert_eq!(table.lines().nth(2).unwrap().split('\t').count(), 16);
    }

    #[test]
    fn runs_of_old_are_read() {
        let mut old = sample().object();
        old.as_object_mut().unwrap().remove("conditions");
        for row in old["rows"].as_array_mut().unwrap() {
            LAST.iter().for_each(|key| drop(row.as_object_mut().unwrap().remove(*key)));
        }
        let run = MatrixRun::parse(&old.to_string()).unwrap();
        assert_eq!((run.rows[0].ci, run.rows[0].drift.as_str()), ([100.0; 2], "none"));
        old["rows"][0]["outliers"] = json!(-1);
        assert!(MatrixRun::parse(&old.to_string()).unwrap_err().contains("\"outliers\""));
    }

    #[test]
    fn broken_files_say_what_is_wrong() {
        let good = sample().object();
        let without = |key: &str| {
            let mut value = good.clone();
            value.as_object_mut().unwrap().remove(key);
            MatrixRun::parse(&value.to_string()).unwrap_err()
        };
        for key in ["command", "format", "pus", "columns", "notes", "rows"] {
            assert!(without(key).contains(&format!("\"{key}\"")), "{}", without(key));
        }
        let with = |key: &str, to: Value| {
            let mut value = good.clone();
            value[key] = to;
            MatrixRun::parse(&value.to_string()).unwrap_err()
        };
        assert!(with("format", json!(99)).contains("format 99"));
        assert!(with("command", json!("bench")).contains("a run of 'bench'"));
        assert!(with("pus", json!([-1])).contains("\"pus\""));
        assert!(with("rows", json!([{ "src": 0, "dst": 1 }])).contains("row 0: \"ns_min\""));
        assert!(MatrixRun::parse("").unwrap_err().contains("no json"));
        assert!(MatrixRun::parse("[1]").unwrap_err().contains("\"command\""));
    }

    /// Every prefix, and every byte replaced: an error or a run, never a panic.
    #[test]
    fn damage_never_panics() {
        let text = sample().object().to_string();
        for cut in 0..text.len() {
            assert!(MatrixRun::parse(&text[..cut]).is_err(), "{cut}");
        }
        for at in 0..text.len() {
            for with in [b'0', b'"', b'}', b'-', b'e', b'[', 0x7f] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = with;
                let _: Result<MatrixRun, String> =
                    MatrixRun::parse(&String::from_utf8(bytes).unwrap());
            }
        }
    }
}
