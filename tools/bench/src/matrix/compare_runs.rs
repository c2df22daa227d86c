//! Compares two saved runs.

use super::saved_run::{MatrixRow, MatrixRun, rounded};
use super::summary::table;
use crate::failure::Failure;
use serde_json::{Value, json};

/// What became of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellChange {
    /// Within the spread of both runs.
    Same,
    Faster,
    Slower,
    /// The host had the cores elsewhere: the times do not compare.
    OtherPlace,
    OnlyOld,
    OnlyNew,
}

impl CellChange {
    fn name(self) -> &'static str {
        match self {
            CellChange::Same => "same",
            CellChange::Faster => "faster",
            CellChange::Slower => "slower",
            CellChange::OtherPlace => "other-place",
            CellChange::OnlyOld => "only-old",
            CellChange::OnlyNew => "only-new",
        }
    }
}

/// One line of the comparison.
#[derive(Clone, Debug)]
struct DiffLine<'a> {
    old: Option<&'a MatrixRow>,
    new: Option<&'a MatrixRow>,
    change: CellChange,
}

/// The comparison.
#[derive(Clone, Debug)]
pub(crate) struct Diff<'a> {
    old: &'a MatrixRun,
    new: &'a MatrixRun,
    lines: Vec<DiffLine<'a>>,
}

impl<'a> Diff<'a> {
    /// Compares two runs of one command.
    pub(crate) fn new(old: &'a MatrixRun, new: &'a MatrixRun) -> Result<Self, Failure> {
        if old.command != new.command {
            let what =
                format!("a run of {} and one of {} do not compare", old.command, new.command);
            return Err(Failure::Usage(what));
        }
        if old.columns != new.columns {
            return Err(Failure::Usage(format!(
                "the runs have different columns: {} and {}",
                old.columns.join(" "),
                new.columns.join(" ")
            )));
        }
        let same = |a: &MatrixRow, b: &MatrixRow| {
            (&a.src, &a.dst, &a.labels, a.bytes) == (&b.src, &b.dst, &b.labels, b.bytes)
        };
        let pair = |new: &'a MatrixRow| {
            let old = old.rows.iter().find(|old| same(old, new));
            let change = old.map_or(CellChange::OnlyNew, |old| judge(old, new));
            DiffLine { old, new: Some(new), change }
        };
        let mut lines: Vec<DiffLine<'a>> = new.rows.iter().map(pair).collect();
        let gone = old.rows.iter().filter(|old| !new.rows.iter().any(|new| same(old, new)));
        lines.extend(gone.map(|old| DiffLine {
            old: Some(old),
            new: None,
            change: CellChange::OnlyOld,
        }));
        Ok(Diff { old, new, lines })
    }

    /// How many lines have this change.
    fn count(&self, change: CellChange) -> usize {
        self.lines.iter().filter(|line| line.change == change).count()
    }

    /// What makes the runs hard to compare.
    fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        for key in ["cpu", "topology"] {
            let (old, new) = (&self.old.machine[key], &self.new.machine[key]);
            if old != new {
                caveats.push(format!("another machine: {key} was {old}, is {new}"));
            }
        }
        caveats
    }

    /// For eyes.
    pub(crate) fn text(&self) -> String {
        let mut out = format!(
            "# phalanx {}: {} ({}) against {} ({})\n",
            self.new.command, self.new.date, "new", self.old.date, "old"
        );
        self.caveats().iter().for_each(|caveat| out += &format!("# {caveat}\n"));
        let mut names = vec!["src", "dst"];
        names.extend(self.new.columns.iter().map(String::as_str));
        let has_bytes = self.lines.iter().any(|l| l.either().bytes.is_some());
        if has_bytes {
            names.push("bytes");
        }
        let left = names.len();
        names.extend(["old ns", "new ns", "ratio", "place", "change"]);
        let rows: Vec<Vec<String>> = self.lines.iter().map(|line| line.cells(has_bytes)).collect();
        out += &table(&names, left, &rows);
        out += &format!("# {}\n", self.summary());
        out
    }

    fn summary(&self) -> String {
        let all = [
            CellChange::Same,
            CellChange::Faster,
            CellChange::Slower,
            CellChange::OtherPlace,
            CellChange::OnlyOld,
            CellChange::OnlyNew,
        ];
        let counts = all.map(|change| (self.count(change), change.name()));
        let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}"));
        let list = counts.collect::<Vec<_>>().join(", ");
        if list.is_empty() { "neither run has rows".to_string() } else { list }
    }

    /// Tab-separated, with a line of names.
    pub(crate) fn tsv(&self) -> String {
        let mut names = vec!["src", "dst"];
        names.extend(self.new.columns.iter().map(String::as_str));
        names.extend(["bytes", "old_ns_median", "new_ns_median", "ratio", "place", "change"]);
        let mut out = names.join("\t") + "\n";
        for line in &self.lines {
            out += &line.cells(true).join("\t");
            out.push('\n');
        }
        out
    }

    /// One object.
    pub(crate) fn object(&self) -> Value {
        let line = |line: &DiffLine<'_>| {
            let row = line.either();
            let mut object = serde_json::Map::new();
            object.insert("src".into(), json!(row.src));
            object.insert("dst".into(), json!(row.dst));
            for (name, label) in self.new.columns.iter().zip(&row.labels) {
                object.insert(name.clone(), json!(label));
            }
            object.insert("bytes".into(), json!(row.bytes));
            let median = |row: Option<&MatrixRow>| row.map(|r| rounded(r.ns.median));
            object.insert("old_ns_median".into(), json!(median(line.old)));
            object.insert("new_ns_median".into(), json!(median(line.new)));
            object.insert("ratio".into(), json!(line.ratio().map(rounded)));
            object.insert("place".into(), json!(line.place()));
            object.insert("change".into(), json!(line.change.name()));
            Value::Object(object)
        };
        json!({
            "command": "diff",
            "version": env!("CARGO_PKG_VERSION"),
            "of": self.new.command,
            "old": { "date": self.old.date, "machine": self.old.machine },
            "new": { "date": self.new.date, "machine": self.new.machine },
            "caveats": self.caveats(),
            "rows": self.lines.iter().map(line).collect::<Vec<_>>(),
            "summary": self.summary(),
        })
    }
}

