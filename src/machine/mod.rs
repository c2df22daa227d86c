//! The machine room: the parts of this computer, or of another one.
//!
//! A [`Machine`] is plain data: the cores in logical order, the levels that they share, the
//! memories and how far apart they are, and which processing units may be used. It is read once,
//! never changes, and holds nothing of the library or the file that it was read from, so that
//! everything built on top (placement above all) is a pure function that can be tested on a small
//! computer against big ones.
//!
//! | back end | reads | when |
//! |---|---|---|
//! | hwloc | this computer | Linux, feature `hwloc`, libhwloc found by the build and the program |
//! | sysfs | this computer, or a saved `/sys` | always |
//! | synthetic | a line of text in hwloc's syntax | always |
//! | XML | a file that hwloc 2 or 3 wrote | always |
//!
//! Memories, distances and kinds of cores always come from sysfs for this computer; the allowed
//! processing units come from the affinity mask. [`Machine::source`] says the back end of each
//! part.

pub mod affinity;
mod build;
mod core;
mod error;
mod facts;
#[cfg(phalanx_hwloc)]
mod hwloc;
mod level;
pub(crate) mod limits;
mod live;
pub(crate) mod mask;
mod quota;
mod source;
mod synthetic;
mod sysfs;
mod tree;
mod xml;

use crate::sorted::Arrange;
use std::path::Path;
use std::sync::Arc;

pub use self::core::{Core, Group, LevelGroups, NumaNode};
pub use self::error::MachineError;
pub use self::level::{Level, UnknownLevel};
pub use self::quota::CpuQuota;
pub use self::source::MachineSource;
pub use self::tree::{Tree, Vertex};

/// A machine: its cores, the levels that they share, and the units that may be used.
///
/// ```
/// use phalanx::machine::{Level, Machine};
///
/// let machine = Machine::this()?;
/// let core = &machine.cores()[0];
/// assert_eq!(machine.group_of(core.pus[0], Level::Core), Some(0));
/// println!("{} cores, read from {}", machine.cores().len(), machine.source());
/// # Ok::<(), phalanx::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Whatever may be used of it.
    whole: Arc<Whole>,
    allowed: Vec<usize>,
}

/// What a machine is.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    cores: Vec<Core>,
    /// Each processing unit and its core, sorted.
    units: Vec<(usize, usize)>,
    levels: Vec<LevelGroups>,
    nodes: Vec<NumaNode>,
    distances: Option<Vec<Vec<u64>>>,
    caches: Vec<(Level, u64)>,
    quota: Option<CpuQuota>,
    tree: Tree,
    source: MachineSource,
    warnings: Vec<String>,
}

impl Machine {
    /// Reads the machine that this program runs on, as the calling thread may use it.
    ///
    /// Uses hwloc where Phalanx was built with it, sysfs otherwise; a system that offers neither is
    /// described as allowed processing units side by side. Facts that had to be given up on the way
    /// are in [`Machine::warnings`].
    ///
    /// # Errors
    ///
    /// When not even the number of processors is known.
    pub fn this() -> Result<Machine, MachineError> {
        // libhwloc is found once.
        let _inside = crate::fork::inside();
        live::this()
    }

    /// Reads the machine from a saved `/sys` tree: a directory that holds `sys/devices/system/cpu`
    /// (with `proc` beside it, if a cpuset is to be honoured), or the `sys` directory itself, or a
    /// directory with just one such directory in it.
    ///
    /// All online processing units are allowed, unless the tree holds the cpuset of the process
    /// that saved it.
    ///
    /// # Errors
    ///
    /// [`MachineError::Unreadable`] when `root` holds no such tree.
    ///
    /// ```
    /// use phalanx::machine::{Machine, MachineError};
    ///
    /// let missing = Machine::from_sysfs("/no/such/tree");
    /// assert!(matches!(missing, Err(MachineError::Unreadable { .. })));
    /// ```
    pub fn from_sysfs(root: impl AsRef<Path>) -> Result<Machine, MachineError> {
        let root = root.as_ref();
        let facts = sysfs::read_saved(root)?;
        build::build(facts, MachineSource::all(&format!("sysfs {}", root.display())))
    }

