//! Machines from a line of text, in hwloc's synthetic syntax.
//!
//! ```text
//! string  = [attributes] level+ ;  level = TYPE:N [attributes] attached* | N [attributes] attached*
//! attached = "[" "numa" [attributes] "]"
//! attributes = "(" NAME=VALUE .. ")"     indexes=LIST | STEP*N:.. | TYPE:TYPE:..     memory=, size=
//! ```
//!
//! Every level has N children under each object of the level before; the last level is `pu`. Numbers
//! without types get types as in hwloc. Where hwloc shrugs (indexes that do not fit are ignored, a
//! wrong string gives the live machine) this reader answers with the position.

use super::MachineError;
use super::facts::{Facts, RawCore, RawGroup, RawNode};
use super::level::Level;
use super::mask::MAX_PU;

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
    let mut reader = Reader { text, position: 0 };
    let (levels, root) = reader.levels()?;
    facts(&levels, &root)
}

fn error(position: usize, reason: impl Into<String>) -> MachineError {
    MachineError::Malformed { format: FORMAT, position, reason: reason.into() }
}

struct Reader<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.position += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.position += wanted.len_utf8();
        }
        found
    }

    /// The longest prefix of ASCII characters that `keep` holds for.
    fn take(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii() || !keep(c)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    /// What is ahead, for messages.
    fn ahead(&self) -> String {
        match self.rest().split_whitespace().next() {
            Some(word) => format!("'{}'", word.chars().take(30).collect::<String>()),
            None => "the end".to_owned(),
        }
    }

    fn number(&mut self, what: &str) -> Result<usize, MachineError> {
        let (start, ahead) = (self.position, self.ahead());
        match self.take(|c| c.is_ascii_digit()).parse::<usize>() {
            Ok(number) if (1..=MAX_PU).contains(&number) => Ok(number),
            Ok(_) => Err(error(start, format!("{what} must be 1 to {MAX_PU}, not {ahead}"))),
            Err(_) => Err(error(start, format!("expected {what}, found {ahead}"))),
        }
    }

    /// All levels, and the memories attached to the machine itself.
    fn levels(&mut self) -> Result<(Vec<LevelSpec>, Vec<Attributes>), MachineError> {
        self.skip_spaces();
        let mut root = Vec::new();
        if self.rest().starts_with('(') {
            self.attributes()?;
        }
        self.attached(&mut root)?;
        // (kind if given, position, attributes, attached); the totals so far.
        let mut levels: Vec<LevelSpec> = Vec::new();
        let mut details: Vec<(Option<Kind>, usize, Attributes)> = Vec::new();
        let mut total = 1_usize;
        loop {
            self.skip_spaces();
            if self.rest().is_empty() {
                break;
            }
            let start = self.position;
            let kind = if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
                None
            } else {
                Some(self.kind()?)
            };
            let at = self.position;
            let arity = self.number("a number of objects")?;
            total = total.saturating_mul(arity);
            if total > MAX_PU {
                let reason = format!("{total} objects: more than the limit of {MAX_PU}");
                return Err(error(at, reason));
            }
            let attributes =
                if self.rest().starts_with('(') { self.attributes()? } else { Default::default() };
            let mut attached = Vec::new();
            self.attached(&mut attached)?;
            levels.push(LevelSpec {
                kind: Kind::Ignored,
                total,
                os_ids: None,
                attached,
                memory_bytes: attributes.memory_bytes,
            });
            details.push((kind, start, attributes));
        }
        self.assign_kinds(&mut levels, &details)?;
        for (index, (_, _, attributes)) in details.iter().enumerate() {
            if let Some((text, position)) = &attributes.indexes {
                levels[index].os_ids = Some(indexes(text, *position, index, &levels)?);
            }
        }
        Ok((levels, root))
    }

    /// `pack:`, `L3Cache:` .. with the colon.
    fn kind(&mut self) -> Result<Kind, MachineError> {
        let (start, ahead) = (self.position, self.ahead());
        let word = self.take(|c| c.is_ascii_alphanumeric());
        let Some(kind) = kind_named(word) else {
            let reason = format!(
                "unknown type {ahead}: expected package, die, numa, group, l1 to l5, core or pu"
            );
            return Err(error(start, reason));
        };
        if !self.eat(':') {
            let found = self.ahead();
            return Err(error(self.position, format!("expected ':' and a number, found {found}")));
        }
        self.skip_spaces();
        Ok(kind)
    }

    /// Types for untyped levels, and what must hold for typed ones.
    fn assign_kinds(
        &self,
        levels: &mut [LevelSpec],
        details: &[(Option<Kind>, usize, Attributes)],
    ) -> Result<(), MachineError> {
        let Some((last, _)) = details.split_last() else {
            return Err(error(self.text.len(), "expected at least one level, as in 'core:4 pu:1'"));
        };
        if details.iter().all(|(kind, _, _)| kind.is_none()) {
            let names: &[&str] = match details.len() {
                1 => &["pu"],
                2 => &["numa", "pu"],
                3 => &["pack", "numa", "pu"],
                4 => &["pack", "numa", "core", "pu"],
                5 => &["pack", "numa", "l2", "core", "pu"],
                6 => &["pack", "numa", "l2", "l1", "core", "pu"],
                7 => &["pack", "numa", "l3", "l2", "l1", "core", "pu"],
                _ => return Err(error(details[7].1, "more than 7 levels need types")),
            };
            for (level, kind) in levels.iter_mut().zip(names.iter().map(|name| kind_named(name))) {
                level.kind = kind.unwrap_or(Kind::Ignored);
            }
            return Ok(());
        }
        for (index, (kind, position, _)) in details.iter().enumerate() {
            let Some(kind) = *kind else {
                return Err(error(*position, "either all levels have a type or none has"));
            };
            let repeats = !matches!(kind, Kind::Shared(Level::Group) | Kind::Ignored);
            if repeats && levels[..index].iter().any(|level| level.kind == kind) {
                return Err(error(*position, "this type was there before"));
            }
            levels[index].kind = kind;
        }
        if last.0 != Some(Kind::Pu) {
            return Err(error(last.1, "the last level must be pu"));
        }
        let numa_level = levels.iter().any(|level| level.kind == Kind::Shared(Level::Numa));
        let attached = levels.iter().position(|level| !level.attached.is_empty());
        if let Some(index) = attached.filter(|_| numa_level) {
            let reason = "NUMA nodes are either a level or attached, not both";
            return Err(error(details[index].1, reason));
        }
        Ok(())
    }

    /// `[numa]` or `[numa(memory=16GB)]`, any number of times.
    fn attached(&mut self, into: &mut Vec<Attributes>) -> Result<(), MachineError> {
        loop {
            self.skip_spaces();
            if !self.eat('[') {
                return Ok(());
            }
            let (start, ahead) = (self.position, self.ahead());
            let word = self.take(|c| c.is_ascii_alphanumeric());
            if kind_named(word) != Some(Kind::Shared(Level::Numa)) {
                return Err(error(start, format!("only numa can be attached, not {ahead}")));
            }
            let attributes =
                if self.rest().starts_with('(') { self.attributes()? } else { Default::default() };
            if let Some((_, position)) = attributes.indexes {
                return Err(error(position, "indexes of attached nodes are not supported"));
            }
            self.skip_spaces();
            if !self.eat(']') {
                return Err(error(self.position, format!("expected ']', found {}", self.ahead())));
            }
            into.push(attributes);
        }
    }

    /// `(name=value name=value)`.
    fn attributes(&mut self) -> Result<Attributes, MachineError> {
        let mut attributes = Attributes::default();
        self.eat('(');
        loop {
            self.skip_spaces();
            if self.eat(')') {
                return Ok(attributes);
            }
            let (start, ahead) = (self.position, self.ahead());
            let name = self.take(|c| c.is_ascii_alphabetic());
            if !self.eat('=') {
                let reason = format!("expected an attribute name=value or ')', found {ahead}");
                return Err(error(start, reason));
            }
            let at = self.position;
            let value = self.take(|c| !c.is_ascii_whitespace() && c != ')');
            match name {
                "indexes" => attributes.indexes = Some((value.to_owned(), at)),
                "memory" => attributes.memory_bytes = Some(bytes(value, at)?),
                "size" | "memorysidecachesize" => drop(bytes(value, at)?),
                _ => {
                    let reason =
                        format!("unknown attribute {ahead}: expected indexes, memory or size");
                    return Err(error(start, reason));
                }
            }
        }
    }
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

