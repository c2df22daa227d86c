//! The result of a placement, in four forms.

use super::drawing::svg;
use super::topology::PlacedTopology;
use crate::failure::Failure;
use crate::matrix::unit_axis::label;
use crate::output::Format;
use crate::source::{count, source, summary};
use crate::table::Table;
use phalanx::machine::{Level, Machine};
use phalanx::placement::{Assignment, Pattern, Placement, PlacementReport, StepReport, assign};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The seed of the random placement that others are compared with.
const SEED: u64 = 1;

/// Steps that the text form shows.
const STEPS_SHOWN: usize = 24;

/// A placement, evaluated beside others.
#[derive(Debug)]
pub struct PlacementOutcome<'a> {
    machine: &'a Machine,
    shape: PlacedTopology,
    policy: String,
    pattern: Pattern,
    assignment: Assignment,
    report: PlacementReport,
    /// Name and report.
    beside: [(&'static str, PlacementReport); 3],
}

impl<'a> PlacementOutcome<'a> {
    /// Places the ranks and judges it.
    pub fn new(
        machine: &'a Machine,
        shape: PlacedTopology,
        policy: &Placement,
        ranks: usize,
    ) -> Result<Self, Failure> {
        let pattern = shape.placement.pattern(ranks).map_err(Failure::usage)?;
        let pattern =
            pattern.ok_or_else(|| Failure::Run(format!("{} has no pattern", shape.name)))?;
        let chosen = match policy {
            Placement::Auto => &shape.placement,
            other => other,
        };
        let assignment = assign(chosen, machine, ranks).map_err(Failure::usage)?;
        let judge = |placement: &Placement| {
            let other = assign(placement, machine, ranks).map_err(Failure::usage)?;
            Ok::<_, Failure>(PlacementReport::new(machine, &pattern, &other))
        };
        let beside = [
            ("identity", judge(&Placement::Identity)?),
            ("compact", judge(&Placement::Compact)?),
            ("random", judge(&Placement::Random(SEED))?),
        ];
        let report = PlacementReport::new(machine, &pattern, &assignment);
        let policy = policy.to_string();
        Ok(PlacementOutcome { machine, shape, policy, pattern, assignment, report, beside })
    }

    /// The drawing.
    pub fn svg(&self) -> String {
        svg(self.machine, &self.pattern, &self.assignment)
    }

    /// The table.
    pub fn show(&self, format: Format) -> String {
        match format {
            Format::Text => self.text(),
            Format::Tsv => self.tsv(),
            Format::Json => format!("{:#}\n", self.json()),
        }
    }

    /// Rank, PU, core, NUMA node.
    fn places(&self) -> impl Iterator<Item = (usize, Option<usize>, Option<usize>, Option<usize>)> {
        let cores = self.machine.cores();
        self.assignment.pus().iter().enumerate().map(move |(rank, &pu)| {
            let core = pu.and_then(|pu| self.machine.core_of(pu));
            let node = core.and_then(|core| cores[core].numa);
            (rank, pu, core, node.map(|node| self.machine.numa_nodes()[node].os_id))
        })
    }

    fn json(&self) -> Value {
        let place =
            |(rank, pu, core, node)| json!({ "rank": rank, "pu": pu, "core": core, "node": node });
        let beside: Map<String, Value> = self
            .beside
            .iter()
            .map(|(name, report)| {
                let mut object = Map::new();
                if *name == "random" {
                    object.insert("seed".to_string(), json!(SEED));
                }
                object.extend(cost(report));
                ((*name).to_string(), Value::Object(object))
            })
            .collect();
        json!({
            "command": "place",
            "version": env!("CARGO_PKG_VERSION"),
            "source": source(self.machine),
            "topology": self.shape.name,
            "dims": self.shape.dims,
            "policy": self.policy,
            "ranks": self.places().map(place).collect::<Vec<_>>(),
            "cost": cost(&self.report),
            "beside": beside,
        })
    }

    fn tsv(&self) -> String {
        let row = |(rank, pu, core, node)| vec![json!(rank), json!(pu), json!(core), json!(node)];
        let columns = &["rank", "pu", "core", "node"];
        Table { columns, rows: self.places().map(row).collect() }.tsv()
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |text: String| writeln!(out, "{}", text.trim_end()).unwrap_or_default();
        let dims: Vec<String> = self.shape.dims.iter().map(usize::to_string).collect();
        let dims = match dims.as_slice() {
            [_] => String::new(),
            many => format!(" {}", many.join("x")),
        };
        let ranks = self.assignment.ranks();
        line(format!("# {}", summary(self.machine)));
        line(format!("# {ranks} ranks, {}{dims}", self.shape.name));
        let is_slow = |core: usize| self.machine.cores()[core].is_efficiency;
        let slow = self.places().filter(|place| place.2.is_some_and(is_slow)).count();
        if slow > 0 {
            line(format!(
                "# {} on efficiency cores, which set the pace of equal shares; a team has {} by \
                 default",
                count(slow, "rank"),
                count(self.machine.ranks(), "rank")
            ));
        }
        line(format!(
            "{:<14} {:>8} {:>8} {:>10} {:>14} {:>10}",
            "placement", "dilation", "average", "congestion", "ranks per core", "time"
        ));
        let own = (self.policy.as_str(), &self.report);
        let all = self.beside.iter().map(|(name, report)| (*name, report));
        for (name, r) in std::iter::once(own).chain(all) {
            let name: String = name.chars().take(14).collect();
            line(format!(
                "{name:<14} {:>8} {:>8.2} {:>10} {:>14} {:>10.2}",
                r.dilation, r.average_dilation, r.congestion, r.node_load, r.cost
            ));
        }
        line(String::new());
        line(format!(
            "{:<20} {:>8} {:>8} {:>10} {:>10}  messages on the busiest channel out of a",
            "step", "messages", "dilation", "congestion", "time"
        ));
        for step in self.report.steps.iter().take(STEPS_SHOWN) {
            let levels: Vec<String> =
                step.by_level.iter().map(|(l, n)| format!("{l} {n}")).collect();
            line(format!(
                "{:<20} {:>8} {:>8} {:>10} {:>10.2}  {}",
                step.name,
                step.messages,
                step.dilation,
                step.congestion,
                step.cost,
                levels.join(", ")
            ));
        }
        let hidden = self.report.steps.len().saturating_sub(STEPS_SHOWN);
        if hidden > 0 {
            line(format!(".. {hidden} more steps (all of them with --format json)"));
        }
        line(String::new());
        line("ranks, each with its PU, by what their cores share:".to_string());
        self.rooms().into_iter().for_each(line);
        out
    }

    /// A line for each innermost group of cores with ranks on it.
    fn rooms(&self) -> Vec<String> {
        let tree = self.machine.tree();
        let mut by_core: Vec<(usize, usize, usize)> =
            self.places().filter_map(|(rank, pu, core, _)| Some((core?, rank, pu?))).collect();
        by_core.sort_unstable();
        let mut rooms: Vec<(usize, String)> = Vec::new();
        for (core, rank, pu) in by_core {
            let above = tree.above(core);
            match rooms.last_mut() {
                Some((vertex, text)) if *vertex == above => *text += &format!(" {rank}@{pu}"),
                _ => rooms.push((above, format!("{}: {rank}@{pu}", self.path(core)))),
            }
        }
        rooms.into_iter().map(|(_, text)| text).collect()
    }

    /// "package 0, L3 2": the vertices above a core.
    fn path(&self, core: usize) -> String {
        // The whole machine is known, and nameless groups say nothing.
        let above = self.machine.cores()[core].path.iter().skip(1);
        let named = above.map(|&at| &self.machine.tree().vertices()[at]);
        let named = named.filter(|vertex| vertex.levels != [Level::Group]);
        match named.map(|vertex| label(self.machine, vertex)).collect::<Vec<_>>() {
            names if names.is_empty() => "machine".to_string(),
            names => names.join(", "),
        }
    }
}

/// A report as an object.
fn cost(report: &PlacementReport) -> Map<String, Value> {
    let step = |s: &StepReport| {
        let levels: Map<String, Value> =
            s.by_level.iter().map(|(level, n)| (level.key().to_string(), json!(n))).collect();
        json!({
            "step": s.name,
            "messages": s.messages,
            "dilation": s.dilation,
            "average_dilation": round(s.average_dilation),
            "congestion": s.congestion,
            "congestion_factor": round(s.congestion_factor),
            "by_level": levels,
            "time_words": round(s.cost),
        })
    };
    let object = json!({
        "dilation": report.dilation,
        "average_dilation": round(report.average_dilation),
        "congestion": report.congestion,
        "node_load": report.node_load,
        "expansion": round(report.expansion),
        "time_words": round(report.cost),
        "steps": report.steps.iter().map(step).collect::<Vec<_>>(),
    });
    match object {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn round(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}