    /// Builds a machine from hwloc's synthetic syntax: levels from the outside to the inside, each
    /// with the number of objects under one object of the level before.
    ///
    /// # Errors
    ///
    /// [`MachineError::Malformed`] with the position of the first thing that is wrong.
    ///
    /// ```
    /// use phalanx::machine::{Level, Machine};
    ///
    /// let machine = Machine::from_synthetic("pack:2 [numa] l3:4 core:8 pu:2")?;
    /// assert_eq!(machine.cores().len(), 64);
    /// assert_eq!(machine.groups(Level::L3).len(), 8);
    ///
    /// let error = Machine::from_synthetic("pack:2 cor3:4 pu:1").unwrap_err();
    /// assert!(error.to_string().starts_with("malformed synthetic string at position 7"));
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    pub fn from_synthetic(text: &str) -> Result<Machine, MachineError> {
        build::build(synthetic::read(text)?, MachineSource::all(&format!("synthetic {text}")))
    }

    /// Reads a machine from XML that hwloc 2 or hwloc 3 wrote (`lstopo machine.xml`).
    ///
    /// # Errors
    ///
    /// [`MachineError::Unreadable`] when there is no such file, and as for
    /// [`Machine::from_xml_text`].
    pub fn from_xml(path: impl AsRef<Path>) -> Result<Machine, MachineError> {
        let path = path.as_ref();
        let unreadable =
            |reason: String| MachineError::Unreadable { path: path.to_owned(), reason };
        let bytes = crate::file::read(path, xml::MAX_BYTES).map_err(unreadable)?;
        let text = String::from_utf8_lossy(&bytes);
        build::build(
            xml::read(&text)?,
            MachineSource::all(&format!("hwloc XML {}", path.display())),
        )
    }

    /// As [`Machine::from_xml`], from the text itself.
    ///
    /// # Errors
    ///
    /// [`MachineError::Malformed`] with the position of the fault,
    /// [`MachineError::Unsupported`] for the format of hwloc 1.
    ///
    /// ```
    /// use phalanx::machine::{Machine, MachineError};
    ///
    /// let version_1 = Machine::from_xml_text(r#"<topology version="1.0"></topology>"#);
    /// assert!(matches!(version_1, Err(MachineError::Unsupported { .. })));
    /// ```
    pub fn from_xml_text(text: &str) -> Result<Machine, MachineError> {
        build::build(xml::read(text)?, MachineSource::all("hwloc XML"))
    }

    /// The cores, in logical order: neighbours in this list share as much as possible.
    #[must_use]
    pub fn cores(&self) -> &[Core] {
        &self.whole.cores
    }

    /// The levels of groups between the machine and the core, outermost first.
    #[must_use]
    pub fn levels(&self) -> &[LevelGroups] {
        &self.whole.levels
    }

    /// The memories, in logical order, memory-only nodes last.
    #[must_use]
    pub fn numa_nodes(&self) -> &[NumaNode] {
        &self.whole.nodes
    }

    /// The distances between the memories, as rows in the order of [`Machine::numa_nodes`]:
    /// relative latencies, where 10 means local. `None` when the source has no distances.
    #[must_use]
    pub fn distances(&self) -> Option<&[Vec<u64>]> {
        self.whole.distances.as_deref()
    }

    /// The size in bytes of the largest data cache of a level, where the source tells it: sysfs
    /// does (and so [`Machine::this`] on Linux), synthetic strings and XML do not.
    ///
    /// ```
    /// use phalanx::machine::{Level, Machine};
    ///
    /// match Machine::this()?.cache_bytes(Level::L3) {
    ///     Some(bytes) => println!("{} MiB of L3", bytes >> 20),
    ///     None => println!("no L3, or it is not known"),
    /// }
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    #[must_use]
    pub fn cache_bytes(&self, level: Level) -> Option<u64> {
        self.whole.caches.iter().filter(|(l, _)| *l == level).map(|&(_, bytes)| bytes).max()
    }

