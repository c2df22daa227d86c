//! Machines from the XML that hwloc 2 writes.
//!
//! Only a small part of XML can occur: elements with attributes, numbers as text, a DOCTYPE line,
//! comments. [`Tokens`] reads that and nothing else, so a hundred lines take the place of a
//! dependency, no entity can expand, and every error has a byte position. Nesting is kept on a
//! stack of our own, so no file can overflow the program's.

use std::collections::{BTreeMap, BTreeSet};

use super::MachineError;
use super::facts::{Facts, RawCore, RawDistances, RawGroup, RawNode};
use super::level::Level;
use super::mask::{MAX_PU, parse_mask};

/// The largest file that is read: 64 MiB, a hundred times what the largest machine needs.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Objects inside one another; real machines have fewer than 20.
const MAX_DEPTH: usize = 128;

/// Nodes in a distance matrix.
const MAX_NODES: usize = 4096;

fn error(position: usize, reason: impl Into<String>) -> MachineError {
    MachineError::Malformed { format: "hwloc XML", position, reason: reason.into() }
}

/// A piece of the file.
#[derive(Debug)]
enum Token<'a> {
    Open { name: &'a str, attributes: Vec<(&'a str, &'a str)>, empty: bool, position: usize },
    Close { name: &'a str, position: usize },
    Text(&'a str, usize),
}

struct Tokens<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Tokens<'a> {
    /// Skips to behind `end`.
    fn skip(&mut self, end: &str, what: &str) -> Result<(), MachineError> {
        match self.text[self.position..].find(end) {
            Some(offset) => {
                self.position += offset + end.len();
                Ok(())
            }
            None => Err(error(self.position, format!("{what} has no end"))),
        }
    }

    fn name(&mut self) -> &'a str {
        let rest = &self.text[self.position..];
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    fn skip_spaces(&mut self) {
        let rest = &self.text[self.position..];
        self.position += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.text[self.position..].starts_with(wanted);
        if found {
            self.position += wanted.len();
        }
        found
    }

    fn next(&mut self) -> Result<Option<Token<'a>>, MachineError> {
        loop {
            let start = self.position;
            let rest = &self.text[start..];
            if rest.is_empty() {
                return Ok(None);
            } else if !rest.starts_with('<') {
                let end = rest.find('<').unwrap_or(rest.len());
                self.position += end;
                return Ok(Some(Token::Text(&rest[..end], start)));
            } else if self.eat("<!--") {
                self.skip("-->", "a comment")?;
            } else if self.eat("<?") {
                self.skip("?>", "a processing instruction")?;
            } else if self.eat("<!") {
                self.skip(">", "a declaration")?;
            } else if self.eat("</") {
                let name = self.name();
                self.skip_spaces();
                if name.is_empty() || !self.eat(">") {
                    return Err(error(start, "broken end tag"));
                }
                return Ok(Some(Token::Close { name, position: start }));
            } else {
                self.position += 1;
                return self.open(start).map(Some);
            }
        }
    }

    fn open(&mut self, start: usize) -> Result<Token<'a>, MachineError> {
        let name = self.name();
        if name.is_empty() {
            return Err(error(start, "'<' without the name of an element"));
        }
        let mut attributes = Vec::new();
        loop {
            self.skip_spaces();
            if self.eat("/>") {
                return Ok(Token::Open { name, attributes, empty: true, position: start });
            }
            if self.eat(">") {
                return Ok(Token::Open { name, attributes, empty: false, position: start });
            }
            let at = self.position;
            let key = self.name();
            self.skip_spaces();
            let equals = self.eat("=");
            self.skip_spaces();
            let quote = if self.eat("\"") {
                "\""
            } else if self.eat("'") {
                "'"
            } else {
                ""
            };
            if key.is_empty() || !equals || quote.is_empty() {
                return Err(error(at, format!("expected name=\"value\" in <{name}>")));
            }
            let from = self.position;
            self.skip(quote, "an attribute's value")?;
            attributes.push((key, &self.text[from..self.position - 1]));
        }
    }
}

/// What an open `<object>` collects. Its processing units are handed to the one around it at its
/// end, so sets nest however the file's masks are damaged.
#[derive(Debug)]
struct Object<'a> {
    kind: &'a str,
    os_id: Option<usize>,
    pus: Vec<usize>,
}

/// A `<distances2>` between NUMA nodes.
#[derive(Debug, Default)]
struct Distances {
    by_global: bool,
    count: usize,
    indexes: Vec<u64>,
    values: Vec<u64>,
    position: usize,
}

