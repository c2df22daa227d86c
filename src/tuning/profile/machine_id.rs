//! The identity of a profile's machine: its processor and its topology.

use crate::machine::{Level, Machine};
use std::fmt;

/// The processor's name and the machine's shape: enough to tell whether times
/// that were measured on one machine mean anything on another.
///
/// The affinity mask is not part of it: a process that may use half of a
/// machine runs on the same machine.
///
/// # Examples
/// ```
/// use phalanx::machine::Machine;
/// use phalanx::tuning::MachineId;
/// let machine = Machine::from_synthetic("pack:2 [numa] l3:4 core:8 pu:2")?;
/// let print = MachineId::of(&machine);
/// assert_eq!(print.topology, "package:2x32 numa:2x32 l3:8x8 core:64 pu:128");
/// assert_eq!(print, MachineId::of(&machine));
/// # Ok::<(), phalanx::machine::MachineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MachineId {
    /// The processor's name, as the system gives it; that of the architecture
    /// where it gives none.
    pub cpu: String,
    /// Levels from the outside to the inside: `LEVEL:GROUPSxCORES`, with the
    /// numbers of cores joined by `+` where groups differ, then cores and
    /// processing units.
    pub topology: String,
}

impl MachineId {
    /// Of a machine. The processor's name is that of the computer that this
    /// runs on, also for a machine that was read from a file.
    ///
    /// # Examples
    /// ```
    /// let machine = phalanx::machine::Machine::this()?;
    /// println!("{}", phalanx::tuning::MachineId::of(&machine));
    /// # Ok::<(), phalanx::machine::MachineError>(())
    /// ```
    pub fn of(machine: &Machine) -> Self {
        MachineId { cpu: cpu(), topology: topology(machine) }
    }

    /// What differs, in words; none if nothing does.
    pub(crate) fn difference(&self, other: &MachineId) -> Option<String> {
        let says = |what: &str, a: &str, b: &str| {
            (a != b).then(|| format!("its {what} is '{a}', this machine's '{b}'"))
        };
        says("processor", &self.cpu, &other.cpu)
            .or_else(|| says("topology", &self.topology, &other.topology))
    }
}

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.cpu, self.topology)
    }
}

/// Only what every back end of the machine room sees alike: nameless groups
/// (which hwloc derives from distances), dies, and caches of single cores are
/// left out.
fn topology(machine: &Machine) -> String {
    let mut parts = Vec::new();
    for level in [Level::Package, Level::Numa, Level::L3, Level::L2] {
        let sizes: Vec<usize> = match level {
            Level::Numa => machine.numa_nodes().iter().map(|node| node.cores.len()).collect(),
            level => machine.groups(level).iter().map(|group| group.cores.len()).collect(),
        };
        let shared = sizes.iter().any(|&cores| cores > 1);
        match sizes.first() {
            Some(first) if shared && sizes.iter().all(|size| size == first) => {
                parts.push(format!("{}:{}x{first}", level.key(), sizes.len()));
            }
            Some(_) if shared => {
                let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
                parts.push(format!("{}:{}", level.key(), sizes.join("+")));
            }
            _ => {}
        }
    }
    parts.push(format!("core:{}", machine.cores().len()));
    parts.push(format!("pu:{}", machine.pu_count()));
    parts.join(" ")
}

/// The processor's name as the kernel gives it.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key))?;
        let name = line.split_once(':')?.1.split_whitespace().collect::<Vec<_>>().join(" ");
        (!name.is_empty()).then_some(name)
    };
    let name = named("model name").or_else(|| named("Model")).or_else(|| named("cpu"));
    name.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_apart() {
        let of = |text: &str| topology(&Machine::from_synthetic(text).unwrap());
        assert_eq!(of("core:2 pu:1"), "numa:1x2 core:2 pu:2");
        assert_eq!(of("pack:1 l3:1 core:2 pu:1"), "package:1x2 numa:1x2 l3:1x2 core:2 pu:2");
        assert_eq!(
            of("pack:1 l3:2 l2:2 core:2 pu:2"),
            "package:1x8 numa:1x8 l3:2x4 l2:4x2 core:8 pu:16"
        );
        assert_ne!(of("l3:4 core:2 pu:1"), of("l3:2 core:4 pu:1"));
    }

    #[test]
    fn the_difference_is_named() {
        let a = MachineId { cpu: "A 1".into(), topology: "core:2 pu:2".into() };
        let b = MachineId { cpu: "B 2".into(), ..a.clone() };
        assert_eq!(a.difference(&a), None);
        let what = a.difference(&b).unwrap();
        assert_eq!(what, "its processor is 'A 1', this machine's 'B 2'");
        let c = MachineId { topology: "core:4 pu:4".into(), ..a.clone() };
        assert!(a.difference(&c).unwrap().contains("'core:2 pu:2', this machine's 'core:4 pu:4'"));
    }
}
