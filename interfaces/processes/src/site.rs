//! Lines of the program: each rank writes down, once for each place where it calls, the names and
//! the line of the call, so that any other can tell them.

use crate::plain::{Plain, START, digest_of};
use crate::seat::printable;
use std::fmt;
use std::panic::Location;

/// The names of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) operation: &'static str,
    /// The element's type; "" of a barrier.
    pub(crate) element: fn() -> String,
    /// The operator's name, or "".
    pub(crate) operator: &'static str,
    /// Digest of these three.
    pub(crate) kind: u64,
}

/// A line of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    file: &'static str,
    line: u32,
}

impl Place {
    /// The line of a caller in Rust.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn caller() -> Place {
        let at = Location::caller();
        Place { file: at.file(), line: at.line() }
    }

    /// A line of a program in another language.
    ///
    /// # Examples
    /// ```
    /// use phalanx_processes::{Place, Team};
    /// let mut team = Team::join("a line elsewhere", 0, 1)?;
    /// team.at(Place::of("train.py", 12)).barrier()?; // errors name train.py:12
    /// # Ok::<(), phalanx_processes::Error>(())
    /// ```
    pub fn of(file: &'static str, line: u32) -> Place {
        Place { file, line }
    }

    /// A number for it and the names of a call, of which no bits are better than the first.
    #[inline(always)]
    pub(crate) fn mixed(self, kind: u64) -> u64 {
        let key = (self.file.as_ptr().addr() as u64).rotate_left(20) ^ u64::from(self.line) ^ kind;
        key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Between the parts of a text.
const SEPARATOR: &str = "\u{1f}";

impl Names {
    /// Of a call on elements `T`, by an operator with a name.
    pub(crate) const fn of<T: Plain>(operation: &'static str, operator: &'static str) -> Self {
        let digest = digest_of(START, operation.as_bytes());
        let digest = digest_of(digest, &T::DIGEST.to_le_bytes());
        let kind = digest_of(digest, operator.as_bytes());
        Names { operation, element: T::name, operator, kind }
    }

    /// Of a call without data.
    pub(crate) const fn without_data(operation: &'static str) -> Self {
        let kind = digest_of(START, operation.as_bytes());
        Names { operation, element: String::new, operator: "", kind }
    }

    /// The text that is written down of a call in a line, of `most` bytes. A long one lacks the
    /// beginning of the path, which may be that of a registry.
    pub(crate) fn text(&self, at: Place, most: usize) -> String {
        let mut text = [self.operation, &(self.element)(), self.operator, ""].join(SEPARATOR);
        let (line, room) = (at.to_string(), most.saturating_sub(text.len()));
        let cut = line.len().saturating_sub(room);
        let cut = (cut..=line.len()).find(|cut| line.is_char_boundary(*cut));
        text += &line[cut.unwrap_or(0)..];
        text.truncate(most);
        text
    }

    pub(crate) fn told(&self, at: Place) -> Told {
        Told {
            operation: self.operation.to_string(),
            element: (self.element)(),
            operator: self.operator.to_string(),
            line: at.to_string(),
        }
    }
}

/// A call as its rank has written it down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) operation: String,
    pub(crate) element: String,
    pub(crate) operator: String,
    pub(crate) line: String,
}

impl Told {
    /// Of a text that was copied from the segment.
    pub(crate) fn of(bytes: &[u8]) -> Told {
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut parts = text.split(|byte| SEPARATOR.as_bytes() == [*byte]).map(printable);
        let mut part = || parts.next().unwrap_or_default();
        Told { operation: part(), element: part(), operator: part(), line: part() }
    }

    /// The call with its numbers: `all_reduce of 4 f32 by sum at a.rs:3`.
    pub(crate) fn with(&self, length: u64, root: u64) -> String {
        let mut text = self.operation.clone();
        if !self.element.is_empty() {
            text += &format!(" of {length} {}", self.element);
        }
        if !self.operator.is_empty() {
            text += &format!(" by {}", self.operator);
        }
        if root != NO_ROOT {
            text += &format!(", root {root},");
        }
        format!("{text} at {}", self.line)
    }

    /// The call and its line.
    pub(crate) fn brief(&self) -> String {
        format!("{} at {}", self.operation, self.line)
    }

    /// In which respects the two differ, of calls with these numbers.
    pub(crate) fn difference(
        &self,
        other: &Told,
        lengths: (u64, u64),
        roots: (u64, u64),
    ) -> String {
        let mut all = Vec::new();
        let mut note = |differs: bool, name| all.extend(differs.then_some(name));
        note(self.operation != other.operation, "operation");
        note(self.element != other.element, "type");
        note(self.operator != other.operator, "operator");
        note(lengths.0 != lengths.1, "length");
        note(roots.0 != roots.1, "root");
        match all.pop() {
            None => "calls".to_string(),
            Some(last) if all.is_empty() => last.to_string(),
            Some(last) => format!("{} and {last}", all.join(", ")),
        }
    }
}

/// The root of a call that has none.
pub(crate) const NO_ROOT: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_was_written() {
        let (names, at) = (Names::of::<f32>("all_reduce", "sum"), Place::of("a.rs", 3));
        let told = Told::of(names.text(at, 255).as_bytes());
        assert_eq!(told, names.told(at));
        assert_eq!(told.with(4, NO_ROOT), "all_reduce of 4 f32 by sum at a.rs:3");
        assert_eq!(told.with(4, 1), "all_reduce of 4 f32 by sum, root 1, at a.rs:3");
        let other = Told { operator: "max".to_string(), ..told.clone() };
        assert_eq!(told.difference(&other, (4, 4), (0, 0)), "operator");
        assert_eq!(told.difference(&other, (4, 3), (0, 1)), "operator, length and root");
        assert_eq!(Told::of(b"\x01\xff\x1fx\0y").element, "x");
        let long = Place::of("/a/path/é/of/a/registry/solver.rs", 1234);
        let text = names.text(long, 40);
        assert_eq!(text, "all_reduce\u{1f}f32\u{1f}sum\u{1f}gistry/solver.rs:1234");
    }
}
