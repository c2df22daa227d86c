//! `phalanx machine`: the machine as Phalanx sees it, and the source of each fact.

use crate::failure::Failure;
use crate::matrix::unit_axis::label;
use crate::output::{Format, OutputArgs};
use crate::prose;
use crate::source::{SourceArgs, count, list, source, summary};
use crate::table::Table;
use phalanx::machine::{Group, Level, Machine, NumaNode, Vertex};
use serde_json::{Value, json};
use std::fmt::Write as _;

const ABOUT: &str = "\
NUMBERS: processing units (PUs) and NUMA nodes have the operating system's numbers; cores, packages
  and the groups of a level count from 0 in logical order, in which neighbours share as much as
  possible.

JSON: source {cores, memory, kinds, allowed: where each kind of fact came from}, counts {packages,
  numa_nodes, cores, pus, allowed_pus}, packages[], numa_nodes[], cores[{core, pus, package,
  numa_node, kind, efficiency, allowed}] with kind 0 for the slowest kind of core, pus[],
  allowed_pus[], ranks (of a team by default: without efficiency cores, within the quota),
  quota {cores, ranks, text} of the process's control groups, or null,
  levels[{level, groups[{os_id, cores, pus}]}] from the outside to the inside, distances (rows in
  the order of numa_nodes, 10 = local; null where not known), warnings[].
TSV: a line for each PU: pu core kind package die numa_node l3 l2 l1 allowed; empty where not known.

Example:
  phalanx machine --synthetic \"pack:2 [numa] l3:4 core:8 pu:2\"";

/// Show the machine: cores, caches, memories, and where that is known from
///
/// Shows a machine: its cores and the levels that they share, its memories and their
/// distances, the processing units that may be used, and where each of these
/// facts came from.
#[derive(Debug, clap::Args)]
#[command(after_long_help = prose::help(ABOUT))]
#[command(after_help = "Example:\n  phalanx machine\n\nMore with --help.")]
pub(crate) struct MachineArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl MachineArgs {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let machine = self.source.read()?;
        let doubt = if self.source.is_named() { None } else { doubt(&machine) };
        let text = match self.output.format {
            Format::Text => text(&machine, doubt.as_deref()),
            Format::Tsv => tsv(&machine),
            Format::Json => format!("{:#}\n", described(&machine, doubt.as_deref())),
        };
        self.output.open()?.write(&text)
    }
}

/// How much of the processors' time this process may use, if that is limited.
fn quota(machine: &Machine) -> Option<Value> {
    let quota = machine.quota()?;
    Some(json!({ "cores": quota.cores(), "ranks": quota.ranks(), "text": quota.to_string() }))
}

/// This machine as json.
pub fn object(machine: &Machine) -> Value {
    described(machine, doubt(machine).as_deref())
}

/// Where the memory of this machine's nodes is not as large as the system says in all.
fn doubt(machine: &Machine) -> Option<String> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let nodes: Option<u64> = machine.numa_nodes().iter().map(|node| node.memory_bytes).sum();
    disagreement(nodes.filter(|&bytes| bytes > 0)?, &text)
}

/// The warning, of the bytes of all nodes and the text of `/proc/meminfo`. A twentieth is no
/// disagreement: the two leave out other reserves.
fn disagreement(nodes: u64, meminfo: &str) -> Option<String> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let all = line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)?;
    (nodes.abs_diff(all) > all / 20).then(|| {
        format!(
            "the memory nodes have {} together, but the system says that the machine has {} \
             (/proc/meminfo): one of the two is wrong",
            gib(nodes),
            gib(all)
        )
    })
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// A machine as json, with a warning more.
fn described(machine: &Machine, doubt: Option<&str>) -> Value {
    let group = |g: &Group| json!({ "os_id": g.os_id, "cores": g.cores, "pus": g.pus });
    let groups = |groups: &[Group]| groups.iter().map(group).collect::<Vec<_>>();
    let node = |n: &NumaNode| {
        let bytes = n.memory_bytes;
        json!({ "os_id": n.os_id, "cores": n.cores, "pus": n.pus, "memory_bytes": bytes })
    };
    let cores = machine.cores().iter().enumerate().map(|(index, core)| {
        json!({
            "core": index,
            "pus": core.pus,
            "package": core.package,
            "numa_node": core.numa.map(|node| machine.numa_nodes()[node].os_id),
            "kind": core.kind,
            "efficiency": core.is_efficiency,
            "allowed": core.pus.iter().any(|&pu| machine.is_allowed(pu)),
        })
    });
    let levels = machine.levels().iter();
    let mut pus: Vec<usize> = machine.cores().iter().flat_map(|core| core.pus.clone()).collect();
    pus.sort_unstable();
    json!({
        "command": "machine",
        "version": env!("CARGO_PKG_VERSION"),
        "source": source(machine),
        "counts": {
            "packages": machine.groups(Level::Package).len(),
            "numa_nodes": machine.numa_nodes().len(),
            "cores": machine.cores().len(),
            "pus": machine.pu_count(),
            "allowed_pus": machine.allowed_pus().len(),
        },
        "packages": groups(machine.groups(Level::Package)),
        "numa_nodes": machine.numa_nodes().iter().map(node).collect::<Vec<_>>(),
        "cores": cores.collect::<Vec<_>>(),
        "pus": pus,
        "allowed_pus": machine.allowed_pus(),
        "ranks": machine.ranks(),
        "quota": quota(machine),
        "levels": levels
            .map(|l| json!({ "level": l.level.key(), "groups": groups(&l.groups) }))
            .collect::<Vec<_>>(),
        "distances": machine.distances(),
        "warnings": warnings(machine, doubt).collect::<Vec<_>>(),
    })
}

