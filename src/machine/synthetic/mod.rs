//! Machines from a line of text, in hwloc's synthetic syntax.
//!
//! ```text
//! string   = [attributes] level+
//! level    = TYPE:N [attributes] attached* | N [attributes] attached*
//! attached = "[" "numa" [attributes] "]"
//! attributes = "(" NAME=VALUE .. ")"   indexes=LIST | STEP*N:.. | TYPE:TYPE:..     memory=, size=
//! ```
//!
//! Every level has N children under each object of the level before; the last level is `pu`.
//! Numbers without types get types as in hwloc. Where hwloc shrugs (indexes that do not fit are
//! ignored, a wrong string gives the live machine) this reader answers with the position.

mod indexes;
mod reader;

use super::MachineError;
use super::facts::{Facts, RawCore, RawGroup, RawNode};
use super::level::Level;

const FORMAT: &str = "synthetic string";

/// What a level is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Shared(Level),
    Core,
    Pu,
    /// Instruction caches: they add an arity and no fact.
    Ignored,
}

#[derive(Debug)]
struct LevelSpec {
    kind: Kind,
    /// Objects in the whole machine.
    total: usize,
    /// The operating system's numbers, one per object.
    os_ids: Option<Vec<usize>>,
    attached: Vec<Attributes>,
    memory_bytes: Option<u64>,
}

/// Attributes as read; the indexes are looked at when all levels are known.
#[derive(Clone, Debug, Default)]
struct Attributes {
    /// Text and position.
    indexes: Option<(String, usize)>,
    memory_bytes: Option<u64>,
}

/// Reads a synthetic string.
pub(super) fn read(text: &str) -> Result<Facts, MachineError> {
    let mut reader = reader::SpecReader::new(text);
    let (levels, root) = reader.levels()?;
    facts(&levels, &root)
}

fn error(position: usize, reason: impl Into<String>) -> MachineError {
    MachineError::Malformed { format: FORMAT, position, reason: reason.into() }
}

/// As hwloc: any prefix of at least two letters, whatever the case.
fn kind_named(word: &str) -> Option<Kind> {
    let word = word.to_ascii_lowercase();
    if let Some(cache) = word.strip_prefix('l') {
        let depth = cache.chars().next()?.to_digit(10)? as usize;
        let level = Level::cache(depth)?;
        let suffix = &cache[1..];
        return match suffix.strip_suffix("cache").unwrap_or(suffix) {
            "" | "d" | "u" => Some(Kind::Shared(level)),
            "i" => Some(Kind::Ignored),
            _ => None,
        };
    }
    let is = |name: &str| word.len() >= 2 && name.starts_with(&word);
    if is("package") || is("socket") {
        Some(Kind::Shared(Level::Package))
    } else if is("die") {
        Some(Kind::Shared(Level::Die))
    } else if is("numanode") || is("node") {
        Some(Kind::Shared(Level::Numa))
    } else if is("group") {
        Some(Kind::Shared(Level::Group))
    } else if is("core") {
        Some(Kind::Core)
    } else if is("pu") {
        Some(Kind::Pu)
    } else {
        None
    }
}

/// The facts that the levels stand for.
fn facts(levels: &[LevelSpec], root: &[Attributes]) -> Result<Facts, MachineError> {
    let Some(last) = levels.last() else {
        return Err(error(0, "expected at least one level"));
    };
    let units = last.os_ids.clone().unwrap_or_else(|| (0..last.total).collect());
    let mut facts = Facts::default();
    let mut next_node = 0;
    let mut nodes =
        |count: usize, pus: &[usize], facts: &mut Facts, memory: &dyn Fn(usize) -> Option<u64>| {
            for index in 0..count {
                let memory_bytes = memory(index);
                facts.nodes.push(RawNode { os_id: next_node, pus: pus.to_vec(), memory_bytes });
                next_node += 1;
            }
        };
    nodes(root.len(), &units, &mut facts, &|index| root[index].memory_bytes);
    for level in levels {
        for (index, pus) in units.chunks(last.total / level.total).enumerate() {
            let os_id = match &level.os_ids {
                Some(ids) => Some(ids[index]),
                None => matches!(level.kind, Kind::Shared(Level::Package | Level::Numa))
                    .then_some(index),
            };
            match level.kind {
                Kind::Shared(Level::Numa) => facts.nodes.push(RawNode {
                    os_id: os_id.unwrap_or(index),
                    pus: pus.to_vec(),
                    memory_bytes: level.memory_bytes,
                }),
                Kind::Shared(level) => {
                    facts.groups.push(RawGroup { level, os_id, pus: pus.to_vec() });
                }
                Kind::Core => facts.cores.push(RawCore { pus: pus.to_vec() }),
                Kind::Pu | Kind::Ignored => {}
            }
            let attached = &level.attached;
            nodes(attached.len(), pus, &mut facts, &|index| attached[index].memory_bytes);
        }
    }
    if facts.cores.is_empty() {
        facts.cores = units.iter().map(|&pu| RawCore { pus: vec![pu] }).collect();
    }
    if facts.nodes.is_empty() {
        facts.nodes.push(RawNode { os_id: 0, pus: units, memory_bytes: None });
    }
    Ok(facts)
}

#[cfg(test)]
mod tests;