#[derive(Debug, Default)]
struct Document<'a> {
    open: Vec<(&'a str, usize)>,
    objects: Vec<Object<'a>>,
    facts: Facts,
    units: BTreeSet<usize>,
    /// Global index of a NUMA node to its number.
    globals: BTreeMap<u64, usize>,
    distances: Option<Distances>,
    kinds: Vec<(Vec<usize>, Option<usize>)>,
}

/// Reads a whole document.
pub(super) fn read(text: &str) -> Result<Facts, MachineError> {
    let mut tokens = Tokens { text: text.trim_end_matches('\0'), position: 0 };
    let mut document = Document::default();
    let mut root_seen = false;
    while let Some(token) = tokens.next()? {
        match token {
            Token::Open { name, attributes, empty, position } => {
                if document.open.is_empty() {
                    if root_seen {
                        return Err(error(position, "a second root element"));
                    }
                    root_seen = true;
                    check_version(name, &attributes, position)?;
                }
                document.open.push((name, position));
                document.begin(name, &attributes, position)?;
                if empty {
                    document.end(name, position)?;
                }
            }
            Token::Close { name, position } => document.end(name, position)?,
            Token::Text(text, position) => document.text(text, position)?,
        }
    }
    match document.open.last() {
        Some((name, position)) => Err(error(*position, format!("<{name}> has no end"))),
        None if !root_seen => Err(error(0, "there is no <topology>")),
        None => document.finish(text.len()),
    }
}

fn check_version(
    name: &str,
    attributes: &[(&str, &str)],
    position: usize,
) -> Result<(), MachineError> {
    if name != "topology" {
        return Err(error(position, format!("expected <topology>, found <{name}>")));
    }
    let version = attributes.iter().find(|(key, _)| *key == "version").map_or("1", |&(_, v)| v);
    match version.split('.').next().and_then(|major| major.parse::<u32>().ok()) {
        Some(2) => Ok(()),
        Some(major) => Err(MachineError::Unsupported {
            reason: format!(
                "hwloc XML of version {major}, only version 2 is read; \
                 lstopo of hwloc 2 writes it, that of hwloc 3 with --export-xml-flags v2"
            ),
        }),
        None => Err(error(position, "the version of the XML is not a number")),
    }
}

