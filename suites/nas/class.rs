//! Problem classes.

use std::fmt;

/// The size of a problem: S and W are small, A and B fill memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum Class {
    S,
    W,
    A,
    B,
}

impl Class {
    pub(crate) const ALL: [Class; 4] = [Class::S, Class::W, Class::A, Class::B];

    /// The entry of a table with a column for each class.
    pub(crate) fn of<T>(self, [s, w, a, b]: [T; 4]) -> T {
        match self {
            Class::S => s,
            Class::W => w,
            Class::A => a,
            Class::B => b,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