    /// The processing units that may be used, by the operating system's ids, sorted; never empty.
    #[must_use]
    pub fn allowed_pus(&self) -> &[usize] {
        &self.allowed
    }

    /// This machine, of which only `units` may be used: some of its allowed ones.
    pub(crate) fn narrowed_to(&self, mut units: Vec<usize>) -> Machine {
        units.arrange();
        debug_assert!(!units.is_empty() && units.iter().all(|&unit| self.is_allowed(unit)));
        Machine { whole: self.whole.clone(), allowed: units }
    }

    /// How much of the processors' time this process may use, if its control groups limit that.
    ///
    /// # Examples
    /// See [`CpuQuota`].
    #[must_use]
    pub fn quota(&self) -> Option<&CpuQuota> {
        self.whole.quota.as_ref()
    }

    /// How many ranks can run all the time, at one pace: one for each core that may be used, within
    /// the [quota](Machine::quota). Efficiency cores are left out, unless no other may be used: as
    /// a rule ranks have equal shares of the work and wait for each other, so the slowest of them
    /// would set the pace of all.
    ///
    /// ```
    /// let machine = phalanx::machine::Machine::this()?;
    /// assert!((1..=machine.allowed_pus().len()).contains(&machine.ranks()));
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    #[must_use]
    pub fn ranks(&self) -> usize {
        let is_usable = |core: &&Core| core.pus.iter().any(|&pu| self.is_allowed(pu));
        let fast =
            self.whole.cores.iter().filter(is_usable).filter(|core| !core.is_efficiency).count();
        let cores =
            if fast > 0 { fast } else { self.whole.cores.iter().filter(is_usable).count().max(1) };
        self.whole.quota.as_ref().map_or(cores, |quota| cores.min(quota.ranks()))
    }

    /// Whether a processing unit exists and may be used.
    #[must_use]
    pub fn is_allowed(&self, pu: usize) -> bool {
        self.allowed.binary_search(&pu).is_ok()
    }

    /// The number of processing units, allowed or not.
    #[must_use]
    pub fn pu_count(&self) -> usize {
        self.whole.units.len()
    }

    /// The tree of the levels that cores share.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.whole.tree
    }

    /// Where the facts came from.
    #[must_use]
    pub fn source(&self) -> &MachineSource {
        &self.whole.source
    }

    /// The facts that were damaged, contradictory or given up while reading.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.whole.warnings
    }

    /// The index of the core (in logical order) that has this processing unit.
    #[must_use]
    pub fn core_of(&self, pu: usize) -> Option<usize> {
        let found = self.whole.units.binary_search_by_key(&pu, |&(unit, _)| unit).ok()?;
        Some(self.whole.units[found].1)
    }

    /// The groups of a level; for [`Level::Group`], which may exist several times, the innermost.
    #[must_use]
    pub fn groups(&self, level: Level) -> &[Group] {
        self.whole.levels.iter().rev().find(|l| l.level == level).map_or(&[], |l| &l.groups)
    }

    /// The group of `level` that a processing unit belongs to: two units share that level exactly
    /// when they get the same answer.
    ///
    /// `None` when there is no such unit, or when nothing is known to be shared at that level: a
    /// core without its own L3 cache, say. For [`Level::Core`] this is the index of the core, for
    /// [`Level::Pu`] the unit itself, for [`Level::Machine`] always 0.
    #[must_use]
    pub fn group_of(&self, pu: usize, level: Level) -> Option<usize> {
        let core = self.core_of(pu)?;
        match level {
            Level::Machine => Some(0),
            Level::Core => Some(core),
            Level::Pu => Some(pu),
            Level::Numa => self.whole.cores[core].numa,
            _ => self.groups(level).iter().position(|g| g.pus.binary_search(&pu).is_ok()),
        }
    }
}

#[cfg(test)]
mod tests;
