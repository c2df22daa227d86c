//! The operators by name.

use crate::suggest;
use std::fmt;
use std::str::FromStr;

/// An operator of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redop {
    Sum,
    Prod,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Xor,
}

impl Redop {
    /// All of them, with the name used here and the library's.
    const NAMES: [(Redop, &'static str, &'static str); 10] = [
        (Redop::Sum, "sum", "sum"),
        (Redop::Prod, "prod", "prod"),
        (Redop::Min, "min", "min"),
        (Redop::Max, "max", "max"),
        (Redop::BitAnd, "band", "bit-and"),
        (Redop::BitOr, "bor", "bit-or"),
        (Redop::BitXor, "bxor", "bit-xor"),
        (Redop::And, "land", "and"),
        (Redop::Or, "lor", "or"),
        (Redop::Xor, "lxor", "xor"),
    ];

    /// The name, as in MPI.
    pub(crate) fn name(self) -> &'static str {
        Redop::NAMES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// Whether floats have it.
    pub(crate) fn is_for_floats(self) -> bool {
        matches!(self, Redop::Sum | Redop::Prod | Redop::Min | Redop::Max)
    }
}

impl fmt::Display for Redop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Redop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = suggest::plain(text);
        let of_library = Redop::NAMES.iter().find(|row| row.2 == name);
        of_library.map_or_else(
            || suggest::find("operator", text, &Redop::NAMES.map(|row| (row.1, row.0))),
            |row| Ok(row.0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_are_read() {
        assert_eq!("band".parse(), Ok(Redop::BitAnd));
        assert_eq!("bit_and".parse(), Ok(Redop::BitAnd));
        assert!("summ".parse::<Redop>().unwrap_err().contains("did you mean sum?"));
    }
}
