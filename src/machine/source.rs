//! The source of the facts about a machine.

use std::fmt;

/// Where each kind of fact about a machine came from, in words.
///
/// ```
/// let machine = phalanx::machine::Machine::this()?;
/// println!("{}", machine.source());
/// # Ok::<(), phalanx::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineSource {
    /// Cores, caches, packages, groups: "hwloc 2.9.0", "sysfs", "synthetic pack:2 core:4" ..
    pub cores: String,
    /// NUMA nodes and their distances.
    pub memory: String,
    /// Kinds of cores.
    pub kinds: String,
    /// Which processing units are allowed.
    pub allowed: String,
}

impl MachineSource {
    /// All facts from one place.
    pub(crate) fn all(text: &str) -> MachineSource {
        let text = || text.to_owned();
        MachineSource { cores: text(), memory: text(), kinds: text(), allowed: text() }
    }
}

impl fmt::Display for MachineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cores)?;
        if self.memory != self.cores {
            write!(f, "; memory: {}", self.memory)?;
        }
        if self.kinds != self.memory {
            write!(f, "; core kinds: {}", self.kinds)?;
        }
        if self.allowed != self.cores {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        Ok(())
    }
}