fn warnings<'a>(machine: &'a Machine, doubt: Option<&'a str>) -> impl Iterator<Item = &'a str> {
    machine.warnings().iter().map(String::as_str).chain(doubt)
}

fn tsv(machine: &Machine) -> String {
    let columns =
        &["pu", "core", "kind", "package", "die", "numa_node", "l3", "l2", "l1", "allowed"];
    let mut pus: Vec<(usize, usize)> = Vec::with_capacity(machine.pu_count());
    for (index, core) in machine.cores().iter().enumerate() {
        pus.extend(core.pus.iter().map(|&pu| (pu, index)));
    }
    pus.sort_unstable();
    let row = |(pu, index): (usize, usize)| {
        let core = &machine.cores()[index];
        let group = |level| json!(machine.group_of(pu, level));
        vec![
            json!(pu),
            json!(index),
            json!(core.kind),
            json!(core.package),
            group(Level::Die),
            json!(core.numa.map(|node| machine.numa_nodes()[node].os_id)),
            group(Level::L3),
            group(Level::L2),
            group(Level::L1),
            json!(machine.is_allowed(pu)),
        ]
    };
    Table { columns, rows: pus.into_iter().map(row).collect() }.tsv()
}

/// This machine as text.
pub fn page(machine: &Machine) -> String {
    text(machine, doubt(machine).as_deref())
}

fn text(machine: &Machine, doubt: Option<&str>) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!("# {}", summary(machine)));
    let tree = machine.tree();
    for (index, vertex) in tree.vertices().iter().enumerate() {
        let own: Vec<usize> =
            vertex.cores.clone().filter(|&core| tree.above(core) == index).collect();
        let indent = "  ".repeat(vertex.depth);
        line(format!("{indent}{}: {}", label(machine, vertex), cores(machine, vertex, &own)));
    }
    for node in machine.numa_nodes() {
        let memory = match node.memory_bytes {
            Some(bytes) => gib(bytes),
            None => "memory of unknown size".to_string(),
        };
        let near = match node.pus.as_slice() {
            [] => "no processors".to_string(),
            pus => format!("PUs {}", list(pus)),
        };
        line(format!("NUMA node {}: {memory}, {near}", node.os_id));
    }
    if let Some(rows) = machine.distances() {
        let ids: Vec<String> =
            machine.numa_nodes().iter().map(|n| format!("{:>4}", n.os_id)).collect();
        line(format!("distances (10 = local)\n     {}", ids.join("")));
        for (id, row) in ids.iter().zip(rows) {
            let row: String = row.iter().map(|value| format!("{value:>4}")).collect();
            line(format!(" {id}{row}"));
        }
    }
    let allowed = machine.allowed_pus();
    if allowed.len() < machine.pu_count() {
        line(format!("allowed PUs: {}", list(allowed)));
    }
    let efficient = machine.cores().iter().filter(|core| core.is_efficiency).count();
    if efficient > 0 {
        let (cores, ranks) = (count(efficient, "core"), count(machine.ranks(), "rank"));
        line(format!("efficiency: {cores}, without ranks by default: {ranks}"));
    }
    if let Some(quota) = machine.quota() {
        line(prose::folded(&format!(
            "quota: {quota}: {} by default",
            count(machine.ranks(), "rank")
        )));
    }
    warnings(machine, doubt)
        .for_each(|warning| line(prose::folded(&format!("warning: {warning}"))));
    out
}

/// The content of a vertex: its cores and their PUs where they hang right under it, else their
/// number.
fn cores(machine: &Machine, vertex: &Vertex, own: &[usize]) -> String {
    if own.is_empty() {
        return count(vertex.cores.len(), "core");
    }
    let mut pus: Vec<usize> =
        own.iter().flat_map(|&core| machine.cores()[core].pus.clone()).collect();
    pus.sort_unstable();
    let kinds: Vec<usize> = own.iter().map(|&core| machine.cores()[core].kind).collect();
    let uniform = machine.cores().iter().all(|core| core.kind == 0);
    let kind = match (uniform, kinds.iter().min(), kinds.iter().max()) {
        (false, Some(low), Some(high)) if low == high => format!(", kind {low}"),
        (false, Some(low), Some(high)) => format!(", kinds {low} to {high}"),
        _ => String::new(),
    };
    format!("cores {}, PUs {}{kind}", list(own), list(&pus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_does_not_add_up_is_a_warning() {
        let meminfo = "MemTotal:       24684096 kB\nMemFree: 1 kB\n";
        let said = disagreement(9_448_928_051, meminfo).unwrap();
        assert!(said.contains("8.8 GiB together") && said.contains("has 23.5 GiB"), "{said}");
        let machine = Machine::from_synthetic("core:2 pu:1").unwrap();
        assert!(text(&machine, Some(&said)).contains("warning: the memory nodes have 8.8 GiB"));
        assert_eq!(described(&machine, Some(&said))["warnings"], json!([said]));
        assert_eq!(disagreement(24_684_096 << 10, meminfo), None);
        assert_eq!(disagreement(24_000_000 << 10, meminfo), None);
        assert_eq!(disagreement(1, "nothing"), None);
    }
}
