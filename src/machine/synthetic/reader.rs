//! From text to levels.

use super::indexes::indexes;
use super::{Attributes, Kind, LevelSpec, error, kind_named};
use crate::machine::MachineError;
use crate::machine::level::Level;
use crate::machine::mask::MAX_PU;

/// Levels and attached memories, each of which may name every processing unit: hwloc's own limit of
/// levels. So no string asks for gigabytes.
const MOST_PARTS: usize = 128;

pub(super) struct SpecReader<'a> {
    text: &'a str,
    position: usize,
    /// Levels and attached memories so far.
    parts: usize,
}

impl<'a> SpecReader<'a> {
    pub(super) fn new(text: &'a str) -> SpecReader<'a> {
        SpecReader { text, position: 0, parts: 0 }
    }

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

    /// One more level or attached memory, which begins at `position`.
    fn count(&mut self, position: usize) -> Result<(), MachineError> {
        self.parts += 1;
        match self.parts > MOST_PARTS {
            true => Err(error(position, format!("more than {MOST_PARTS} levels and memories"))),
            false => Ok(()),
        }
    }

    /// All levels, and the memories attached to the machine itself.
    pub(super) fn levels(&mut self) -> Result<(Vec<LevelSpec>, Vec<Attributes>), MachineError> {
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
            self.count(start)?;
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
            self.count(start)?;
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
