//! A saved report: all measurements and predictions in one JSON object.

use phalanx_bench::disturbance::Disturbance;
use phalanx_bench::failure::Failure;
use phalanx_bench::table::of_key;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The format of the object. It changes when an old page maker would misread a new run.
pub(crate) const FORMAT: u64 = 2;

/// How the error of a step begins for which no time was left.
pub(crate) const NOT_RUN: &str = "not run, as";

/// A step and its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SavedReport {
    object: Map<String, Value>,
}

/// One command and its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    /// The command line.
    pub(crate) command: &'a str,
    /// Its json, where it got as far as that.
    pub(crate) result: &'a Value,
    /// The drawing that it made.
    pub(crate) drawing: Option<&'a str>,
    /// Why it did not go well.
    pub(crate) error: Option<&'a str>,
}

/// Whether a part is of the right kind.
type StepKind = fn(&Value) -> bool;

/// The parts that every run has, and the kinds that they must have.
const PARTS: [(&str, StepKind, &str); 6] = [
    ("environment", Value::is_object, "an object"),
    ("ranks", Value::is_u64, "a number"),
    ("machine", Value::is_object, "an object"),
    ("placement", Value::is_object, "an object"),
    ("sections", Value::is_array, "a list"),
    ("predictions", Value::is_object, "an object"),
];

impl SavedReport {
    /// Of its parts.
    pub(crate) fn new(parts: Value) -> Self {
        let mut object = Map::new();
        object.insert("command".to_string(), json!("report"));
        object.insert("format".to_string(), json!(FORMAT));
        object.insert("version".to_string(), json!(env!("CARGO_PKG_VERSION")));
        if let Value::Object(parts) = parts {
            object.extend(parts);
        }
        SavedReport { object }
    }