impl DiffLine<'_> {
    fn either(&self) -> &MatrixRow {
        // A line is made of at least one of them.
        self.new.or(self.old).expect("a line without rows")
    }

    /// The new median in the old one's.
    fn ratio(&self) -> Option<f64> {
        let (old, new) = (self.old?.ns.median, self.new?.ns.median);
        (old > 0.0).then(|| new / old)
    }

    fn place(&self) -> String {
        match (self.old, self.new) {
            (Some(old), Some(new)) if old.place != new.place => {
                format!("{}>{}", old.place, new.place)
            }
            _ => self.either().place.clone(),
        }
    }

    fn cells(&self, has_bytes: bool) -> Vec<String> {
        let row = self.either();
        let mut cells = vec![row.src.clone(), row.dst.clone()];
        cells.extend(row.labels.iter().cloned());
        if has_bytes {
            cells.push(row.bytes.map_or(String::new(), |bytes| bytes.to_string()));
        }
        let ns =
            |row: Option<&MatrixRow>| row.map_or(String::new(), |r| format!("{:.1}", r.ns.median));
        cells.extend([ns(self.old), ns(self.new)]);
        cells.push(self.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}")));
        cells.push(self.place());
        cells.push(self.change.name().to_string());
        cells
    }
}

/// Changed if the middle 80 % of the samples do not overlap: a median moves by
/// a few per cent from run to run on any machine.
fn judge(old: &MatrixRow, new: &MatrixRow) -> CellChange {
    if old.place != new.place {
        CellChange::OtherPlace
    } else if new.ns.p90 < old.ns.p10 {
        CellChange::Faster
    } else if new.ns.p10 > old.ns.p90 {
        CellChange::Slower
    } else {
        CellChange::Same
    }
}

#[cfg(test)]
mod tests {
    use super::super::saved_run::tests::sample;
    use super::*;

    fn changes(old: &MatrixRun, new: &MatrixRun) -> Vec<&'static str> {
        Diff::new(old, new).unwrap().lines.iter().map(|l| l.change.name()).collect()
    }

    #[test]
    fn changes_are_judged_by_spread() {
        let old = sample();
        assert_eq!(changes(&old, &old), ["same", "same"]);
        let mut new = old.clone();
        new.rows[0].ns.p10 = 200.0;
        new.rows[0].ns.median = 210.0;
        new.rows[0].ns.p90 = 220.0;
        new.rows[1].place = "far".into();
        assert_eq!(changes(&old, &new), ["slower", "other-place"]);
        assert_eq!(changes(&new, &old), ["faster", "other-place"]);
        new.rows.remove(1);
        assert_eq!(changes(&old, &new), ["slower", "only-old"]);
        assert_eq!(changes(&new, &old), ["faster", "only-new"]);
        let text = Diff::new(&old, &new).unwrap().text();
        assert!(text.contains("1 slower, 1 only-old") && text.contains("2.100"), "{text}");
    }

    #[test]
    fn what_does_not_compare() {
        let old = sample();
        let mut new = old.clone();
        new.machine = serde_json::json!({ "cpu": "another", "topology": "core:2" });
        let diff = Diff::new(&old, &new).unwrap();
        assert!(diff.text().contains("another machine: cpu was \"some\", is \"another\""));
        assert_eq!(diff.object()["rows"].as_array().unwrap().len(), 2);
        new.command = "bandwidth".into();
        assert!(Diff::new(&old, &new).is_err());
        let mut new = old.clone();
        new.columns.pop();
        assert!(Diff::new(&old, &new).is_err());
        new.columns = old.columns.clone();
        new.rows.clear();
        let mut none = new.clone();
        none.rows.clear();
        assert!(Diff::new(&none, &new).unwrap().text().contains("neither run has rows"));
    }
}