/// `16GB`, `512MB`, `64KiB`, `1000`.
fn bytes(text: &str, position: usize) -> Result<u64, MachineError> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let shift = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "kb" | "kib" => 10,
        "mb" | "mib" => 20,
        "gb" | "gib" => 30,
        "tb" | "tib" => 40,
        _ => return Err(error(position + digits, "expected a size such as 16GB")),
    };
    text[..digits]
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| error(position, "expected a size such as 16GB"))
}

/// The numbers of the objects of level `own`: a list, or loops given as `STEP*N` or by types.
fn indexes(
    text: &str,
    position: usize,
    own: usize,
    levels: &[LevelSpec],
) -> Result<Vec<usize>, MachineError> {
    let total = levels[own].total;
    let at = |part: &str| position + (part.as_ptr() as usize - text.as_ptr() as usize);
    if !text.contains([':', '*']) && text.starts_with(|c: char| c.is_ascii_digit()) {
        let ids: Vec<usize> = text
            .split(',')
            .map(|part| match part.parse::<usize>() {
                Ok(id) if id < MAX_PU => Ok(id),
                _ => Err(error(at(part), format!("expected an index below {MAX_PU}"))),
            })
            .collect::<Result<_, _>>()?;
        if ids.len() != total {
            let reason = format!("{} indexes for {total} objects", ids.len());
            return Err(error(position, reason));
        }
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(error(position, "an index is there twice"));
        }
        return Ok(ids);
    }

    // Loops (step, number): the first one is the fastest to count.
    let mut loops: Vec<(usize, usize)> = Vec::new();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        for part in text.split(':') {
            let loop_ = part
                .split_once('*')
                .and_then(|(step, number)| Some((step.parse().ok()?, number.parse().ok()?)))
                .filter(|&(step, number): &(usize, usize)| step > 0 && number > 0);
            loops.push(loop_.ok_or_else(|| error(at(part), "expected STEP*NUMBER"))?);
        }
    } else {
        let mut named = Vec::new();
        for part in text.split(':') {
            let kind = kind_named(part);
            let found = levels[..own].iter().position(|level| Some(level.kind) == kind);
            let index = found
                .ok_or_else(|| error(at(part), format!("'{part}' is no level above this one")))?;
            if named.contains(&index) {
                return Err(error(at(part), format!("'{part}' was there before")));
            }
            named.push(index);
        }
        for &index in &named {
            let outer = named.iter().filter(|&&other| other < index).max();
            let outer = outer.map_or(1, |&other| levels[other].total);
            loops.push((total / levels[index].total, levels[index].total / outer));
        }
    }
    let product =
        loops.iter().try_fold(1_usize, |product, &(_, number)| product.checked_mul(number));
    let least = loops.iter().map(|&(step, _)| step).min().unwrap_or(1);
    match product {
        Some(product) if product == total => {}
        // What the loops leave out is counted last.
        Some(product) if product.checked_mul(least) == Some(total) => loops.push((1, least)),
        _ => return Err(error(position, format!("the loops do not multiply to {total} objects"))),
    }
    let mut ids = vec![0; total];
    let mut factor = 1;
    for (step, number) in loops {
        for (object, id) in ids.iter_mut().enumerate() {
            *id += object / step % number * factor;
        }
        factor *= number;
    }
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    if sorted.iter().enumerate().any(|(index, &id)| index != id) {
        return Err(error(position, "the loops give an index twice"));
    }
    Ok(ids)
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
mod tests {
    use super::super::Machine;
    use super::*;

