//! Machines from the XML that hwloc 2 and hwloc 3 write.
//!
//! `roxmltree` reads the XML. [`check_limits`] refuses beforehand documents that could make it slow
//! or large: hwloc writes none of that. The two versions differ in places that are not read here
//! (version 3 has the facts about the system beside the objects instead of in the outermost one,
//! and other numbers for kinds of devices), and in `id`, a second name of an object.

use crate::sorted::{SortedMap, SortedSet};

use roxmltree::{Document, Node, ParsingOptions};

use super::MachineError;
use super::facts::{Facts, RawCore, RawDistances, RawGroup, RawNode};
use super::level::Level;
use super::mask::{MAX_PU, parse_mask};

/// The largest file that is read: 64 MiB, a hundred times the largest machine's.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Tags, comments and the like: the tree takes 72 bytes for each.
const MAX_TAGS: usize = 1 << 20;

/// Attributes of all elements: the tree takes 72 bytes for each.
const MAX_ATTRIBUTES: usize = 4 << 20;

/// Attributes of one element, each of which is compared with those before it; hwloc writes 20.
const MAX_PER_TAG: usize = 256;

/// Objects inside one another; real machines have fewer than 20.
const MAX_DEPTH: usize = 128;

/// The `kind` of the groups that hwloc makes from distances between memories.
const FROM_DISTANCES: &str = "900";

/// Processing units that all sets together may name. A word of a mask is 10 bytes in the file, and
/// 256 in memory; in real files each unit is in a few sets.
const MAX_NAMED: usize = 16 * MAX_PU;

/// Nodes in a distance matrix.
const MAX_NODES: usize = 4096;

fn error(position: usize, reason: impl Into<String>) -> MachineError {
    MachineError::Malformed { format: "hwloc XML", position, reason: reason.into() }
}

/// Refuses texts that take the parser much memory or time: many tags or attributes, entities (which
/// expand), name spaces (which each element with one of its own copies).
fn check_limits(text: &str) -> Result<(), MachineError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(error(0, format!("more than {MAX_BYTES} bytes")));
    }
    let (mut position, mut attributes) = (0, 0);
    for (tags, tag) in text.split('<').enumerate() {
        let own = tag.matches('=').count();
        attributes += own;
        let reason = if tag.starts_with("!ENTITY") {
            "a file of hwloc declares no entities".to_owned()
        } else if tag.contains("xmlns") {
            "a file of hwloc has no name spaces".to_owned()
        } else if own > MAX_PER_TAG {
            format!("more than {MAX_PER_TAG} attributes of one element")
        } else if tags > MAX_TAGS || attributes > MAX_ATTRIBUTES {
            format!("more than {MAX_TAGS} tags or {MAX_ATTRIBUTES} attributes")
        } else {
            position += tag.len() + 1;
            continue;
        };
        return Err(error(position, reason));
    }
    Ok(())
}

/// A document that the parser refuses, with its line and column as a number of bytes.
fn refused(text: &str, found: &roxmltree::Error) -> MachineError {
    let (row, column) = (found.pos().row as usize, found.pos().col as usize);
    let line: usize = text.split_inclusive('\n').take(row - 1).map(str::len).sum();
    let before: usize = text[line..].chars().take(column - 1).map(char::len_utf8).sum();
    error(line + before, found.to_string())
}

/// The facts of a document's objects.
#[derive(Debug, Default)]
struct Reader {
    facts: Facts,
    units: SortedSet<usize>,
    /// Global index of a NUMA node to its number.
    globals: SortedMap<u64, usize>,
    /// How many units the sets so far have named.
    named: usize,
    /// Units, forced efficiency, speed.
    kinds: Vec<(Vec<usize>, Option<usize>, Option<u64>)>,
}