    /// Reads a file, or says its fault.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let text = phalanx_bench::file::text(path, phalanx_bench::MOST_BYTES)
            .map_err(|e| Failure::Usage(format!("the run '{name}' cannot be read: {e}")))?;
        SavedReport::parse(&text).map_err(|what| Failure::Usage(format!("'{name}' {what}")))
    }

    /// Reads a run. The error goes on after the file's name.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| format!("is no whole json file: {e}"))?;
        let Value::Object(object) = value else {
            return Err("is no saved report: no json object".to_string());
        };
        match object.get("command").and_then(Value::as_str) {
            Some("report") => {}
            Some(other) => {
                return Err(format!(
                    "is of `phalanx {other}`; accepted is what `phalanx report --json` saves"
                ));
            }
            None => return Err("is no saved report: it has no \"command\"".to_string()),
        }
        let version = object.get("version").and_then(Value::as_str).unwrap_or("unknown");
        match object.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => {}
            other => {
                let other = other.map_or("none".to_string(), |format| format.to_string());
                return Err(format!(
                    "has format {other}, of phalanx {version}; this is phalanx {}, which reads \
                     format {FORMAT}",
                    env!("CARGO_PKG_VERSION")
                ));
            }
        }
        for (name, is_right, wanted) in PARTS {
            match object.get(name) {
                None => return Err(format!("is incomplete: it has no \"{name}\"")),
                Some(part) if !is_right(part) => {
                    return Err(format!("is damaged: \"{name}\" is not {wanted}"));
                }
                Some(_) => {}
            }
        }
        let run = SavedReport { object };
        if let Some(at) = run.sections().position(|section| section.command.is_empty()) {
            return Err(format!("is damaged: section {at} has no \"command\""));
        }
        Ok(run)
    }

    /// A part by name; null where there is none.
    pub(crate) fn part(&self, name: &str) -> &Value {
        self.object.get(name).unwrap_or(&Value::Null)
    }

    /// Puts another part in the place of one.
    pub(crate) fn set(&mut self, name: &str, part: Value) {
        self.object.insert(name.to_string(), part);
    }

    /// One more section.
    pub(crate) fn push(&mut self, section: Value) {
        if let Some(Value::Array(sections)) = self.object.get_mut("sections") {
            sections.push(section);
        }
    }

    /// The steps that were run, in order.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        let all = self.part("sections").as_array().map_or(&[][..], Vec::as_slice);
        all.iter().map(|section| Section {
            command: section["command"].as_str().unwrap_or(""),
            result: &section["result"],
            drawing: section["drawing"].as_str(),
            error: section["error"].as_str(),
        })
    }

    /// The runs of one of this tool's commands.
    pub(crate) fn section(&self, name: &str) -> Option<Section<'_>> {
        self.sections().find(|s| s.command.split_whitespace().nth(1) == Some(name))
    }

    /// What the ranks that the page is of met while they were measured.
    pub(crate) fn disturbance(&self) -> Disturbance {
        let mut all = Disturbance::default();
        for section in self.sections().filter(|it| it.result["ranks"] == *self.part("ranks")) {
            all.add(&Disturbance::from_json(&section.result["disturbed"]));
        }
        all
    }

    /// The steps for which no time was left, and all.
    pub(crate) fn unmeasured(&self) -> (usize, usize) {
        let is_out = |it: &Section<'_>| it.error.is_some_and(|why| why.starts_with(NOT_RUN));
        (self.sections().filter(is_out).count(), self.sections().count())
    }

    /// The steps without a result, in a line for each reason; those that did not go well, but
    /// have one, likewise.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for section in self.sections() {
            let Some(why) = section.error else { continue };
            // The reason has the time that had passed, which differs from step to step.
            let why = if why.starts_with(NOT_RUN) { "no time was left" } else { why };
            let verb = if section.result.is_object() { "not whole" } else { "left out" };
            let why = format!("{verb} ({})", why.trim_end_matches('.'));
            let command = section.command.trim_start_matches("phalanx ");
            // Sizes and times are the same for all.
            let command = command.split(" --").next().unwrap_or(command);
            of_key(&mut reasons, why).push(command);
        }
        let all = self.sections().count();
        let line = |(why, commands): &(String, Vec<&str>)| {
            format!("{why}: {} of {all} parts: {}", commands.len(), commands.join("; "))
        };
        reasons.iter().map(line).collect()
    }

    /// The entry that every fit of rates has at `at`, a list of objects with a level and a place;
    /// the first of each. There are several fits where the cores moved in between.
    pub(crate) fn fitted(&self, at: impl Fn(&Value) -> &Value) -> Vec<&Value> {
        let fits = self.sections().filter(|s| s.command.contains(" calibrate"));
        let mut found: Vec<&Value> = Vec::new();
        for one in fits.filter_map(|s| at(s.result).as_array()).flatten() {
            if !found.iter().any(|own| own["level"] == one["level"] && own["place"] == one["place"])
            {
                found.push(one);
            }
        }
        found
    }

    /// The whole, as it is saved.
    pub(crate) fn text(&self) -> String {
        format!("{:#}\n", Value::Object(self.object.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Value {
        json!({
            "environment": {}, "ranks": 2, "machine": {}, "placement": {},
            "sections": [{ "command": "phalanx bench", "result": null }],
            "predictions": {},
        })
    }

    #[test]
    fn what_is_written_is_read() {
        let run = SavedReport::new(whole());
        assert_eq!(SavedReport::parse(&run.text()), Ok(run.clone()));
        assert_eq!(run.sections().count(), 1);
    }

    #[test]
    fn what_is_left_out_is_told_by_reasons() {
        let late = |s: u32| format!("not run, as the steps before it took {s} s");
        let part = |command: &str, why: Option<String>, result: Value| {
            let command = format!("phalanx {command}");
            json!({ "command": command, "result": result, "error": why })
        };
        let mut run = SavedReport::new(whole());
        assert_eq!(run.left_out(), [""; 0]);
        run.set(
            "sections",
            json!([
                part("latency --all", None, json!({})),
                part("bench gather -p 2 -a auto --sizes 8", Some(late(70)), Value::Null),
                part("bench -p 4 --sizes 8", Some(late(71)), Value::Null),
                part("bandwidth --pus 0", Some("interrupted.".to_string()), json!({})),
            ]),
        );
        assert_eq!(
            run.left_out(),
            [
                "left out (no time was left): 2 of 4 parts: bench gather -p 2 -a auto; bench -p 4",
                "not whole (interrupted): 1 of 4 parts: bandwidth",
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let refused = |text: &str| SavedReport::parse(text).unwrap_err();
        assert!(refused("{\"command\": ").contains("no whole json file: EOF"));
        assert!(refused("[]").contains("no json object"));
        assert!(refused("{}").contains("no \"command\""));
        assert!(refused("{\"command\": \"bench\"}").contains("is of `phalanx bench`"));
        let newer = "{\"command\": \"report\", \"format\": 7, \"version\": \"9.1\"}";
        assert!(refused(newer).contains("format 7, of phalanx 9.1;"), "{}", refused(newer));
        for part in PARTS.map(|(name, ..)| name) {
            let mut run = SavedReport::new(whole());
            run.set(part, json!(true));
            assert!(refused(&run.text()).contains(&format!("\"{part}\" is not")), "{part}");
            run.object.remove(part);
            assert!(refused(&run.text()).contains(&format!("no \"{part}\"")), "{part}");
        }
    }
}