    fn shape(text: &str) -> Vec<(Level, usize)> {
        let machine = Machine::from_synthetic(text).unwrap();
        machine.levels().iter().map(|l| (l.level, l.groups.len())).collect()
    }

    fn first_cores(text: &str) -> Vec<Vec<usize>> {
        let machine = Machine::from_synthetic(text).unwrap();
        machine.cores().iter().map(|core| core.pus.clone()).collect()
    }

    #[test]
    fn types_and_attached_memories() {
        let text = "pack:2 [numa(memory=16GB)] l3:4 core:8 pu:2";
        assert_eq!(shape(text), [(Level::Package, 2), (Level::Numa, 2), (Level::L3, 8)]);
        let machine = Machine::from_synthetic(text).unwrap();
        assert_eq!((machine.cores().len(), machine.pu_count()), (64, 128));
        assert_eq!(machine.numa_nodes()[1].memory_bytes, Some(16 << 30));
        assert_eq!(machine.group_of(127, Level::L3), Some(7));
        assert_eq!(shape("node:2 l3:4 core:8 pu:2"), [(Level::Numa, 2), (Level::L3, 8)]);
        assert_eq!(shape("2 2 2 2")[..], shape("pack:2 numa:2 core:2 pu:2"));
        assert_eq!(shape("group:2 group:2 core:2 pu:1")[1], (Level::Group, 2));
        assert_eq!(first_cores("4").len(), 4);
    }