/// Reads a whole document.
pub(super) fn read(text: &str) -> Result<Facts, MachineError> {
    let text = text.trim_end_matches('\0');
    check_limits(text)?;
    // hwloc writes a DOCTYPE line.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document =
        Document::parse_with_options(text, options).map_err(|found| refused(text, &found))?;
    let root = document.root_element();
    check_version(root)?;
    let mut reader = Reader::default();
    for object in elements(root, "object") {
        reader.object(object, 1)?;
    }
    for distances in elements(root, "distances2") {
        reader.distances(distances)?;
    }
    fn info<'a>(kind: Node<'a, '_>, name: &str) -> Option<&'a str> {
        let of = |info: &Node<'_, '_>| info.attribute("name") == Some(name);
        elements(kind, "info").find(of)?.attribute("value")
    }
    // Of Intel's the name decides: some efficiency cores are much slower than others.
    let is_fast = |kind| info(kind, "CoreType") == Some("IntelCore");
    let is_hybrid = elements(root, "cpukind").any(is_fast);
    for kind in elements(root, "cpukind") {
        let forced = number(kind, "forced_efficiency")?.and_then(|n| usize::try_from(n).ok());
        let pus = reader.mask(kind, "cpuset")?.unwrap_or_default();
        let number = |name| info(kind, name)?.parse().ok();
        let speed = number("LinuxCapacity").or_else(|| match is_hybrid {
            true => Some(1 + u64::from(is_fast(kind))),
            false => number("FrequencyMaxMHz"),
        });
        reader.kinds.push((pus, forced, speed));
    }
    reader.finish(text.len())
}

fn check_version(root: Node<'_, '_>) -> Result<(), MachineError> {
    let (position, name) = (root.range().start, root.tag_name().name());
    if name != "topology" {
        return Err(error(position, format!("expected <topology>, found <{name}>")));
    }
    let version = root.attribute("version").unwrap_or("1");
    let advice = match version.split('.').next().and_then(|major| major.parse::<u32>().ok()) {
        Some(2 | 3) => return Ok(()),
        Some(0 | 1) => "lstopo of hwloc 2 converts it: lstopo --input OLD.xml NEW.xml",
        Some(_) => "lstopo may write an older one: see its --export-xml-flags",
        None => return Err(error(position, "the version of the XML is not a number")),
    };
    Err(MachineError::Unsupported {
        reason: format!("hwloc XML of version {version}, only versions 2 and 3 are read; {advice}"),
    })
}

/// The children of that name.
fn elements<'a, 'b>(node: Node<'a, 'b>, name: &str) -> impl Iterator<Item = Node<'a, 'b>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn number(node: Node<'_, '_>, key: &str) -> Result<Option<u64>, MachineError> {
    let Some(text) = node.attribute(key) else { return Ok(None) };
    let reason = |_| error(node.range().start, format!("{key}=\"{text}\" is not a number"));
    text.parse().map(Some).map_err(reason)
}

/// The numbers in all elements of that name, at most `most`.
fn numbers(node: Node<'_, '_>, name: &str, most: usize) -> Result<Vec<u64>, MachineError> {
    let mut found = Vec::new();
    for list in elements(node, name) {
        let position = list.range().start;
        for word in list.text().unwrap_or_default().split_whitespace() {
            // Indexes of mixed types come as "NUMANode:3".
            let digits = word.rsplit(':').next().unwrap_or(word);
            let Ok(value) = digits.parse() else {
                return Err(error(position, format!("'{word}' is not a number")));
            };
            if found.len() == most {
                return Err(error(position, format!("more than {most} numbers")));
            }
            found.push(value);
        }
    }
    Ok(found)
}

impl Reader {
    /// A set of processing units. (hwloc writes an infinite set with a word "0xf...f"; nothing that
    /// is read here has one.)
    fn mask(&mut self, node: Node<'_, '_>, key: &str) -> Result<Option<Vec<usize>>, MachineError> {
        let Some(text) = node.attribute(key) else { return Ok(None) };
        let wrong = |reason: String| error(node.range().start, format!("{key}: {reason}"));
        let set = parse_mask(text).map_err(|e| wrong(e.reason))?;
        self.named += set.len();
        match self.named > MAX_NAMED {
            true => Err(wrong("the sets name the same processors too often".to_owned())),
            false => Ok(Some(set)),
        }
    }

