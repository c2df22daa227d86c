//! The levels of a machine's hierarchy.

use std::fmt;
use std::str::FromStr;

/// A level of the machine's hierarchy, from the whole machine down to one processing unit.
///
/// The order of the variants is the usual order on real machines, outermost first. Machines differ
/// (an L3 cache may span several NUMA nodes, or the other way round), so ask
/// [`Machine::levels`](super::Machine::levels) for the order on the machine at hand.
///
/// ```
/// use phalanx::machine::Level;
///
/// assert!(Level::Package < Level::Core);
/// assert_eq!("l3".parse(), Ok(Level::L3));
/// assert_eq!(Level::Numa.to_string(), "NUMA node");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Everything that shares one operating system.
    Machine,
    /// A processor socket.
    Package,
    /// A die within a package.
    Die,
    /// A NUMA node: the cores that share a local memory.
    Numa,
    /// A set of cores that the system groups without a more precise name: a cluster of cores, or
    /// NUMA nodes that are close to one another. A machine may have several such levels.
    Group,
    /// Cores that share a level-5 cache.
    L5,
    /// Cores that share a level-4 cache.
    L4,
    /// Cores that share a level-3 cache.
    L3,
    /// Cores that share a level-2 cache.
    L2,
    /// Cores, or threads of a core, that share a level-1 data cache.
    L1,
    /// A physical core.
    Core,
    /// A processing unit: what the operating system calls a CPU, a hardware thread of a core.
    Pu,
}

impl Level {
    /// Every level, outermost first.
    pub const ALL: [Level; 12] = [
        Level::Machine,
        Level::Package,
        Level::Die,
        Level::Numa,
        Level::Group,
        Level::L5,
        Level::L4,
        Level::L3,
        Level::L2,
        Level::L1,
        Level::Core,
        Level::Pu,
    ];

    /// The level of a data cache of the given depth (1 to 5).
    pub(crate) fn cache(depth: usize) -> Option<Level> {
        match depth {
            1 => Some(Level::L1),
            2 => Some(Level::L2),
            3 => Some(Level::L3),
            4 => Some(Level::L4),
            5 => Some(Level::L5),
            _ => None,
        }
    }

    /// The short lower-case name that [`FromStr`] reads back and that stable output uses.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Level::Machine => "machine",
            Level::Package => "package",
            Level::Die => "die",
            Level::Numa => "numa",
            Level::Group => "group",
            Level::L5 => "l5",
            Level::L4 => "l4",
            Level::L3 => "l3",
            Level::L2 => "l2",
            Level::L1 => "l1",
            Level::Core => "core",
            Level::Pu => "pu",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Machine => "machine",
            Level::Package => "package",
            Level::Die => "die",
            Level::Numa => "NUMA node",
            Level::Group => "group",
            Level::L5 => "L5",
            Level::L4 => "L4",
            Level::L3 => "L3",
            Level::L2 => "L2",
            Level::L1 => "L1",
            Level::Core => "core",
            Level::Pu => "PU",
        })
    }
}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        let lower = text.to_ascii_lowercase();
        Level::ALL
            .into_iter()
            .find(|level| level.key() == lower)
            .ok_or_else(|| UnknownLevel { text: text.to_owned() })
    }
}

/// The error of reading a [`Level`] from text.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownLevel {
    text: String,
}

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown level '{}': expected one of", self.text)?;
        for (i, level) in Level::ALL.iter().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { "," }, level.key())?;
        }
        Ok(())
    }
}

crate::error_type!(UnknownLevel: Self { text });