    #[test]
    fn indexes_as_lists_steps_and_types() {
        let first = |text: &str| first_cores(text)[0].clone();
        assert_eq!(first("pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)"), [0, 4]);
        assert_eq!(first("pack:2 core:2 pu:2(indexes=pack:core)"), [0, 4]);
        assert_eq!(first_cores("pack:2 core:2 pu:2(indexes=pack:core)")[1], [2, 6]);
        assert_eq!(first_cores("pack:2 core:2 pu:2(indexes=core:pack)")[1], [1, 5]);
        assert_eq!(first_cores("pack:2 core:2 pu:2(indexes=4*2)")[1], [4, 6]);
    }

    #[test]
    fn errors_name_the_position() {
        for (text, position) in [
            ("", 0),
            ("pack:2 foo:2 pu:1", 7),
            ("pack:0 pu:1", 5),
            ("pack:2 core:4", 7),
            ("pack:2 2 pu:2", 7),
            ("pack:2 pack:2 pu:1", 7),
            ("pack:2 pu", 9),
            ("pack:2 pu:", 10),
            ("pack:2 [core] pu:2", 8),
            ("pack:2 [numa pu:2", 13),
            ("numa:2 pu:2 [numa]", 7),
            ("core:2 pu:2(indexes=0,1)", 20),
            ("core:2 pu:2(indexes=0,0,1,2)", 20),
            ("core:2 pu:2(indexes=0,1,x,2)", 24),
            ("core:2 pu:2(indexes=3*3)", 20),
            ("core:2 pu:2(indexes=l2)", 20),
            ("core:2(foo=1) pu:2", 7),
            ("core:2(memory=12XB) pu:2", 16),
            ("core:2(memory=99999999999999GB) pu:2", 14),
            ("core:70000 pu:2", 5),
            ("core:60000 pu:60000", 14),
            ("core:2 pu:18446744073709551616", 10),
            ("core:2 pu:2 é", 12),
            ("1 1 1 1 1 1 1 1", 14),
        ] {
            match Machine::from_synthetic(text) {
                Err(MachineError::Malformed { position: found, .. }) => {
                    assert_eq!(found, position, "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