    /// Reads an object and all inside it. Returns its processing units: those of the objects inside
    /// it, so sets nest however the file's masks are damaged.
    fn object(&mut self, node: Node<'_, '_>, depth: usize) -> Result<Vec<usize>, MachineError> {
        let position = node.range().start;
        if depth > MAX_DEPTH {
            let reason = format!("more than {MAX_DEPTH} objects inside one another");
            return Err(error(position, reason));
        }
        let Some(kind) = node.attribute("type") else {
            return Err(error(position, "an object without a type"));
        };
        let os_id = number(node, "os_index")?
            .map(|id| usize::try_from(id).unwrap_or(usize::MAX))
            .filter(|&id| id < u32::MAX as usize);
        let mut pus = Vec::new();
        match (kind, os_id) {
            ("Machine", _) => self.facts.allowed = self.mask(node, "allowed_cpuset")?,
            ("PU", Some(id)) if id < MAX_PU => {
                if !self.units.add(id) {
                    return Err(error(position, format!("PU {id} is there twice")));
                }
                pus.push(id);
            }
            ("PU", _) => {
                let reason = format!("a PU needs an os_index below {MAX_PU}");
                return Err(error(position, reason));
            }
            ("NUMANode", Some(os_id)) if os_id < MAX_PU => {
                // Version 3 gives it as id="obj5", too.
                let id = node.attribute("id").and_then(|id| id.strip_prefix("obj")?.parse().ok());
                if let Some(global) = number(node, "gp_index")?.or(id) {
                    self.globals.insert(global, os_id);
                }
                let pus = self.mask(node, "cpuset")?.unwrap_or_default();
                let memory_bytes = number(node, "local_memory")?;
                self.facts.nodes.push(RawNode { os_id, pus, memory_bytes });
            }
            ("NUMANode", _) => return Err(error(position, "a NUMA node needs an os_index")),
            _ => {}
        }
        for inner in elements(node, "object") {
            pus.extend(self.object(inner, depth + 1)?);
        }
        let level = match kind {
            "Package" => Level::Package,
            "Die" => Level::Die,
            // The system names no such set: a reader of its files has no level for it.
            "Group" if node.attribute("kind") == Some(FROM_DISTANCES) => return Ok(pus),
            "Group" => Level::Group,
            "L1Cache" => Level::L1,
            "L2Cache" => Level::L2,
            "L3Cache" => Level::L3,
            "L4Cache" => Level::L4,
            "L5Cache" => Level::L5,
            "Core" => {
                self.facts.cores.push(RawCore { pus: pus.clone() });
                return Ok(pus);
            }
            _ => return Ok(pus),
        };
        self.facts.groups.push(RawGroup { level, os_id, pus: pus.clone() });
        Ok(pus)
    }

    /// Takes the first matrix of latencies between NUMA nodes.
    fn distances(&mut self, node: Node<'_, '_>) -> Result<(), MachineError> {
        let position = node.range().start;
        // Bit 2: the numbers are latencies, not bandwidths.
        let latencies = number(node, "kind")?.is_none_or(|kind| kind & 4 != 0);
        if node.attribute("type") != Some("NUMANode")
            || self.facts.distances.is_some()
            || !latencies
        {
            return Ok(());
        }
        let count = number(node, "nbobjs")?.unwrap_or(0);
        if count > MAX_NODES as u64 {
            return Err(error(position, format!("a distance matrix of {count} nodes")));
        }
        let count = count as usize;
        let indexes = numbers(node, "indexes", count)?;
        let values = numbers(node, "u64values", count * count)?;
        if indexes.len() != count || values.len() != count * count {
            let reason = format!(
                "a distance matrix of {count} nodes with {} indexes and {} values",
                indexes.len(),
                values.len()
            );
            return Err(error(position, reason));
        }
        let by_global = node.attribute("indexing") == Some("gp");
        let nodes = indexes
            .iter()
            .map(|&index| match by_global {
                true => self.globals.get(&index).copied(),
                false => usize::try_from(index).ok(),
            })
            .collect::<Option<Vec<usize>>>()
            .ok_or_else(|| error(position, "a distance matrix of nodes that do not exist"))?;
        let values = values.chunks(count.max(1)).map(<[u64]>::to_vec).collect();
        self.facts.distances = Some(RawDistances { nodes, values });
        Ok(())
    }

    fn finish(mut self, end: usize) -> Result<Facts, MachineError> {
        if self.units.is_empty() {
            return Err(error(end, "there is no PU in it"));
        }
        let in_cores: SortedSet<usize> =
            self.facts.cores.iter().flat_map(|core| core.pus.iter().copied()).collect();
        let bare = self.units.keys().filter(|pu| !in_cores.contains(pu));
        self.facts.cores.extend(bare.map(|&pu| RawCore { pus: vec![pu] }));
        // hwloc lists the kinds by their efficiency, the slowest first.
        for (position, (pus, forced, speed)) in self.kinds.iter().enumerate() {
            let kind = forced.unwrap_or(position);
            self.facts.kinds.extend(pus.iter().map(|&pu| (pu, kind)));
            self.facts.speeds.extend(pus.iter().filter_map(|&pu| Some((pu, (*speed)?))));
        }
        Ok(self.facts)
    }
}