impl<'a> Document<'a> {
    fn begin(
        &mut self,
        name: &'a str,
        attributes: &[(&'a str, &'a str)],
        position: usize,
    ) -> Result<(), MachineError> {
        let get = |key: &str| attributes.iter().find(|(k, _)| *k == key).map(|&(_, value)| value);
        let number = |key: &str| -> Result<Option<u64>, MachineError> {
            get(key)
                .map(|text| {
                    let reason = || format!("{key}=\"{text}\" is not a number");
                    text.parse::<u64>().map_err(|_| error(position, reason()))
                })
                .transpose()
        };
        let mask = |key: &str| -> Result<Option<Vec<usize>>, MachineError> {
            let wrong = |e: super::mask::MaskError| error(position, format!("{key}: {}", e.reason));
            // hwloc writes an infinite set with a word "0xf...f"; nothing that is read here has
            // one.
            get(key).map(|text| parse_mask(text).map_err(wrong)).transpose()
        };
        match name {
            "object" => {
                let Some(kind) = get("type") else {
                    return Err(error(position, "an object without a type"));
                };
                let os_id = number("os_index")?
                    .map(|id| usize::try_from(id).unwrap_or(usize::MAX))
                    .filter(|&id| id < u32::MAX as usize);
                let mut pus = Vec::new();
                match (kind, os_id) {
                    ("Machine", _) => self.facts.allowed = mask("allowed_cpuset")?,
                    ("PU", Some(id)) if id < MAX_PU => {
                        if !self.units.insert(id) {
                            return Err(error(position, format!("PU {id} is there twice")));
                        }
                        pus.push(id);
                    }
                    ("PU", _) => {
                        let reason = format!("a PU needs an os_index below {MAX_PU}");
                        return Err(error(position, reason));
                    }
                    ("NUMANode", Some(os_id)) if os_id < MAX_PU => {
                        if let Some(global) = number("gp_index")? {
                            self.globals.insert(global, os_id);
                        }
                        self.facts.nodes.push(RawNode {
                            os_id,
                            pus: mask("cpuset")?.unwrap_or_default(),
                            memory_bytes: number("local_memory")?,
                        });
                    }
                    ("NUMANode", _) => {
                        return Err(error(position, "a NUMA node needs an os_index"));
                    }
                    _ => {}
                }
                if self.objects.len() == MAX_DEPTH {
                    let reason = format!("more than {MAX_DEPTH} objects inside one another");
                    return Err(error(position, reason));
                }
                self.objects.push(Object { kind, os_id, pus });
            }
            "distances2" if get("type") == Some("NUMANode") && self.facts.distances.is_none() => {
                let count = number("nbobjs")?.unwrap_or(0);
                if count > MAX_NODES as u64 {
                    return Err(error(position, format!("a distance matrix of {count} nodes")));
                }
                // Bit 2: the numbers are latencies, not bandwidths.
                if number("kind")?.is_none_or(|kind| kind & 4 != 0) {
                    self.distances = Some(Distances {
                        by_global: get("indexing") == Some("gp"),
                        count: count as usize,
                        position,
                        ..Distances::default()
                    });
                }
            }
            "cpukind" => {
                let forced = number("forced_efficiency")?.and_then(|n| usize::try_from(n).ok());
                self.kinds.push((mask("cpuset")?.unwrap_or_default(), forced));
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str, position: usize) -> Result<(), MachineError> {
        let Some((name, _)) = self.open.last() else {
            return match text.trim().is_empty() {
                true => Ok(()),
                false => Err(error(position, "text outside of <topology>")),
            };
        };
        let Some(distances) = &mut self.distances else { return Ok(()) };
        let (list, limit) = match *name {
            "indexes" => (&mut distances.indexes, distances.count),
            "u64values" => (&mut distances.values, distances.count * distances.count),
            _ => return Ok(()),
        };
        for word in text.split_whitespace() {
            // Indexes of mixed types come as "NUMANode:3".
            let digits = word.rsplit(':').next().unwrap_or(word);
            let Ok(value) = digits.parse() else {
                return Err(error(position, format!("'{word}' is not a number")));
            };
            if list.len() == limit {
                return Err(error(position, format!("more than {limit} numbers")));
            }
            list.push(value);
        }
        Ok(())
    }

    fn end(&mut self, name: &str, position: usize) -> Result<(), MachineError> {
        match self.open.pop() {
            Some((open, _)) if open == name => {}
            Some((open, _)) => {
                return Err(error(position, format!("</{name}> ends <{open}>")));
            }
            None => return Err(error(position, format!("</{name}> without a beginning"))),
        }
        match name {
            "object" => {
                if let Some(object) = self.objects.pop() {
                    self.end_object(object);
                }
            }
            "distances2" => {
                if let Some(distances) = self.distances.take() {
                    self.end_distances(&distances)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end_object(&mut self, object: Object<'_>) {
        let level = match object.kind {
            "Package" => Some(Level::Package),
            "Die" => Some(Level::Die),
            "Group" => Some(Level::Group),
            "L1Cache" => Some(Level::L1),
            "L2Cache" => Some(Level::L2),
            "L3Cache" => Some(Level::L3),
            "L4Cache" => Some(Level::L4),
            "L5Cache" => Some(Level::L5),
            "Core" => {
                self.facts.cores.push(RawCore { pus: object.pus.clone() });
                None
            }
            _ => None,
        };
        if let Some(level) = level {
            let (os_id, pus) = (object.os_id, object.pus.clone());
            self.facts.groups.push(RawGroup { level, os_id, pus });
        }
        if let Some(outer) = self.objects.last_mut() {
            outer.pus.extend(object.pus);
        }
    }

    fn end_distances(&mut self, found: &Distances) -> Result<(), MachineError> {
        let (count, at) = (found.count, found.position);
        if found.indexes.len() != count || found.values.len() != count * count {
            let reason = format!(
                "a distance matrix of {count} nodes with {} indexes and {} values",
                found.indexes.len(),
                found.values.len()
            );
            return Err(error(at, reason));
        }
        let nodes = found
            .indexes
            .iter()
            .map(|&index| match found.by_global {
                true => self.globals.get(&index).copied(),
                false => usize::try_from(index).ok(),
            })
            .collect::<Option<Vec<usize>>>()
            .ok_or_else(|| error(at, "a distance matrix of nodes that do not exist"))?;
        let values = found.values.chunks(count.max(1)).map(<[u64]>::to_vec).collect();
        self.facts.distances = Some(RawDistances { nodes, values });
        Ok(())
    }

    fn finish(mut self, end: usize) -> Result<Facts, MachineError> {
        if self.units.is_empty() {
            return Err(error(end, "there is no PU in it"));
        }
        let in_cores: BTreeSet<usize> =
            self.facts.cores.iter().flat_map(|core| core.pus.iter().copied()).collect();
        let bare = self.units.iter().filter(|pu| !in_cores.contains(pu));
        self.facts.cores.extend(bare.map(|&pu| RawCore { pus: vec![pu] }));
        // hwloc lists the kinds by their efficiency, the slowest first.
        for (position, (pus, forced)) in self.kinds.iter().enumerate() {
            let kind = forced.unwrap_or(position);
            self.facts.kinds.extend(pus.iter().map(|&pu| (pu, kind)));
        }
        Ok(self.facts)
    }
}
